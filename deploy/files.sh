#!/usr/bin/env bash
# Names every place where production code opens or reads a file in another way than `compass_common::regular_file` does: a named
# pipe, a device or a link to one in a folder that others wrote would stop it, or fill its memory.
#
# What the kernel tells (/proc, /sys, /dev) is read as it is, and so is what the sandbox makes for itself. Exit code 0: none was found; 1: at least one was.
set -euo pipefail
cd "$(dirname "$0")/.."

not=(':!common/src/regular_file.rs' ':!common/src/gpu_files.rs' ':!worker/sandbox' ':!worker/engine/src/memory'
  ':!*tests.rs' ':!*/tests/*' ':!*/examples/*' ':!*/golden.rs' ':!common/diagnostic/src/only_here.rs')
mapfile -t files < <(git ls-files -- 'common/**/src/*.rs' 'master/**/src/*.rs' 'worker/**/src/*.rs' 'common/src' 'master/src' 'worker/src' "${not[@]}")
found=$(awk '
  FNR == 1 { in_tests = 0 }
  /^(pub\(crate\) )?mod tests/ { in_tests = 1 }
  !in_tests && /(^|[^A-Za-z_])File::open\(|fs::read\(|fs::read_to_string\(/ && !/"\/(proc|sys|dev)/ && !/^ *\/\// {
    print "  " FILENAME ":" FNR ":" $0
  }' "${files[@]}")
[ -z "$found" ] || { printf 'open these with compass_common::regular_file:\n%s\n' "$found"; exit 1; }
