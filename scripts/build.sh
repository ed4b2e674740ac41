# Finds, or makes, the bundle of the sources as they are. Sourced after prepare.sh; sets PROGRAM to what is to be run.
#
# A bundle lies in dist/ under the checksum of all that goes into it, so one that is found is never stale, whatever
# the clocks and the file times say, and a gateway that runs from an older one keeps its files: the latest three are
# kept. When there is none it is made, which takes a second or two once per change; where that is not possible
# (a checkout that has only what a gateway needs, a read-only folder, sources that change meanwhile or do not build) the
# gateway runs from its sources, as `npm run dev` always does.

# Bundles that are kept, the current one included.
BUNDLES_KEPT=3

# Over names and contents of everything that is bundled; about 20 ms.
sources_checksum() {
  (
    cd "$ROOT" || exit 1
    files=$(find src -type f ! -name '*.test.ts' | LC_ALL=C sort)
    # shellcheck disable=SC2086 -- file names of the project have no spaces
    { printf '%s\n' "$files" && cat $files package.json package-lock.json scripts/build.ts; } | cksum | tr ' ' '-'
  )
}

# Into a folder of its own first: two starts at once do not meet, and one that is killed leaves nothing that counts.
make_bundle() {
  say "bundling the sources (once after each change)"
  draft="$ROOT/dist/.draft-$$"
  mkdir -p "$draft" 2>/dev/null || return 1
  if "$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/build.ts" "$draft" 2>/dev/null &&
    [ "$(sources_checksum)" = "$CHECKSUM" ]; then
    [ -e "$BUNDLE" ] || mv "$draft" "$BUNDLE" 2>/dev/null || true
  fi
  rm -rf "$draft"
  find "$ROOT/dist" -maxdepth 1 -name '.draft-*' -mmin +10 -exec rm -rf {} +
  [ -f "$BUNDLE/src/main.js" ] || return 1
  # shellcheck disable=SC2012 -- the names are checksums
  (cd "$ROOT/dist" && ls -t | tail -n "+$((BUNDLES_KEPT + 1))" | while read -r old; do rm -rf "./$old"; done)
}

PROGRAM="$ROOT/src/main.ts"
if [ -f "$ROOT/scripts/build.ts" ] && [ -d "$ROOT/node_modules/rolldown" ]; then
  CHECKSUM=$(sources_checksum)
  BUNDLE="$ROOT/dist/$CHECKSUM"
  if [ -f "$BUNDLE/src/main.js" ] || make_bundle; then PROGRAM="$BUNDLE/src/main.js"
  else say "the sources cannot be bundled here; the gateway runs from them, which takes more memory and time"
  fi
fi
