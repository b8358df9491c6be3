/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/figure.h"
#include "query/ledger.h"

enum {
	NAMES_MAX = 256 /* entries of a file; no recorder has as many */
};

static const struct {
	const char *name, *text;
} meanings[] = {
	{ "due", "firings by the kernel's own count" },
	{ "fired", "firings that the program saw" },
	{ "not_run", "due, but not seen: idle CPU, timer late, or left out by "
		     "the kernel while another program ran" },
	{ "counted", "samples: firings counted with a stack" },
	{ "filtered", "firings on what was not to be recorded" },
	{ "idle", "firings on an idle CPU" },
	{ "lost_counts_full", "no room to count: raise --max-stacks" },
	{ "lost_busy", "not counted: table locked, or no memory at once" },
	{ "lost_counts_discarded", "samples dropped: the file was too slow" },
	{ "selected", "samples chosen for detail" },
	{ "passed_over", "samples not chosen for detail" },
	{ "stored", "detail samples in the file" },
	{ "lost_ring_full", "detail: no room, raise --ring-size" },
	{ "lost_ring_busy", "detail: the ring was locked" },
	{ "lost_discarded", "detail dropped: the file was too slow" },
	{ "expired", "detail samples that went because they were old, see weft "
		     "gc" },
	{ "expired_counts", "samples that shape no longer has: they were old" },
	{ "stack_lost", "samples without stack: raise --max-stacks" },
	{ "stack_over_share",
	  "of them, those of processes that used as much of "
	  "the table as was left for others" },
	{ "truncated", "samples with more frames than are recorded" },
	{ "broken", "samples of which a caller was not found" },
	{ "table_pending", "samples that ended where the unwind table of a "
			   "file was still being built" },
	{ "table_refused", "files whose unwind table found no room" },
	{ "jit_not_read", "samples with JIT code that has its last known name, "
			  "or none: its perf map was not read in time" },
	{ "ambiguous_map", "samples with a frame whose mapping changed" },
	{ "sideband_lost", "news of processes that found no room" },
	{ "open_at_start", "blocks that began before recording: their time in "
			   "it is no sample" },
	{ "open_at_end",
	  "runs, blocks and waits that had not ended when recording "
	  "did: the same" },
	{ "probe_deferred", "looks for trace context that were put off" },
	{ "context_failing", "processes given up for a minute or more: their "
			     "context could hardly ever be read" },
	{ "attributes_refused", "attributes not stored: over 4096 new values "
				"of a process in a minute, or no room" },
	{ "attributes_unknown", "attributes not stored: of keys that the "
				"process has not told" },
	{ "attributes_truncated", "samples with more attributes than are "
				  "read (256 bytes)" },
	{ "shape_by_full", "samples whose value of --shape-by is not told "
			   "apart: over 256 values, or over 64 bytes" },
	{ "throttled", "times that the kernel held a timer back: too often" },
	{ "context_ok", "detail samples with a trace ID" },
	{ "context_null", "no record attached to the thread" },
	{ "context_zero", "record without an active trace" },
	{ "context_updating", "record was just being changed" },
	{ "context_untouched", "thread never used its record" },
	{ "context_half",
	  "one ID without the other, as in labels of a span alone" },
	{ "context_e_tp", "no thread pointer" },
	{ "context_e_dtv", "thread vector not readable" },
	{ "context_e_slot", "thread-local variable not readable" },
	{ "context_e_record", "record not readable" },
	{ "context_skipped_worker", "kernel thread or io_uring worker" },
	{ "context_no_entry", "process not known to publish traces" },
	{ "context_stale_entry", "what was known is of another process" },
	{ "context_unsupported", "process publishes in a way not read" },
	{ "context_malformed", "a label's text is no ID" },
};

const struct ledger_entry *ledger_find(const struct ledger *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n_entries; i++)
		if (!strcmp(l->entries[i].name, name))
			return &l->entries[i];
	return NULL;
}

uint64_t ledger_count(const struct ledger *l, const char *name)
{
	const struct ledger_entry *e = ledger_find(l, name);

	return e ? e->count : 0;
}

const char *ledger_explain(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(meanings); i++)
		if (!strcmp(meanings[i].name, name))
			return meanings[i].text;
	return NULL;
}

/* The entry of that name, added if it is not there; NULL: no room. */
static struct ledger_entry *entry_for(struct ledger *l, const char *name)
{
	struct ledger_entry *e = (struct ledger_entry *)ledger_find(l, name);

	if (e)
		return e;
	if (l->n_entries == ARRAY_LEN(l->entries))
		return NULL;
	e = &l->entries[l->n_entries++];
	e->is_measured = true;
	weft_sanitize(e->name, sizeof(e->name), name, strlen(name));
	return e;
}

/* What is kept of an interval, until it is over. */
enum kept_as {
	KEPT_NOT,
	KEPT_SELECTED,
	KEPT_STORED,
	KEPT_EXPIRED
};

static enum kept_as kept_as(const char *name)
{
	return !strcmp(name, "selected")  ? KEPT_SELECTED
	       : !strcmp(name, "stored")  ? KEPT_STORED
	       : !strcmp(name, "expired") ? KEPT_EXPIRED
					  : KEPT_NOT;
}

/* An entry as the file numbers it, and its sum over a part of a range. */
struct numbered {
	int64_t id;
	char name[sizeof(((struct ledger_entry *)0)->name)];
	uint64_t count;
	bool is_there, is_measured;
	enum kept_as kept_as;
};

static int load_names(struct numbered names[NAMES_MAX], size_t *n,
		      struct db *db, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_LEDGER_NAMES, &stmt, err);

	*n = 0;
	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		rc = 0;
		if (*n == NAMES_MAX ||
		    sqlite3_column_type(stmt, 1) == SQLITE_NULL)
			continue;
		names[*n] = (struct numbered){
			.id = sqlite3_column_int64(stmt, 0),
			.is_measured = true,
		};
		db_copy_text(stmt, 1, names[*n].name, sizeof(names[*n].name));
		names[*n].kept_as = kept_as(names[*n].name);
		(*n)++;
	}
	return rc;
}

/* The entry of that id, looked for from *at on: rows come in the order of
 * names, interval by interval. NULL: there is none. */
static struct numbered *next_of(struct numbered *names, size_t n, size_t *at,
				int64_t id)
{
	for (size_t tried = 0; tried < n; tried++) {
		struct numbered *name = &names[*at];

		*at = *at + 1 < n ? *at + 1 : 0;
		if (name->id == id)
			return name;
	}
	return NULL;
}

/* What of one interval was selected for detail, and is or was in the file. */
struct kept {
	int64_t interval_id, selected, stored, expired;
	bool is_stored_known;
};

static void keep_count(struct kept *k, enum kept_as as, int64_t count)
{
	switch (as) {
	case KEPT_SELECTED:
		k->selected = count;
		break;
	case KEPT_STORED:
		k->stored = count;
		k->is_stored_known = true;
		break;
	case KEPT_EXPIRED:
		k->expired = count;
		break;
	case KEPT_NOT:
		break;
	}
}

/* An interval is over: does each of its samples stand for more? Where nothing
 * was stored there is nothing to multiply. */
static int add_factor(struct ledger *l, const struct kept *k,
		      struct weft_err *err)
{
	struct ledger_factor *grown = l->factors;
	double stored = (double)k->stored + (double)k->expired;

	if (!k->is_stored_known || stored <= 0 || (double)k->selected <= stored)
		return 0;
	if ((l->n_factors & (l->n_factors - 1)) == 0)
		grown = reallocarray(l->factors,
				     l->n_factors ? 2 * l->n_factors : 1,
				     sizeof(*grown));
	if (!grown)
		return weft_fail(err, -ENOMEM, "out of memory");
	l->factors = grown;
	grown[l->n_factors++] = (struct ledger_factor){
		.interval_id = k->interval_id,
		.factor = (double)k->selected / stored,
	};
	return 0;
}

/* Add all rows of a statement to their names, and find the factors. */
static int add_rows(struct ledger *l, struct db *db, sqlite3_stmt *stmt,
		    struct numbered *names, size_t n, struct weft_err *err)
{
	struct kept kept = { 0 };
	struct numbered *name;
	int64_t interval, count;
	size_t at = 0;
	int rc, full = 0;

	while (!full && (rc = db_step(db, stmt, err)) > 0) {
		interval = sqlite3_column_int64(stmt, 2);
		if (interval != kept.interval_id) {
			full = add_factor(l, &kept, err);
			kept = (struct kept){ .interval_id = interval };
		}
		name = next_of(names, n, &at, sqlite3_column_int64(stmt, 0));
		if (!name)
			continue;
		name->is_there = true;
		if (sqlite3_column_type(stmt, 1) == SQLITE_NULL) {
			name->is_measured = false;
			continue;
		}
		count = sqlite3_column_int64(stmt, 1);
		name->count += (uint64_t)count;
		keep_count(&kept, name->kept_as, count);
	}
	if (!full && !rc)
		full = add_factor(l, &kept, err);
	return full ? full : rc;
}

/* Add to an entry. */
static void add_entry(struct ledger *l, const char *name, uint64_t count,
		      bool is_measured)
{
	struct ledger_entry *e = entry_for(l, name);

	if (!e)
		return;
	e->count += count;
	e->is_measured &= is_measured;
}

/* Sums and factors of some intervals of a recording. */
static int load_some(struct ledger *l, struct db *db, const struct range *r,
		     size_t part, struct weft_err *err)
{
	struct numbered names[NAMES_MAX];
	sqlite3_stmt *stmt;
	size_t n;
	int rc = load_names(names, &n, db, err);

	if (!rc)
		rc = range_query(r, part, db, QUERY_SQL_LEDGER_SUMS, &stmt,
				 err);
	if (!rc)
		rc = add_rows(l, db, stmt, names, n, err);
	for (size_t i = 0; i < n && !rc; i++)
		if (names[i].is_there)
			add_entry(l, names[i].name, names[i].count,
				  names[i].is_measured);
	return rc;
}

/* Factors alone. */
static int load_factors(struct ledger *l, struct db *db, const struct range *r,
			size_t part, struct weft_err *err)
{
	struct numbered names[NAMES_MAX];
	sqlite3_stmt *stmt;
	size_t n;
	int rc = load_names(names, &n, db, err);

	if (!rc)
		rc = range_query(r, part, db, QUERY_SQL_LEDGER_KEPT, &stmt,
				 err);
	return rc ? rc : add_rows(l, db, stmt, names, n, err);
}

/* A whole recording, whose sums the file has. Where all that was selected was
 * stored there are no factors to look for. */
static int load_whole(struct ledger *l, struct db *db, const struct range *r,
		      size_t part, struct weft_err *err)
{
	struct kept kept = { 0 };
	sqlite3_stmt *stmt;
	char name[sizeof(((struct ledger_entry *)0)->name)];
	int64_t count;
	int rc = range_query(r, part, db, QUERY_SQL_LEDGER_WHOLE, &stmt, err);

	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		rc = 0;
		db_copy_text(stmt, 0, name, sizeof(name));
		count = sqlite3_column_int64(stmt, 1);
		keep_count(&kept, kept_as(name), count);
		add_entry(l, name, (uint64_t)count,
			  sqlite3_column_int64(stmt, 2) == 0);
	}
	if (rc ||
	    (double)kept.selected == (double)kept.stored + (double)kept.expired)
		return rc;
	return load_factors(l, db, r, part, err);
}

static int load_cpus(struct ledger *l, struct db *db, const struct range *r,
		     size_t part, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	rc = range_query(r, part, db,
			 r->is_whole ? QUERY_SQL_LEDGER_CPUS_WHOLE
				     : QUERY_SQL_LEDGER_CPUS,
			 &stmt, err);
	if (rc)
		return rc;
	rc = db_step(db, stmt, err);
	if (rc < 0)
		return rc;
	l->cpu_s += sqlite3_column_double(stmt, 0);
	return 0;
}

int ledger_load(struct ledger *l, struct db *db, const struct range *r,
		struct weft_err *err)
{
	int rc = 0;
	size_t i;

	*l = (struct ledger){ 0 };
	for (i = 0; i < r->n_parts && !rc; i++) {
		rc = r->is_whole ? load_whole(l, db, r, i, err)
				 : load_some(l, db, r, i, err);
		if (!rc)
			rc = load_cpus(l, db, r, i, err);
	}
	if (rc) {
		ledger_release(l);
		return rc;
	}
	l->shape_lost = ledger_count(l, "lost_counts_full") +
			ledger_count(l, "lost_busy") +
			ledger_count(l, "lost_counts_discarded") +
			ledger_count(l, "stack_lost");
	l->detail_lost = ledger_count(l, "lost_ring_full") +
			 ledger_count(l, "lost_ring_busy") +
			 ledger_count(l, "lost_discarded");
	l->counts_expired = ledger_count(l, "expired_counts");
	l->detail_expired = ledger_count(l, "expired");
	return 0;
}

void ledger_release(struct ledger *l)
{
	free(l->factors);
	*l = (struct ledger){ 0 };
}

double ledger_factor(const struct ledger *l, int64_t interval_id)
{
	size_t lo = 0, hi = l->n_factors, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (l->factors[mid].interval_id == interval_id)
			return l->factors[mid].factor;
		if (l->factors[mid].interval_id < interval_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 1;
}

struct tally ledger_tally(const struct ledger *l, sqlite3_stmt *stmt,
			  int column)
{
	double factor = ledger_factor(l, sqlite3_column_int64(stmt, column));
	double weight = factor * sqlite3_column_double(stmt, column + 2);
	double square =
		factor * factor * sqlite3_column_double(stmt, column + 3);
	struct tally tally = {
		.count = (uint64_t)sqlite3_column_int64(stmt, column + 1),
	};

	/* One without the other is no sum of weights. */
	if (!db_weight_or_0(weight) || !db_weight_or_0(sqrt(square)))
		return tally;
	tally.weight = weight;
	tally.weight_sq = square;
	tally.estimate = db_weight_or_0(
		factor * sqlite3_column_double(stmt, column + 4));
	return tally;
}

struct tally ledger_sample(const struct ledger *l, int64_t interval_id,
			   double weight, double value)
{
	double scaled = db_weight_or_0(db_weight_or_0(weight) *
				       ledger_factor(l, interval_id));

	return (struct tally){ 1, scaled, scaled * scaled,
			       db_weight_or_0(scaled * db_weight_or_0(value)) };
}

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

double ledger_shape_loss(const struct ledger *l)
{
	/* stack_lost firings are among the counted; the others are not */
	uint64_t kept = ledger_count(l, "counted") -
			ledger_count(l, "lost_counts_discarded") -
			ledger_count(l, "stack_lost");

	return share(l->shape_lost, kept + l->shape_lost);
}

double ledger_detail_loss(const struct ledger *l)
{
	return share(l->detail_lost, ledger_count(l, "selected"));
}

/* A timer that did not fire, or whose program the kernel skipped: on an idle
 * CPU that is no loss, and nobody can tell the two apart. */
static size_t describe_not_run(const struct ledger *l, char *out, size_t size)
{
	uint64_t not_run = ledger_count(l, "not_run");
	struct figure count;
	int n;

	if (!not_run)
		return 0;
	n = snprintf(out, size,
		     "not run: %s of the firings that were due (%.3g %%): CPUs "
		     "were idle, or the timer late",
		     figure_count(&count, (double)not_run),
		     100 * share(not_run, ledger_count(l, "due")));
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* What has gone since is no loss of the recording, but a report lacks it. */
static size_t describe_expired(const struct ledger *l, char *out, size_t size)
{
	struct figure shape, detail;
	int n;

	if (!l->counts_expired && !l->detail_expired)
		return 0;
	n = snprintf(
		out, size,
		"expired: %s of the samples (%.3g %%), %s of the detail "
		"samples (%.3g %%); what is said of requests, threads and "
		"times is of the rest",
		figure_count(&shape, (double)l->counts_expired),
		100 * share(l->counts_expired, ledger_count(l, "counted")),
		figure_count(&detail, (double)l->detail_expired),
		100 * share(l->detail_expired, ledger_count(l, "selected")));
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

bool ledger_describe_loss(const struct ledger *l, char *out, size_t size)
{
	struct figure shape, detail;
	size_t n;

	*out = '\0';
	n = describe_not_run(l, out, size);
	if (n && n + 1 < size && (l->counts_expired || l->detail_expired)) {
		out[n++] = '\n';
		out[n] = '\0';
	}
	n += describe_expired(l, out + n, size - n);
	if (!l->shape_lost && !l->detail_lost)
		return n > 0;
	snprintf(out + n, size - n,
		 "%slost: %s of the samples (%.3g %%), %s of the detail "
		 "samples (%.3g %%; estimates make up for them); see weft loss",
		 n ? "\n" : "", figure_count(&shape, (double)l->shape_lost),
		 100 * ledger_shape_loss(l),
		 figure_count(&detail, (double)l->detail_lost),
		 100 * ledger_detail_loss(l));
	return true;
}
