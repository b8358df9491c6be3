/* SPDX-License-Identifier: MIT */
/*
 * The kernel programs of the measures of a recording: loaded, attached, their
 * epochs turned together with the sampler's, and emptied.
 */
#ifndef WEFT_MEASURES_H
#define WEFT_MEASURES_H

#include "collector/measure/plan.h"
#include "collector/probe.h"

enum {
	MEASURES_MAX = 16
};

struct measures;

struct measures_opts {
	const char *const *text; /* of each measure */
	size_t n;
	uint32_t max_keys; /* of each, in an interval */
	uint32_t examples; /* of each bucket, key, CPU and interval; 0: none */
};

/* What one key had in an interval, summed over CPUs. */
struct measure_row {
	uint32_t measure; /* its number */
	struct measure_key key;
	uint64_t count, sum;
	uint64_t min, max; /* as they are, two's complement; of those without
			      values 0 */
	size_t first;      /* index into buckets */
};

struct measure_harvest {
	struct measure_row *rows; /* owned */
	size_t n_rows, rows_room;
	uint64_t *buckets; /* owned */
	size_t n_buckets, buckets_room;
	struct measure_ledger ledger[MEASURES_MAX];
	uint64_t missed[MEASURES_MAX];    /* events at which the kernel did not
					     run the program */
	struct measure_example *examples; /* owned */
	size_t n_examples, examples_room;
	uint64_t unsent[MEASURES_MAX]; /* examples that found no room here */
};

void measure_harvest_release(struct measure_harvest *h);

/* Add an example as it came from the ring. */
void measure_harvest_example(struct measure_harvest *h,
			     const struct measure_example *example);

/*
 * Parse and plan the measures, before anything is loaded or forked. Functions
 * are looked up (symbol.h). Errors: as measure_parse(), measure_plan()
 * and measure_symbol().
 */
int measures_plan(struct measures **out, const struct measures_opts *opts,
		  struct weft_err *err) MUST_CHECK;
void measures_close(struct measures *m); /* NULL is fine */

size_t measures_count(const struct measures *m); /* NULL: 0 */
const struct measure_ready *measures_get(const struct measures *m, size_t i);
uint32_t measures_max_keys(const struct measures *m);

/* Whether any takes stacks or contexts of threads; NULL: false. */
bool measures_take_threads(const struct measures *m);
/* The key of the attribute that is a key of measures; NULL: none. Borrowed. */
const char *measures_attribute(const struct measures *m);

/* The path of a cgroup by its id, as cgroups_path(). */
const char *measures_cgroup(const struct measures *m, uint64_t id);

/* The process and the stack in a key; false: none is. */
bool measure_key_stack(const struct measure_ready *r,
		       const struct measure_key *key, struct weft_identity *who,
		       struct weft_stack_key *stack);

/* Kernel memory that the maps will take, in bytes, by possible CPUs. */
uint64_t measures_memory(const struct measures *m);

/* Load and attach; nothing counts yet. probe outlives the measures. err names
 * the measure and what could not be probed. */
int measures_attach(struct measures *m, struct probe *probe,
		    struct weft_err *err) MUST_CHECK;

/* Count from now on, into this epoch. Calls that are under way began before:
 * their return has no entry. NULL is fine. */
void measures_start(struct measures *m, uint32_t epoch);

/* Count into this epoch from now on. The old one may be drained once no
 * program uses it (probe_swap() waits for that). */
void measures_turn(struct measures *m, uint32_t epoch);

/* Move the values of a finished epoch into h; examples are there by then. */
int measures_drain(struct measures *m, uint32_t epoch,
		   struct measure_harvest *h, struct weft_err *err) MUST_CHECK;

#endif
