#!/usr/bin/env bash
# From nothing to a result: sets up what is missing, builds, and evaluates the demo model on three data sets.
# Arguments go to compass-master, e.g. `deploy/demo.sh --max-num-workers 1` or `deploy/demo.sh -r`.
set -euo pipefail
cd "$(dirname "$0")/.."
./deploy/setup.sh
built=${CARGO_TARGET_DIR:-target}/demo
# A build says nothing for minutes.
[ -x "$built/compass-master" ] || echo "building compass-master and compass-worker (minutes, the first time only)" >&2
# Without the readers of Parquet and Arrow, and hardly optimised: half of the processor time of a build for development.
cargo build --quiet --profile demo --no-default-features --features compass-worker/engine -p compass-master -p compass-worker
exec "$built/compass-master" --config deploy/demo/eval.toml "$@"
