#!/bin/sh
# Installs a CUDA Toolkit from PyPI into build/gpu-toolkit: compiler, static runtime, headers, and NCCL. Nothing else of
# the machine changes. With --if-missing, it does so only where the machine has no toolkit. Prints nothing when
# nothing is to be done.
set -eu
cd "$(dirname "$0")/.."

version=13.0
nccl=2.28.9
folder=build/gpu-toolkit

# True when the machine has a toolkit of at least 12.8, as cmake/cuda.cmake searches it.
has_toolkit() {
  nvcc=$(command -v nvcc || true)
  for root in "${CUDAToolkit_ROOT-}" "${CUDA_HOME-}" "${CUDA_PATH-}" "${nvcc:+$(dirname "$(dirname "$(realpath "$nvcc")")")}" \
    /usr/local/cuda; do
    number=$(sed -n 's/^#define CUDART_VERSION *//p' "$root/include/cuda_runtime_api.h" 2>/dev/null || true)
    if [ -n "$root" ] && [ -e "$root/bin/nvcc" ] && [ "${number:-0}" -ge 12080 ]; then return 0; fi
  done
  return 1
}

if [ "${1-}" = --if-missing ] && has_toolkit; then exit 0; fi
if [ -e "$folder/cuda-$version-nccl-$nccl" ]; then exit 0; fi
echo "setup: installing CUDA $version and NCCL $nccl into $folder (0.7 GB)"
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --no-input --retries 5 \
  "nvidia-cuda-nvcc==$version.*" "nvidia-nvvm==$version.*" "nvidia-cuda-crt==$version.*" \
  "nvidia-cuda-runtime==$version.*" "nvidia-cuda-cccl==$version.*" "nvidia-nccl-cu13==$nccl"
for toolkit in "$folder"/lib/python3*/site-packages/nvidia/cu13; do
  ln -s "${toolkit#"$folder/"}" "$folder/cuda"
done
: >"$folder/cuda-$version-nccl-$nccl"
