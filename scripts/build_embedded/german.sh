#!/usr/bin/env bash
# Step 2 of the German detector, on a machine with a GPU, all stages in a row. KEEP is the folder that german.py wrote.
# A stage that is done is not done again, so that a run that was stopped goes on.
set -u
cd "$(dirname "$0")"
export PYTHONPATH=../../src PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2
K=${KEEP:?the folder that german.py wrote}
FOLDS=${FOLDS:-0 1 all}
mkdir -p "$K/parts" "$K/done"
job() { ${PYTHON:-python3} german_job.py "$@" --keep "$K"; }
say() { echo "== $(date +%T) $*"; }
# once NAME COMMAND…: run it unless NAME is done.
once() {
    local name=$1
    shift
    [ -e "$K/done/$name" ] || { "$@" && touch "$K/done/$name"; } || say "FAILED $name"
}
everywhere() {
    local name=$1
    shift
    for fold in $FOLDS; do once "$name-$fold" job "$@" --name "$name" --folds "$fold" & done
    wait
}
means() { once "$1" job mean --name "$1" --teachers "$2" --folds "${FOLDS// /,}"; }

. ./share_gpu.sh
say bridge
once bridge job bridge --epochs 40 --batch 1024 --rate 4e-4 --average 0.998 --seconds "${S0:-100}"
[ -z "${ONLY_BRIDGE:-}" ] || exit 0
once unpack job unpack
say "English, and what is written"
once writer job writer --epochs 3 --rate 2e-4 --seconds "${S1:-62}" --write-seconds "${S2:-110}" &
once compose job compose --write-seconds "${S3:-160}" &
once english job english --epochs 1 --batch 64 --rate 2e-4 --average 0.998 --seconds "${S4:-170}" &
wait
once gather job gather
say teachers
everywhere teacher cv --epochs 1 --batch 32 --rate 1.5e-4 --more 6000 --seconds "${S5:-190}" &
[ -n "${ONE_TEACHER:-}" ] || everywhere second cv --seed 2 --epochs 1 --batch 48 --rate 2e-4 --more 6000 --seconds "${S5:-190}" &
wait
job total
say students
taught="--teachers teacher$([ -n "${ONE_TEACHER:-}" ] || echo ,second) --epochs 40 --average 0.998 --more 60000 --passes 2"
everywhere one distil $taught --batch 256 --rate 3e-4 --seconds "${S6:-480}" &
everywhere two distil $taught --seed 2 --batch 384 --rate 4e-4 --hard 0.2 --thin 0.1 --seconds "${S6:-480}" &
everywhere three distil $taught --seed 3 --batch 320 --rate 3.5e-4 --hard 0.25 --seconds "${S6:-480}" &
wait
means every one,two,three
job total
say "students that start from the mean"
again="${taught/--more 60000/--more 110000} --start every"
everywhere four distil $again --seed 4 --batch 384 --rate 2.5e-4 --hard 0.2 --thin 0.1 --seconds "${S7:-330}" &
everywhere five distil $again --seed 5 --batch 320 --rate 2e-4 --hard 0.25 --seconds "${S7:-330}" &
wait
means last four,five
job total
say done
