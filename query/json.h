/* SPDX-License-Identifier: MIT */
/*
 * A JSON writer. What it writes is always valid UTF-8, whatever the bytes of
 * a foreign name: a byte that is not UTF-8 becomes the four characters \xNN
 * (in JSON "\\xNN"), and a backslash that stands before an x becomes \x5c, so
 * that replacing each \xNN by its byte gives the name back exactly. Whole
 * numbers beyond 2^53 are written as strings: readers keep numbers as doubles.
 */
#ifndef WEFT_JSON_H
#define WEFT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "query/stats.h"

struct json {
	FILE *to; /* borrowed */
	int depth;
	bool in_use[16]; /* per level: something stands there already */
};

/* key is NULL for the outermost value and in arrays. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end_object(struct json *j); /* the outermost also ends the line */
void json_end_array(struct json *j);
void json_text(struct json *j, const char *key, const char *text); /* or NULL */
void json_bytes(struct json *j, const char *key, const char *text, size_t size);
void json_int(struct json *j, const char *key, int64_t value);
void json_real(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* key_lo and key_hi */
void json_interval(struct json *j, const char *key, struct stats_interval in);

#endif
