# Finds, or makes, the built console of the sources as they are. Sourced after prepare.sh; sets CONSOLE to its folder,
# or to nothing where there is none.
#
# As with bundles (build.sh) a build lies under the checksum of all that goes into it. The tools that make it are
# packages of their own (console/package-lock.json), which are installed when a build is needed. Where that is not
# possible the gateway runs without its console, and says so.

CONSOLE_BUILDS="$ROOT/console/dist"
# Builds that are kept, the current one included: a gateway that runs has read its own into memory.
CONSOLES_KEPT=2

console_checksum() {
  (
    cd "$ROOT/console" || exit 1
    files=$(find src public -type f ! -name '*.test.ts' ! -name '*.test.tsx' | LC_ALL=C sort)
    # shellcheck disable=SC2086 -- file names of the project have no spaces
    { printf '%s\n' "$files" && cat $files index.html vite.config.ts package-lock.json; } | cksum | tr ' ' '-'
  )
}

console_packages_are_current() {
  cmp -s "$ROOT/console/package-lock.json" "$ROOT/console/node_modules/.headgate-lock.json"
}

install_console_packages() {
  console_packages_are_current && return 0
  command -v npm >/dev/null 2>&1 || return 1
  lock_packages
  if ! console_packages_are_current; then
    say "installing what builds the console (npm ci in console/)"
    # Both kinds: the types that the checks need are small.
    if ! (cd "$ROOT/console" && npm ci --include=dev --no-audit --no-fund --loglevel=error) >&2; then
      unlock_packages
      return 1
    fi
    cp "$ROOT/console/package-lock.json" "$ROOT/console/node_modules/.headgate-lock.json"
  fi
  unlock_packages
}

# Into a folder of its own first, as a bundle.
make_console() {
  install_console_packages || return 1
  say "building the console (once after each change)"
  draft="$CONSOLE_BUILDS/.draft-$$"
  mkdir -p "$draft" 2>/dev/null || return 1
  if (cd "$ROOT/console" && "$NODE" node_modules/vite/bin/vite.js build --outDir "$draft" --emptyOutDir --logLevel error) >&2 &&
    [ "$(console_checksum)" = "$CONSOLE_CHECKSUM" ]; then
    [ -e "$CONSOLE" ] || mv "$draft" "$CONSOLE" 2>/dev/null || true
  fi
  rm -rf "$draft"
  find "$CONSOLE_BUILDS" -maxdepth 1 -name '.draft-*' -mmin +10 -exec rm -rf {} +
  [ -f "$CONSOLE/index.html" ] || return 1
  # shellcheck disable=SC2012 -- the names are checksums
  (cd "$CONSOLE_BUILDS" && ls -t | tail -n "+$((CONSOLES_KEPT + 1))" | while read -r old; do rm -rf "./$old"; done)
}

CONSOLE=""
if [ -f "$ROOT/console/vite.config.ts" ]; then
  CONSOLE_CHECKSUM=$(console_checksum)
  CONSOLE="$CONSOLE_BUILDS/$CONSOLE_CHECKSUM"
  if [ ! -f "$CONSOLE/index.html" ] && ! make_console; then
    say "the console cannot be built here; the gateway runs without it"
    CONSOLE=""
  fi
fi
