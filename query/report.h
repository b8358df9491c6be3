/* SPDX-License-Identifier: MIT */
/*
 * What every report has: a file, the range that it is about, the ledger of
 * that range, and the heading that says so.
 */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "query/cli.h"
#include "query/db.h"
#include "query/json.h"
#include "query/ledger.h"
#include "query/range.h"
#include "query/table.h"

struct report {
	struct db *db; /* owned */
	struct range range;
	struct ledger ledger;
};

/* Open what common asks for; file, if not NULL, is the operand that names the
 * file. Close with report_close() on every path. */
int report_open(struct report *r, const struct cli_common *common,
		const char *file, struct weft_err *err) MUST_CHECK;

/* The same of a file that is open already, r->db: for several reports on one
 * snapshot of it. Set db to NULL before report_close() where it is not its
 * own. */
int report_find(struct report *r, const struct cli_common *common,
		struct weft_err *err) MUST_CHECK;
void report_close(struct report *r);

/* Borrow statement id with a part's event, first and last interval bound to
 * ?1, ?2, ?3, and a pid, but for 0, to ?4. */
int report_query(const struct report *r, size_t part, int64_t pid,
		 enum query_sql id, struct sqlite3_stmt **out,
		 struct weft_err *err) MUST_CHECK;

/* Print the line on event, time, rate and samples. */
void report_print_heading(const struct report *r);

/* Print a table as wide as the terminal. */
int report_print_table(const struct table *t, struct weft_err *err) MUST_CHECK;

/* Print below it that so many of its rows were left out. */
void report_print_more(size_t n);

/* Begin the outermost object, with the keys that all reports have. */
void report_json(const struct report *r, struct json *j, const char *name);

/* The nanoseconds (or units of the event) that one sample of detail stands
 * for, on average: detail_n times the period. 0: not a timer, or no detail */
double report_ns_each(const struct report *r);

/* Could id be of a trace, or a prefix of it? 0, or -E2BIG. */
int report_check_trace(const char *id, struct weft_err *err) MUST_CHECK;

/*
 * Find a trace by its ID: 32 hexadecimal digits, or a prefix of at least 8
 * that only one trace of the file has. hex (33 bytes) gets the whole ID.
 * Returns 0; -E2BIG malformed or ambiguous; -ENODATA no such trace.
 */
int report_find_trace(struct report *r, const char *id, int64_t *out,
		      char hex[33], struct weft_err *err) MUST_CHECK;

/* Where the file has samples of a trace that a report has none of, and how to
 * ask for them: words for the end of a sentence, "" if it has no others. */
struct report_elsewhere {
	char text[400];
};

int report_find_elsewhere(struct report *r, int64_t trace,
			  struct report_elsewhere *to,
			  struct weft_err *err) MUST_CHECK;

/* Fields of the object that is open: when a report's recording was, and how
 * much it has. */
void report_json_extent(const struct report *r, struct json *j);

/* Fail with -ENODATA since the report has no sample of what was asked for, as
 * "process" and its id; 0: of has none; of NULL: of anything. detail: it was
 * looked for there. */
int report_nothing(const struct report *r, bool detail, const char *of,
		   int64_t id, struct weft_err *err) MUST_CHECK;

/* Fail with -ENODATA since the report has no sample of a trace, and say where
 * there are some; or as db_step(). hex: its ID. */
int report_no_sample(struct report *r, int64_t trace, const char *hex,
		     struct weft_err *err) MUST_CHECK;

#endif
