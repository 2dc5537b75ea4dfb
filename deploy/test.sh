#!/usr/bin/env bash
# The gate: what must hold before a change lands. Formatting, lints, unit and package tests, the simulation, and of the tests with
# real processes the few that each promise keeps; documents, the dependency policy, the archive of a release.
#
#   deploy/test.sh           the gate
#   deploy/test.sh --full    also the nightly tests and stages: real clusters, memory limits, random faults, corpora, benchmarks;
#                            COMPASS_FULL=1 tells the tests, of which some then play more
#   deploy/test.sh --stage set-up --stage words    these stages alone, in the order of this file
#   deploy/test.sh --list    the names of all stages, those of --full last; then the tests that only --full runs
#   COMPASS_REQUIRE=etcd,slurm   a test that skips for want of one of these fails instead; `all` for everything
#                            (ceph, cgroup, etcd, netns, openssl, root, sandbox, shared, slurm)
#
# Every stage is run, whatever became of those before it; the summary at the end says which failed and how long each took.
# Exit code 0: all of them passed.
#
# docs/src/design/testing.md says what belongs where, and how long it takes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

usage() { echo "usage: deploy/test.sh [--full] [--stage NAME]... | --list" >&2 && exit 2; }

FULL=
LIST=
# Names of the stages that are asked for; empty for all.
ONLY=()
while [ $# -gt 0 ]; do
  case $1 in
    --full) FULL=1 && export COMPASS_FULL=1 ;;
    --list) LIST=1 ;;
    --stage)
      [ $# -ge 2 ] || usage
      grep -qxF -- "$2" <<< "$(deploy/test.sh --list)" || { echo "there is no stage \`$2\`; --list names them" >&2 && exit 2; }
      ONLY+=("$2") && shift
      ;;
    *) usage ;;
  esac
  shift
done

# What is built once and used by every stage: all targets, so that features are the same for tests and programs.
WHOLE=(--workspace --features compass-tests/engine)
SUMMARY=()
FAILED=0
LEFT=()
# So many tests that pass only when run again fail the stage.
TOO_MANY_FLAKY=3
MOST_PROCESS_TESTS=60
# Lines of what was skipped, and of tests that are flaky, for the summary; stages run in a process of their own.
SKIPPED=$(mktemp)
FLAKY=$(mktemp)
trap 'rm -f "$SKIPPED" "$FLAKY"' EXIT

# asked_for NAME: whether it is one of the stages of --stage.
asked_for() {
  local name
  for name in "${ONLY[@]}"; do [ "$name" != "$1" ] || return 0; done
  return 1
}

# stage NAME COMMAND...: runs it, unless others are asked for, and remembers what became of it.
stage() {
  local name=$1 begin=$SECONDS status before
  shift
  if [ -n "$LIST" ]; then echo "$name" && return; fi
  [ ${#ONLY[@]} -eq 0 ] || asked_for "$name" || return 0
  printf '\n== %s\n' "$name"
  before=$(wc -l < "$SKIPPED")
  # Not in a condition, where `set -e` would not hold.
  (set -e && "$@")
  status=$?
  local took=$((SECONDS - begin)) what=passed
  [ "$(wc -l < "$SKIPPED")" -eq "$before" ] || what="passed, but for what was skipped (below)"
  [ "$status" -eq 0 ] || { what="FAILED (exit code $status)" && FAILED=$((FAILED + 1)); }
  printf '== %s: %d s, %s\n' "$name" "$took" "$what"
  SUMMARY+=("$(printf '%-24s %6d s  %s' "$name" "$took" "$what")")
}

# noticing COMMAND...: runs it, and what it says to have skipped stands in the summary.
noticing() {
  local said status=0
  said=$(mktemp)
  "$@" 2>&1 | tee "$said" || status=$?
  { grep '^skipped: ' "$said" || true; } | sort -u >> "$SKIPPED"
  rm -f "$said"
  return "$status"
}

# full NAME MINUTES COMMAND...: a stage of --full, which is ended after so long; else it is named as left.
full() {
  local name=$1 minutes=$2
  shift 2
  if [ -n "$FULL$LIST" ] || asked_for "$name"; then
    stage "$name" noticing timeout --kill-after=30 "${minutes}m" "$@"
  elif [ ${#ONLY[@]} -eq 0 ]; then
    LEFT+=("$name")
  fi
}

summary() {
  printf '\n== summary\n'
  printf '%s\n' "${SUMMARY[@]}"
  printf '%-24s %6d s\n' "all" "$SECONDS"
  if [ -s "$SKIPPED" ]; then
    printf '\nskipped:\n'
    sed -E 's/^(skipped: )?/  /' "$SKIPPED"
  fi
  if [ -s "$FLAKY" ]; then
    echo
    cat "$FLAKY"
  fi
  if [ ${#LEFT[@]} -gt 0 ]; then
    printf '\nleft for --full:\n'
    printf '  %s\n' "${LEFT[@]}"
  fi
  [ "$FAILED" -eq 0 ] || printf '\n%d of %d stages failed\n' "$FAILED" "${#SUMMARY[@]}"
}

trap 'summary; exit 130' INT TERM

# skipped WHAT: says so now and in the summary.
skipped() {
  printf 'skipped: %s\n' "$1" | tee -a "$SKIPPED"
}

# Programs that tests and stages want; without them these are skipped and say so.
programs() {
  local missing=()
  command -v bwrap >/dev/null || missing+=(bubblewrap)
  command -v etcd >/dev/null || missing+=(etcd-server)
  command -v openssl >/dev/null || missing+=(openssl)
  command -v patchelf >/dev/null || missing+=(patchelf)
  command -v shellcheck >/dev/null || missing+=(shellcheck)
  if [ -n "$FULL" ]; then
    # Two clusters behind NAT, as network namespaces.
    command -v ip >/dev/null || missing+=(iproute2)
    command -v nft >/dev/null || missing+=(nftables)
    # A Slurm of this machine alone.
    command -v slurmctld >/dev/null || missing+=(slurmctld)
    command -v slurmd >/dev/null || missing+=(slurmd)
    command -v squeue >/dev/null || missing+=(slurm-client)
    command -v munged >/dev/null || missing+=(munge)
  fi
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && return
  fi
  skipped "what needs ${missing[*]} (apt-get install ${missing[*]})"
}

formatting() {
  cargo fmt --version >/dev/null 2>&1 || { skipped "rustfmt is not installed (rustup component add rustfmt)"; return; }
  cargo fmt --all --check
}

# Clippy compiles what is tested (it is the compiler with lints), so that no package is checked a second time only for them.
if CLIPPY=$(rustup which clippy-driver 2>/dev/null || command -v clippy-driver) && "$CLIPPY" --version >/dev/null 2>&1; then
  export RUSTC_WORKSPACE_WRAPPER=$CLIPPY CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
fi

build() {
  [ -n "${RUSTC_WORKSPACE_WRAPPER-}" ] || skipped "lints: clippy is not installed (rustup component add clippy)"
  cargo build "${WHOLE[@]}" --all-targets
}

# Whether a doc comment has a block of code of no named language, which is Rust.
doc_examples() {
  local file all named
  while read -r file; do
    all=$(grep -cE '^ *//[/!] *```' "$file")
    named=$(grep -cE '^ *//[/!] *```(toml|text|json|console)' "$file" || true)
    [ "$all" -eq $((2 * named)) ] || return 0
  done < <(git grep -lE '^ *//[/!] *```' -- '*.rs' || true)
  return 1
}

# flaky_tests JUNIT: the tests of a run that failed and passed when run again.
flaky_tests() {
  awk '/<testcase / { match($0, /name="[^"]*"/); name = substr($0, RSTART + 6, RLENGTH - 7) }
       /<flaky(Failure|Error)/ && name != "" { print name; name = "" }' "$1"
}

# Real processes in the gate: each promise keeps its test, and what a scenario of the simulation can show stands there.
process_tests_are_few() {
  local count
  count=$(cargo nextest list "${WHOLE[@]}" -E 'package(compass-tests) & kind(test) - test(/^stores::memory/)' --message-format oneline 2>/dev/null | wc -l)
  echo "tests with real processes: $count of at most $MOST_PROCESS_TESTS"
  [ "$count" -gt 0 ] && [ "$count" -le "$MOST_PROCESS_TESTS" ]
}

tests() {
  # A screen that differs from its snapshot fails; nothing is written.
  export INSTA_UPDATE=no
  if ! cargo nextest --version >/dev/null 2>&1; then
    cargo test "${WHOLE[@]}" --no-fail-fast
    return
  fi
  local status=0 junit=${CARGO_TARGET_DIR:-target}/nextest/default/junit.xml flaky=()
  # rustdoc reads every package for it, which takes a minute: only where there is an example in Rust.
  if doc_examples; then cargo test --quiet "${WHOLE[@]}" --doc || status=$?; fi
  rm -f "$junit"
  cargo nextest run "${WHOLE[@]}" --no-fail-fast ${FULL:+--run-ignored all} || status=$?
  if [ -f "$junit" ]; then
    { grep -oE 'skipped: [^<&]*' "$junit" || true; } | sort | uniq -c |
      sed -E 's/^ *([0-9]+) skipped: /in tests, \1 times: /' >> "$SKIPPED"
    mapfile -t flaky < <(flaky_tests "$junit")
    for name in "${flaky[@]}"; do echo "flaky, passed when run again: $name" >> "$FLAKY"; done
    if [ ${#flaky[@]} -ge "$TOO_MANY_FLAKY" ]; then
      echo "${#flaky[@]} tests passed only when run again: that is no accident"
      status=1
    fi
    # sed reads all of it: head would end sort with SIGPIPE, and with pipefail the stage with 141.
    echo "longest:"
    { grep -oE '<testcase name="[^"]*" classname="[^"]*"[^>]* time="[^"]*"' "$junit" || true; } |
      sed -E 's/.*name="([^"]*)" classname="([^"]*)".* time="([^"]*)"/\3 s  \2 \1/' | sort -rn | sed -n 1,8p
  fi
  return "$status"
}

policy() {
  if cargo deny --version >/dev/null 2>&1; then
    cargo deny check bans licenses sources
  else
    skipped "cargo-deny is not installed (cargo install --locked cargo-deny)"
  fi
}

scripts() {
  command -v shellcheck >/dev/null || { skipped "shellcheck is not installed (apt-get install shellcheck)"; return; }
  git ls-files '*.sh' '*.sbatch' .ci/run | xargs shellcheck
}

# The archive of a release, of the programs that the tests have run, unpacked and started where nothing else is.
package() {
  local built=${CARGO_TARGET_DIR:-target}
  local out=$built/package-check
  if ! command -v patchelf >/dev/null || ! command -v bwrap >/dev/null; then
    skipped "patchelf or bwrap is missing (apt-get install patchelf bubblewrap)"
    return
  fi
  rm -rf "$out"
  # With the libraries of this machine's compiler: whatever glibc they ask for.
  ./deploy/package.sh --programs "$built/debug" --glibc 99 --fast --out "$out"
  ./deploy/package-check.sh "$out"/compass-*-linux.tar.gz
  rm -rf "$out"
}

# The tests that only --full runs, from their sources.
nightly_tests() {
  git grep -l '#\[ignore = "nightly' -- '*.rs' | while read -r file; do
    awk -v file="$file" '/#\[ignore = "nightly/ { waits = 1 } waits && /fn [a-z0-9_]+\(/ {
      match($0, /fn [a-z0-9_]+/); print "test: " file " " substr($0, RSTART + 3, RLENGTH - 3); waits = 0 }' "$file"
  done
}

stage "set-up" ./deploy/setup.sh
stage "programs" programs
# Tests and the programs that they start in one go, linted: with the same features, nothing is built twice.
stage "build" build
stage "formatting" formatting
stage "words" deploy/words.sh
stage "files" deploy/files.sh
stage "scripts" scripts
stage "tests" tests
stage "process tests" process_tests_are_few
stage "policy" policy
stage "package" package

# Release programs lie in their own folder: benchmarks and the simulation measure what is shipped, which the plain compiler makes.
unset RUSTC_WORKSPACE_WRAPPER CLIPPY_ARGS
full "demo" 30 ./deploy/demo.sh
full "release build" 60 cargo build --release "${WHOLE[@]}"
full "sim --seeds 20000" 40 target/release/sim --seeds 20000
full "chaos --runs 20" 25 target/debug/chaos --runs 20
full "failover --runs 20" 25 target/debug/failover --runs 20
full "crossed --near 2" 120 target/debug/crossed --near 2
full "bench-dispatch" 10 target/release/bench-dispatch
full "bench-makespan" 20 target/release/bench-makespan --jobs 200 --first-seed 5000
full "bench-far" 5 target/release/bench-far
full "bench-endpoint" 10 target/release/bench-endpoint
full "bench-estimate" 15 target/release/bench-estimate
full "bench-answers" 5 target/release/bench-answers
full "scale --small" 10 target/release/scale --small
full "watched --full" 30 target/debug/watched --full
full "browser" 20 tests/browser/run.sh
full "bench-watch" 10 target/release/bench-watch
full "soak --minutes 3" 10 target/release/soak --minutes 3
full "bench-load" 10 target/release/bench-load
full "bench-score --small" 10 target/release/bench-score --small
full "bench-generate --small" 10 target/release/bench-generate --small
full "ptx (nvcc of PyPI)" 10 ./deploy/ptx.sh --check
full "parity-hf (a peer's Python)" 20 target/release/parity-hf

[ -z "$LIST" ] || { nightly_tests; exit 0; }
if [ -z "$FULL" ] && [ ${#ONLY[@]} -eq 0 ]; then
  LEFT+=("$(nightly_tests | wc -l) tests, more seeds of chaos and more damaged files (--list names them)")
fi
summary
[ "$FAILED" -eq 0 ]
