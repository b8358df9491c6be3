/* SPDX-License-Identifier: MIT */
/*
 * The statements that make our tables and views, as SQLite keeps them in a
 * file: told from our scripts alone, for running these takes longer than most
 * questions. One thread per list.
 */
#ifndef WEFT_SCHEMA_TEXT_H
#define WEFT_SCHEMA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct schema_statement {
	char *name; /* owned; of the table or view */
	char *sql;  /* owned; CREATE TABLE or CREATE VIEW, no semicolon */
};

/* Zeroed is empty. */
struct schema_text {
	struct schema_statement *rows; /* owned */
	size_t n;
};

/*
 * Add the tables of that schema version, with the columns that migrations
 * have added. Returns 0, or -ENOMEM with what was added so far.
 */
int schema_text_tables(struct schema_text *t, int version);

/* Add the views, but `sample`; or that one, which has a form for a file that
 * is written and one for others. Returns the same. */
int schema_text_views(struct schema_text *t);
int schema_text_sample(struct schema_text *t, bool has_tail);

void schema_text_release(struct schema_text *t);

/* Are two statements the same, but for comments and blanks? */
bool schema_text_is_same(const char *a, const char *b);

#endif
