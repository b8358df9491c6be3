/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/demangle.h"

static void expect(const char *name, const char *want)
{
	char out[DEMANGLE_OUTPUT_MAX];
	size_t length = demangle(name, out);

	if (!want) {
		assert_int_equal(length, 0);
		return;
	}
	assert_int_equal(length, strlen(out));
	assert_string_equal(out, want);
}

static void cxx_names_are_shown_with_their_arguments(void **state)
{
	(void)state;
	expect("_ZN3foo3barEi", "foo::bar(int)");
	expect("_ZN12_GLOBAL__N_13bazEv", "(anonymous namespace)::baz()");
	expect("_Z1fILi1EEvv", "void f<1>()");
}

static void names_that_are_not_mangled_stay(void **state)
{
	(void)state;
	expect("main", NULL);
	expect("_Zero", NULL);
	expect("", NULL);
	expect("foo.cold", NULL);
}

static void parts_of_a_function_say_which(void **state)
{
	(void)state;
	expect("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]");
	expect("_ZN3foo3barEi.part.0", "foo::bar(int) [clone .part.0]");
}

static void what_differs_from_build_to_build_is_left_out(void **state)
{
	(void)state;
	expect("_ZN3foo3barEi.llvm.8190", "foo::bar(int)");
	expect("plain.llvm.123", "plain");
	expect("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	expect("_ZN4core3fmt5write17h0123456789abcdefE.llvm.77",
	       "core::fmt::write");
}

static void rust_names_of_both_kinds_are_shown(void **state)
{
	(void)state;
	expect("_RNvC6_123foo3bar", "123foo::bar");
	expect("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	expect("_RNvCs1234_7mycrate3foo.cold", "mycrate::foo [clone .cold]");
	expect("_RNvNotRust", NULL);
}

static void generics_and_closures_of_rust_are_shown(void **state)
{
	(void)state;
	expect("_ZN4demo4main28_$u7b$$u7b$closure$u7d$$u7d$"
	       "17h0123456789abcdefE",
	       "demo::main::{{closure}}");
	expect("_ZN50_$LT$demo..Shape$u20$as$u20$core..fmt..Display$GT$"
	       "3fmt17h0123456789abcdefE",
	       "<demo::Shape as core::fmt::Display>::fmt");
	expect("_ZN50_$LT$demo..Shape$u20$as$u20$core..fmt..Display$GT$"
	       "3fmt17h0123456789abcdefE.llvm.77",
	       "<demo::Shape as core::fmt::Display>::fmt");
	expect("_ZN50_$LT$demo..Shape$u20$as$u20$core..fmt..Display$GT$"
	       "3fmt17h0123456789abcdefE.cold",
	       "<demo::Shape as core::fmt::Display>::fmt [clone .cold]");
	expect("_RNCNvC4demo4main0", "demo::main::{closure#0}");
	expect("_RINvC4demo3addlE", "demo::add::<i32>");
	expect("_RINvC4demo3addlE.llvm.9876543210", "demo::add::<i32>");
}

/* What is cut, or goes on after its end, stays as it is. */
static void names_are_shown_whole_or_raw(void **state)
{
	static const char *const names[] = {
		"_ZN3foo3barEiRKSt6vectorIiSaIiEE",
		"_ZN4demo4main28_$u7b$$u7b$closure$u7d$$u7d$"
		"17h0123456789abcdefE",
		"_RINvNtC4demo5shape3addlNtB2_5ShapeE",
	};
	char out[DEMANGLE_OUTPUT_MAX], cut[128];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t length = strlen(names[i]);

		assert_true(demangle(names[i], out));
		for (size_t n = 0; n < length; n++) {
			snprintf(cut, sizeof(cut), "%.*s", (int)n, names[i]);
			if (!demangle(cut, out))
				continue;
			/* Then it is a name of its own: nothing is left of how
			 * it was written. */
			assert_null(strstr(out, "_ZN"));
			assert_null(strstr(out, "_R"));
			assert_null(strchr(out, '$'));
		}
		snprintf(cut, sizeof(cut), "%s!", names[i]);
		expect(cut, NULL);
	}
	expect("foo<_ZN3fooE>", NULL);
	expect("foo::bar(int)", NULL);
}

static void a_cxx_name_that_ends_like_rust_is_not_cut(void **state)
{
	(void)state;
	/* Sixteen equal digits are no hash. */
	expect("_ZN3foo17h0000000000000000Ev", "foo::h0000000000000000()");
}

static void poisonous_names_are_given_up(void **state)
{
	/* Published: each doubles what comes before it. */
	static const char bomb[] = "_Z1fSsB_B0_B1_B2_B3_B4_B5_B6_B7_B8_B9_BA_";
	char out[DEMANGLE_OUTPUT_MAX];
	static char deep[70000];

	(void)state;
	(void)demangle(bomb, out);
	for (size_t n = 100; n <= 60000; n *= 3) {
		memset(deep, 'P', n);
		memcpy(deep, "_Z1f", 4);
		memcpy(deep + n, "v", 2);
		(void)demangle(deep, out);
		memset(deep + 2, 'N', n - 2);
		(void)demangle(deep, out);
		memcpy(deep, "_R", 2);
		(void)demangle(deep, out);
	}
}

static void output_never_exceeds_its_limit(void **state)
{
	/* Pairs of a pair of a pair: 2^n letters. */
	char name[1024] = "_Z1f", out[DEMANGLE_OUTPUT_MAX + 1];
	size_t at = 4;

	(void)state;
	at += (size_t)sprintf(name + at, "1aIiiE");
	for (int i = 0; i < 20; i++)
		at += (size_t)sprintf(name + at, "S%c_S%c_", '0' + i % 4,
				      '0' + i % 4);
	out[DEMANGLE_OUTPUT_MAX] = 'x';
	assert_true(demangle(name, out) < DEMANGLE_OUTPUT_MAX);
	assert_int_equal(out[DEMANGLE_OUTPUT_MAX], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_names_are_shown_with_their_arguments),
		cmocka_unit_test(names_that_are_not_mangled_stay),
		cmocka_unit_test(parts_of_a_function_say_which),
		cmocka_unit_test(what_differs_from_build_to_build_is_left_out),
		cmocka_unit_test(rust_names_of_both_kinds_are_shown),
		cmocka_unit_test(generics_and_closures_of_rust_are_shown),
		cmocka_unit_test(names_are_shown_whole_or_raw),
		cmocka_unit_test(a_cxx_name_that_ends_like_rust_is_not_cut),
		cmocka_unit_test(poisonous_names_are_given_up),
		cmocka_unit_test(output_never_exceeds_its_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
