#!/bin/bash
# SPDX-License-Identifier: MIT
# The harness itself: a step that fails must make its test fail.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

wrong_in_the_middle() {
	cat >inner.sh <<-'END'
	. "$1/tests/lib.sh"
	middle() {
		false
		true
	}
	it "fails in the middle" middle
	finish
	END
	run env WEFT="$weft" bash inner.sh "$root"
	expect 1
	has out '^not ok 1 - fails in the middle'
	has out '^1\.\.1$'
}

wrong_expectation() {
	cat >inner.sh <<-'END'
	. "$1/tests/lib.sh"
	odd() {
		run false
		expect 0
	}
	it "expects the wrong status" odd
	finish
	END
	run env WEFT="$weft" bash inner.sh "$root"
	expect 1
	has out '^not ok 1 - expects the wrong status'
	has out 'exit status 1, not 0'
}

good() {
	cat >inner.sh <<-'END'
	. "$1/tests/lib.sh"
	it "holds" true
	finish
	END
	run env WEFT="$weft" bash inner.sh "$root"
	expect 0
	has out '^ok 1 - holds'
}

fixture() {
	recording a.weft
	is_json <(echo '{"a": 1}')
	[ "$(sqlite3 a.weft 'SELECT count(*) FROM samples')" = 28 ]
}

it "a step that fails in the middle fails its test" wrong_in_the_middle
it "a wrong expectation fails its test" wrong_expectation
it "a test that holds passes" good
it "the fixture can be built" fixture
finish
