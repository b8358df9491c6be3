/* SPDX-License-Identifier: MIT */
/*
 * CSV as RFC 4180 has it: CRLF, `"` around what needs it. Text is made safe
 * for a terminal on the way (weft_sanitize), so no value holds a line break.
 * NULL is an empty field, empty text is "".
 */
#ifndef WEFT_CSV_H
#define WEFT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zero, and set to. */
struct csv {
	FILE *to;   /* borrowed */
	bool begun; /* a field of the row is there */
};

/* Each adds a field to the row; csv_end() ends it. */
void csv_text(struct csv *c, const char *text, size_t size);
void csv_int(struct csv *c, int64_t value);
void csv_real(struct csv *c, double value); /* no number: as NULL */
void csv_null(struct csv *c);
void csv_end(struct csv *c);

#endif
