#!/usr/bin/env bash
# Step 2 of the German detector, on a machine with a GPU, all stages in a row. KEEP is the folder that german.py wrote.
set -u
cd "$(dirname "$0")"
export PYTHONPATH=../../src PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2
K=${KEEP:?the folder that german.py wrote}
job() { ${PYTHON:-python3} german_job.py "$@" --keep "$K"; }
say() { echo "== $(date +%T) $*"; }
everywhere() { for fold in 0 1 2 3 4 all; do job "$@" --folds $fold & done; wait; }

# Several processes share the card much better through CUDA's own server, where it starts.
MPS=$(mktemp -d)
export CUDA_MPS_PIPE_DIRECTORY=$MPS/pipe CUDA_MPS_LOG_DIRECTORY=$MPS/log
mkdir -p "$MPS/pipe" "$MPS/log"
nvidia-cuda-mps-control -d
if timeout 40 python3 -c "import torch; print('mps', float(torch.ones(9, device='cuda').sum()))"; then say shared; else
    echo quit | timeout 10 nvidia-cuda-mps-control
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    say "not shared"
fi
job unpack
say "English, and a writer"
job base --epochs 2 --batch 512 --rate 5e-4 --average 0.998 --seconds 60 &
job writer --epochs 2 --rate 2e-4 --seconds 135 --write-seconds 100 &
job english --epochs 1 --batch 64 --rate 2e-4 --average 0.998 --seconds 135 &
wait
say teachers
everywhere cv --name teacher --epochs 2 --batch 32 --rate 1e-4 --seconds 260
everywhere cv --name second --seed 2 --epochs 1 --batch 32 --rate 1.5e-4
job total
say students
everywhere distil --name distil --teachers teacher,second --epochs 24 --batch 192 --rate 3e-4 --average 0.998 --seconds 215
everywhere distil --name third --teachers teacher,second --seed 2 --more 60000 --epochs 16 --batch 256 --rate 4e-4 \
    --average 0.998 --thin 0.15 --mix 0.1 --hard 0.15 --seconds 100
job total
say done
