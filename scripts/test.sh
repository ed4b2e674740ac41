#!/bin/sh
# All checks and tests: `npm test`. Arguments go to vitest (a file to run, `-t name`); see scripts/check.ts.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
PACKAGES=all
. "$ROOT/scripts/prepare.sh"
. "$ROOT/scripts/console.sh"
cd "$ROOT"
exec "$NODE" --disable-warning=ExperimentalWarning scripts/check.ts "$@"
