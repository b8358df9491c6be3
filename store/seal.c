/* SPDX-License-Identifier: MIT */
/*
 * The tail: the newest samples, in a table without an index. It is sealed,
 * that is moved into the table with indexes, in large transactions: an index
 * that grows by a million rows at once is touched page by page, where row by
 * row it would be touched at random. While the sealed table is no larger than
 * the tail, it is cheaper to drop the indexes and build them anew; at three
 * times the tail it costs 1.7 times as much.
 */
#include <errno.h>

#include "store/inside.h"

static const char drop_indexes[] = "DROP INDEX IF EXISTS sample_trace;"
				   "DROP INDEX IF EXISTS sample_stack;"
				   "DROP INDEX IF EXISTS sample_time;";

/* As in the schema. */
static const char create_indexes[] =
	"CREATE INDEX sample_trace ON sample_sealed (trace, time_ns)"
	" WHERE trace IS NOT NULL;"
	"CREATE INDEX sample_stack ON sample_sealed (stack_id);"
	"CREATE INDEX sample_time ON sample_sealed (time_ns);";

/*
 * SQLite sorts in memory, or in runs as large as its cache that go to a
 * temporary file. With runs that fit into the processor's cache, an index of
 * a million rows takes 0.4 s; in memory, or with the 64 MiB that the rest of
 * the writer likes, 1.7 s.
 */
static int build_indexes(struct store *st, struct weft_err *err)
{
	int rc, rc_back;

	if (st->sort_in_memory)
		return conn_exec(&st->conn, create_indexes, err);
	rc = conn_exec(&st->conn,
		       "PRAGMA temp_store = FILE;"
		       "PRAGMA cache_size = -1024;",
		       err);
	if (!rc)
		rc = conn_exec(&st->conn, create_indexes, err);
	rc_back = conn_exec(&st->conn,
			    "PRAGMA cache_size = -65536;"
			    "PRAGMA temp_store = MEMORY;",
			    err);
	return rc ? rc : rc_back;
}

/* Run a statement; one that takes the id to stop below gets it. */
static int run_below(struct store *st, enum store_sql which, int64_t below,
		     struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	rc = store_stmt(st, which, &stmt, err);
	if (rc)
		return rc;
	if (sqlite3_bind_parameter_count(stmt))
		sqlite3_bind_int64(stmt, 1, below);
	return store_run(st, stmt, err);
}

/* Moving the whole tail needs no look at its rows: pages are copied, and the
 * old ones freed at once. */
static int move_rows(struct store *st, int64_t below, bool whole, bool rebuild,
		     struct weft_err *err)
{
	int rc = 0;

	if (rebuild)
		rc = conn_exec(&st->conn, drop_indexes, err);
	if (!rc)
		rc = run_below(st,
			       whole ? STORE_SQL_TAIL_SEAL
				     : STORE_SQL_TAIL_SEAL_BELOW,
			       below, err);
	if (!rc)
		rc = run_below(st,
			       whole ? STORE_SQL_TAIL_CLEAR
				     : STORE_SQL_TAIL_CLEAR_BELOW,
			       below, err);
	if (!rc && rebuild)
		rc = build_indexes(st, err);
	return rc;
}

/* One transaction. moved: rows that it moved. */
static int seal_some(struct store *st, uint64_t *moved, struct weft_err *err)
{
	/* Bounds the log: a million rows are 80 to 150 MiB of it. */
	uint64_t most = st->tail_limit / 2 * 3;
	bool whole = st->tail_rows <= most;
	int64_t first, before = 0;
	int rc;

	rc = conn_begin(&st->conn, err);
	if (rc)
		return rc;
	rc = conn_int(&st->conn, "SELECT min(id) FROM sample_tail", &first,
		      err);
	if (!rc)
		before = sqlite3_total_changes64(st->conn.db);
	if (!rc)
		rc = move_rows(st, first + (int64_t)most, whole,
			       st->sealed_rows <= st->tail_rows, err);
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc)
		conn_rollback(&st->conn);
	/* Each row counts twice, as it comes and as it goes. */
	*moved = (uint64_t)(sqlite3_total_changes64(st->conn.db) - before) / 2;
	return rc;
}

int seal_tail(struct store *st, struct weft_err *err)
{
	uint64_t moved;
	int rc = 0;

	while (st->tail_rows && !rc) {
		rc = seal_some(st, &moved, st->sort_in_memory ? err : NULL);
		if (rc && !st->sort_in_memory) {
			/* Perhaps it is the temporary files' place that is
			 * full or missing: do without it. */
			st->sort_in_memory = true;
			rc = seal_some(st, &moved, err);
		}
		if (rc || !moved)
			break;
		st->tail_rows -= moved < st->tail_rows ? moved : st->tail_rows;
		st->sealed_rows += moved;
		if (st->tail_rows)
			rc = store_checkpoint_log(st, err);
	}
	return rc;
}

int seal_finish(struct store *st, struct weft_err *err)
{
	int rc;

	rc = conn_begin(&st->conn, err);
	if (rc)
		return rc;
	rc = schema_make_views(&st->conn, st->tail_rows != 0, err);
	if (!rc)
		rc = conn_exec(&st->conn,
			       "DROP INDEX IF EXISTS stack_node_identity;"
			       "PRAGMA analysis_limit = 1000;"
			       "ANALYZE;",
			       err);
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc)
		conn_rollback(&st->conn);
	else
		/* The room that the tail took. */
		rc = conn_exec(&st->conn, "PRAGMA incremental_vacuum", err);
	return rc;
}
