/* SPDX-License-Identifier: MIT */
/*
 * Detail samples in the order of time, with equal runs folded: one row for
 * samples of a thread that follow each other on stacks that read the same, in
 * the same trace and span, without a gap.
 */
#ifndef WEFT_SEQUENCE_H
#define WEFT_SEQUENCE_H

#include "query/report.h"
#include "query/stacks.h"

/* What is known of a gap (gaps.h). */
struct sequence_gap {
	bool is_known;     /* somebody has looked */
	double blocked_ns; /* estimated; of blocks and waits that ended in it */
	double waiting_ns;
	uint64_t others; /* samples of other requests */
};

struct sequence_row {
	int64_t thread_id, stack_id; /* of a run: of its first sample */
	int64_t first_ns, last_ns;   /* boot */
	int64_t gap_ns; /* since the thread's sample before; -1: its first */
	bool is_gap;    /* so long that the thread was hardly on CPU: had it
			   been, a sample would have come with 95 % */
	struct sequence_gap gap_in;
	bool is_other_trace; /* than the thread's sample before */
	uint64_t samples;
	int64_t pid, tid;
	char comm[64];
	char span[17], trace[33]; /* "" without one */
	char *leaf;               /* owned */
};

struct sequence {
	struct sequence_row *rows; /* owned */
	size_t n;
	bool is_cut; /* there are more than were asked for */
};

/*
 * Load the samples of trace (0: of all), and if tid is not 0 only that
 * thread's, of a report's range; at most max_rows rows (0: all). stacks, of
 * stacks_load_few(), learns of theirs. On success sequence_release() frees what
 * s holds.
 */
int sequence_load(struct sequence *s, struct report *r, struct stacks *stacks,
		  int64_t trace, int64_t tid, size_t max_rows,
		  struct weft_err *err) MUST_CHECK;
void sequence_release(struct sequence *s);

/* Print as a table; times count from origin_ns (boot). */
int sequence_print(const struct sequence *s, int64_t origin_ns, bool with_trace,
		   struct weft_err *err) MUST_CHECK;

/* An array `runs` in the object that is open. */
void sequence_json(const struct sequence *s, struct json *j, int64_t origin_ns);

#endif
