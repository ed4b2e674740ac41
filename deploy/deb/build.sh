#!/bin/sh
# Makes the Debian package from the files of an installed Headgate; scripts/package.sh calls it.
#
#   build.sh <files> <version> <folder> <architecture> <node>
#
# writes <folder>/headgate_<version>_<architecture>.deb and prints its path. <node> runs on this machine.
#
# The files lie in /usr/lib/headgate with a Node.js of their own, the settings in /etc/headgate, what the gateway writes
# in /var/lib/headgate, rules and dashboards in /usr/share/headgate, the docs in /usr/share/doc/headgate. The same files
# give the same bytes: all times are SOURCE_DATE_EPOCH (default 0).
set -eu
HERE=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
FILES=$1
VERSION=$2
FOLDER=$3
ARCHITECTURE=$4
NODE=$5
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
export SOURCE_DATE_EPOCH
umask 022
TREE=$(mktemp -d)
trap 'rm -rf "$TREE"' EXIT
chmod 755 "$TREE"

mkdir -p "$TREE/usr/bin" "$TREE/usr/lib/systemd/system" "$TREE/usr/lib/tmpfiles.d" "$TREE/usr/share/doc/headgate" \
  "$TREE/usr/share/headgate/observability" "$TREE/etc/headgate" "$TREE/DEBIAN"
cp -r "$FILES" "$TREE/usr/lib/headgate"
ln -s ../lib/headgate/bin/headgate "$TREE/usr/bin/headgate"
cp "$HERE/../systemd/headgate.service" "$HERE/../systemd/headgate@.service" "$TREE/usr/lib/systemd/system/"
cp "$HERE/../systemd/headgate.tmpfiles" "$TREE/usr/lib/tmpfiles.d/headgate.conf"
rm "$TREE/usr/lib/headgate/README.md"
cat "$TREE/usr/lib/headgate/LICENSE" "$TREE/usr/lib/headgate/NOTICE" "$TREE/usr/lib/headgate/node/LICENSE" \
  >"$TREE/usr/share/doc/headgate/copyright"
for part in prometheus.yaml dashboards grafana; do
  cp -r "$HERE/../observability/$part" "$TREE/usr/share/headgate/observability/"
done
# Without the trials of the rules.
mkdir "$TREE/usr/share/headgate/observability/rules"
cp "$HERE"/../observability/rules/*.yaml "$TREE/usr/share/headgate/observability/rules/"
"$NODE" --disable-warning=ExperimentalWarning "$HERE/../../scripts/package/shipped-pages.ts" "$TREE"
cp "$HERE/headgate.env" "$TREE/usr/share/headgate/headgate.env"

cat >"$TREE/DEBIAN/control" <<CONTROL
Package: headgate
Version: $VERSION
Architecture: $ARCHITECTURE
Maintainer: the Headgate contributors <headgate@localhost>
Installed-Size: $(du -sk --apparent-size "$TREE/usr" | cut -f 1)
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 9), passwd
Suggests: postgresql, valkey | redis-server
Section: net
Priority: optional
Description: API gateway
 One command to start, configured live through a console and a management API,
 with exact rate limits, on one machine or many. It says why a request was
 refused. Node.js is included.
CONTROL
for script in postinst prerm postrm; do
  cp "$HERE/$script" "$TREE/DEBIAN/$script"
  chmod 755 "$TREE/DEBIAN/$script"
done
(cd "$TREE" && find usr -type f | LC_ALL=C sort | xargs -d '\n' md5sum >DEBIAN/md5sums)

# Whatever the checkout's umask was.
find "$TREE/usr" "$TREE/etc" -type d -exec chmod 755 {} +
find "$TREE/usr" -type f -perm /111 -exec chmod 755 {} +
find "$TREE/usr" -type f ! -perm /111 -exec chmod 644 {} +
find "$TREE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
PACKAGE="$FOLDER/headgate_${VERSION}_$ARCHITECTURE.deb"
dpkg-deb --root-owner-group "-Z${DPKG_DEB_COMPRESSOR_TYPE:-xz}" -z1 --build "$TREE" "$PACKAGE" >&2
echo "$PACKAGE"
