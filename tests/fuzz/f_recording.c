/* SPDX-License-Identifier: MIT */
/*
 * A recording that somebody made to mislead, as the commands of weft read it.
 * Bytes at random would be refused at the door, so the input says what to
 * change in a small recording: its first byte which command then reads it, the
 * rest in pieces of PIECE bytes, each a column, one of its values and what
 * becomes of it, or a byte of the file.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/store_sql.h"
#include "query/cmd.h"
#include "query/overview.h"
#include "store/store.h"
#include "tests/fuzz/fuzz.h"

enum {
	PIECE = 12,
	PIECES_MAX = 24,
	COLUMNS_MAX = 512,
	WORDS_MAX = 8
};

/* The recording, as made once; a change of a column as SQL. */
static unsigned char *recording;
static sqlite3_int64 recording_size;
static char *changes[COLUMNS_MAX]; /* ?1: the new value; ?2: whose turn it is */
static size_t n_changes;
static char path[64];

/* Words with `|` between. */
static const char *const commands[] = {
	"top",
	"top|--by|stack",
	"top|--by|process",
	"top|--by|thread|-n|0",
	"top|--by|binary|--json",
	"top|--by|attribute",
	"top|--trace|4bf92f35",
	"top|--where|http.route = /cart",
	"traces",
	"traces|--where|http.route = /cart|--sort|duration",
	"traces|--on|compress|--json",
	"trace|4bf92f35",
	"trace|0af7651916cd43dd8448eb211c80319c|--json",
	"timeline",
	"timeline|--trace|4bf92f35|--json",
	"hist",
	"hist|--of|cpu",
	"hist|--of|duration",
	"loss",
	"loss|--prometheus",
	"measure",
	"measure|--json",
	"flame",
	"flame|--trace|4bf92f35|--json",
	"export|--format|folded|--max-stacks|3",
	"export|--format|pprof|-o|-",
	"export|--format|speedscope",
	"export|--format|otlp|-o|-",
	"export|--format|csv|--only|detail",
	"export|--format|json",
	"diff|--slow|50",
	"diff|--after|+1|--json",
	"diff|--trace|4bf92f35",
	"sql|SELECT * FROM samples; SELECT * FROM hot_functions",
	"sql|SELECT * FROM requests; SELECT * FROM span_samples",
	"sql|--json|SELECT * FROM metric_total; SELECT * FROM sample_order; SELECT * FROM trace_switches",
	"overview",
};

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} programs[] = {
	{ "top", cmd_top },         { "traces", cmd_traces },
	{ "trace", cmd_trace },     { "timeline", cmd_timeline },
	{ "hist", cmd_hist },       { "loss", cmd_loss },
	{ "measure", cmd_measure }, { "flame", cmd_flame },
	{ "export", cmd_export },   { "diff", cmd_diff },
	{ "sql", cmd_sql },
};

static _Noreturn void give_up(const char *what, sqlite3 *db)
{
	fprintf(stderr, "f_recording: %s: %s\n", what,
		db ? sqlite3_errmsg(db) : "run it in the tree's root");
	abort();
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		give_up("cannot make the recording", db);
}

static void run_file(sqlite3 *db, const char *name)
{
	static char text[1 << 20];
	FILE *file = fopen(name, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (!n)
		give_up(name, NULL);
	fclose(file);
	text[n] = '\0';
	run(db, text);
}

/* How each column of each table is changed: all rows that have a value of it.
 */
static void find_columns(sqlite3 *db)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(
		    db,
		    "SELECT printf('UPDATE OR IGNORE \"%w\" SET \"%w\" = ?1"
		    " WHERE \"%w\" IS (SELECT \"%w\" FROM \"%w\" LIMIT 1"
		    " OFFSET ?2)', t.name, c.name, c.name, c.name, t.name)"
		    " FROM sqlite_schema t JOIN pragma_table_info(t.name) c"
		    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'",
		    -1, &stmt, NULL))
		give_up("cannot list columns", db);
	while (n_changes < COLUMNS_MAX && sqlite3_step(stmt) == SQLITE_ROW)
		changes[n_changes++] =
			strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

static void make_recording(void)
{
	const char *place = getenv("TMPDIR");
	char sql[64];
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db))
		give_up("cannot open", db);
	for (int i = 0; i < STORE_SCHEMA_VERSION; i++)
		run(db, store_migration_text[i]);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d",
		 STORE_SCHEMA_VERSION);
	run(db, sql);
	run(db, "CREATE VIEW sample AS SELECT * FROM sample_sealed");
	run(db, store_views_text);
	run_file(db, "tests/data/small.sql");
	run_file(db, "tests/data/spans.sql");
	run_file(db, "tests/data/measures.sql");
	run(db, "UPDATE stack SET leaf_frame_id = (SELECT n.frame_id"
		" FROM stack_node n WHERE n.id = stack.id)");
	run_file(db, "tests/data/sums.sql");
	find_columns(db);
	recording = sqlite3_serialize(db, "main", &recording_size, 0);
	if (!recording)
		give_up("cannot keep the recording", db);
	sqlite3_close(db);
	snprintf(path, sizeof(path), "%.40s/f_recording.%d",
		 place ? place : "/tmp", (int)getpid());
	/* What commands print is not of interest. */
	stdout = fopen("/dev/null", "we");
	stderr = fopen("/dev/null", "we");
}

static void bind_value(sqlite3_stmt *stmt, uint8_t kind, const uint8_t bytes[8])
{
	static const double odd[] = { 0, -1, 1e308, -1e308, 1e-308, 0.5, 1e19 };
	int64_t number;
	double real;

	memcpy(&number, bytes, sizeof(number));
	memcpy(&real, bytes, sizeof(real));
	switch (kind % 8) {
	case 0:
		sqlite3_bind_null(stmt, 1);
		break;
	case 1:
		sqlite3_bind_int64(stmt, 1, number);
		break;
	case 2:
		sqlite3_bind_int64(stmt, 1, (int8_t)bytes[0]);
		break;
	case 3:
		sqlite3_bind_double(stmt, 1, real);
		break;
	case 4:
		sqlite3_bind_double(
			stmt, 1, odd[bytes[0] % (sizeof(odd) / sizeof(*odd))]);
		break;
	case 5:
		sqlite3_bind_blob(stmt, 1, bytes, bytes[7] % 8, SQLITE_STATIC);
		break;
	default:
		sqlite3_bind_text(stmt, 1, (const char *)bytes, bytes[7] % 8,
				  SQLITE_STATIC);
	}
}

static void change(sqlite3 *db, const uint8_t piece[PIECE])
{
	sqlite3_stmt *stmt;
	char *sql = changes[(piece[0] | piece[1] << 8) % n_changes];

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		give_up(sql, db);
	bind_value(stmt, piece[2], piece + 4);
	sqlite3_bind_int(stmt, 2, piece[3] % 32);
	sqlite3_step(stmt);
	sqlite3_finalize(stmt);
}

static bool is_of_bytes(const uint8_t piece[PIECE])
{
	return piece[2] & 0x80;
}

/* The recording with its changes, as file path. */
static void write_changed(const uint8_t *data, size_t n)
{
	unsigned char *image = sqlite3_malloc64((uint64_t)recording_size);
	sqlite3_int64 size;
	unsigned char *all;
	uint32_t at;
	FILE *file;
	sqlite3 *db;

	if (!image)
		abort();
	memcpy(image, recording, (size_t)recording_size);
	if (sqlite3_open(":memory:", &db) ||
	    sqlite3_deserialize(db, "main", image, recording_size,
				recording_size,
				SQLITE_DESERIALIZE_FREEONCLOSE |
					SQLITE_DESERIALIZE_RESIZEABLE))
		give_up("cannot change the recording", db);
	run(db, "PRAGMA ignore_check_constraints = 1");
	for (size_t i = 0; i < n; i++)
		if (!is_of_bytes(data + i * PIECE))
			change(db, data + i * PIECE);
	all = sqlite3_serialize(db, "main", &size, 0);
	for (size_t i = 0; all && i < n; i++) {
		const uint8_t *piece = data + i * PIECE;

		memcpy(&at, piece + 4, sizeof(at));
		if (is_of_bytes(piece))
			all[at % (uint64_t)size] = piece[3];
	}
	file = all ? fopen(path, "we") : NULL;
	if (!file || fwrite(all, 1, (size_t)size, file) != (size_t)size ||
	    fclose(file))
		abort();
	sqlite3_free(all);
	sqlite3_close(db);
}

static void read_with(const char *command)
{
	char words[256], *rest = NULL;
	char *argv[WORDS_MAX + 3];
	int argc = 0;

	snprintf(words, sizeof(words), "%s", command);
	for (char *word = strtok_r(words, "|", &rest); word && argc < WORDS_MAX;
	     word = strtok_r(NULL, "|", &rest))
		argv[argc++] = word;
	argv[argc++] = (char[]){ "-i" };
	argv[argc++] = path;
	argv[argc] = NULL;
	setenv("WEFT_DB", path, 1);
	if (!strcmp(words, "overview"))
		(void)overview();
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(words, programs[i].name))
			(void)programs[i].run(argc, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size ? (size - 1) / PIECE : 0;

	if (!size)
		return 0;
	if (!recording)
		make_recording();
	write_changed(data + 1, n < PIECES_MAX ? n : PIECES_MAX);
	read_with(commands[data[0] % (sizeof(commands) / sizeof(*commands))]);
	unlink(path);
	return 0;
}
