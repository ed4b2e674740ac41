#!/bin/sh
# Makes the OCI image of this checkout, without a daemon and without root: `npm run package -- image`. Prints the path
# of the archive; its digest and size go to standard error. Takes --arch, as that does.
set -eu
exec sh "$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)/scripts/package.sh" image "$@"
