/* SPDX-License-Identifier: MIT */
/*
 * Distinct strings with a number each, from 0 on in the order in which they
 * came: the string tables of exported formats, and names to be compared by
 * number.
 */
#ifndef WEFT_STRINGS_H
#define WEFT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "store/weft.h"

/* Zeroed is empty. */
struct strings {
	char **rows; /* owned, and each of them */
	size_t n, room;
	uint32_t *slots; /* owned: hash, 1 + index, 0 free */
	size_t n_slots;  /* a power of two */
};

/* The number of a text, copied if it is new. Returns 0 or -ENOMEM. */
int strings_intern(struct strings *s, const char *text,
		   uint32_t *out) MUST_CHECK;

/* The same of strings_clean(). */
int strings_intern_clean(struct strings *s, const char *text,
			 uint32_t *out) MUST_CHECK;

/* All of foreign text, made safe by weft_sanitize(); NULL reads "". The caller
 * frees it; NULL: out of memory. */
char *strings_clean(const char *text);

void strings_release(struct strings *s);

/* A hash (FNV-1a) of a text with its end, on top of that of what came before:
 * of nothing STRINGS_HASH. Mix it before its low bits choose a slot. */
#define STRINGS_HASH UINT64_C(0xcbf29ce484222325)
uint64_t strings_hash(uint64_t hash, const char *text);

#endif
