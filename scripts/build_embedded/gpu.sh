#!/usr/bin/env bash
# Step 2 of the English detectors, on a machine with a GPU, all stages in a row. KEEP (what prepare.py wrote, and what comes
# out), the seconds and batches of each stage and TEACHERS (which of the four) can be set; the figures of every epoch go to
# $KEEP/*.jsonl. A stage that is done is not done again.
set -eu
cd "$(dirname "$0")"
export PYTHONPATH=../../src PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true TRANSFORMERS_VERBOSITY=error
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
K=${KEEP:?the folder that prepare.py wrote}
P=${PYTHON:-python3}
E=${EPOCHS:-}
mkdir -p "$K/done"
job() { $P job.py "$@" --keep "$K"; }
say() { echo "== $(date +%T) $*"; }
# once NAME COMMAND…: run it unless NAME is done.
once() {
    local name=$1
    shift
    [ -e "$K/done/$name" ] || { "$@" && touch "$K/done/$name"; } || { say "FAILED $name" && return 1; }
}
settings=(
    "--natural 0.3 --agreement 1.0 --rate 8e-5"
    "--natural 0.1 --agreement 0.5 --rate 1e-4"
    "--natural 0.2 --agreement 1.0 --rate 8e-5"
    "--natural 0.2 --agreement 1.0 --rate 1e-4 --emoji-copies 0.5"
)
# teach N: teacher N, by its settings.
teach() {
    # shellcheck disable=SC2086  # the settings are several words
    once "teacher-$1" job teacher --seed "$1" --batch "${B1:-192}" --epochs "${E:-3}" --seconds "${S1:-370}" ${settings[$1 - 1]}
}

say pretrain
once tokens job tokens
once pretrain job pretrain --epochs "${E:-4}" --batch "${B0:-768}" --rate 2e-4 --seconds "${S0:-160}"
say teachers
running=()
once variants job variants --batch "${BV:-256}" & running+=($!)
for number in ${TEACHERS:-1 2 3 4}; do teach "$number" & running+=($!); done
for process in "${running[@]}"; do wait "$process"; done
say opinions
once opinions job opinions --batch "${B2:-1024}"
say students
running=()
[ -n "${WITHOUT_LARGE:-}" ] || {
    once student-mpnet job student --of mpnet --rate 8e-5 --batch "${B3:-320}" --epochs 6 --seconds "${S4:-600}" \
        --start teacher-3 --bits 4 --rounded 0.7 & running+=($!)
}
once student-minilm job student --of minilm --rate 4e-4 --batch "${B3:-320}" --epochs "${E:-9}" --seconds "${S3:-430}"
[ -n "${WITHOUT_SCREEN:-}" ] || once screens "$P" screen_job.py --keep "$K" --seconds "${S5:-140}"
for process in ${running[@]+"${running[@]}"}; do wait "$process"; done
say done
