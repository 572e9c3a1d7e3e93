#!/usr/bin/env bash
# Step 2 of the English detectors, on a machine with a GPU, all stages in a row. KEEP (what prepare.py wrote, and what comes
# out) and the seconds of each stage can be set; the figures of every epoch go to $KEEP/*.jsonl.
set -u
cd "$(dirname "$0")"
export PYTHONPATH=../../src PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true TRANSFORMERS_VERBOSITY=error
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
K=${KEEP:?the folder that prepare.py wrote}
P=${PYTHON:-python3}
job() { $P job.py "$@" --keep "$K"; }
say() { echo "== $(date +%T) $*"; }
teach() { job teacher --batch "${B1:-192}" --epochs 3 --seconds "${S1:-370}" "$@"; }

say pretrain
job tokens
job pretrain --epochs 4 --batch "${B0:-768}" --rate 2e-4 --seconds "${S0:-160}"
say teachers
job variants --batch "${BV:-256}" &
teach --seed 1 --natural 0.3 --agreement 1.0 --rate 8e-5 &
teach --seed 2 --natural 0.1 --agreement 0.5 --rate 1e-4 &
teach --seed 3 --natural 0.2 --agreement 1.0 --rate 8e-5 &
teach --seed 4 --natural 0.2 --agreement 1.0 --rate 1e-4 --emoji-copies 0.5 &
wait
say opinions
job opinions --batch "${B2:-1024}"
say students
job student --of mpnet --rate 8e-5 --batch "${B3:-320}" --epochs 6 --seconds "${S4:-600}" --start teacher-3 \
    --bits 4 --rounded 0.7 &
job student --of minilm --rate 4e-4 --batch "${B3:-320}" --epochs 9 --seconds "${S3:-430}"
$P screen_job.py --keep "$K" --seconds "${S5:-140}"
wait
say done
