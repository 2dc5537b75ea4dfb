#!/usr/bin/env bash
# Everything that must hold before a change lands: formatting, lints, all tests, the dependency policy.
#
# Stages on 2 cores with nothing else to do, some 27 minutes from nothing:
#   set-up (packages, libtorch from PyPI)    20 s with the network of a data centre
#   programs of the tests                    3 s
#   build (dependencies, torch-sys, ours)    7 min 52 s
#   formatting                               1 s
#   lints                                    1 min 45 s
#   tests                                    11 min of runs after their own build of 3 min: the peers' reference data, real
#                                            processes that are killed, one etcd and three
#   slurm                                    5 min: a Slurm of this machine alone, with every loss that it knows
#   dependency policy                        seconds, where cargo-deny is installed
set -euo pipefail
cd "$(dirname "$0")/.."

stage() {
  local name=$1 begin=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@"
  printf '== %s: %d s\n' "$name" "$((SECONDS - begin))"
}

# Programs that tests want; without them these are skipped and say so.
programs() {
  local missing=()
  command -v bwrap >/dev/null || missing+=(bubblewrap)
  command -v etcd >/dev/null || missing+=(etcd-server)
  command -v openssl >/dev/null || missing+=(openssl)
  # Two clusters behind NAT, as network namespaces.
  command -v ip >/dev/null || missing+=(iproute2)
  command -v nft >/dev/null || missing+=(nftables)
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && return
  fi
  echo "skipped: what needs ${missing[*]} (apt-get install ${missing[*]})"
}

formatting() {
  cargo fmt --version >/dev/null 2>&1 || { echo "skipped: rustfmt is not installed (rustup component add rustfmt)"; return; }
  cargo fmt --all --check
}

lints() {
  cargo clippy --version >/dev/null 2>&1 || { echo "skipped: clippy is not installed (rustup component add clippy)"; return; }
  cargo clippy --workspace --all-targets --features compass-tests/engine -- -D warnings
}

tests() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo test --quiet --workspace --doc
    cargo nextest run --workspace --features compass-tests/engine --no-fail-fast -E 'not binary(/^slurm/)'
  else
    cargo test --workspace --features compass-tests/engine --no-fail-fast
  fi
}

# Without root or Slurm these tests are skipped and say so.
slurm() {
  local missing=()
  command -v slurmctld >/dev/null || missing+=(slurmctld)
  command -v slurmd >/dev/null || missing+=(slurmd)
  command -v squeue >/dev/null || missing+=(slurm-client)
  command -v munged >/dev/null || missing+=(munge)
  if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
      echo "skipped: cannot install ${missing[*]}"
  fi
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --features compass-tests/engine --no-fail-fast --success-output final -E 'binary(/^slurm/)'
  fi
}

policy() {
  if cargo deny --version >/dev/null 2>&1; then
    cargo deny check bans licenses sources
  else
    echo "skipped: cargo-deny is not installed (cargo install --locked cargo-deny)"
  fi
}

stage "set-up" ./deploy/setup.sh
stage "programs of the tests" programs
stage "build" cargo build --workspace --features compass-tests/engine
stage "formatting" formatting
stage "lints" lints
stage "tests" tests
stage "slurm" slurm
stage "dependency policy" policy
