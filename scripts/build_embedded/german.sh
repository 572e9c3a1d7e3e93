#!/usr/bin/env bash
# Step 2 of the German detector, on a machine with a GPU, all stages in a row. KEEP is the folder that german.py wrote.
# A stage that is done is not done again, so that a run that was stopped goes on; where one fails, the run ends.
# FOLDS (folds with a comma between them share a process), TEACHERS, STUDENTS, AGAIN (students that start from the mean
# of the others) and the seconds and batches of each stage can be set.
set -eu
cd "$(dirname "$0")"
export PYTHONPATH=../../src${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
K=${KEEP:?the folder that german.py wrote}
FOLDS=${FOLDS:-0 1 all} TEACHERS=${TEACHERS:-teacher second} STUDENTS=${STUDENTS:-one two three} AGAIN=${AGAIN:-four five}
mkdir -p "$K/parts" "$K/done"
job() { ${PYTHON:-python3} german_job.py "$@" --keep "$K"; }
say() { echo "== $(date +%T) $*"; }
# once NAME COMMAND…: run it unless NAME is done.
once() {
    local name=$1
    shift
    [ -e "$K/done/$name" ] || { "$@" && touch "$K/done/$name"; } || { say "FAILED $name" && return 1; }
}
# everywhere NAME COMMAND…: start it for each fold; all: wait for what was started, and end where something failed.
running=()
everywhere() {
    local name=$1
    shift
    for fold in $FOLDS; do once "$name-$fold" job "$@" --name "$name" --folds "$fold" & running+=($!); done
}
all() {
    local failed=0
    for process in "${running[@]}"; do wait "$process" || failed=1; done
    running=()
    [ $failed = 0 ] || exit 1
}
means() { once "$1" job mean --name "$1" --of "${2// /,}" --folds "${FOLDS// /,}"; }
declare -A settings=(
    [teacher]="--batch ${B5:-32} --rate 1.5e-4"
    [second]="--seed 2 --batch ${B5:-48} --rate 2e-4"
    [one]="--batch ${B6:-256} --rate 3e-4"
    [two]="--seed 2 --batch ${B6:-384} --rate 4e-4 --hard 0.2 --thin 0.1"
    [three]="--seed 3 --batch ${B6:-320} --rate 3.5e-4 --hard 0.25"
    [four]="--seed 4 --batch ${B6:-384} --rate 2.5e-4 --hard 0.2 --thin 0.1"
    [five]="--seed 5 --batch ${B6:-320} --rate 2e-4 --hard 0.25"
)
# shellcheck disable=SC2086  # the settings are several words
teach() { for name in $TEACHERS; do everywhere "$name" cv ${settings[$name]} "$@"; done; }
# distil NAMES OPTIONS…: students learn from all teachers.
distil() {
    local names=$1
    shift
    for name in $names; do
        # shellcheck disable=SC2086
        everywhere "$name" distil ${settings[$name]} --of "${TEACHERS// /,}" --epochs 40 --average 0.998 --passes 2 "$@"
    done
}

! command -v nvidia-cuda-mps-control >/dev/null || . ./share_gpu.sh
say bridge
once bridge job bridge --epochs 40 --batch "${B0:-1024}" --rate 4e-4 --average 0.998 --seconds "${S0:-100}"
once unpack job unpack
say "English, and what is written"
once writer job writer --epochs 3 --batch "${B1:-64}" --rate 2e-4 --seconds "${S1:-62}" \
    --at-once "${B2:-2048}" --longest "${LONGEST:-80}" --write-seconds "${S2:-110}" & running+=($!)
once compose job compose --each "${EACH:-30}" --at-once "${B2:-2048}" --longest "${LONGEST:-80}" \
    --write-seconds "${S3:-160}" & running+=($!)
once english job english --epochs 1 --batch "${B4:-64}" --rate 2e-4 --average 0.998 --seconds "${S4:-170}" & running+=($!)
all
once gather job gather
say teachers
teach --epochs 1 --more 6000 --seconds "${S5:-190}"
all
once total-teachers job total
say students
distil "$STUDENTS" --more 60000 --seconds "${S6:-480}"
all
means every "$STUDENTS"
once total-students job total
say "students that start from the mean"
distil "$AGAIN" --more 110000 --start every --seconds "${S7:-330}"
all
means last "$AGAIN"
once total-last job total
say done
