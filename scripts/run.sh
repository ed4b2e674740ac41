#!/bin/sh
# Runs a script of this checkout with its own Node.js: `run.sh scripts/docs.ts`, `run.sh test/fuzz/run.ts`.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
PACKAGES=all
. "$ROOT/scripts/prepare.sh"
cd "$ROOT"
exec "$NODE" --disable-warning=ExperimentalWarning "$@"
