/* SPDX-License-Identifier: MIT */
/*
 * Which samples have a trace ID: how many of each process's detail samples,
 * from where, and why the others have none. Counts of what is stored, no
 * estimates.
 */
#ifndef WEFT_QUERY_CONTEXT_H
#define WEFT_QUERY_CONTEXT_H

#include "query/json.h"
#include "query/ledger.h"
#include "query/range.h"
#include "query/sums.h"

enum {
	CONTEXT_WORDS_MAX = 16, /* of each kind; more are not stored */
	CONTEXT_WORD_BYTES = 24,
};

struct context_counts {
	uint64_t samples;
	uint64_t with_id;
	uint64_t source[CONTEXT_WORDS_MAX]; /* of those with an ID */
	uint64_t status[CONTEXT_WORDS_MAX]; /* of those without */
};

struct context_row {
	int64_t process_id, pid;
	char comm[64];
	struct context_counts counts;
};

/* Zeroed is empty. */
struct context {
	struct context_row *rows; /* owned; most samples first */
	size_t n;
	struct context_counts all;
	char source[CONTEXT_WORDS_MAX][CONTEXT_WORD_BYTES];
	char status[CONTEXT_WORDS_MAX][CONTEXT_WORD_BYTES];
};

/*
 * Load a report's range. context_release() on every path. It takes a look at
 * each sample; by_interval, unless NULL, gets how many each interval has, so
 * that nobody has to look again.
 */
int context_load(struct context *c, struct db *db, const struct range *range,
		 struct sums *by_interval, struct weft_err *err) MUST_CHECK;
void context_release(struct context *c);

/* Print a line on all, and a table with at most so many processes (0: all). */
int context_print(const struct context *c, size_t most,
		  struct weft_err *err) MUST_CHECK;

/*
 * One line on all processes, by the ledger, without a look at the samples;
 * where they came from it does not tell. Of those that were chosen for detail,
 * also if they were lost later.
 */
void context_describe_ledger(const struct ledger *l, char *out, size_t size);
void context_json_ledger(const struct ledger *l, struct json *j);

/* Has any sample a trace ID, by the ledger? Without one, that a request has no
 * sample says nothing of it. */
bool context_is_any(const struct ledger *l);

/* Two keys of an object: of all, and by process. */
void context_json(const struct context *c, struct json *j);

#endif
