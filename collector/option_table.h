/* SPDX-License-Identifier: MIT */
/* The options of a program as one table, for the parser and for --help, so
 * that they cannot differ. */
#ifndef WEFT_OPTION_TABLE_H
#define WEFT_OPTION_TABLE_H

#include <getopt.h>

#include "store/weft.h"

enum {
	OPTION_NO_LETTER = 256, /* ids from here on are of no letter */
	OPTION_ROWS_MAX = 48,
	OPTION_WRONG = '?'
};

struct option_row {
	int id; /* a letter, or a number from OPTION_NO_LETTER on */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help;     /* lines after the first are indented */
};

/* Print the rows; width: of the column before the help. */
void option_table_print(const struct option_row *rows, size_t n, int width);

/* A walk over argv. */
struct option_walk {
	int argc;
	char **argv;
	struct option longs[OPTION_ROWS_MAX + 1];
	char shorts[2 * OPTION_ROWS_MAX + 3];
	char wrong[256]; /* after OPTION_WRONG: what is, with the nearest name
			    there is */
};

/* rows (at most OPTION_ROWS_MAX) outlive the walk. Operands may stand between
 * options unless operands_end: then the first ends them. */
void option_walk_begin(struct option_walk *w, const struct option_row *rows,
		       size_t n, int argc, char **argv, bool operands_end);

/* The next option's id, with its value in optarg; OPTION_WRONG; or -1 at the
 * end: operands are from optind on. */
int option_walk_next(struct option_walk *w);

#endif
