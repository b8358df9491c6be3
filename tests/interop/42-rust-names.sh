#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A Rust program in both ways to mangle names: generics, closures and methods of
# traits are shown as people write them, whole, and the same in each build, for
# all that differs in its mangled names.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
command -v rustc >/dev/null || live_skip "needs rustc"

cat >"$dir/names.rs" <<'RS'
use std::hint::black_box;
use std::time::{Duration, Instant};

trait Work {
    fn of_trait(&self, n: u64) -> u64;
}
struct Left;

#[inline(always)]
fn burn(mut n: u64) -> u64 {
    for i in 0..400_000u64 {
        n = black_box(n.wrapping_mul(31) ^ i);
    }
    n
}
impl Work for Left {
    #[inline(never)]
    fn of_trait(&self, n: u64) -> u64 {
        burn(n)
    }
}
#[inline(never)]
fn generic<T: Copy + Into<u64>>(t: T) -> u64 {
    burn(t.into())
}
#[inline(never)]
fn call(f: &dyn Fn(u64) -> u64, n: u64) -> u64 {
    black_box(f)(n)
}
fn main() {
    let end = Instant::now() + Duration::from_millis(1200);
    let mut n = 1;
    while Instant::now() < end {
        n ^= call(&|m| burn(m + 1), n);
        n ^= Left.of_trait(n) ^ generic(n as u32) ^ generic(n as u8);
    }
    black_box(n);
}
RS
# What the standard library brings along has no such names of ours.
functions() {
	sql "$1" "SELECT DISTINCT n.name FROM frame f
		JOIN binary b ON b.id = f.binary_id
		JOIN frame_function ff ON ff.frame_id = f.id
		JOIN function n ON n.id = ff.function_id
		WHERE b.path GLOB '$dir/*' AND (n.name GLOB '*names::*'
			OR n.name GLOB '*of_trait*' OR n.name GLOB '*generic*')
		ORDER BY 1"
}
# want MANGLING: of functions that are hot
want() {
	case $1 in
	legacy) printf '%s\n' '<names::Left as names::Work>::of_trait' \
		names::generic 'names::main::{{closure}}' ;;
	v0) printf '%s\n' '<names::Left as names::Work>::of_trait' \
		'names::generic::<u32>' 'names::generic::<u8>' \
		'names::main::{closure#0}' ;;
	esac
}

for mangling in legacy v0; do
	for build in one two; do
		name=${mangling}_$build
		# Which is the default has changed, and may not be asked for.
		RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -g -O \
			-C symbol-mangling-version=$mangling \
			-C metadata=$build --crate-name names \
			-o "$dir/$name" "$dir/names.rs" 2>&1 | say
		"$weft" record -q -o "$dir/$name.db" -- "$dir/$name"
		functions "$dir/$name.db" >"$dir/$name.names"
		say <"$dir/$name.names"
	done
	want $mangling >"$dir/want"
	check "$mangling: what is hot has the name that it has in the source" \
		"$(is "$(grep -Fxc -f "$dir/want" \
			"$dir/${mangling}_one.names")" = "$(wc -l <"$dir/want")")"
	check "$mangling: another build has other symbols, and the same names" \
		"$(both "$(is "$(nm "$dir/${mangling}_one" | grep generic)" != \
			"$(nm "$dir/${mangling}_two" | grep generic)")" \
			"$(is "$(grep -Fx -f "$dir/want" "$dir/${mangling}_one.names")" = \
			"$(grep -Fx -f "$dir/want" "$dir/${mangling}_two.names")")")"
	check "$mangling: no name is shown in part" \
		"$(is "$(sql "$dir/${mangling}_one.db" "SELECT count(*) FROM function
			WHERE name GLOB '*17h[0-9a-f][0-9a-f][0-9a-f]*'
			OR name GLOB '_R[NIMXY]*' OR name GLOB '_ZN*'")" = 0)"
done
live_done
