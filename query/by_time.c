/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>

#include "query/by_time.h"

/* Run a statement. Returns the number that it gives, which is not negative; 0:
 * it gives none. */
static int64_t run(struct db *db, enum query_sql id, int64_t trace,
		   struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, id, &stmt, err);

	if (rc)
		return rc;
	if (trace)
		sqlite3_bind_int64(stmt, 1, trace);
	return db_ask(db, stmt, err);
}

static int make(struct db *db, int64_t trace, struct weft_err *err)
{
	int64_t rc = run(db, QUERY_SQL_BY_TIME_FIND, 0, err);

	if (!rc)
		rc = run(db, QUERY_SQL_BY_TIME_MAKE, 0, err);
	if (!rc)
		rc = run(db, QUERY_SQL_BY_TIME_INDEX, 0, err);
	if (!rc && trace)
		rc = run(db, QUERY_SQL_BY_TIME_ADD_OWN, trace, err);
	if (!rc && trace)
		rc = run(db, QUERY_SQL_BY_TIME_STAND_IN, 0, err);
	return (int)rc;
}

/* The connection may write nothing, but what is its own. */
static int make_own(struct db *db, int64_t trace, struct weft_err *err)
{
	int rc, rc_back;

	rc = db_allow_own(db, true, err);
	if (rc)
		return rc;
	rc = make(db, trace, err);
	rc_back = db_allow_own(db, false, rc ? NULL : err);
	return rc ? rc : rc_back;
}

int by_time_load(struct db *db, struct by_time *out, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = (int)run(db, QUERY_SQL_BY_TIME_IS_THERE, 0, err);

	*out = (struct by_time){ 0 };
	if (rc <= 0)
		return rc;
	rc = make_own(db, 0, err);
	if (!rc)
		rc = db_query(db, QUERY_SQL_BY_TIME_COUNTS, &stmt, err);
	if (!rc)
		rc = db_step(db, stmt, err);
	if (rc <= 0)
		return rc;
	out->joined = sqlite3_column_int64(stmt, 0);
	out->ambiguous = sqlite3_column_int64(stmt, 1);
	out->between = sqlite3_column_int64(stmt, 2);
	out->clock = sqlite3_column_int64(stmt, 3);
	sqlite3_reset(stmt);
	return out->joined + out->ambiguous + out->between + out->clock > 0;
}

int by_time_stand_in(struct db *db, int64_t trace, int64_t *joined,
		     struct weft_err *err)
{
	int64_t rc = run(db, QUERY_SQL_BY_TIME_IS_THERE, 0, err);

	*joined = 0;
	if (rc > 0)
		rc = run(db, QUERY_SQL_BY_TIME_MAY_BE, trace, err);
	if (rc <= 0)
		return (int)rc;
	rc = make_own(db, trace, err);
	if (!rc)
		rc = run(db, QUERY_SQL_BY_TIME_OF_TRACE, trace, err);
	if (rc < 0)
		return (int)rc;
	*joined = rc;
	return 0;
}
