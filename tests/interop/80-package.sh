#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The package that make deb builds, on a machine that has nothing but Debian's
# smallest system: apt installs it with what it needs, and there it records this
# machine and answers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${WEFT_BUILD:-$root/build}" && pwd)
command -v debootstrap >/dev/null || {
	echo "1..0 # SKIP needs debootstrap: tools/setup.sh interop"
	exit 0
}
[ "$(id -u)" -eq 0 ] || {
	echo "1..0 # SKIP needs root, for another root directory"
	exit 0
}
dir=$(mktemp -d)
system=$dir/system
end() {
	for at in dev sys proc; do
		if mountpoint -q "$system/$at"; then
			umount "$system/$at"
		fi
	done
	rm -rf --one-file-system "$dir"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

n=0
# check NAME COMMAND...: it succeeds; else what it printed is told
check() {
	name=$1
	shift
	n=$((n + 1))
	if "$@" >"$dir/out" 2>&1; then
		echo "ok $n - $name"
	else
		sed 's/^/# /' "$dir/out"
		echo "not ok $n - $name"
	fi
}
inside() {
	chroot "$system" env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

name=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
debootstrap --variant=minbase "$name" \
	"$system" >"$dir/log" 2>&1 || {
	tail -n 3 "$dir/log" | sed 's/^/# /'
	echo "1..0 # SKIP no system to install into: debootstrap failed, as above"
	exit 0
}
for at in proc sys dev; do
	mount --bind "/$at" "$system/$at"
done
make -s -C "$root" B="$build" deb >"$dir/path" 2>"$dir/log" || {
	cat "$dir/log" >&2
	exit 1
}
cp "$(tail -n 1 "$dir/path")" "$system/weft.deb"

check "there is no weft before" inside sh -c '! command -v weft'
check "apt installs it, with what it needs" inside sh -c 'apt-get update &&
	apt-get install -y --no-install-recommends /weft.deb'
check "no library is missing" inside sh -c '! ldd /usr/bin/weft* \
	/usr/lib/weft/* 2>/dev/null | grep "not found"'
check "weft doctor finds nothing that keeps it from recording" \
	inside weft doctor
check "it records" inside weft record -q -o /w.db -- \
	sh -c 'timeout 1 sh -c "while :; do :; done"; true'
check "and answers" inside sh -c 'weft top -i /w.db --by process | grep -w sh &&
	weft loss -i /w.db --fail-above 100'
check "its pages are there" inside sh -c 'dpkg -L weft | grep man7/weft-sql'
check "and it goes again, whole" inside sh -c 'apt-get remove -y weft &&
	! command -v weft && [ ! -e /usr/lib/weft ]'
echo "1..$n"
