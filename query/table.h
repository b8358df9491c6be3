/* SPDX-License-Identifier: MIT */
/*
 * A table of text, aligned and fitted to the terminal. Cells are copied, and
 * made safe for a terminal on the way in (weft_sanitize). Where stdout is not
 * a terminal nothing is cut but names beyond TABLE_NAME_MAX characters.
 */
#ifndef WEFT_TABLE_H
#define WEFT_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "store/weft.h"

enum {
	TABLE_NAME_MAX = 4096,
	TABLE_COLUMNS_MAX = 64
};

enum table_fit {
	TABLE_RIGHT,    /* a number: never cut */
	TABLE_LEFT,     /* a word: never cut but for its own length */
	TABLE_CUT_END,  /* a name: cut where the line is too long */
	TABLE_CUT_START /* a stack: its end matters most */
};

struct table_column {
	const char *title; /* borrowed */
	enum table_fit fit;
};

struct table;

/* columns are borrowed until table_free(). NULL: out of memory. */
struct table *table_new(const struct table_column *columns, size_t n);
void table_free(struct table *t);

/* Add the next cell, row by row. Out of memory is remembered: table_print()
 * reports it. text may be NULL: an empty cell. */
void table_text(struct table *t, const char *text);
void table_bytes(struct table *t, const char *text, size_t size);

size_t table_rows(const struct table *t);

/* Print with titles, in at most width characters a line; 0: as wide as it
 * gets. bold: titles in bold. Returns 0, or -ENOMEM if a cell was lost. */
int table_print(const struct table *t, FILE *to, unsigned width,
		bool bold) MUST_CHECK;

/* The width for stdout: of the terminal ($COLUMNS, else what it says, else
 * 80), or 0 where stdout is none. */
unsigned table_width(void);

/* May colour be used on stdout: weft_is_terminal(), and NO_COLOR is not set. */
bool table_may_colour(void);

#endif
