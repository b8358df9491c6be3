#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Install what weft needs to build and test on Debian 12, from Debian's own
# packages. Does nothing where all of it is there already.
#
#   tools/setup.sh            what `make`, `make demo` and `make check` need
#   tools/setup.sh bench      also what tools/bench measures against and with
#   tools/setup.sh bench-smoke  of that, what `make bench-smoke` needs
#   tools/setup.sh interop    also the heavy partners of `make check-interop`
#   tools/setup.sh lint       also the checkers of `make check-lint` and
#                             `make check-analysis`
#   tools/setup.sh valgrind   also what `make check-valgrind` needs
set -eu

core="gcc g++ make pkg-config clang llvm lld bpftool
	libbpf-dev libelf-dev libdw-dev libuv1-dev libsqlite3-dev sqlite3
	libcap-dev libseccomp-dev libiberty-dev libprotobuf-c-dev protobuf-c-compiler libjansson-dev
	zlib1g-dev liblzma-dev xz-utils libdebuginfod-dev elfutils
	libssl-dev libhttp-parser-dev libcmocka-dev libmicrohttpd-dev systemtap-sdt-dev
	perl python3 procps strace libfuse3-dev fuse3 util-linux dwz musl-tools
	mandoc dpkg-dev"
peers="bpftrace linux-perf g++ redis-server redis-tools nginx-light wrk"
programs="openssl gzip postgresql apache2-utils rustc golang-go nodejs
	openjdk-17-jdk-headless"

want=$core
case "${1-}" in
'') ;;
bench) want="$core $peers $programs" ;;
bench-smoke) want="$core $peers" ;;
interop) want="$core bpftrace nodejs nginx-light gcc-aarch64-linux-gnu
	libc6-dev-arm64-cross qemu-user gdb g++ openssl elfutils rustc
	golang-go libc6-dbg libbinutils-dbg libctf0-dbg libkrb5-dbg
	liblua5.4-0 liblua5.4-0-dbg libpcre3 libpcre3-dbg libgsl-dbg llvm-16
	openjdk-17-jdk-headless chromium protobuf-compiler
	libdevel-nytprof-perl libxml2-utils debootstrap zsh fish"
	# Debian's node has npm in a package of its own, others' brings it along.
	command -v npm >/dev/null || want="$want npm" ;;
lint) want="$core clang-format clang-tidy shellcheck cppcheck" ;;
valgrind) want="$core valgrind libc6-dbg" ;;
*)
	echo "setup.sh: unknown set '$1'; use none, bench, bench-smoke, interop, lint or valgrind" >&2
	exit 2
	;;
esac

missing=
for p in $want; do
	case "$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null || true)" in
	'install ok installed') ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup.sh: not root and no sudo; as root, run:" >&2
		echo "  apt-get install --no-install-recommends$missing" >&2
		exit 1
	fi
	sudo=sudo
fi
echo "setup.sh: installing$missing" >&2
# Servers come with services; those are not wanted.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap '$sudo rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >/dev/null
	$sudo chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq >&2
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	--no-install-recommends $missing >&2
