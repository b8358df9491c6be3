/* SPDX-License-Identifier: MIT */
/*
 * Compiled twice: into weft, and with WEFT_EXTENSION into weft.so, where each
 * call to SQLite goes through the table that the program which loads it hands
 * over.
 */
#ifdef WEFT_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#else
#include <sqlite3.h>
#endif

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "query/sql_functions.h"
#include "query/stats.h"
#include "store/weft.h"

enum which {
	LOW,
	HIGH,
	MIDDLE
};

/* What sqlite3_create_function() was given: an enum which. */
static enum which which_of(sqlite3_context *to)
{
	return (enum which)(uintptr_t)sqlite3_user_data(to);
}

static bool any_null(int n, sqlite3_value **values)
{
	for (int i = 0; i < n; i++)
		if (sqlite3_value_type(values[i]) == SQLITE_NULL)
			return true;
	return false;
}

static void give(sqlite3_context *to, struct stats_interval in)
{
	sqlite3_result_double(to, which_of(to) == LOW ? in.lo : in.hi);
}

/* Is the argument after all numbers the word 'listed'? -1: another word, which
 * is an error. */
static int is_listed(sqlite3_context *to, int n, sqlite3_value **values,
		     int numbers)
{
	const unsigned char *word;

	if (n == numbers)
		return 0;
	word = sqlite3_value_text(values[numbers]);
	if (word && !strcmp((const char *)word, "listed"))
		return 1;
	sqlite3_result_error(to, "the last argument can only be 'listed'", -1);
	return -1;
}

static void wilson(sqlite3_context *to, int n, sqlite3_value **values)
{
	int listed = is_listed(to, n, values, 2);
	double k, all;

	if (listed < 0 || any_null(n, values))
		return;
	k = sqlite3_value_double(values[0]);
	all = sqlite3_value_double(values[1]);
	if (!(k >= 0 && k <= all)) {
		sqlite3_result_error(to, "k of n must be 0 <= k <= n", -1);
		return;
	}
	give(to, listed ? stats_share_listed(k, all) : stats_share(k, all));
}

static void poisson(sqlite3_context *to, int n, sqlite3_value **values)
{
	int listed = is_listed(to, n, values, 1);
	double k;

	if (listed < 0 || any_null(n, values))
		return;
	k = sqlite3_value_double(values[0]);
	if (!(k >= 0)) {
		sqlite3_result_error(to, "a count is not negative", -1);
		return;
	}
	give(to, listed ? stats_count_listed(k) : stats_count(k));
}

static void weighted(sqlite3_context *to, int n, sqlite3_value **values)
{
	double sum, sum_sq, largest;

	if (any_null(n, values))
		return;
	sum = sqlite3_value_double(values[0]);
	sum_sq = sqlite3_value_double(values[1]);
	largest = sqlite3_value_double(values[2]);
	if (!(sum >= 0 && sum_sq >= 0 && largest >= 0)) {
		sqlite3_result_error(to, "weights are not negative", -1);
		return;
	}
	give(to, stats_weighted_sum(sum, sum_sq, largest));
}

static void trace_hex(sqlite3_context *to, int n, sqlite3_value **values)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *blob;
	char hex[65];
	int size;

	if (any_null(n, values))
		return;
	blob = sqlite3_value_blob(values[0]);
	size = sqlite3_value_bytes(values[0]);
	if (size < 1 || size > 32 || !blob) {
		sqlite3_result_error(to, "an ID has 1 to 32 bytes", -1);
		return;
	}
	for (int i = 0; i < size; i++) {
		hex[2 * i] = digits[blob[i] >> 4];
		hex[2 * i + 1] = digits[blob[i] & 15];
	}
	sqlite3_result_text(to, hex, 2 * size, SQLITE_TRANSIENT);
}

/* The statement is not kept: one that is open keeps a connection from being
 * closed. */
static void folded(sqlite3_context *to, int n, sqlite3_value **values)
{
	static const char text[] =
		"SELECT folded FROM stack_text WHERE stack_id = ?1";
	sqlite3 *db = sqlite3_context_db_handle(to);
	sqlite3_stmt *stmt;
	int result;

	if (any_null(n, values))
		return;
	if (sqlite3_prepare_v2(db, text, -1, &stmt, NULL)) {
		sqlite3_result_error(to, sqlite3_errmsg(db), -1);
		return;
	}
	sqlite3_bind_int64(stmt, 1, sqlite3_value_int64(values[0]));
	result = sqlite3_step(stmt);
	if (result == SQLITE_ROW)
		sqlite3_result_value(to, sqlite3_column_value(stmt, 0));
	else if (result != SQLITE_DONE)
		sqlite3_result_error(to, sqlite3_errmsg(db), -1);
	sqlite3_finalize(stmt);
}

/* What an aggregate has collected. */
struct values {
	double *x; /* owned */
	size_t n, room;
	double percent;
	bool is_null; /* a percentile of NULL was asked */
	bool failed;
};

static void fail_memory(sqlite3_context *to, struct values *v)
{
	v->failed = true;
	sqlite3_result_error_nomem(to);
}

static void collect(sqlite3_context *to, int n, sqlite3_value **values)
{
	struct values *v = sqlite3_aggregate_context(to, sizeof(*v));

	if (!v || v->failed) {
		sqlite3_result_error_nomem(to);
		return;
	}
	if (n > 1 && sqlite3_value_type(values[1]) == SQLITE_NULL) {
		v->is_null = true;
		return;
	}
	v->percent = n > 1 ? sqlite3_value_double(values[1]) : 50;
	if (!(v->percent >= 0 && v->percent <= 100)) {
		v->failed = true;
		sqlite3_result_error(to, "a percentile is of 0 to 100", -1);
		return;
	}
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (v->n == v->room) {
		size_t room = v->room ? 2 * v->room : 256;
		double *x = sqlite3_realloc64(v->x, room * sizeof(*x));

		if (!x) {
			fail_memory(to, v);
			return;
		}
		v->x = x;
		v->room = room;
	}
	v->x[v->n++] = sqlite3_value_double(values[0]);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The rank, from 1, of a percentile among n, or of a limit of it: ranks are
 * binomial. Outside of 1 to n there is no such limit. */
static double rank_of(enum which which, double n, double percent)
{
	static const double z = 1.959963984540054;
	double share = percent / 100, at = n * share;
	double half = z * sqrt(n * share * (1 - share));

	switch (which) {
	case LOW:
		return floor(at - half);
	case HIGH:
		return at + half < n ? fmin(n, ceil(at + half) + 1) : n + 1;
	default:
		/* 99 % of 100 is the 99th, whatever the rounding */
		return fmax(1, ceil(at - 1e-9));
	}
}

static void percentile(sqlite3_context *to)
{
	struct values *v = sqlite3_aggregate_context(to, 0);
	double rank;

	if (!v)
		return;
	rank = rank_of(which_of(to), (double)v->n, v->percent);
	if (!v->failed && !v->is_null && v->n && rank >= 1 &&
	    rank <= (double)v->n) {
		qsort(v->x, v->n, sizeof(*v->x), compare);
		sqlite3_result_double(to, v->x[(size_t)rank - 1]);
	}
	sqlite3_free(v->x);
}

#define ONE_OF(which) ((void *)(uintptr_t)(which))

int sql_functions_add(sqlite3 *db)
{
	static const struct {
		const char *name;
		int arguments;
		enum which which;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
		bool is_aggregate, reads_file;
	} functions[] = {
		{ "wilson_low", 2, LOW, wilson, false, false },
		{ "wilson_low", 3, LOW, wilson, false, false },
		{ "wilson_high", 2, HIGH, wilson, false, false },
		{ "wilson_high", 3, HIGH, wilson, false, false },
		{ "poisson_low", 1, LOW, poisson, false, false },
		{ "poisson_low", 2, LOW, poisson, false, false },
		{ "poisson_high", 1, HIGH, poisson, false, false },
		{ "poisson_high", 2, HIGH, poisson, false, false },
		{ "weighted_low", 3, LOW, weighted, false, false },
		{ "weighted_high", 3, HIGH, weighted, false, false },
		{ "trace_hex", 1, LOW, trace_hex, false, false },
		{ "folded", 1, LOW, folded, false, true },
		{ "percentile", 2, MIDDLE, collect, true, false },
		{ "median", 1, MIDDLE, collect, true, false },
		{ "percentile_low", 2, LOW, collect, true, false },
		{ "percentile_high", 2, HIGH, collect, true, false },
	};
	int result = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_LEN(functions) && !result; i++) {
		bool aggregate = functions[i].is_aggregate;
		int flags = functions[i].reads_file
				    ? SQLITE_UTF8
				    : SQLITE_UTF8 | SQLITE_DETERMINISTIC |
					      SQLITE_INNOCUOUS;

		result = sqlite3_create_function_v2(
			db, functions[i].name, functions[i].arguments, flags,
			ONE_OF(functions[i].which),
			aggregate ? NULL : functions[i].call,
			aggregate ? functions[i].call : NULL,
			aggregate ? percentile : NULL, NULL);
	}
	return result;
}

#ifdef WEFT_EXTENSION
/* The name by which SQLite finds it in weft.so. */
int sqlite3_weft_init(sqlite3 *db, char **error,
		      const sqlite3_api_routines *api);

__attribute__((visibility("default"))) int
sqlite3_weft_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	(void)error;
	SQLITE_EXTENSION_INIT2(api);
	return sql_functions_add(db);
}
#endif
