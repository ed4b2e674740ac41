#!/bin/sh
# Makes what users install, from this checkout: `npm run package`, or `npm run package -- npm` for one kind of it.
# Kinds: npm; npm-node, the Node.js that npm installs with it; deb; image; chart, of Helm.
# The files are written to packages/, or to the folder that PACKAGES_FOLDER names; their paths are printed.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
PACKAGES=all
. "$ROOT/scripts/prepare.sh"
. "$ROOT/scripts/build.sh"
. "$ROOT/scripts/console.sh"
case "$PROGRAM" in
  *.ts)
    say "cannot package: the sources do not build"
    exit 1
    ;;
esac
if [ -z "$CONSOLE" ]; then
  say "cannot package: the console is missing"
  exit 1
fi
FOLDER=${PACKAGES_FOLDER:-$ROOT/packages}
mkdir -p "$FOLDER"
make_package() {
  "$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/$1" "$BUNDLE" "$CONSOLE" "$FOLDER"
}
# With a Node.js of their own; sets FILES and VERSION.
make_files() {
  FILES=$(mktemp -d)
  trap 'rm -rf "$FILES"' EXIT
  VERSION=$("$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/installed-files.ts" "$BUNDLE" "$CONSOLE" "$FILES")
}
[ $# -gt 0 ] || set -- npm npm-node deb image chart
for kind in "$@"; do
  case "$kind" in
    npm) make_package npm-package.ts ;;
    npm-node) "$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/npm-node-package.ts" "$FOLDER" ;;
    deb)
      make_files
      "$ROOT/deploy/deb/build.sh" "$FILES" "$VERSION" "$FOLDER" "$NODE"
      rm -rf "$FILES"
      ;;
    image)
      make_files
      "$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/oci-image.ts" "$FILES" "$VERSION" "$FOLDER"
      rm -rf "$FILES"
      ;;
    chart) "$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/chart-package.ts" "$FOLDER" ;;
    *)
      say "cannot package: $kind must be npm, npm-node, deb, image or chart"
      exit 1
      ;;
  esac
done
# Of all that is there, made now or before.
(cd "$FOLDER" && find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name '.*' -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
