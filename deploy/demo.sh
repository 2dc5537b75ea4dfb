#!/usr/bin/env bash
# From nothing to a result: sets up what is missing, builds, and evaluates the demo model on three data sets.
# Arguments go to compass-master, e.g. `deploy/demo.sh --max-num-workers 1` or `deploy/demo.sh -r`.
set -euo pipefail
cd "$(dirname "$0")/.."
./deploy/setup.sh
# With the features that the tests build, so that neither builds again what the other has.
cargo build --quiet --workspace --features compass-tests/engine --bin compass-master --bin compass-worker
exec target/debug/compass-master --config deploy/demo/eval.toml "$@"
