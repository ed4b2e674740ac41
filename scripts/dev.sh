#!/bin/sh
# Runs Headgate and starts it anew whenever a source file changes: `npm run dev`.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$ROOT/scripts/prepare.sh"
exec "$NODE" --disable-warning=ExperimentalWarning --watch-path="$ROOT/src" "$ROOT/src/main.ts" "$@"
