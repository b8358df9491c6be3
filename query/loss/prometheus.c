/* SPDX-License-Identifier: MIT */
/*
 * Prometheus' text format, version 0.0.4: of each metric its help, its type,
 * and all its lines together. Counters are totals of the recording.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "query/loss/loss.h"

enum {
	EVENTS_MAX = 64
};

struct health {
	struct report report;
	int64_t recording_id;
	char *events[EVENTS_MAX]; /* owned */
	struct loss *losses;      /* owned; one per event */
	size_t n_events;
	bool is_open;
	double started_s, interval_s, intervals, last_s, cpu_s, resident;
};

static void health_release(struct health *h)
{
	size_t i;

	for (i = 0; i < h->n_events; i++) {
		free(h->events[i]);
		loss_release(&h->losses[i]);
	}
	free(h->losses);
	report_close(&h->report);
}

static int load_events(struct health *h, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(h->report.db, QUERY_SQL_LOSS_EVENTS, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, h->recording_id);
	while ((rc = db_step(h->report.db, stmt, err)) > 0) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		if (h->n_events == EVENTS_MAX)
			continue;
		h->events[h->n_events] = strdup(name ? name : "");
		if (!h->events[h->n_events])
			return weft_fail(err, -ENOMEM, "out of memory");
		h->n_events++;
	}
	return rc;
}

static int load_recording(struct health *h, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(h->report.db, QUERY_SQL_LOSS_HEALTH, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, h->recording_id);
	rc = db_step(h->report.db, stmt, err);
	if (rc <= 0)
		return rc;
	h->started_s = sqlite3_column_double(stmt, 0) / 1e9;
	h->is_open = sqlite3_column_type(stmt, 1) == SQLITE_NULL;
	h->interval_s = sqlite3_column_double(stmt, 2) / 1e9;
	h->intervals = sqlite3_column_double(stmt, 3);
	h->last_s = sqlite3_column_double(stmt, 4) / 1e9;
	h->cpu_s = sqlite3_column_double(stmt, 5) / 1e9;
	h->resident = sqlite3_column_double(stmt, 6);
	return 0;
}

/* On the same snapshot for all events, so that they fit each other. */
static int load_event(struct health *h, size_t i,
		      const struct cli_common *common, struct weft_err *err)
{
	struct cli_common one = *common;
	struct loss *l = &h->losses[i];
	int rc;

	one.event = h->events[i];
	l->report.db = h->report.db;
	rc = report_find(&l->report, &one, err);
	if (!rc)
		rc = loss_add_up(l, err);
	l->report.db = NULL;
	return rc;
}

static int load(struct health *h, const struct cli_common *common,
		const char *file, struct weft_err *err)
{
	size_t i;
	int rc = report_open(&h->report, common, file, err);

	h->losses = calloc(EVENTS_MAX, sizeof(*h->losses));
	if (!rc && !h->losses)
		rc = weft_fail(err, -ENOMEM, "out of memory");
	if (rc)
		return rc;
	h->recording_id =
		h->report.range.parts[h->report.range.n_parts - 1].recording_id;
	rc = load_events(h, err);
	for (i = 0; !rc && i < h->n_events; i++)
		rc = load_event(h, i, common, err);
	if (!rc)
		rc = load_recording(h, err);
	return rc;
}

/* The text of a label: backslash, quote and newline are escaped. */
static void put_label(const char *text)
{
	char clean[1024];
	const char *c;

	weft_sanitize(clean, sizeof(clean), text, strlen(text));
	for (c = clean; *c; c++) {
		if (*c == '\\' || *c == '"')
			putchar('\\');
		putchar(*c);
	}
}

static void put_head(const char *name, const char *type, const char *help)
{
	printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_labels(const char *name, const char *event, const char *key,
		       const char *word)
{
	printf("%s{event=\"", name);
	put_label(event);
	printf("\",%s=\"", key);
	put_label(word);
	printf("\"} ");
}

static void put_entries(const struct health *h)
{
	static const char name[] = "weft_ledger_total";
	size_t i, k;

	put_head(name, "counter",
		 "Firings, samples and losses by where they ended.");
	for (i = 0; i < h->n_events; i++) {
		const struct ledger *l = &h->losses[i].report.ledger;

		for (k = 0; k < l->n_entries; k++) {
			if (!l->entries[k].is_measured)
				continue;
			put_labels(name, h->events[i], "entry",
				   l->entries[k].name);
			printf("%" PRIu64 "\n", l->entries[k].count);
		}
	}
}

static void put_stacks(const struct health *h)
{
	static const char name[] = "weft_stacks_total";
	size_t i, k;

	put_head(name, "counter", "Samples by how whole their stack is.");
	for (i = 0; i < h->n_events; i++) {
		const struct loss *l = &h->losses[i];

		for (k = 0; k < l->n_statuses; k++) {
			put_labels(name, h->events[i], "status",
				   l->statuses[k].word);
			printf("%" PRIu64 "\n", l->statuses[k].count);
		}
	}
}

static void put_checks(const struct health *h)
{
	static const char name[] = "weft_ledger_difference";
	size_t i, k;

	put_head(name, "gauge",
		 "What an identity of the ledger is off by; anything but 0 "
		 "is a fault of the recorder.");
	for (i = 0; i < h->n_events; i++) {
		for (k = 0; k < LOSS_CHECKS; k++) {
			const struct loss_check *c = &h->losses[i].checks[k];

			if (!c->is_known)
				continue;
			put_labels(name, h->events[i], "identity", c->text);
			printf("%" PRId64 "\n", c->left - c->right);
		}
	}
}

static void put_number(const char *name, const char *type, const char *help,
		       double value)
{
	put_head(name, type, help);
	printf("%s %.17g\n", name, value);
}

static double now_s(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double bytes_of(const char *path, const char *suffix)
{
	char name[4096];
	struct stat st;

	if (snprintf(name, sizeof(name), "%s%s", path, suffix) >=
		    (int)sizeof(name) ||
	    stat(name, &st))
		return 0;
	return (double)st.st_size;
}

static void put_recording(const struct health *h)
{
	const char *path = db_path(h->report.db);

	put_number("weft_recording_started_seconds", "gauge",
		   "When the recording began, Unix time.", h->started_s);
	put_number("weft_recording_open", "gauge",
		   "1 while the recording has not ended.", h->is_open);
	put_number("weft_interval_seconds", "gauge",
		   "How often the recorder stores what it has.", h->interval_s);
	put_number("weft_intervals_total", "counter", "Intervals stored.",
		   h->intervals);
	put_number("weft_last_interval_seconds", "gauge",
		   "When the last stored interval ended, Unix time.",
		   h->last_s);
	if (h->is_open)
		put_number("weft_lag_seconds", "gauge", "How long ago that is.",
			   now_s() - h->last_s);
	put_number("weft_self_cpu_seconds_total", "counter",
		   "CPU time of the recorder and its helpers.", h->cpu_s);
	put_number("weft_self_resident_bytes", "gauge",
		   "Memory of the recorder, in the last interval.",
		   h->resident);
	put_number("weft_file_bytes", "gauge", "Size of the file.",
		   bytes_of(path, ""));
	put_number("weft_log_bytes", "gauge",
		   "Size of the write-ahead log beside it.",
		   bytes_of(path, "-wal"));
}

int loss_prometheus(const struct cli_common *common, const char *file,
		    double *worst, struct weft_err *err)
{
	struct health h = { 0 };
	size_t i;
	int rc = load(&h, common, file, err);

	*worst = 0;
	if (!rc) {
		db_release(h.report.db);
		put_recording(&h);
		put_entries(&h);
		put_stacks(&h);
		put_checks(&h);
	}
	for (i = 0; !rc && i < h.n_events; i++)
		if (loss_worst_percent(&h.losses[i]) > *worst)
			*worst = loss_worst_percent(&h.losses[i]);
	health_release(&h);
	return rc;
}
