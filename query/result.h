/* SPDX-License-Identifier: MIT */
/*
 * The rows of any statement, in the shapes that a person or a program reads.
 * Blobs are hexadecimal digits; text is made safe for where it goes.
 */
#ifndef WEFT_RESULT_H
#define WEFT_RESULT_H

#include <stdio.h>

#include "query/db.h"
#include "query/json.h"

/* Step through stmt, whose values are bound, and write all of it. Returns 0,
 * -ENOMEM, or as db_step(). */

/* A table as wide as the terminal; at most TABLE_COLUMNS_MAX columns. */
int result_print(struct db *db, struct sqlite3_stmt *stmt, FILE *to,
		 struct weft_err *err) MUST_CHECK;

/* As query/csv.h has it, with a heading. */
int result_csv(struct db *db, struct sqlite3_stmt *stmt, FILE *to,
	       struct weft_err *err) MUST_CHECK;

/* An object with `columns` and `rows`, within what is open. */
int result_json(struct db *db, struct sqlite3_stmt *stmt, struct json *j,
		struct weft_err *err) MUST_CHECK;

#endif
