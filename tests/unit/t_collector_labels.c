/* SPDX-License-Identifier: MIT */
/* IDs in labels: the texts that they are written as, the names that hold them,
 * the versions of Go whose labels can be read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collector/context/go.h"
#include "collector/label_names.h"

#include "bpf/trace_id.h"

/* The text as the kernel program has it: what follows is 0. */
static bool parse(const char *text, size_t size, bool is_span, uint8_t *out)
{
	uint8_t bytes[ID_TEXT_BYTES] = { 0 };

	memcpy(bytes, text, size < sizeof(bytes) ? size : sizeof(bytes));
	return is_span ? id_parse_span(bytes, size, out)
		       : id_parse_trace(bytes, size, out);
}

static void trace_ids_are_hex_digits_or_bytes(void **state)
{
	static const uint8_t want[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
					  0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
					  0xcc, 0xdd, 0xee, 0xff };
	uint8_t out[16];

	(void)state;
	assert_true(parse("00112233445566778899aabbccddeeff", 32, false, out));
	assert_memory_equal(out, want, 16);
	assert_true(parse("00112233445566778899AABBCCDDEEFF", 32, false, out));
	assert_memory_equal(out, want, 16);
	assert_true(parse((const char *)want, 16, false, out));
	assert_memory_equal(out, want, 16);
}

static void what_is_no_trace_id_is_refused(void **state)
{
	/* Neighbours of the digits in ASCII; too short; too long; an ID of 64
	 * bits, which is no 16 bytes. */
	static const char *const wrong[] = {
		"/0112233445566778899aabbccddeeff",
		"0:112233445566778899aabbccddeeff",
		"001122334455667788@9aabbccddeeff",
		"00112233445566778899aabbccddeefg",
		"00112233445566778899`abbccddeeff",
		"0011223344556677 899aabbccddeeff",
		"00112233445566778899aabbccddeef",
		"0011223344556677",
		"1",
		"",
	};
	uint8_t out[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(parse(wrong[i], strlen(wrong[i]), false, out));
	assert_false(parse("\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7"
			   "\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7"
			   "\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7"
			   "\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7",
			   32, false, out));
}

static void every_hex_digit_is_told_from_what_is_none(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		const char *digits = "0123456789abcdef0123456789ABCDEF";
		const char *at = c ? strchr(digits, c) : NULL;
		__u64 bad = 0;
		uint8_t digit = id_hex_digit((uint8_t)c, &bad);

		assert_int_equal(bad, at == NULL);
		if (at)
			assert_int_equal(digit, (at - digits) % 16);
	}
}

static void span_ids_are_hex_bytes_or_long_numbers(void **state)
{
	uint8_t out[8], bytes[8] = { 1, 0, 3, 4, 5, 6, 7, 255 };

	(void)state;
	assert_true(parse("01000304050607ff", 16, true, out));
	assert_memory_equal(out, bytes, 8);
	assert_true(parse((const char *)bytes, 8, true, out));
	assert_memory_equal(out, bytes, 8);
	assert_true(parse("72060909836961791", 17, true, out));
	assert_memory_equal(out, "\x01\x00\x03\x04\x05\x06\x07\xff", 8);
	assert_true(parse("18446744073709551615", 20, true, out));
	assert_memory_equal(out, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
}

static void numbers_that_may_be_else_or_are_too_large_are_refused(void **state)
{
	static const char *const wrong[] = {
		"18446744073709551616",
		"99999999999999999999",
		"184467440737095516150",
		"1234567890123456g",
		"7205843071467622 ",
		"1234567",
		"123456789",
		"",
	};
	uint8_t out[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(parse(wrong[i], strlen(wrong[i]), true, out));
}

static bool is_name(const __u64 name[WEFT_LABEL_BYTES / 8], const char *text)
{
	char want[WEFT_LABEL_BYTES] = { 0 };

	memcpy(want, text, strlen(text));
	return !memcmp(name, want, sizeof(want));
}

static void names_are_taken_in_their_order(void **state)
{
	struct weft_label_names n;

	(void)state;
	label_names_default(&n);
	assert_true(is_name(n.trace[0], "trace_id"));
	assert_true(is_name(n.trace[2], "trace id"));
	assert_true(is_name(n.span[3], "profile_id"));
	assert_null(label_names_parse("a,sixteen.bytes.xx:b", &n));
	assert_true(is_name(n.trace[0], "a"));
	assert_true(is_name(n.trace[1], "sixteen.bytes.xx"));
	assert_true(is_name(n.trace[2], ""));
	assert_true(is_name(n.span[0], "b"));
	assert_null(label_names_parse("a", &n));
	assert_true(is_name(n.span[0], ""));
	assert_null(label_names_parse("off", &n));
	assert_true(is_name(n.trace[0], ""));
}

static void bad_lists_of_names_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		":",
		"a:",
		":b",
		"a,",
		",a",
		"a:b:c",
		"a:b,",
		"seventeen.bytes.x",
		"1,2,3,4,5,6,7,8,9",
	};
	struct weft_label_names n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_non_null(label_names_parse(wrong[i], &n));
	assert_null(label_names_parse("1,2,3,4,5,6,7,8:1,2,3,4,5,6,7,8", &n));
}

static void known_versions_of_go_have_their_layout(void **state)
{
	static const struct {
		const char *version;
		int curg, labels, is_slice;
	} want[] = {
		{ "go1.17", 192, 360, 0 },    { "go1.19.8", 192, 360, 0 },
		{ "go1.20.14", 192, 360, 0 }, { "go1.21.0", 192, 344, 0 },
		{ "go1.22.12", 192, 344, 0 }, { "go1.23.4", 192, 352, 0 },
		{ "go1.24", 192, 352, 1 },    { "go1.25.1 X:a", 184, 344, 1 },
		{ "go1.26.0", 184, 352, 1 },
	};
	static const char *const unknown[] = {
		"go1.16.15", "go1.27.0",
		"go1",       "go1.",
		"go2.19",    "go1.-19",
		"go1.19x",   "devel +abc",
		"",          "go1.99999999999999999999",
	};
	struct weft_go_layout l;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_int_equal(context_go_layout(want[i].version, &l), 0);
		assert_int_equal(l.curg, want[i].curg);
		assert_int_equal(l.labels, want[i].labels);
		assert_int_equal(l.is_slice, want[i].is_slice);
	}
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		assert_int_equal(context_go_layout(unknown[i], &l), -ENOTSUP);
}

/* Build info: magic, size of pointers, flags, then by flags. */
static size_t put_info(uint8_t *out, uint8_t pointer_size, uint8_t flags,
		       const char *version)
{
	memset(out, 0, 128);
	memcpy(out, "\xff Go buildinf:", 14);
	out[14] = pointer_size;
	out[15] = flags;
	out[32] = (uint8_t)strlen(version);
	memcpy(out + 33, version, strlen(version));
	return 33 + strlen(version);
}

static void build_info_gives_the_version(void **state)
{
	uint8_t info[128];
	char version[CONTEXT_GO_VERSION_MAX];
	uint64_t pointer, want = 0x123456;
	size_t n = put_info(info, 8, 2, "go1.19.8");

	(void)state;
	assert_int_equal(context_go_parse(info, n, version, &pointer), 0);
	assert_string_equal(version, "go1.19.8");
	assert_int_equal(context_go_parse(info, n - 1, version, &pointer),
			 -EPROTO);
	put_info(info, 8, 0, "");
	memcpy(info + 16, &want, sizeof(want));
	assert_int_equal(context_go_parse(info, 32, version, &pointer),
			 -ENOTSUP);
	assert_int_equal(pointer, want);
}

static void build_info_that_lies_is_refused(void **state)
{
	uint8_t info[128];
	char version[CONTEXT_GO_VERSION_MAX], longest[80];
	uint64_t pointer;

	(void)state;
	memset(longest, '1', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t n = 0; n < 34; n++) {
		put_info(info, 8, 2, "go1.19");
		assert_int_equal(context_go_parse(info, n, version, &pointer),
				 -EPROTO);
	}
	put_info(info, 4, 0, "");
	assert_int_equal(context_go_parse(info, 64, version, &pointer),
			 -EPROTO);
	put_info(info, 8, 1, "");
	assert_int_equal(context_go_parse(info, 64, version, &pointer),
			 -EPROTO);
	put_info(info, 8, 2, "");
	assert_int_equal(context_go_parse(info, 64, version, &pointer),
			 -EPROTO);
	put_info(info, 8, 2, longest);
	assert_int_equal(context_go_parse(info, 128, version, &pointer),
			 -EPROTO);
	put_info(info, 8, 2, "go1.19");
	info[0] = 0;
	assert_int_equal(context_go_parse(info, 64, version, &pointer),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace_ids_are_hex_digits_or_bytes),
		cmocka_unit_test(what_is_no_trace_id_is_refused),
		cmocka_unit_test(every_hex_digit_is_told_from_what_is_none),
		cmocka_unit_test(span_ids_are_hex_bytes_or_long_numbers),
		cmocka_unit_test(
			numbers_that_may_be_else_or_are_too_large_are_refused),
		cmocka_unit_test(names_are_taken_in_their_order),
		cmocka_unit_test(bad_lists_of_names_are_refused),
		cmocka_unit_test(known_versions_of_go_have_their_layout),
		cmocka_unit_test(build_info_gives_the_version),
		cmocka_unit_test(build_info_that_lies_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
