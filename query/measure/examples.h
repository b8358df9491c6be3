/* SPDX-License-Identifier: MIT */
/*
 * Examples of what a measure counted: single events of a bucket, with the
 * request and the place in code.
 */
#ifndef WEFT_MEASURE_EXAMPLES_H
#define WEFT_MEASURE_EXAMPLES_H

#include "query/json.h"
#include "query/measure/measure.h"

struct measure_example {
	int64_t key_id;
	uint32_t bucket;
	int64_t value, unix_ns, pid, tid, stack_id;
	char comm[64];            /* of the thread; bytes, as stored */
	char trace[33], span[17]; /* hexadecimal; "": none */
	char context_status[32];  /* why there is no trace */
	char place[400]; /* functions, innermost first; bytes, as stored */
};

/* Which are wanted: at most n (not 0) of each bucket and key; of one bucket,
 * the one that holds value. */
struct measure_wanted {
	uint64_t n;
	bool of_bucket;
	int64_t value;
};

/* Load those of the measures that were loaded: of buckets requests first, then
 * the highest. */
int measure_examples_load(struct measures *m, struct db *db,
			  const struct range *r,
			  const struct measure_wanted *wanted,
			  struct weft_err *err) MUST_CHECK;

/* To stdout, those of one key; nothing where there are none. */
void measure_examples_print(const struct measure *m,
			    const struct measure_row *row, const char *unit);

/* As array "examples" of a key. */
void measure_examples_json(const struct measure *m,
			   const struct measure_row *row, struct json *j);

#endif
