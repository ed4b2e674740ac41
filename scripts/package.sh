#!/bin/sh
# Makes what users install, from this checkout: `npm run package`, or `npm run package -- npm` for one kind of it.
# Kinds: npm; npm-node, the Node.js that npm installs with it; deb; image; chart, of Helm.
# --arch arm64 or --arch x64 makes npm-node, deb and image for that processor, default: for that of this machine.
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
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
# Sets NODE_PACKAGE.
find_node() {
  NODE_PACKAGE=$("$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/node/node-package.ts" "$ARCH" "$WORK")
}
# With a Node.js of their own; sets FILES and VERSION.
make_files() {
  find_node
  FILES=$(mktemp -d "$WORK/files.XXXXXX")
  VERSION=$("$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/installed-files.ts" "$BUNDLE" "$CONSOLE" "$NODE_PACKAGE" "$FILES")
}
ARCH=$("$NODE" --print process.arch)
kinds=""
while [ $# -gt 0 ]; do
  case "$1" in
    --arch)
      ARCH=${2:-}
      [ $# -eq 1 ] || shift
      ;;
    --arch=*) ARCH=${1#--arch=} ;;
    *) kinds="$kinds $1" ;;
  esac
  shift
done
case "$ARCH" in
  x64 | amd64) ARCH=x64 DEBIAN_ARCH=amd64 ;;
  arm64) DEBIAN_ARCH=arm64 ;;
  *)
    say "cannot package: --arch \"$ARCH\" must be x64 or arm64"
    exit 1
    ;;
esac
# Kinds have no spaces.
# shellcheck disable=SC2086
set -- ${kinds:-npm npm-node deb image chart}
for kind in "$@"; do
  case "$kind" in
    npm) make_package npm-package.ts ;;
    npm-node)
      find_node
      "$NODE" --disable-warning=ExperimentalWarning "$ROOT/scripts/package/node/npm-node-package.ts" "$NODE_PACKAGE" "$FOLDER"
      ;;
    deb)
      make_files
      "$ROOT/deploy/deb/build.sh" "$FILES" "$VERSION" "$FOLDER" "$DEBIAN_ARCH" "$NODE"
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
