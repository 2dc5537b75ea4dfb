#!/usr/bin/env bash
# Makes fused.ptx of fused.cu, or with --check compares what it would make with the file that stands there.
# Uses nvcc 13.0 of the PATH, or else the one that PyPI has, about 110 MB, in target/nvcc. CUDA itself is not needed.
set -euo pipefail
cd "$(dirname "$0")/.."
source=worker/engine/src/kernels/fused/fused.cu
ptx=${source%.cu}.ptx
nvcc=$(command -v nvcc || true)
include=()
if [ -z "$nvcc" ] || ! "$nvcc" --version | grep -q 'release 13\.0'; then
    folder=target/nvcc
    if [ ! -x "$folder/nvidia/cu13/bin/nvcc" ]; then
        echo "fetching nvcc 13.0 (110 MB) into $folder" >&2
        python3 -m pip install --quiet --target "$folder" nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 \
            nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
    fi
    nvcc=$folder/nvidia/cu13/bin/nvcc
    include=(-I "$folder/nvidia/cu13/include" -I "$folder/nvidia/cu13/include/cccl")
    # On some file systems pip leaves tools without their mode.
    chmod +x "$folder"/nvidia/cu13/bin/* "$folder"/nvidia/cu13/nvvm/bin/*
fi
# The oldest GPUs with bfloat16; the driver compiles for what it finds.
made=$(mktemp --suffix=.ptx)
trap 'rm -f "$made"' EXIT
"$nvcc" -ptx -arch=compute_80 -O3 "${include[@]}" "$source" -o "$made"
# Names of what is static hold a digest of the folder.
sed -i -E 's/_INTERNAL_[0-9a-f]{8}_/_INTERNAL_00000000_/g' "$made"
if [ "${1:-}" = --check ]; then
    cmp "$made" "$ptx" || { echo "$ptx is not what $source makes: run deploy/ptx.sh" >&2; exit 1; }
    echo "$ptx is what $source makes"
else
    cp "$made" "$ptx"
    echo "$ptx: $(wc -l < "$ptx") lines"
fi
