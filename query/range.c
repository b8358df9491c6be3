/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "query/figure.h"
#include "query/range.h"

static const int64_t SECOND_NS = 1000000000;
static const uint64_t FAR_NS = (uint64_t)INT64_MAX / 2;

/* count digits at *at, which moves past them; -1 if others stand there. */
static int take_digits(const char **at, int count)
{
	int value = 0;

	while (count-- > 0) {
		if (**at < '0' || **at > '9')
			return -1;
		value = 10 * value + (*(*at)++ - '0');
	}
	return value;
}

static bool take(const char **at, const char *any_of)
{
	if (!**at || !strchr(any_of, **at))
		return false;
	(*at)++;
	return true;
}

/* ".123456789" -> ns; more digits than nine are refused. */
static int take_fraction(const char **at, int64_t *ns)
{
	int64_t unit = SECOND_NS;

	*ns = 0;
	if (!take(at, "."))
		return 0;
	if (**at < '0' || **at > '9')
		return -EINVAL;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		unit /= 10;
		if (unit == 0)
			return -EINVAL;
		*ns += unit * (**at - '0');
	}
	return 0;
}

static int take_zone(const char **at, int64_t *seconds)
{
	int sign, hours, minutes;

	*seconds = 0;
	if (take(at, "Zz"))
		return 0;
	sign = **at == '-' ? -1 : 1;
	if (!take(at, "+-"))
		return -EINVAL;
	hours = take_digits(at, 2);
	if (hours < 0 || hours > 23 || !take(at, ":"))
		return -EINVAL;
	minutes = take_digits(at, 2);
	if (minutes < 0 || minutes > 59)
		return -EINVAL;
	*seconds = sign * (hours * 3600 + minutes * 60);
	return 0;
}

static int parse_rfc3339(const char *text, int64_t *out_ns)
{
	struct tm tm = { 0 }, back;
	const char *at = text;
	int64_t fraction, zone;
	time_t seconds;

	tm.tm_year = take_digits(&at, 4) - 1900;
	if (tm.tm_year < 70 || tm.tm_year > 300 || !take(&at, "-"))
		return -EINVAL;
	tm.tm_mon = take_digits(&at, 2) - 1;
	if (!take(&at, "-"))
		return -EINVAL;
	tm.tm_mday = take_digits(&at, 2);
	if (!take(&at, "Tt "))
		return -EINVAL;
	tm.tm_hour = take_digits(&at, 2);
	if (!take(&at, ":"))
		return -EINVAL;
	tm.tm_min = take_digits(&at, 2);
	if (!take(&at, ":"))
		return -EINVAL;
	tm.tm_sec = take_digits(&at, 2);
	if (take_fraction(&at, &fraction) || take_zone(&at, &zone) || *at)
		return -EINVAL;
	back = tm;
	seconds = timegm(&back);
	/* a month 13 or a 30th of February would have been carried over */
	if (back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday ||
	    back.tm_hour != tm.tm_hour || back.tm_min != tm.tm_min ||
	    back.tm_sec != tm.tm_sec)
		return -EINVAL;
	*out_ns = ((int64_t)seconds - zone) * SECOND_NS + fraction;
	return 0;
}

int range_parse_time(const char *text, int64_t start_ns, int64_t end_ns,
		     int64_t *out_ns)
{
	uint64_t ns;

	if (*text != '+' && *text != '-')
		return parse_rfc3339(text, out_ns);
	if (weft_parse_seconds(text + 1, 0, FAR_NS, &ns))
		return -EINVAL;
	*out_ns = *text == '+' ? start_ns + (int64_t)ns : end_ns - (int64_t)ns;
	return 0;
}

/* The ids of the recordings asked for: all, number N, or the last. */
static int find_recordings(struct range *r, struct db *db, const char *which,
			   struct weft_err *err)
{
	bool all = which && !strcmp(which, "all");
	struct range_part part, *grown;
	uint64_t number = 0;
	sqlite3_stmt *stmt;
	int64_t last = 0;
	int rc;

	if (which && !all && weft_parse_u64(which, 1, INT64_MAX, &number))
		return weft_fail(err, -E2BIG,
				 "--recording takes a number or 'all', not "
				 "'%s'",
				 which);
	rc = db_query(db, QUERY_SQL_RANGE_RECORDINGS, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(db, stmt, err)) > 0) {
		part = (struct range_part){
			.recording_id = sqlite3_column_int64(stmt, 0),
			.detail_n = sqlite3_column_int64(stmt, 1),
			.cpus = sqlite3_column_int64(stmt, 3),
		};
		last = part.recording_id;
		if (number && last != (int64_t)number)
			continue;
		if (!which)
			r->n_parts = 0;
		grown = reallocarray(r->parts, r->n_parts + 1, sizeof(part));
		if (!grown)
			return weft_fail(err, -ENOMEM, "out of memory");
		r->parts = grown;
		r->parts[r->n_parts++] = part;
		r->is_open = sqlite3_column_int(stmt, 2);
	}
	if (rc || r->n_parts)
		return rc;
	if (number)
		return weft_fail(err, -E2BIG,
				 "'%s' has no recording %llu; its last is "
				 "number %lld",
				 db_path(db), (unsigned long long)number,
				 (long long)last);
	return weft_fail(err, -ENODATA,
			 "'%s' holds no recording: the one that made it "
			 "was ended before it began",
			 db_path(db));
}

static void copy_column(char *to, size_t size, sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	weft_sanitize(to, size, text ? text : "", text ? strlen(text) : 0);
}

/*
 * Each part's event, of the same name as the last recording's; recordings
 * without it are left out.
 */
static int find_event(struct range *r, struct db *db, const char *name,
		      struct weft_err *err)
{
	size_t i, kept = 0;
	sqlite3_stmt *stmt;
	int rc;

	for (i = r->n_parts; i-- > 0;) {
		rc = db_query(db, QUERY_SQL_RANGE_EVENT, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, r->parts[i].recording_id);
		if (name)
			sqlite3_bind_text(stmt, 2, name, -1, SQLITE_STATIC);
		rc = db_step(db, stmt, err);
		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		r->parts[i].event_id = sqlite3_column_int64(stmt, 0);
		r->parts[i].requested_hz = sqlite3_column_int64(stmt, 3);
		if (*r->event)
			continue;
		copy_column(r->event, sizeof(r->event), stmt, 1);
		copy_column(r->unit, sizeof(r->unit), stmt, 2);
		if (!name)
			name = r->event;
	}
	for (i = 0; i < r->n_parts; i++)
		if (r->parts[i].event_id)
			r->parts[kept++] = r->parts[i];
	r->n_parts = kept;
	if (kept)
		return 0;
	if (name)
		return weft_fail(err, -E2BIG,
				 "'%s' has no event '%s'%s; `weft "
				 "sql @events` lists what it has",
				 db_path(db), name,
				 strcmp(name, "wall") != 0
					 ? ""
					 : ": -e wall records cpu-clock, "
					   "on-cpu, off-cpu and run-queue");
	return weft_fail(err, -ENODATA, "'%s' sampled no event", db_path(db));
}

/* The Unix times that --since and --until mean. */
static int find_limits(struct range *r, struct db *db,
		       const struct cli_common *common, int64_t limits[2],
		       struct weft_err *err)
{
	const char *words[2] = { common->since, common->until };
	sqlite3_stmt *stmt;
	int64_t start, end;
	int i, rc;

	limits[0] = INT64_MIN;
	limits[1] = INT64_MAX;
	rc = db_query(db, QUERY_SQL_RANGE_EXTENT, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, r->parts[0].recording_id);
	sqlite3_bind_int64(stmt, 2, r->parts[r->n_parts - 1].recording_id);
	rc = db_step(db, stmt, err);
	if (rc < 0)
		return rc;
	start = r->from_ns = db_time(stmt, 0);
	end = r->until_ns = db_time(stmt, 1);
	for (i = 0; i < 2; i++)
		if (words[i] &&
		    range_parse_time(words[i], start, end, &limits[i]))
			return weft_fail(err, -E2BIG,
					 "cannot read the time '%s': give +S, "
					 "-S (seconds) or RFC 3339 with a "
					 "zone, as 2026-11-29T17:00:00Z",
					 words[i]);
	if (limits[0] >= limits[1])
		return weft_fail(err, -E2BIG, "--since is not before --until");
	return 0;
}

static int find_intervals(struct range *r, struct db *db,
			  const int64_t limits[2], struct weft_err *err)
{
	struct range_part *p;
	size_t i, kept = 0;
	sqlite3_stmt *stmt;
	int rc;

	r->is_whole = true;
	for (i = 0; i < r->n_parts; i++) {
		p = &r->parts[i];
		rc = db_query(db, QUERY_SQL_RANGE_INTERVALS, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, p->recording_id);
		sqlite3_bind_int64(stmt, 2, limits[0]);
		sqlite3_bind_int64(stmt, 3, limits[1]);
		rc = db_step(db, stmt, err);
		if (rc < 0)
			return rc;
		if (sqlite3_column_int64(stmt, 5) !=
		    sqlite3_column_int64(stmt, 6))
			r->is_whole = false;
		if (sqlite3_column_int64(stmt, 5) == 0)
			continue;
		p->first_interval = sqlite3_column_int64(stmt, 0);
		p->last_interval = sqlite3_column_int64(stmt, 1);
		p->start_ns = db_time(stmt, 2);
		p->end_ns = db_time(stmt, 3);
		p->start_unix_ns = db_time(stmt, 4);
		r->length_ns += p->end_ns - p->start_ns; /* of all parts */
		if (r->length_ns > INT64_MAX / 2)
			r->length_ns = INT64_MAX / 2;
		r->parts[kept++] = *p;
	}
	r->n_parts = kept;
	if (!kept)
		return weft_fail(err, -ENODATA,
				 "'%s' has no interval in that time; `weft "
				 "sql @recordings` says when it recorded",
				 db_path(db));
	return 0;
}

int range_find(struct range *r, struct db *db, const struct cli_common *common,
	       struct weft_err *err)
{
	int64_t limits[2];
	sqlite3_stmt *stmt;
	int rc;

	*r = (struct range){ 0 };
	rc = find_recordings(r, db, common->recording, err);
	if (!rc)
		rc = find_event(r, db, common->event, err);
	if (!rc)
		rc = find_limits(r, db, common, limits, err);
	if (!rc)
		rc = find_intervals(r, db, limits, err);
	if (!rc)
		rc = db_query(db, QUERY_SQL_RANGE_EVENTS_OF_FILE, &stmt, err);
	if (rc)
		goto fail;
	rc = db_step(db, stmt, err);
	if (rc < 0)
		goto fail;
	/* one event in the file, a timer, and all of its time: no part left
	 * out */
	r->is_all = r->is_whole && r->parts[0].requested_hz &&
		    sqlite3_column_int64(stmt, 0) == (int64_t)r->n_parts;
	return 0;
fail:
	range_release(r);
	return rc;
}

void range_release(struct range *r)
{
	free(r->parts);
	*r = (struct range){ 0 };
}

bool range_is_by_value(const struct range *r)
{
	return !strcmp(r->unit, "ns") && r->parts[0].requested_hz == 0;
}

int range_query(const struct range *r, size_t part, struct db *db,
		enum query_sql id, sqlite3_stmt **out, struct weft_err *err)
{
	const struct range_part *p = &r->parts[part];
	int rc = db_query(db, id, out, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(*out, 1, p->event_id);
	sqlite3_bind_int64(*out, 2, p->first_interval);
	sqlite3_bind_int64(*out, 3, p->last_interval);
	return 0;
}
