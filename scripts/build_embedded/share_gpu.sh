# Several processes share a GPU much better through CUDA's own server, where it starts. To be sourced; says what it did.
MPS=${MPS_DIR:-$(mktemp -d)}
export CUDA_MPS_PIPE_DIRECTORY=$MPS/pipe CUDA_MPS_LOG_DIRECTORY=$MPS/log
mkdir -p "$MPS/pipe" "$MPS/log"
nvidia-cuda-mps-control -d || true
if timeout 40 python3 -c "import torch; print('mps', float(torch.ones(9, device='cuda').sum()))"; then
    echo "== shared"
else
    echo quit | timeout 10 nvidia-cuda-mps-control || true
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    echo "== not shared"
fi
