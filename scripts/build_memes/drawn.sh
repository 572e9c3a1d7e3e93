#!/bin/bash
# On the machine with the GPU, beside run.sh: drawn.sh SECONDS [more arguments of seeds.py]. Results go to out-drawn/.
# Features of the packed part of the benchmark first; ViLBERT begins when run.sh is done, or after twenty minutes.
set -e
cd "$(dirname "$(readlink -f "$0")")"
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1
mkdir -p packages out-drawn
python3 -c "import yaml" 2>/dev/null || python3 -m zipfile -e wheels/pyyaml*.whl packages
export PYTHONPATH=$PWD/code:$PWD/packages
[ -e benchmark.npz ] || nice python3 code/drawn.py features --keep . >>out-drawn/run.log 2>&1
for _ in $(seq 240); do grep -q '^done' out/run.log && break; sleep 5; done
python3 code/seeds.py --keep . --out out-drawn --data benchmark --seconds "$1" "${@:2}" >>out-drawn/run.log 2>&1
