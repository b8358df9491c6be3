/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query/figure.h"
#include "query/measure/measure.h"
#include "query/overview.h"
#include "query/report.h"

enum {
	LINE_BYTES = 1024,
	NAME_BYTES = 64
};

/* What is told of a file, read before any of it is printed. */
struct found {
	bool has_samples;        /* else report is of no use */
	char events[LINE_BYTES]; /* of the last recording; ready to print */
	char processes[LINE_BYTES];
	char measures[LINE_BYTES];
	int64_t n_events, n_measures, recordings, last;
	int64_t requests, only_spans;
	char trace[33]; /* how that which used most begins; "": there is none */
	char host[NAME_BYTES];
	bool has_unnamed, has_spans, has_off_cpu;
};

/* Add text to a line, after a comma where it is not the first. What does not
 * fit is left out. */
static void add(char *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(char *line, const char *fmt, ...)
{
	size_t used = strlen(line), at = used;
	va_list ap;
	int size;

	if (used + 2 < LINE_BYTES && used)
		at += (size_t)snprintf(line + at, LINE_BYTES - at, ", ");
	va_start(ap, fmt);
	size = vsnprintf(line + at, LINE_BYTES - at, fmt, ap);
	va_end(ap);
	if (size < 0 || (size_t)size >= LINE_BYTES - at)
		line[used] = '\0';
}

/* A name of the file's, safe on a terminal. */
static const char *safe_name(char to[NAME_BYTES], sqlite3_stmt *stmt,
			     int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	if (!text)
		return "?";
	weft_sanitize(to, NAME_BYTES, text, strlen(text));
	return to;
}

static int load_events(struct found *f, struct db *db, int64_t recording,
		       struct weft_err *err)
{
	char name[NAME_BYTES];
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_OVERVIEW_EVENTS, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, recording);
	while ((rc = db_step(db, stmt, err)) > 0) {
		const char *unit = (const char *)sqlite3_column_text(stmt, 1);

		safe_name(name, stmt, 0);
		f->n_events++;
		f->has_off_cpu |= !strcmp(name, "off-cpu");
		add(f->events, "%s (%s samples, %s)", name,
		    FIGURE(figure_count, sqlite3_column_double(stmt, 2)),
		    FIGURE(figure_value, sqlite3_column_double(stmt, 3),
			   unit ? unit : ""));
	}
	return rc;
}

static int load_processes(struct found *f, struct db *db, int64_t event,
			  struct weft_err *err)
{
	char name[NAME_BYTES];
	int64_t all = 0, shown = 0;
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_OVERVIEW_PROCESSES, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, event);
	while ((rc = db_step(db, stmt, err)) > 0) {
		all = sqlite3_column_int64(stmt, 3);
		shown++;
		add(f->processes, "%s (pid %lld, %s samples)",
		    safe_name(name, stmt, 0),
		    (long long)sqlite3_column_int64(stmt, 1),
		    FIGURE(figure_count, sqlite3_column_double(stmt, 2)));
	}
	if (!rc && all > shown)
		add(f->processes, "%lld more", (long long)(all - shown));
	return rc;
}

/* How many digits two IDs begin with alike. */
static size_t alike(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Cut the ID so that it is short, and no other begins with it. */
static void shorten(char trace[33], sqlite3_stmt *stmt)
{
	enum {
		SHORT = 12
	};
	size_t length = SHORT;
	char other[33];

	for (int column = 3; column <= 4; column++) {
		db_copy_word(stmt, column, other, sizeof(other));
		if (alike(trace, other) >= length)
			length = alike(trace, other) + 1;
	}
	if (length < 33)
		trace[length] = '\0';
}

static int load_requests(struct found *f, struct db *db, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_OVERVIEW_REQUESTS, &stmt, err);

	if (!rc)
		rc = db_step(db, stmt, err);
	if (rc <= 0)
		return rc;
	f->requests = sqlite3_column_int64(stmt, 0);
	f->only_spans = sqlite3_column_int64(stmt, 1);
	db_copy_word(stmt, 2, f->trace, sizeof(f->trace));
	shorten(f->trace, stmt);
	return 0;
}

static int load_measures(struct found *f, struct db *db, int64_t recording,
			 struct weft_err *err)
{
	char name[NAME_BYTES];
	sqlite3_stmt *stmt;
	int rc = measures_have_tables(db, err);

	if (rc <= 0)
		return rc;
	rc = db_query(db, QUERY_SQL_OVERVIEW_MEASURES, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, recording);
	while ((rc = db_step(db, stmt, err)) > 0) {
		f->n_measures++;
		add(f->measures, "%s", safe_name(name, stmt, 0));
	}
	return rc;
}

static int load_file(struct found *f, struct db *db, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_OVERVIEW_FILE, &stmt, err);

	if (!rc)
		rc = db_step(db, stmt, err);
	if (rc <= 0)
		return rc;
	f->recordings = sqlite3_column_int64(stmt, 0);
	safe_name(f->host, stmt, 1);
	f->has_unnamed = sqlite3_column_int(stmt, 2);
	f->has_spans = sqlite3_column_int(stmt, 3);
	f->last = sqlite3_column_int64(stmt, 4);
	return 0;
}

/* A recording may be too young for reports, or have measures alone. */
static int load(struct found *f, struct report *r, struct weft_err *err)
{
	const struct cli_common common = { 0 };
	int rc = report_open(r, &common, NULL, err);

	f->has_samples = !rc;
	if (rc == -ENODATA && r->db) {
		*err = (struct weft_err){ 0 };
		rc = 0;
	}
	if (!rc)
		rc = load_file(f, r->db, err);
	if (!rc)
		rc = load_events(f, r->db, f->last, err);
	if (!rc && f->has_samples)
		rc = load_processes(f, r->db, r->range.parts[0].event_id, err);
	if (!rc)
		rc = load_requests(f, r->db, err);
	if (!rc)
		rc = load_measures(f, r->db, f->last, err);
	return rc;
}

static void print_found(const struct found *f, const struct report *r)
{
	char safe[4096], loss[512];
	struct stat st;
	const char *path = db_path(r->db);

	weft_sanitize(safe, sizeof(safe), path, strlen(path));
	printf("%s: %lld recording%s", safe, (long long)f->recordings,
	       f->recordings == 1 ? "" : "s");
	if (f->recordings)
		printf(" of host %s", f->host);
	if (!stat(path, &st))
		printf(", %.1f MB", (double)st.st_size / 1e6);
	putchar('\n');
	if (f->has_samples)
		report_print_heading(r);
	if (f->n_events > 1)
		printf("  events     %s\n", f->events);
	if (*f->processes)
		printf("  processes  %s\n", f->processes);
	if (f->requests || f->only_spans)
		printf("  requests   %s with a sample, %s with spans only%s\n",
		       FIGURE(figure_count, (double)f->requests),
		       FIGURE(figure_count, (double)f->only_spans),
		       f->recordings > 1 ? ", in all recordings" : "");
	if (f->n_measures)
		printf("  measures   %s\n", f->measures);
	if (f->has_samples &&
	    ledger_describe_loss(&r->ledger, loss, sizeof(loss)))
		printf("%s\n", loss);
}

static void suggest(const char *command, const char *why)
{
	printf("  %-40s %s\n", command, why);
}

static void print_next(const struct found *f)
{
	char command[64];

	printf("\nAsk next:\n");
	if (f->has_samples)
		suggest("weft top", "which code used the CPUs");
	if (f->has_off_cpu)
		suggest("weft top --event off-cpu",
			"where threads were blocked");
	if (f->requests) {
		suggest("weft traces", "which requests used them most");
		/* It may be of an earlier recording than the last. */
		snprintf(command, sizeof(command), "weft trace %s%s", f->trace,
			 f->recordings > 1 ? " --recording all" : "");
		suggest(command, "the first of them, against everyone");
	}
	if (f->has_spans)
		suggest("weft traces --sort duration",
			"which requests lasted longest");
	if (f->n_measures)
		suggest("weft measure", "what the kernel counted");
	if (f->has_unnamed)
		suggest("weft symbolize", "names for what has none yet");
	suggest("weft loss", "what was counted, and what was not");
	suggest("weft sql --list", "more questions, each by its name");
	suggest("weft --help", "all commands");
}

static int print_beginning(void)
{
	printf("No recording at hand: $WEFT_DB is not set, and there is no "
	       "weft.db here.\n\nTo begin:\n");
	suggest("weft doctor", "can this machine be recorded?");
	suggest("sudo weft record -d 10", "ten seconds of it, into weft.db");
	suggest("sudo weft record -- COMMAND", "a program, until it ends");
	suggest("weft", "then: what is in it, what to ask next");
	suggest("weft --help", "all commands");
	return cli_finish();
}

int overview(void)
{
	const char *path = getenv("WEFT_DB");
	struct weft_err err = { 0 };
	struct found found = { 0 };
	struct report report = { 0 };
	int rc;

	if (!(path && *path) && access("weft.db", F_OK) && errno == ENOENT)
		return print_beginning();
	rc = load(&found, &report, &err);
	if (!rc) {
		db_release(report.db);
		print_found(&found, &report);
		print_next(&found);
	}
	report_close(&report);
	return rc ? cli_fail(&err) : cli_finish();
}
