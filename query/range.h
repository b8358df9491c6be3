/* SPDX-License-Identifier: MIT */
/*
 * What a report is about: which recordings of the file, which event, which
 * stretch of time. Time snaps to whole intervals, the unit of truth: an
 * interval that overlaps the stretch belongs to it.
 */
#ifndef WEFT_RANGE_H
#define WEFT_RANGE_H

#include <stddef.h>

#include "query/cli.h"
#include "query/db.h"

/* One recording's part of the range. */
struct range_part {
	int64_t recording_id, event_id;
	int64_t first_interval, last_interval; /* ids, both included */
	int64_t start_ns, end_ns;              /* boot */
	int64_t start_unix_ns;
	int64_t requested_hz; /* 0: not a timer */
	int64_t detail_n;     /* one sample in so many; 0: no detail */
	int64_t cpus;
};

struct range {
	struct range_part *parts; /* owned */
	size_t n_parts;
	char event[256];
	char unit[16];
	bool is_whole; /* every interval of its recordings */
	bool is_all;   /* every event and interval of the file; a timer */
	bool is_open;  /* a recording in it has not ended */
	int64_t length_ns;
	int64_t from_ns, until_ns; /* Unix; of its recordings, whole */
};

/*
 * Parse a time: "+S" is start_ns + S seconds, "-S" is end_ns - S, else RFC
 * 3339 with a zone ("2026-11-29T17:00:00Z", fractions to the nanosecond,
 * offsets like +01:00). Returns 0 or -EINVAL.
 */
int range_parse_time(const char *text, int64_t start_ns, int64_t end_ns,
		     int64_t *out_ns) MUST_CHECK;

/*
 * Find what common asks for. On success range_release() frees what r holds.
 * Returns 0; -E2BIG for words that cannot be understood or name nothing;
 * -ENODATA where the file has no interval there; else as db_step().
 */
int range_find(struct range *r, struct db *db, const struct cli_common *common,
	       struct weft_err *err) MUST_CHECK;
void range_release(struct range *r);

/* Do samples differ in value (how long a block was), so that shares are of
 * values? A timer's all stand for its period. */
bool range_is_by_value(const struct range *r);

/* Borrow statement id with a part's event, first and last interval bound to
 * ?1, ?2, ?3. */
int range_query(const struct range *r, size_t part, struct db *db,
		enum query_sql id, struct sqlite3_stmt **out,
		struct weft_err *err) MUST_CHECK;

#endif
