/* SPDX-License-Identifier: MIT */
/*
 * Foreign bytes that are read in order and never past their end. The first
 * read that does not fit makes the cursor bad; it and all after it give 0, so
 * that one look at is_bad judges them all.
 */
#ifndef WEFT_ELF_CURSOR_H
#define WEFT_ELF_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end; /* borrowed */
	bool is_bad;
};

static inline const uint8_t *cursor_skip(struct cursor *c, uint64_t size)
{
	const uint8_t *at = c->at;

	if (c->is_bad || size > (uint64_t)(c->end - at)) {
		c->is_bad = true;
		return NULL;
	}
	c->at += size;
	return at;
}

/* A little-endian number of 1, 2, 4 or 8 bytes. */
static inline uint64_t cursor_take(struct cursor *c, size_t width)
{
	const uint8_t *at = cursor_skip(c, width);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, width);
	return value;
}

enum {
	LEB128_MAX = 10 /* bytes that 64 bits take */
};

/* The bits of a LEB128 number; *n_bits is how many were given. */
static inline uint64_t cursor_take_leb128(struct cursor *c, unsigned *n_bits)
{
	uint64_t value = 0;
	uint8_t byte;

	*n_bits = 0;
	do {
		byte = (uint8_t)cursor_take(c, 1);
		value |= (uint64_t)(byte & 0x7f) << *n_bits;
		*n_bits += 7;
	} while (byte & 0x80 && *n_bits < LEB128_MAX * 7);
	if (byte & 0x80)
		c->is_bad = true;
	return value;
}

static inline uint64_t cursor_take_uleb128(struct cursor *c)
{
	unsigned n_bits;

	return cursor_take_leb128(c, &n_bits);
}

static inline int64_t cursor_take_sleb128(struct cursor *c)
{
	unsigned n_bits;
	uint64_t value = cursor_take_leb128(c, &n_bits);

	if (n_bits < 64 && value >> (n_bits - 1))
		value |= ~UINT64_C(0) << n_bits;
	return (int64_t)value;
}

#endif
