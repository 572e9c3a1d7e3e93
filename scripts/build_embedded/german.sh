#!/usr/bin/env bash
# The German job on the GPU machine, all stages in a row; started with setsid from a copy of the repository.
set -u
cd "$(dirname "$0")"
export PYTHONPATH=../../src PYTHONUNBUFFERED=1 TRANSFORMERS_VERBOSITY=error OMP_NUM_THREADS=2
K=${KEEP:-/root/keep}
job() { ${PYTHON:-python3} german_job.py "$@" --keep "$K"; }
say() { echo "== $(date +%T) $*"; }
everywhere() { for fold in 0 1 2 3 4 all; do job "$@" --folds $fold & done; }

# Many small processes share the card much better through CUDA's own server, where it starts.
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
mkdir -p /tmp/mps /tmp/mps-log
nvidia-cuda-mps-control -d
if timeout 40 python3 -c "import torch; print('mps', float(torch.ones(9, device='cuda').sum()))"; then say shared; else
    echo quit | timeout 10 nvidia-cuda-mps-control
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    say "not shared"
fi
say opinions
job opinions --batch 1024
say transfer
job cross --epochs 4 --batch 256 --rate 1e-4 --seconds "${S1:-110}" &
job mini --epochs 8 --batch 512 --rate 4e-4 --seconds "${S1:-110}" &
job base --epochs 3 --batch 512 --rate 5e-4 --seconds "${S1:-110}" &
wait
say teachers
everywhere cv --start cross --name cross1 --seed 1 --epochs 4 --batch 96 --rate 5e-5 --decay 0.95 --seconds "${S2:-140}"
everywhere cv --start cross --name cross2 --seed 2 --epochs 4 --batch 96 --rate 8e-5 --decay 0.95 --seconds "${S2:-140}"
wait
job total
say distil
everywhere distil --name distil --epochs 20 --batch 128 --rate 3e-4 --average 0.998 --thin 0.25 --seconds "${S3:-380}"
wait
everywhere distil --alone --name second --seed 2 --epochs 16 --batch 128 --rate 4e-4 --average 0.998 --thin 0.3 --mix 0.4 --seconds "${S4:-185}"
wait
job total
say done
