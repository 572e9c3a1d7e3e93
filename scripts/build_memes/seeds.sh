#!/bin/bash
# On the machine with the GPU, beside other work: run.sh SECONDS [more arguments of seeds.py]
# Lies in the folder that pack_seeds.py packed. Started again, it goes on. Results and the log go to out/ there.
set -e
cd "$(dirname "$(readlink -f "$0")")"
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true HF_HUB_OFFLINE=1 OMP_NUM_THREADS=2
mkdir -p packages out
python3 -c "import yaml" 2>/dev/null || python3 -m zipfile -e wheels/pyyaml*.whl packages
export PYTHONPATH=$PWD/code:$PWD/packages
nvidia-smi -L >>out/run.log 2>&1 || true
python3 code/seeds.py --keep . --out out --seconds "$1" "${@:2}" >>out/run.log 2>&1
