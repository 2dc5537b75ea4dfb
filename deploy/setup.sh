#!/usr/bin/env bash
# Installs what a bare Debian 12 with Rust lacks: a C++ compiler, protoc (etcd's client is generated when it is built),
# Python's pip, and libtorch from PyPI at a pinned
# version into third_party/libtorch (ignored by git). Does nothing when all is there. No Python is needed at run time.
#
#   deploy/setup.sh          for CPUs: 530 MB are fetched, 400 MB kept
#   deploy/setup.sh --cuda   for GPU nodes: the whole libtorch with NVIDIA's libraries; 2.3 GB are fetched, 3.7 GB kept. The driver
#                            must support CUDA 13.0 (580 or newer)
set -euo pipefail
cd "$(dirname "$0")/.."

TORCH=2.11.0
CUDA_RUNTIME=13.0.96
CUDA_CUPTI=13.0.85
target=third_party/libtorch
cuda=
case "${1:-}" in
  "") ;;
  --cuda) cuda=yes ;;
  *) echo "usage: deploy/setup.sh [--cuda]" >&2; exit 2 ;;
esac
# What is there for GPUs serves CPUs as well.
mark="$target/.complete-$TORCH${cuda:+-cuda}"
[ -n "$cuda" ] || [ ! -e "$mark-cuda" ] || mark="$mark-cuda"

say() { printf 'setup: %s\n' "$*" >&2; }

command -v cargo >/dev/null || { say "cargo is missing: install Rust 1.95 or newer first (https://rustup.rs)"; exit 2; }

packages=()
command -v g++ >/dev/null || packages+=(g++)
command -v cc >/dev/null || packages+=(gcc libc6-dev)
if [ -z "${PROTOC:-}" ]; then
  command -v protoc >/dev/null || packages+=(protobuf-compiler)
  # Debian keeps the .proto files that belong to its protoc in a package of their own.
  case "$(command -v protoc || echo /usr/bin/protoc)" in
    /usr/bin/protoc) [ -e /usr/include/google/protobuf/descriptor.proto ] || packages+=(libprotobuf-dev) ;;
  esac
fi
if [ ! -e "$mark" ] && [ -z "${LIBTORCH:-}" ]; then
  python3 -m pip --version >/dev/null 2>&1 || packages+=(python3 python3-pip)
fi
if [ ${#packages[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  say "installing Debian packages: ${packages[*]}"
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

if [ -n "${LIBTORCH:-}" ]; then
  say "using libtorch at LIBTORCH=$LIBTORCH"
  exit 0
fi
[ -e "$mark" ] && exit 0

partial="$target.partial"
built="$target.built"
rm -rf "$partial" "$built"
mkdir -p "$built/torch/lib" "$built/licences"

# Of the wheel we link three libraries and the headers; they need two of NVIDIA's even on a machine without a GPU.
for_cpus() {
  say "fetching libtorch $TORCH from PyPI (about 530 MB, once)"
  python3 -m pip install -q --no-deps --no-compile --root-user-action=ignore --target "$partial" \
    "torch==$TORCH" "nvidia-cuda-runtime==$CUDA_RUNTIME" "nvidia-cuda-cupti==$CUDA_CUPTI"
  mkdir -p "$built/nvidia/cu13/lib"
  for library in libtorch_cpu.so libc10.so libgomp.so.1; do
    mv "$partial/torch/lib/$library" "$built/torch/lib/"
  done
  for library in libcudart.so.13 libcupti.so.13; do
    mv "$partial/nvidia/cu13/lib/$library" "$built/nvidia/cu13/lib/"
  done
}

# All libraries, in the folders that the wheels have: they find each other by paths relative to their own.
for_gpus() {
  say "fetching libtorch $TORCH with NVIDIA's libraries from PyPI (about 2.3 GB, once; 3.7 GB on disk)"
  python3 -m pip install -q --no-compile --root-user-action=ignore --target "$partial" "torch==$TORCH"
  rm -f "$partial/torch/lib/libtorch_python.so"
  mv "$partial"/torch/lib/* "$built/torch/lib/"
  mv "$partial/nvidia" "$built/nvidia"
}

if [ -n "$cuda" ]; then for_gpus; else for_cpus; fi
mv "$partial/torch/include" "$built/torch/include"
# What may be passed on only with its licence (deploy/package.sh).
for file in "$partial"/{torch,nvidia,cuda}*.dist-info/{LICENSE*,License*,licenses/*}; do
  [ -f "$file" ] || continue
  package=${file#"$partial"/}
  package=${package%%-*}
  [ ! -e "$built/licences/$package.txt" ] || package=$package-$(basename "$file")
  cp "$file" "$built/licences/${package%.txt}.txt"
done
# libtorch.so itself would pull libtorch_cuda.so in: a stub takes its place, and the worker loads CUDA at run time.
rm -f "$built/torch/lib/libtorch.so"
gcc -shared -nostdlib -o "$built/torch/lib/libtorch.so" -Wl,-soname,libtorch.so -Wl,--no-as-needed \
  -L"$built/torch/lib" -ltorch_cpu -Wl,-rpath,"\$ORIGIN" -Wl,--allow-shlib-undefined
rm -rf "$partial" "$target"
mv "$built" "$target"
touch "$mark"
say "libtorch $TORCH is in $target ($(du -sh "$target" | cut -f1))"
