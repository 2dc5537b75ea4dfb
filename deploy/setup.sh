#!/usr/bin/env bash
# Installs what a bare Debian 12 with Rust lacks: a C++ compiler, protoc (etcd's client is generated when it is built),
# Python's pip, and libtorch from PyPI at a pinned
# version into third_party/libtorch (ignored by git). Does nothing when all is there. No Python is needed at run time.
set -euo pipefail
cd "$(dirname "$0")/.."

TORCH=2.11.0
CUDA_RUNTIME=13.0.96
CUDA_CUPTI=13.0.85
target=third_party/libtorch
mark="$target/.complete-$TORCH"

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

say "fetching libtorch $TORCH from PyPI (about 530 MB, once)"
rm -rf "$target" "$target.partial"
python3 -m pip install -q --no-deps --no-compile --root-user-action=ignore --target "$target.partial" \
  "torch==$TORCH" "nvidia-cuda-runtime==$CUDA_RUNTIME" "nvidia-cuda-cupti==$CUDA_CUPTI"

# Of the wheel we link three libraries and the headers; they need two of NVIDIA's even on a machine without a GPU.
# libtorch.so itself would pull libtorch_cuda.so in: a stub takes its place, and the worker loads CUDA at run time.
mkdir -p "$target/torch/lib" "$target/nvidia/cu13/lib"
mv "$target.partial/torch/include" "$target/torch/include"
for library in libtorch_cpu.so libc10.so libgomp.so.1; do
  mv "$target.partial/torch/lib/$library" "$target/torch/lib/"
done
for library in libcudart.so.13 libcupti.so.13; do
  mv "$target.partial/nvidia/cu13/lib/$library" "$target/nvidia/cu13/lib/"
done
mkdir -p "$target/licences"
cp "$target.partial"/torch-*.dist-info/licenses/LICENSE "$target/licences/torch.txt" 2>/dev/null \
  || cp "$target.partial"/torch-*.dist-info/LICENSE "$target/licences/torch.txt" 2>/dev/null || true
gcc -shared -nostdlib -o "$target/torch/lib/libtorch.so" -Wl,-soname,libtorch.so -Wl,--no-as-needed \
  -L"$target/torch/lib" -ltorch_cpu -Wl,-rpath,'$ORIGIN' -Wl,--allow-shlib-undefined
rm -rf "$target.partial"
touch "$mark"
say "libtorch $TORCH is in $target ($(du -sh "$target" | cut -f1))"
