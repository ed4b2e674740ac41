#!/bin/sh
# Runs Headgate from this checkout: `npm start` and bin/headgate. Relative paths in settings are taken from where
# it was called. Ends in exec, so that signals reach the gateway itself.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$ROOT/scripts/prepare.sh"
. "$ROOT/scripts/build.sh"
# Commands and a gateway without a console need none.
case "${1:-start}:${GATEWAY_CONSOLE__ENABLED:-true}:${GATEWAY_CONSOLE__FOLDER:-}" in
  start:true: | -*:true:)
    . "$ROOT/scripts/console.sh"
    [ -z "$CONSOLE" ] || export GATEWAY_CONSOLE__FOLDER="$CONSOLE"
    ;;
esac
# Compiled modules are kept from start to start, for the workers as well.
NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$ROOT/node_modules/.cache/compiled}"
export NODE_COMPILE_CACHE
# How V8 collects garbage: docs/explanation/decisions/workers.md.
exec "$NODE" --disable-warning=ExperimentalWarning --single-threaded-gc --no-memory-reducer "$PROGRAM" "$@"
