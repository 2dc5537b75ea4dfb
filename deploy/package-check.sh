#!/usr/bin/env bash
# Unpacks an archive of deploy/package.sh where there is nothing else but glibc, and runs it there, without a network: the versions of
# both programs, a dry run and a run of an example.
#
#   deploy/package-check.sh ARCHIVE              with the glibc of this machine
#   deploy/package-check.sh ARCHIVE --root DIR   with that of DIR, such as a root of Debian 11
#   deploy/package-check.sh ARCHIVE --cuda FILE  unpacks FILE over it first, and sees that it lacks no library
set -euo pipefail

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; exit 2; }
die() { printf 'package-check: error: %s\n' "$*" >&2; exit 1; }

archive='' root='' cuda=''
while [ $# -gt 0 ]; do
  case $1 in
    --root | --cuda) [ $# -ge 2 ] || usage ;;
    *) [ -z "$archive" ] || usage ;;
  esac
  case $1 in
    --root) root=$(realpath -e "$2") && shift ;;
    --cuda) cuda=$(realpath -e "$2") && shift ;;
    *) archive=$(realpath -e "$1") ;;
  esac
  shift
done
[ -n "$archive" ] || usage
command -v bwrap >/dev/null || die "bwrap is missing: apt-get install bubblewrap"
(cd "$(dirname "$archive")" && sha256sum --check --quiet "$(basename "$archive").sha256")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
empty=$work/root
mkdir -p "$empty/proc" "$empty/dev" "$empty/tmp" "$empty/compass"
# The folder may have any name.
tar --extract --file "$archive" --directory "$empty/compass" --strip-components=1
[ -z "$cuda" ] || tar --extract --file "$cuda" --directory "$empty/compass" --strip-components=1

# glibc alone, where the programs look for it.
linker=$(readelf --program-headers --wide "$empty/compass/bin/compass-master" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
for folder in "/lib/$(uname -m)-linux-gnu" /lib64 /usr/lib64 /usr/lib; do
  [ ! -e "$root$folder/libc.so.6" ] || break
done
mkdir -p "$empty$folder" "$empty$(dirname "$linker")"
# In a root of another system the interpreter may be a link by its full path.
if [ -e "$root$folder/$(basename "$linker")" ]; then
  cp -L "$root$folder/$(basename "$linker")" "$empty$linker"
else
  cp -L "$root$linker" "$empty$linker"
fi
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libresolv.so.2; do
  cp -L "$root$folder/$library" "$empty$folder/"
done

# inside COMMAND...: runs it there. No variable of this shell is passed.
inside() {
  bwrap --unshare-all --die-with-parent --new-session --bind "$empty" / --proc /proc --dev /dev --tmpfs /tmp \
    --clearenv --setenv HOME /tmp --setenv PATH /compass/bin --chdir /compass "$@"
}

version=$(basename "$archive" | sed -E 's/^compass-([^-]+)-.*/\1/')
for program in compass-master compass-worker; do
  said=$(inside "bin/$program" --version)
  printf '%s\n' "$said"
  case $said in "$program $version" | "$program $version ("*) ;; *) die "the archive is of version $version" ;; esac
done
inside bin/compass-master --config examples/demo.toml --dry-run > "$work/tasks"
grep -q 'demo/sums_gen' "$work/tasks" || die "the dry run names no task: $(cat "$work/tasks")"
inside bin/compass-master --config examples/demo.toml --limit 8 > "$work/table"
cat "$work/table"
grep -qE '^sums_gen .* 100\.00$' "$work/table" || die "the run ended without its table"

if [ -n "$cuda" ]; then
  # The dynamic linker itself names what it cannot find; the driver's own library comes with the driver.
  for library in "$empty"/compass/lib/libtorch_cuda.so "$empty"/compass/lib/libcudnn*; do
    library=/compass/lib/$(basename "$library")
    inside "$linker" --list "$library" > "$work/libraries" || die "$library: $(cat "$work/libraries")"
    missing=$(sed -n 's/^[[:space:]]*\([^ ]*\) => not found$/\1/p' "$work/libraries" | grep -v '^libcuda\.so' || true)
    [ -z "$missing" ] || die "$library lacks $missing"
  done
fi
printf 'package-check: %s runs\n' "$(basename "$archive")"
