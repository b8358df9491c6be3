#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tools/package/deb.sh BUILD_DIR: pack what is built there as a Debian package,
# BUILD_DIR/weft_VERSION_ARCH.deb. Needs dpkg-dev. What it depends on, the
# libraries that its programs load say; of whom it is, $DEBFULLNAME and $DEBEMAIL.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$build/deb
root=$work/root
version=$(sed -n 's/.*WEFT_VERSION "\(.*\)"/\1/p' store/weft.h)
arch=$(dpkg --print-architecture)
doc=$root/usr/share/doc/weft
who="${DEBFULLNAME:-weft} <${DEBEMAIL:-root@localhost}>"

rm -rf "$work"
mkdir -p "$work/debian" "$root/DEBIAN" "$doc"
make --no-print-directory B="$build" DESTDIR="$root" PREFIX=/usr \
	ZSH_DIR=share/zsh/vendor-completions install >&2
strip --strip-unneeded "$root"/usr/bin/* "$root"/usr/lib/weft/weft.so
find "$root/usr/share/man" -type f -exec gzip -9n {} +
cp README.md "$doc/README.md"
gzip -9n "$doc/README.md"
{
	printf 'weft is under the MIT license:\n\n'
	cat LICENSE
} >"$doc/copyright"
printf 'weft (%s) unstable; urgency=medium\n\n  * See the history of the sources.\n\n -- %s  %s\n' \
	"$version" "$who" "$(date -R -u -d @0)" | gzip -9n >"$doc/changelog.gz"

# dpkg-shlibdeps wants a source package around it.
printf 'Source: weft\n\nPackage: weft\nArchitecture: any\n' \
	>"$work/debian/control"
needs=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/* \
	root/usr/lib/weft/weft.so |
	sed -n 's/^shlibs:Depends=//p')
size=$(du -sk --exclude=DEBIAN "$root" | cut -f 1)
cat >"$root/DEBIAN/control" <<-END
	Package: weft
	Version: $version
	Architecture: $arch
	Maintainer: $who
	Installed-Size: $size
	Depends: $needs
	Recommends: sqlite3
	Section: devel
	Priority: optional
	Description: profiler that knows which request each sample belongs to
	 weft samples all CPUs at two rates in one kernel program: every sample is
	 counted by its stack, and a random part is kept one by one, with the
	 OpenTelemetry trace ID of the thread. Both go into one SQLite file.
END
chmod -R u=rwX,go=rX "$root"
dpkg-deb --root-owner-group --build "$root" \
	"$build/weft_${version}_$arch.deb" >&2
rm -rf "$work"
echo "$build/weft_${version}_$arch.deb"
