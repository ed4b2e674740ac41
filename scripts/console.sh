# Finds, or makes, the built console of the sources as they are. Sourced after prepare.sh; sets CONSOLE to its folder,
# or to nothing where there is none.
#
# As with bundles (build.sh) a build lies under the checksum of all that goes into it. The tools that make it are
# packages of their own (console/package-lock.json), some 90 MB, which are installed when a build is needed. They stay
# where development needs them too; a checkout that only starts a gateway is rid of them after the build. Where they
# cannot be had the gateway runs without its console, and says so.

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

# Both kinds: the types that the checks need are small.
install_console_packages() {
  console_packages_are_current && return 0
  command -v npm >/dev/null 2>&1 || return 1
  say "installing what builds the console (npm ci in console/)"
  (cd "$ROOT/console" && npm ci --include=dev --no-audit --no-fund --no-update-notifier --loglevel=error) >&2 || return 1
  cp "$ROOT/console/package-lock.json" "$ROOT/console/node_modules/.headgate-lock.json"
}

# What was installed by hand stays, too.
keeps_console_packages() {
  [ "${PACKAGES:-runtime}" = all ] || [ -d "$MODULES/vitest" ] || [ "$console_packages_were" = by_hand ]
}

# One at a time, as installs are: of several starts one builds and the others wait for it.
make_console() {
  [ -w "$ROOT" ] || return 1
  lock_packages
  failed=0
  console_packages_were=ours
  if [ -d "$ROOT/console/node_modules" ] && [ ! -f "$ROOT/console/node_modules/.headgate-lock.json" ]; then
    console_packages_were=by_hand
  fi
  if [ "${PACKAGES:-runtime}" = all ] && ! install_console_packages; then failed=1
  elif [ ! -f "$CONSOLE/index.html" ]; then
    install_console_packages && build_console || failed=1
  fi
  keeps_console_packages || rm -rf "$ROOT/console/node_modules"
  unlock_packages
  return "$failed"
}

# Into a folder of its own first, as a bundle.
build_console() {
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

console_is_complete() {
  [ -f "$CONSOLE/index.html" ] && { [ "${PACKAGES:-runtime}" != all ] || console_packages_are_current; }
}

CONSOLE=""
if [ -f "$ROOT/console/vite.config.ts" ]; then
  CONSOLE_CHECKSUM=$(console_checksum)
  CONSOLE="$CONSOLE_BUILDS/$CONSOLE_CHECKSUM"
  if ! console_is_complete && ! make_console; then
    say "the console cannot be built here; the gateway runs without it"
    CONSOLE=""
  fi
fi
