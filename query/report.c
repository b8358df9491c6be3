/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "query/figure.h"
#include "query/report.h"

enum {
	ID_DIGITS = 32,
	ID_DIGITS_LEAST = 8,
	CANDIDATES = 5
};

int report_open(struct report *r, const struct cli_common *common,
		const char *file, struct weft_err *err)
{
	int rc;

	*r = (struct report){ 0 };
	if (file && common->input)
		return weft_fail(err, -E2BIG,
				 "two files are named: '%s' and '%s'",
				 common->input, file);
	rc = db_open(&r->db, file ? file : common->input, err);
	if (rc)
		return rc;
	db_show_progress(r->db);
	return report_find(r, common, err);
}

int report_find(struct report *r, const struct cli_common *common,
		struct weft_err *err)
{
	int rc = range_find(&r->range, r->db, common, err);

	return rc ? rc : ledger_load(&r->ledger, r->db, &r->range, err);
}

void report_close(struct report *r)
{
	ledger_release(&r->ledger);
	range_release(&r->range);
	db_close(r->db);
	r->db = NULL;
}

int report_query(const struct report *r, size_t part, int64_t pid,
		 enum query_sql id, sqlite3_stmt **out, struct weft_err *err)
{
	int rc = range_query(&r->range, part, r->db, id, out, err);

	if (!rc && pid)
		sqlite3_bind_int64(*out, 4, pid);
	return rc;
}

/* Firings per second of a CPU; 0: not known. */
static double delivered_hz(const struct report *r)
{
	const struct ledger_entry *fired = ledger_find(&r->ledger, "fired");

	if (!fired || !fired->is_measured || r->ledger.cpu_s <= 0)
		return 0;
	return (double)fired->count / r->ledger.cpu_s;
}

static int64_t cpus(const struct report *r)
{
	int64_t most = 0;
	size_t i;

	for (i = 0; i < r->range.n_parts; i++)
		if (r->range.parts[i].cpus > most)
			most = r->range.parts[i].cpus;
	return most;
}

static const struct range_part *last_part(const struct report *r)
{
	return &r->range.parts[r->range.n_parts - 1];
}

void report_print_heading(const struct report *r)
{
	const struct range_part *last = last_part(r);
	uint64_t idle = ledger_count(&r->ledger, "idle");
	uint64_t filtered = ledger_count(&r->ledger, "filtered");
	uint64_t fired = ledger_count(&r->ledger, "fired");

	printf("%s of recording %lld%s: %s, %lld %s, %s samples",
	       r->range.event, (long long)last->recording_id,
	       r->range.n_parts > 1 ? " and earlier" : "",
	       FIGURE(figure_ns, (double)r->range.length_ns),
	       (long long)cpus(r), cpus(r) == 1 ? "CPU" : "CPUs",
	       FIGURE(figure_count,
		      (double)ledger_count(&r->ledger, "counted")));
	if (last->requested_hz)
		printf(" at %.0f Hz (%lld asked)", delivered_hz(r),
		       (long long)last->requested_hz);
	if (fired)
		printf(", idle %.0f %%", 100.0 * (double)idle / (double)fired);
	if (fired && filtered)
		printf(", filtered %.0f %%",
		       100.0 * (double)filtered / (double)fired);
	printf("%s%s\n", r->range.is_whole ? "" : ", a part of it",
	       r->range.is_open ? ", still recording or cut short" : "");
}

void report_print_more(size_t n)
{
	printf("%s more; -n 0 prints all\n", FIGURE(figure_count, (double)n));
}

int report_print_table(const struct table *t, struct weft_err *err)
{
	if (table_print(t, stdout, table_width(), table_may_colour()))
		return weft_fail(err, -ENOMEM, "out of memory for the table");
	return 0;
}

void report_json_extent(const struct report *r, struct json *j)
{
	const struct range_part *last = last_part(r);

	json_int(j, "start_unix_ns", r->range.parts[0].start_unix_ns);
	json_int(j, "length_ns", r->range.length_ns);
	json_int(j, "cpus", cpus(r));
	if (last->requested_hz) {
		json_int(j, "requested_hz", last->requested_hz);
		json_real(j, "delivered_hz", delivered_hz(r));
	}
	json_int(j, "detail_one_in", last->detail_n);
	json_int(j, "counted_samples",
		 (int64_t)ledger_count(&r->ledger, "counted"));
	json_real(j, "shape_loss_share", ledger_shape_loss(&r->ledger));
	json_real(j, "detail_loss_share", ledger_detail_loss(&r->ledger));
	json_int(j, "expired_samples", (int64_t)r->ledger.counts_expired);
	json_int(j, "expired_detail_samples",
		 (int64_t)r->ledger.detail_expired);
}

void report_json(const struct report *r, struct json *j, const char *name)
{
	json_object(j, NULL);
	json_text(j, "report", name);
	json_text(j, "weft_version", WEFT_VERSION);
	json_array(j, "recordings");
	for (size_t i = 0; i < r->range.n_parts; i++)
		json_int(j, NULL, r->range.parts[i].recording_id);
	json_end_array(j);
	json_bool(j, "whole_recording", r->range.is_whole);
	json_bool(j, "ended", !r->range.is_open);
	json_text(j, "event", r->range.event);
	json_text(j, "unit", r->range.unit);
	report_json_extent(r, j);
}

double report_ns_each(const struct report *r)
{
	const struct range_part *last = last_part(r);
	double hz = delivered_hz(r);

	if (!last->requested_hz || !last->detail_n)
		return 0;
	return (double)last->detail_n * 1e9 /
	       (hz > 0 ? hz : (double)last->requested_hz);
}

int report_check_trace(const char *id, struct weft_err *err)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t n = strlen(id);

	if (n < ID_DIGITS_LEAST || n > ID_DIGITS || strspn(id, digits) != n ||
	    (n == ID_DIGITS && strspn(id, "0") == n))
		return weft_fail(err, -E2BIG,
				 "'%s' is no trace ID: give its 32 "
				 "hexadecimal digits, or at least the first 8",
				 id);
	return 0;
}

int report_find_trace(struct report *r, const char *id, int64_t *out,
		      char hex[33], struct weft_err *err)
{
	char from[ID_DIGITS + 1], to[ID_DIGITS + 2], list[256] = "";
	size_t n = 0, used = 0, i;
	sqlite3_stmt *stmt;
	int rc;

	rc = report_check_trace(id, err);
	for (i = 0; !rc && i <= strlen(id); i++)
		from[i] = id[i] >= 'A' && id[i] <= 'F'
				  ? (char)(id[i] - 'A' + 'a')
				  : id[i];
	if (!rc)
		rc = db_query(r->db, QUERY_SQL_REPORT_TRACES, &stmt, err);
	if (rc)
		return rc;
	snprintf(to, sizeof(to), "%sg", from); /* 'g' sorts after 'f' */
	sqlite3_bind_text(stmt, 1, from, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, to, -1, SQLITE_STATIC);
	while ((rc = db_step(r->db, stmt, err)) > 0) {
		*out = sqlite3_column_int64(stmt, 0);
		db_copy_word(stmt, 1, hex, 33);
		if (n++ < CANDIDATES)
			used += (size_t)snprintf(list + used,
						 sizeof(list) - used, "%s%s",
						 n > 1 ? ", " : " ", hex);
	}
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt); /* they point into this frame */
	if (rc < 0)
		return rc;
	if (n == 0)
		return weft_fail(err, -ENODATA,
				 "no sample of '%s' carries trace %s; a "
				 "request without a sample may still have run",
				 db_path(r->db), from);
	if (n > 1)
		return weft_fail(err, -E2BIG,
				 "trace ID %s is ambiguous; it begins%s%s",
				 from, list, n > CANDIDATES ? ", ..." : "");
	return 0;
}

static bool has_recording(const struct range *r, int64_t id)
{
	for (size_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].recording_id == id)
			return true;
	return false;
}

/* A row of the statement, in words. false: it is of what the report is of, so
 * that something else has left it out. */
static bool describe_elsewhere(const struct report *r, sqlite3_stmt *stmt,
			       struct report_elsewhere *to)
{
	const int64_t recording = sqlite3_column_int64(stmt, 0);
	const bool is_here = has_recording(&r->range, recording);
	char raw[256], event[256], ask[320] = "";
	size_t n = 0;

	db_copy_text(stmt, 1, raw, sizeof(raw));
	weft_sanitize(event, sizeof(event), raw, strlen(raw));
	if (!is_here)
		n = (size_t)snprintf(ask, sizeof(ask), " --recording %lld",
				     (long long)recording);
	if (strcmp(event, r->range.event) != 0)
		snprintf(ask + n, sizeof(ask) - n, " --event %s", event);
	else if (is_here && r->range.is_whole)
		return false;
	snprintf(to->text, sizeof(to->text),
		 "; recording %lld has %s of it, of %s%s:%s",
		 (long long)recording,
		 FIGURE(figure_count, (double)sqlite3_column_int64(stmt, 2)),
		 event, *ask ? "" : " at another time",
		 *ask ? ask : " leave out --since and --until");
	return true;
}

int report_find_elsewhere(struct report *r, int64_t trace,
			  struct report_elsewhere *to, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(r->db, QUERY_SQL_REPORT_TRACE_ELSEWHERE, &stmt, err);

	to->text[0] = '\0';
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, trace);
	sqlite3_bind_text(stmt, 2, r->range.event, -1, SQLITE_TRANSIENT);
	while ((rc = db_step(r->db, stmt, err)) > 0)
		if (describe_elsewhere(r, stmt, to))
			break;
	sqlite3_reset(stmt);
	return rc < 0 ? rc : 0;
}

int report_nothing(const struct report *r, bool detail, const char *of,
		   int64_t id, struct weft_err *err)
{
	char what[64] = "";

	if (id)
		snprintf(what, sizeof(what), " of %s %lld", of, (long long)id);
	else if (of)
		snprintf(what, sizeof(what), " of %s", of);
	return weft_fail(err, -ENODATA,
			 "'%s' has no %ssample%s, of %s in recording %lld%s%s; "
			 "`weft top --by process` shows what there is",
			 db_path(r->db), detail ? "detail " : "", what,
			 r->range.event, (long long)last_part(r)->recording_id,
			 r->range.n_parts > 1 ? " and earlier" : "",
			 r->range.is_whole ? "" : " in that time");
}

int report_no_sample(struct report *r, int64_t trace, const char *hex,
		     struct weft_err *err)
{
	struct report_elsewhere other;
	int rc = report_find_elsewhere(r, trace, &other, err);

	if (rc)
		return rc;
	return weft_fail(err, -ENODATA,
			 "trace %s has no sample of that in '%s'%s", hex,
			 db_path(r->db), other.text);
}
