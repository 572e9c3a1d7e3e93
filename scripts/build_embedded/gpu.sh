#!/usr/bin/env bash
# Step 2 of the English detectors, on a machine with a GPU, all stages in a row. KEEP (what prepare.py and language_model.py
# wrote, and what comes out), the seconds and batches of each stage, TEACHERS (which of the four), STUDENTS (how many small ones),
# DEEP (how often each of their layers stands) and SHARED (several processes share the GPU) can be set; the figures of every
# epoch go to $KEEP/*.jsonl. A stage that is done is not done again. Two teachers, the language model's two processes and batches
# of 160 and 80 need 130 GB.
set -eu
cd "$(dirname "$0")"
export PYTHONPATH=../../src${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true TRANSFORMERS_VERBOSITY=error
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
K=${KEEP:?the folder that prepare.py wrote}
P=${PYTHON:-python3}
E=${EPOCHS:-}
mkdir -p "$K/done"
job() { $P job.py "$@" --keep "$K"; }
model() { $P language_model.py "$@" --keep "$K"; }
say() { echo "== $(date +%T) $*"; }
# once NAME COMMAND…: run it unless NAME is done.
once() {
    local name=$1
    shift
    [ -e "$K/done/$name" ] || { "$@" && touch "$K/done/$name"; } || { say "FAILED $name" && return 1; }
}
# all: wait for what was started with "& running+=($!)". The rest goes on without what failed; the end says so.
running=() failed=0
all() {
    for process in "${running[@]}"; do wait "$process" || failed=1; done
    running=()
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
    once "teacher-$1" job teacher --seed "$1" --batch "${B1:-192}" --epochs "${E:-2}" --seconds "${S1:-370}" ${settings[$1 - 1]}
}
# The language model teaches and writes beside all that comes before the teachers' opinions.
language() {
    until [ -e "$K/qwen.json" ]; do sleep 1; done
    once unpack model unpack
    once language-tokens model tokens
    once language-teacher model teacher --batch "${B6:-96}" --rate 2e-4 --epochs "${E:-2}" --seconds "${S6:-320}" &
    local teacher=$!
    once writer model writer --batch "${B7:-64}" --epochs "${E:-2}" --seconds "${S7:-70}" --write-seconds "${S8:-230}" --at-once "${B8:-2048}"
    once gather model gather
    wait $teacher
}
[ -z "${SHARED:-}" ] || . ./share_gpu.sh
say pretrain
once tokens job tokens
language & spoken=$!
once pretrain job pretrain --epochs "${E:-4}" --batch "${B0:-768}" --rate 2e-4 --seconds "${S0:-130}"
say teachers
once variants job variants --batch "${BV:-256}" & running+=($!)
for number in ${TEACHERS:-1 2 4}; do teach "$number" & running+=($!); done
running+=($spoken)
all
say opinions
once opinions job opinions --batch "${B2:-1024}" & running+=($!)
[ ! -e "$K/done/language-teacher" ] || { once language-opinions model opinions --seconds "${S9:-150}" & running+=($!); }
all
[ ! -e "$K/done/language-opinions" ] || once mix job mix
say students
[ -n "${WITHOUT_LARGE:-}" ] || {
    once student-mpnet job student --of mpnet --rate 8e-5 --batch "${B3:-320}" --epochs 6 --seconds "${S4:-800}" \
        --start teachers --bits 4 --rounded 0.6 & large=$!
}
for seed in $(seq "${STUDENTS:-3}"); do
    once "student-minilm-$seed" job student --of minilm --tag="-$seed" --seed "$seed" --deep "${DEEP:-1}" --rate "${R3:-4e-4}" \
        --batch "${B3:-320}" --epochs "${E:-12}" --seconds "${S3:-600}" & running+=($!)
done
all
once mean-minilm job mean --of minilm
[ -n "${WITHOUT_SCREEN:-}" ] || once screens "$P" screen_job.py --keep "$K" --seconds "${S5:-120}"
[ -z "${large:-}" ] || wait "$large" || failed=1
say done
exit $failed
