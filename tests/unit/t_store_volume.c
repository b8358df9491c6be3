/* SPDX-License-Identifier: MIT */
/*
 * Many rows. WEFT_TEST_ROWS=5000000 makes it a measurement: it prints rows
 * per CPU-second and bytes per row, and asserts neither.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/store.h"

enum {
	FRAMES = 5000,
	STACKS = 5000,
	DEPTH = 24,
	THREADS = 64,
	SAMPLES = 20000, /* of an interval */
};

static char text[] = "\0worker\0/usr/bin/service\0abcdef0123456789";

/* What every interval repeats. */
static struct {
	struct store_frame frame[FRAMES];
	struct store_stack stack[STACKS];
	uint32_t stack_frame[STACKS * DEPTH];
	struct store_thread thread[THREADS];
	struct store_count count[STACKS];
	struct store_sample sample[SAMPLES];
	struct store_frame_row row[FRAMES];
} * load;

static uint64_t seed = 1;

static uint32_t dice(uint32_t sides)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % sides);
}

/* A few are hot, most are rare. */
static uint32_t skewed(uint32_t n)
{
	return (uint32_t)pow(n, dice(1 << 20) / (double)(1 << 20)) - 1;
}

static void make_load(void)
{
	size_t i, j;

	load = calloc(1, sizeof(*load));
	assert_non_null(load);
	for (i = 0; i < FRAMES; i++)
		load->frame[i].address = 16 * i + 4;
	for (i = 0; i < STACKS; i++) {
		load->stack[i].first = (uint32_t)(i * DEPTH);
		load->stack[i].depth = DEPTH;
		/* Callers are shared, leaves less so; leaf first. */
		for (j = 0; j < DEPTH; j++)
			load->stack_frame[i * DEPTH + j] =
				(uint32_t)((i * 7919 >> (j / 2)) % FRAMES);
		load->count[i] = (struct store_count){ .stack = (uint32_t)i,
						       .count = 3,
						       .value = 3000000 };
	}
	for (i = 0; i < THREADS; i++)
		load->thread[i] = (struct store_thread){
			.tid = (uint32_t)(100 + i), .start_ns = i, .comm = 1
		};
}

static void make_samples(uint64_t from)
{
	struct store_sample *s;
	uint64_t trace;
	size_t i;

	for (i = 0; i < SAMPLES; i++) {
		s = &load->sample[i];
		*s = (struct store_sample){
			.time_ns = 100000000000000 + 50000 * (from + i),
			.thread = dice(THREADS),
			.stack = skewed(STACKS),
			.cpu = i % 2,
			.value = 1003000,
			.weight = 1,
			.has_trace = i % 3 != 0,
			.trace_flags = 1,
			.context_source = 1,
		};
		/* About 50 samples a trace, some 20 traces at a time. */
		trace = 0x9e3779b97f4a7c15 * ((from + i) / 50 + dice(20) + 1);
		memcpy(s->trace_id, &trace, sizeof(trace));
		memcpy(s->span_id, &seed, sizeof(s->span_id));
	}
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int64_t ask(const char *path, const char *sql)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

static void every_row_of_many_arrives(void **state)
{
	static const struct store_event event = { .name = "timer",
						  .unit = "ns",
						  .requested_hz = 997 };
	static const char *const end = "root";
	static const struct store_process process = { .pid = 1, .comm = 1 };
	static const struct store_binary binary = { .path = 8, .build_id = 25 };
	const char *rows_text = getenv("WEFT_TEST_ROWS");
	uint64_t rows = rows_text ? strtoull(rows_text, NULL, 10) : 60000, n;
	char dir[] = "/tmp/t_store_volume.XXXXXX", path[64];
	struct store_opts opts = {
		.recording = { .host = "h",
			       .kernel = "k",
			       .arch = "a",
			       .boot_id = "b" },
		.events = &event,
		.n_events = 1,
		.words = { .walk_end = &end, .n_walk_end = 1 },
	};
	struct store_batch batch;
	struct weft_err err = { 0 };
	struct store *st;
	double cpu = 0, seal = 0, close_cpu, start;
	uint64_t wal = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/v.db", dir);
	opts.path = path;
	assert_int_equal(store_open(&st, &opts, &err), 0);
	make_load();
	batch = (struct store_batch){
		.text = text,
		.text_size = sizeof(text),
		.processes = &process,
		.n_processes = 1,
		.threads = load->thread,
		.n_threads = THREADS,
		.binaries = &binary,
		.n_binaries = 1,
		.frames = load->frame,
		.n_frames = FRAMES,
		.stacks = load->stack,
		.n_stacks = STACKS,
		.stack_frames = load->stack_frame,
		.n_stack_frames = STACKS * DEPTH,
		.counts = load->count,
		.n_counts = STACKS,
		.samples = load->sample,
		.n_samples = SAMPLES,
	};
	for (n = 0; n < rows; n += SAMPLES) {
		make_samples(n);
		start = cpu_seconds();
		assert_int_equal(store_write(st, &batch, load->row, &err), 0);
		cpu += cpu_seconds() - start;
		if (store_wal_bytes(st) > wal)
			wal = store_wal_bytes(st);
		start = cpu_seconds();
		assert_int_equal(store_checkpoint(st, &err), 0);
		seal += cpu_seconds() - start;
	}
	start = cpu_seconds();
	assert_int_equal(store_close(st, 1, &err), 0);
	close_cpu = cpu_seconds() - start;
	print_message("# %llu rows: write %.2f s, seal and checkpoint %.2f s, "
		      "close %.2f s of CPU: %.0f rows per CPU-second\n",
		      (unsigned long long)n, cpu, seal, close_cpu,
		      (double)n / (cpu + seal + close_cpu));
	print_message("# %lld bytes, %llu of log at most\n",
		      (long long)ask(path, "SELECT page_count * page_size FROM "
					   "pragma_page_count, "
					   "pragma_page_size"),
		      (unsigned long long)wal);
	assert_int_equal(ask(path, "SELECT count(*) FROM sample"), n);
	assert_int_equal(ask(path, "SELECT sum(count) FROM stack_total"),
			 3 * STACKS * n / SAMPLES);
	assert_int_equal(ask(path, "SELECT sum(samples) FROM trace"),
			 ask(path, "SELECT count(trace) FROM sample"));
	assert_int_equal(ask(path, "SELECT integrity_check = 'ok' FROM "
				   "pragma_integrity_check"),
			 1);
	free(load);
	if (getenv("WEFT_TEST_KEEP"))
		print_message("# kept %s\n", path);
	else
		unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_of_many_arrives),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
