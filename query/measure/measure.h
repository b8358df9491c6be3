/* SPDX-License-Identifier: MIT */
/*
 * A measure over a range of a recording: what each key had, added up, and what
 * was not counted.
 */
#ifndef WEFT_MEASURE_H
#define WEFT_MEASURE_H

#include "query/db.h"
#include "query/histogram.h"
#include "query/range.h"

enum {
	MEASURE_KEYS = 4
};

/* Columns of table metric_interval, in order. */
enum measure_end {
	MEASURE_FIRED,
	MEASURE_COUNTED,
	MEASURE_FILTERED,
	MEASURE_NOT_MET,
	MEASURE_KEYS_FULL,
	MEASURE_BUSY,
	MEASURE_UNREADABLE,
	MEASURE_ENTERED,
	MEASURE_NO_ENTRY,
	MEASURE_NO_RETURN,
	MEASURE_CALLS_FULL,
	MEASURE_MISSED,
	MEASURE_DISCARDED,
	MEASURE_SELECTED,
	MEASURE_LOST_EXEMPLARS,
	MEASURE_ENDS
};

extern const char *const measure_end_names[MEASURE_ENDS];

struct measure_example;

/* What a key had. */
struct measure_row {
	int64_t key_id;
	/* Bytes, as stored; of a stack its functions, innermost first. */
	char key[MEASURE_KEYS][512];
	bool is_number[MEASURE_KEYS];
	int64_t count, sum, min, max; /* those that the aggregate has */
	struct histogram histogram;
};

struct measure {
	int64_t id;
	size_t part; /* of the range */
	char name[64], text[544], aggregate[16], unit[16], probe[544];
	int n_keys;
	char key[MEASURE_KEYS][96]; /* what the keys are */
	struct bucket_edges edges;
	int64_t max_keys;
	struct measure_row *rows; /* owned; the most first */
	size_t n_rows;
	int64_t end[MEASURE_ENDS];
	/* By examples.h: by key, then bucket from the highest on. */
	struct measure_example *examples; /* owned */
	size_t n_examples;
};

struct measures {
	struct measure *list; /* owned */
	size_t n;
};

/* Has the file's schema measures at all? 1, 0, or a negative errno. */
int measures_have_tables(struct db *db, struct weft_err *err) MUST_CHECK;

/* Load the measures of the range, or only the one called name (NULL: all).
 * -ENODATA: there is none; err lists what there is. On every path what out
 * holds is released by measures_release(). */
int measures_load(struct measures *out, struct db *db, const struct range *r,
		  const char *name, struct weft_err *err) MUST_CHECK;
void measures_release(struct measures *m);

/* Borrow statement id with the measure and a part's first and last interval
 * bound to ?1, ?2, ?3. */
int measure_query(const struct measure *m, struct db *db,
		  const struct range_part *part, enum query_sql id,
		  struct sqlite3_stmt **out, struct weft_err *err) MUST_CHECK;

/* The functions of the n innermost frames of a stack, as "f < g": of user code;
 * where there are none of it, the kernel's. Bytes, as stored. */
int measure_place(struct db *db, int64_t stack_id, int n, char *out,
		  size_t size, struct weft_err *err) MUST_CHECK;

/* Are its values in buckets? */
bool measure_has_buckets(const struct measure *m);

/* What an aggregate sorts its keys by, and prints of one that has no buckets.
 */
double measure_figure(const struct measure *m, const struct measure_row *row);

/* Events that should be in the counts and are not. */
int64_t measure_lost(const struct measure *m);

#endif
