#!/bin/bash
# SPDX-License-Identifier: MIT
# make install puts all that weft is into a DESTDIR, uninstall takes it away,
# and make deb makes a package of it.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

build=$(cd "$(dirname "$weft")" && pwd)

# make_as TARGET [VARIABLE=VALUE...]: with what is built here
make_as() {
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" B="$build" "$@"
}

files() {
	(cd "$1" && find . -type f | LC_ALL=C sort)
}

installs() {
	make_as install DESTDIR="$PWD/d" PREFIX=/opt/weft >log 2>&1
	files d/opt/weft | sed 's,^\./,,' >have
	cat >want <<-END
		bin/weft
		bin/weft-doctor
		bin/weft-gc
		bin/weft-import
		bin/weft-list
		bin/weft-record
		bin/weft-symbolize
		include/otel-thread-ctx.h
		lib/libotel-thread-ctx.a
		lib/pkgconfig/otel-thread-ctx.pc
		lib/systemd/system/weft.service
		lib/weft/weft.so
		share/bash-completion/completions/weft
		share/fish/vendor_completions.d/weft.fish
		share/man/man1/weft-record.1
		share/man/man1/weft.1
		share/man/man5/weft-schema.5
		share/man/man7/weft-sql.7
		share/zsh/site-functions/_weft
	END
	diff want have
	# what is there runs from there, and refers to there
	run d/opt/weft/bin/weft record --help
	expect 0
	has d/opt/weft/lib/systemd/system/weft.service \
		'^ExecStart=/opt/weft/bin/weft record '
	# an hour in a file, whatever options are added; the later one counts
	has d/opt/weft/lib/systemd/system/weft.service \
		'^ExecStart=.* -d 3600 .*[$]WEFT_OPTIONS$'
	has d/opt/weft/lib/pkgconfig/otel-thread-ctx.pc '^prefix=/opt/weft$'
	# nothing outside, and all of it goes
	[ "$(files d | grep -vc '^\./opt/weft/')" = 0 ]
	touch d/opt/weft/bin/other
	make_as uninstall DESTDIR="$PWD/d" PREFIX=/opt/weft
	[ "$(files d)" = ./opt/weft/bin/other ]
	# directories that are nobody else's, too
	[ ! -e d/opt/weft/lib/weft ]
}

unit() {
	if ! command -v systemd-analyze >/dev/null; then
		echo "# no systemd-analyze here: the unit is not verified" >&2
		return
	fi
	make_as install DESTDIR="$PWD/d" PREFIX="$PWD/d" >log 2>&1
	mkdir units
	cp "d$PWD/d/lib/systemd/system/weft.service" units/
	sed -i "s,ExecStart=$PWD/d,ExecStart=$PWD/d$PWD/d," units/weft.service
	run systemd-analyze verify --man=no units/weft.service
	expect 0
	cat err
	lacks err 'weft\.service'
}

package() {
	local deb
	make_as deb >path 2>log || { cat log; return 1; }
	deb=$(tail -n 1 path)
	dpkg-deb -I "$deb" >control
	has control '^ Depends: .*libbpf.*libsqlite3'
	dpkg-deb -c "$deb" >list
	has list '^-rwxr-xr-x root/root .* \./usr/bin/weft$'
	has list '^-rw-r--r-- root/root .* \./usr/share/man/man7/weft-sql.7.gz$'
	has list ' \./usr/share/zsh/vendor-completions/_weft$'
	has list ' \./usr/lib/systemd/system/weft.service$'
	dpkg-deb -x "$deb" x
	run x/usr/bin/weft --version
	expect 0
}

it "install fills a DESTDIR, uninstall empties it of ours" installs
it "systemd accepts the unit" unit
it "make deb makes a package that knows what it needs" package
finish
