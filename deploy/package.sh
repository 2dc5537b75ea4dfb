#!/usr/bin/env bash
# Makes the archives of a release in dist/:
#
#   compass-VERSION-ARCH-linux.tar.gz        both programs, libtorch for CPUs, licences, completions, man pages, templates, examples
#   compass-VERSION-ARCH-linux-cuda.tar.gz   what libtorch needs on a GPU, unpacked over the first; made only where libtorch has
#                                            it (deploy/setup.sh --cuda)
#
#   deploy/package.sh --root DIR       builds with the compiler and the glibc of DIR, so that the programs run on its glibc and newer:
#       debootstrap --variant=minbase --include=g++,protobuf-compiler,libprotobuf-dev bullseye DIR      # Debian 11: glibc 2.31
#   deploy/package.sh                  builds with those of this machine
#   deploy/package.sh --programs DIR   builds nothing: takes compass-master and compass-worker from DIR
#     --glibc VERSION   the newest glibc that a file of the archive may ask for [2.31]
#     --out DIR         where the archives are written [dist]
#     --fast            compresses little
#
# COMPASS_COMMIT is the commit that `--version` of the programs shows [what git says]; LIBTORCH as in deploy/setup.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'package: %s\n' "$*" >&2; }
die() {
  printf 'package: error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf '  = help: %s\n' "$2" >&2
  exit 1
}
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; exit 2; }

root='' programs='' most=2.31 out=dist level=6
while [ $# -gt 0 ]; do
  case $1 in
    --fast) level=1 && shift && continue ;;
    --root | --programs | --glibc | --out) [ $# -ge 2 ] || usage ;;
    *) usage ;;
  esac
  case $1 in
    --root) root=$(realpath -e "$2") ;;
    --programs) programs=$(realpath -e "$2") ;;
    --glibc) most=$2 ;;
    --out) out=$2 ;;
  esac
  shift 2
done

for tool in patchelf strip objdump gzip; do
  command -v "$tool" >/dev/null || die "$tool is missing" "apt-get install patchelf binutils gzip"
done

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
arch=$(uname -m)
name=compass-$version-$arch-linux
commit=${COMPASS_COMMIT-$(git describe --always --abbrev=12 --exclude='*' --dirty 2>/dev/null || true)}
# Archives of the same programs have the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
torch=$(realpath -e "${LIBTORCH:-third_party/libtorch/torch}") || die "there is no libtorch" "run deploy/setup.sh"
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$out" "$target"
out=$(realpath "$out") target=$(realpath "$target")
work=$(mktemp -d "$out/.package.XXXXXX")
trap 'rm -rf "$work"' EXIT
stage=$work/$name

# Builds in a folder of its own, where neither another glibc nor other flags meet what the tests have built. The programs name no
# folder of this machine.
build_here() {
  local flags="--remap-path-prefix=$PWD=/src --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
  programs=$target/package/release
  COMPASS_COMMIT=$commit RUSTFLAGS="${RUSTFLAGS:-} $flags" \
    cargo build --release --locked --target-dir "$target/package" -p compass-master -p compass-worker
}

# The toolchain of this machine with the compiler and the libraries of the root, and without a network.
build_in_root() {
  command -v bwrap >/dev/null || die "bwrap is missing" "apt-get install bubblewrap"
  local cargo_home=${CARGO_HOME:-$HOME/.cargo} built=$target/package-root
  programs=$built/release
  mkdir -p "$built" "$root/src" "$root/cargo" "$root/rust" "$root/torch" "$root/target"
  cargo fetch --locked
  bwrap --bind "$root" / --dev /dev --proc /proc --tmpfs /tmp --unshare-net --die-with-parent \
    --ro-bind "$PWD" /src --ro-bind "$(rustc --print sysroot)" /rust --ro-bind "$torch" /torch \
    --bind "$cargo_home" /cargo --bind "$built" /target --chdir /src --clearenv \
    --setenv PATH /rust/bin:/usr/bin:/bin --setenv HOME /tmp --setenv LANG C.UTF-8 --setenv LIBTORCH /torch \
    --setenv CARGO_HOME /cargo --setenv CARGO_TARGET_DIR /target --setenv COMPASS_COMMIT "$commit" \
    cargo build --release --locked --offline -p compass-master -p compass-worker
}

# needed FILE: the libraries that it names.
needed() { objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }'; }

# newest_glibc FILE: the newest version of glibc that it asks for; nothing where it asks for none.
newest_glibc() {
  local references
  references=$(objdump -p "$1" | sed -n '/^Version References:/,$p')
  # A layout of relocations that older dynamic linkers refuse.
  references=${references//GLIBC_ABI_DT_RELR/GLIBC_2.36}
  { grep -oE 'GLIBC_[0-9.]+' <<< "$references" || true; } | sed 's/GLIBC_//' | sort -Vu | tail -n 1
}

# Whether a library comes with glibc, which every host has in its own version.
is_of_glibc() {
  case $1 in
    ld-linux* | libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | libutil.so.1 | libresolv.so.2) ;;
    *) return 1 ;;
  esac
}

# Prints where a library lies: in libtorch, else with the compiler that built the programs.
find_library() {
  local found
  for found in "$torch/lib/$1" "$torch"/../nvidia/*/lib/"$1" "$root"/usr/lib/"$arch"-linux-gnu/"$1" "$root"/lib/"$arch"-linux-gnu/"$1"; do
    [ ! -e "$found" ] || { realpath "$found"; return; }
  done
  [ -z "$root" ] || return 1
  found=$(g++ -print-file-name="$1")
  [ "$found" != "$1" ] && realpath "$found"
}

# collect FILE: puts what the file needs, and what that needs, into lib/. What is libtorch's then looks nowhere but beside itself: its
# own paths lead out of the archive's folder. Libraries of others stay as they are.
collect() {
  local library found
  for library in $(needed "$1"); do
    if is_of_glibc "$library" || [ -e "$stage/lib/$library" ]; then continue; fi
    found=$(find_library "$library") || die "$(basename "$1") needs $library, which is not in libtorch"
    install -m 755 "$found" "$stage/lib/$library"
    case $found in "$torch"/lib/*) patchelf --force-rpath --set-rpath "\$ORIGIN" "$stage/lib/$library" ;; esac
    collect "$stage/lib/$library"
  done
}

stage_programs() {
  local program
  mkdir -p "$stage/bin" "$stage/lib"
  for program in compass-master compass-worker; do
    [ -f "$programs/$program" ] || die "there is no $program in $programs"
    strip -o "$stage/bin/$program" "$programs/$program"
    patchelf --set-rpath "\$ORIGIN/../lib" "$stage/bin/$program"
    chmod 755 "$stage/bin/$program"
    collect "$stage/bin/$program"
  done
  needed "$stage/bin/compass-worker" | grep -q '^libtorch' || die "$programs/compass-worker is built without libtorch"
}

stage_completions() {
  local share=$stage/share program
  mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
  for program in compass-master compass-worker; do
    "$stage/bin/$program" completions bash > "$share/bash-completion/completions/$program"
    "$stage/bin/$program" completions zsh > "$share/zsh/site-functions/_$program"
    "$stage/bin/$program" completions fish > "$share/fish/vendor_completions.d/$program.fish"
    "$stage/bin/$program" man-pages "$share/man/man1"
  done
}

stage_files() {
  mkdir -p "$stage/deploy"
  cp -r examples "$stage/examples"
  cp -r deploy/demo deploy/slurm deploy/systemd deploy/k8s deploy/grafana deploy/aliyun.example.toml "$stage/deploy/"
  cp LICENSE CHANGELOG.md "$stage/"
  cat > "$stage/README.md" <<END
# Compass $release

For Linux on $arch with glibc $floor or newer; nothing else is needed. The folder may lie anywhere, also on a file system that nodes
share:

    bin/compass-master --config examples/demo.toml
    ln -s "\$PWD"/bin/compass-* /usr/local/bin/

GPUs, with driver 580 or newer: unpack $name-cuda.tar.gz of the same version over this folder. It adds
libtorch_cuda.so and NVIDIA's libraries to lib/, where the worker finds them; nothing else changes.

| folder | holds |
|---|---|
| bin | compass-master, compass-worker |
| lib | libtorch, and what it and the programs need except glibc |
| share | completions for bash, zsh and fish; man pages (man -l share/man/man1/compass-master.1) |
| examples, deploy | complete jobs, the demo's model and data; templates for Slurm, systemd, Kubernetes, DLC, Grafana |
| licences | of libtorch, NVIDIA's libraries, GCC's and every Rust package inside the programs |
END
}

# Names, versions and licences of what is linked into the programs, and the text of every licence once.
stage_licences() {
  local folder=$stage/licences list=$stage/licences/packages.txt registry package license repository file files sum
  mkdir -p "$folder/texts"
  cp "$torch"/../licences/* "$folder/" 2>/dev/null || true
  for file in torch nvidia; do
    compgen -G "$folder/$file*.txt" > /dev/null ||
      say "warning: no licence of $file's libraries is in $torch/../licences, where deploy/setup.sh puts it"
  done
  file=$(compgen -G "$root/usr/share/doc/gcc-*-base/copyright" | sort -V | tail -n 1 || true)
  if [ -n "$file" ]; then cp "$file" "$folder/gcc.txt"; else say "warning: the licence of GCC's libraries is not on this machine"; fi
  file=$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html
  if [ -e "$file" ]; then cp "$file" "$folder/rust-library.html"; else say "warning: the licences of Rust's own library are not on this machine"; fi
  registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
  printf 'Rust packages in compass-master and compass-worker: package, licence, source, files in texts/\n\n' > "$list"
  cargo tree --locked --offline --edges normal,no-proc-macro --prefix none --format '{p}|{l}|{r}' -p compass-master -p compass-worker |
    sed 's/ (\*)$//' | { grep -vE '^(compass-|$)' || true; } | sort -u |
    while IFS='|' read -r package license repository; do
      package=${package%% (*}
      printf '%s\n  %s\n  %s\n' "${package/ v/ }" "$license" "$repository"
      mapfile -t files < <(find "$registry"/*/"${package/ v/-}" -maxdepth 3 -type f \
        \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) 2>/dev/null | sort)
      [ ${#files[@]} -gt 0 ] || printf '  no file with the licence in the package\n'
      for file in "${files[@]}"; do
        sum=$(sha256sum "$file") && sum=${sum:0:12}
        [ -e "$folder/texts/$sum.txt" ] || cp "$file" "$folder/texts/$sum.txt"
        printf '  texts/%s.txt  %s\n' "$sum" "$(basename "$file")"
      done
    done >> "$list"
  chmod -R u=rwX,go=rX "$folder"
}

# check_glibc FOLDER: prints what every program and library in it asks of glibc, and ends here where that is too new.
check_glibc() {
  local file newest too_new=()
  floor=0
  for file in "$1"/bin/* "$1"/lib/*; do
    [ -f "$file" ] || continue
    newest=$(newest_glibc "$file")
    printf '%-42s glibc %s\n' "${file#"$1"/}" "${newest:--}"
    floor=$(printf '%s\n' "$floor" "${newest:-0}" | sort -V | tail -n 1)
    [ "$(printf '%s\n' "$most" "${newest:-0}" | sort -V | tail -n 1)" = "$most" ] || too_new+=("$(basename "$file")")
  done
  printf '%-42s glibc %s\n' "all of them" "$floor"
  [ ${#too_new[@]} -eq 0 ] ||
    die "${too_new[*]} would not start where glibc is older than $floor, and $most is to be enough" \
      "build in an older root (--root DIR, see the head of this file), or allow it for hosts like this one: --glibc $floor"
}

# The half of libtorch that needs a GPU: all of its libraries that the first archive lacks, and NVIDIA's.
package_cuda() {
  [ -e "$torch/lib/libtorch_cuda.so" ] || { say "no $name-cuda.tar.gz: $torch has no libtorch_cuda.so (deploy/setup.sh --cuda)"; return; }
  local half=$work/cuda/$name file library missing=()
  mkdir -p "$half/lib" "$half/licences"
  for file in "$torch"/lib/*.so* "$torch"/../nvidia/*/lib/*.so*; do
    library=$(basename "$file")
    case $library in libtorch.so | *python*) continue ;; esac
    [ ! -e "$stage/lib/$library" ] || continue
    cp -L "$file" "$half/lib/$library"
    case $file in "$torch"/lib/*) patchelf --force-rpath --set-rpath "\$ORIGIN" "$half/lib/$library" ;; esac
  done
  # cuDNN's parts are linked to zlib, which nothing of libtorch's brings.
  file=$(find_library libz.so.1) || die "there is no libz.so.1" "apt-get install zlib1g, in the root where there is one"
  install -m 755 "$file" "$half/lib/libz.so.1"
  cp "$root/usr/share/doc/zlib1g/copyright" "$half/licences/zlib.txt" || say "warning: zlib's licence is not on this machine"
  # What the engine loads; what a part of it loads by name when it is wanted (a transport of a network, for one) may lack something.
  for library in $(for file in "$half"/lib/libtorch_cuda.so "$half"/lib/libcudnn*; do needed "$file"; done | sort -u); do
    is_of_glibc "$library" || [ -e "$stage/lib/$library" ] || [ -e "$half/lib/$library" ] || missing+=("$library")
  done
  [ ${#missing[@]} -eq 0 ] || die "the CUDA half needs ${missing[*]}, which are not in libtorch" "run deploy/setup.sh --cuda"
  check_glibc "$half"
  cp "$torch"/../licences/* "$half/licences/" 2>/dev/null || true
  archive "$work/cuda" "$name-cuda.tar.gz"
}

# archive FOLDER FILE: packs its folder of the release.
archive() {
  tar --create --directory "$1" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u+rwX,go+rX,go-w "$name" |
    gzip -n "-$level" > "$work/$2"
  mv "$work/$2" "$out/$2"
  (cd "$out" && sha256sum "$2" > "$2.sha256")
  say "$out/$2 ($(du -h "$out/$2" | cut -f1))"
}

if [ -n "$programs" ]; then
  say "taking the programs in $programs"
elif [ -n "$root" ]; then
  build_in_root
else
  build_here
fi
stage_programs
check_glibc "$stage"
release=$("$stage/bin/compass-master" --version) && release=${release#* }
[ "$("$stage/bin/compass-worker" --version)" = "compass-worker $release" ] || die "the programs in $programs are of two versions"
case $release in "$version" | "$version ("*) ;; *) die "the programs in $programs are of version $release, not $version" ;; esac
say "version $release"
stage_completions
stage_files
stage_licences
archive "$work" "$name.tar.gz"
package_cuda
