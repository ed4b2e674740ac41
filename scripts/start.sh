#!/bin/sh
# Runs Headgate from this checkout: `npm start` and bin/headgate. Relative paths in settings are taken from where
# it was called. Ends in exec, so that signals reach the gateway itself.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$ROOT/scripts/prepare.sh"
exec "$NODE" --disable-warning=ExperimentalWarning "$ROOT/src/main.ts" "$@"
