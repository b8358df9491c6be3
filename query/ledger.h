/* SPDX-License-Identifier: MIT */
/*
 * The ledger over a range: where every firing and every choice ended. 0 and
 * "not measured" differ.
 */
#ifndef WEFT_LEDGER_H
#define WEFT_LEDGER_H

#include "query/range.h"
#include "query/stats.h"

struct sqlite3_stmt;

struct ledger_entry {
	char name[32];
	uint64_t count;
	bool is_measured; /* in each interval of the range that has the entry */
};

/* How much more was selected than stored in an interval. What has expired was
 * stored: of a trace whose samples are still there, all are. */
struct ledger_factor {
	int64_t interval_id;
	double factor;
};

struct ledger {
	struct ledger_entry entries[64];
	size_t n_entries;
	struct ledger_factor *factors; /* owned; intervals without loss are
					  left out; by interval_id */
	size_t n_factors;
	double cpu_s;         /* seconds times CPUs that were sampled */
	uint64_t shape_lost;  /* firings that no stack stands for */
	uint64_t detail_lost; /* selected, but not stored */
	uint64_t counts_expired, detail_expired; /* stored, but gone since */
};

/* On success ledger_release() frees what l holds. */
int ledger_load(struct ledger *l, struct db *db, const struct range *r,
		struct weft_err *err) MUST_CHECK;
void ledger_release(struct ledger *l);

/* NULL: the file has no such entry. */
const struct ledger_entry *ledger_find(const struct ledger *l,
				       const char *name);

/* The entry's count; 0 where it was not measured. */
uint64_t ledger_count(const struct ledger *l, const char *name);

/* What an entry counts, in a few words; NULL: not known. */
const char *ledger_explain(const char *name);

/* What estimates from an interval's detail are to be multiplied by. */
double ledger_factor(const struct ledger *l, int64_t interval_id);

/*
 * Read a tally of samples of one interval from five columns on: interval_id,
 * count(*), sum(weight), sum(weight * weight), sum(weight * value), with the
 * interval's factor applied.
 */
struct tally ledger_tally(const struct ledger *l, struct sqlite3_stmt *stmt,
			  int column);

/* The tally of one sample of an interval, with its factor applied. */
struct tally ledger_sample(const struct ledger *l, int64_t interval_id,
			   double weight, double value);

/* Shares of what was due that were lost, 0 to 1. */
double ledger_shape_loss(const struct ledger *l);
double ledger_detail_loss(const struct ledger *l);

/* One line on what is missing, to be printed below a report; false: nothing
 * is. */
bool ledger_describe_loss(const struct ledger *l, char *out, size_t size);

#endif
