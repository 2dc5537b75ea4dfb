#!/usr/bin/env bash
# The pages of a run in a real Chromium; the program that drives it is built beside the workspace.
#
#   tests/browser/run.sh [--minutes N]
set -euo pipefail
cd "$(dirname "$0")/../.."
built=${CARGO_TARGET_DIR:-target}
cargo build --manifest-path tests/browser/Cargo.toml --locked --target-dir "$built/browser"
COMPASS_PROGRAMS=$built/debug "$built/browser/debug/compass-browser" "$@"
