#!/bin/bash
# On the machine with the GPU: gpu.sh SECONDS [more arguments of job.py]
# In $KEEP (default ~/keep) lie the parts that prepare.py cut. Started again, it goes on. Results go to $OUT.
set -e
export KEEP=${KEEP:-$HOME/keep} OUT=${OUT:-./out} PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true HF_HUB_OFFLINE=1
cd "$KEEP"
extra=$KEEP/packages
mkdir -p "$extra" "$OUT"
for pair in cv2:opencv PIL:pillow yaml:pyyaml; do  # what the machine lacks comes from the wheels
    python3 -c "import ${pair%%:*}" 2>/dev/null || python3 -m zipfile -e memes/wheels/"${pair##*:}"*.whl "$extra"
done
export PYTHONPATH=$KEEP/memes/code:$extra
nvidia-smi -L || true
cat memes/commit.txt
began=$SECONDS
OMP_NUM_THREADS=1 python3 memes/code/features.py --keep memes
echo "features took $((SECONDS - began)) s"
left=$(( $1 - (SECONDS - began) ))
python3 memes/code/job.py --keep memes --out "$OUT" --seconds "$left" "${@:2}"
