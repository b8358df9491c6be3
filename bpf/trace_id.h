/* SPDX-License-Identifier: MIT */
/*
 * Trace and span IDs as programs write them: raw bytes, hex digits, or (span
 * IDs of Datadog) a decimal number. What could be read in two ways is read in
 * none. Plain C, for the kernel program and for tests of it in user space.
 */
#ifndef WEFT_TRACE_ID_H
#define WEFT_TRACE_ID_H

#include "wire.h"

enum {
	ID_TEXT_BYTES = 32,
	ID_TRACE_BYTES = 16,
	ID_SPAN_BYTES = 8,
	/* Shorter numbers may be hex, or raw bytes. */
	ID_DECIMAL_MIN = 17,
	ID_DECIMAL_MAX = 20
};

/* Words of 8 bytes, aligned. */
static inline __attribute__((always_inline)) bool all_zero(const void *id,
							   int words)
{
	const __u64 *w = id;

	return !w[0] && (words < 2 || !w[1]);
}

/* 1 if n is below limit, else 0. Without a branch: on bytes that nobody knows
 * each would double the states that the verifier follows. */
static inline __u64 id_is_below(__u64 n, __u64 limit)
{
	return ((n - limit) & ~n) >> 63;
}

/* What a hex digit stands for; *bad is set to 1 for what is none. */
static inline __u8 id_hex_digit(__u8 c, __u64 *bad)
{
	__u64 is_digit = id_is_below((__u64)c - '0', 10);
	__u64 is_letter = id_is_below((__u64)(c | 0x20) - 'a', 6);

	*bad |= (is_digit | is_letter) ^ 1;
	return (c & 0xf) + 9 * is_letter;
}

/* Read n bytes from twice as many digits; all of one kind. */
static inline __attribute__((always_inline)) bool id_from_hex(const __u8 *text,
							      int n, __u8 *out)
{
	__u64 bad = 0;

	for (int i = 0; i < n; i++) {
		__u8 high = id_hex_digit(text[2 * i], &bad);

		out[i] = high << 4 | id_hex_digit(text[2 * i + 1], &bad);
	}
	return !bad;
}

/* Of 8 bytes, as numbers are printed: the highest first. */
static inline __attribute__((always_inline)) void id_from_number(__u64 n,
								 __u8 *out)
{
	for (int i = 0; i < 8; i++)
		out[i] = n >> (56 - 8 * i);
}

static inline __attribute__((always_inline)) bool
id_from_decimal(const __u8 *text, __u64 size, __u8 *out)
{
	__u64 value = 0, bad = 0;

	for (__u64 i = 0; i < ID_DECIMAL_MAX; i++) {
		__u64 digit = (__u64)text[i] - '0';

		if (i >= size)
			break;
		bad |= id_is_below(digit, 10) ^ 1;
		/* 19 digits always fit. */
		if (i == ID_DECIMAL_MAX - 1)
			bad |= value > ~0ULL / 10 ||
			       (value == ~0ULL / 10 && digit > ~0ULL % 10);
		value = value * 10 + digit;
	}
	id_from_number(value, out);
	return !bad;
}

/* The first size bytes of text (the rest 0) as a trace ID. False: it is none;
 * out is then of no use. 16 hex digits are an ID of 64 bits, not 16 bytes. */
static inline __attribute__((always_inline)) bool
id_parse_trace(const __u8 text[ID_TEXT_BYTES], __u64 size,
	       __u8 out[ID_TRACE_BYTES])
{
	__u8 half[ID_SPAN_BYTES];

	if (size == 2 * ID_TRACE_BYTES)
		return id_from_hex(text, ID_TRACE_BYTES, out);
	if (size != ID_TRACE_BYTES || id_from_hex(text, ID_SPAN_BYTES, half))
		return false;
	__builtin_memcpy(out, text, ID_TRACE_BYTES);
	return true;
}

/* The same, as a span ID. */
static inline __attribute__((always_inline)) bool
id_parse_span(const __u8 text[ID_TEXT_BYTES], __u64 size,
	      __u8 out[ID_SPAN_BYTES])
{
	if (size == 2 * ID_SPAN_BYTES)
		return id_from_hex(text, ID_SPAN_BYTES, out);
	if (size >= ID_DECIMAL_MIN && size <= ID_DECIMAL_MAX)
		return id_from_decimal(text, size, out);
	if (size != ID_SPAN_BYTES)
		return false;
	__builtin_memcpy(out, text, ID_SPAN_BYTES);
	return true;
}

#endif
