/* SPDX-License-Identifier: MIT */
/*
 * What is old goes, and a file stays near the size that it may have, also where
 * there is always something more to write.
 */
#include "t_store.h"

#include "collector/keep.h"
#include "collector/ledger.h"
#include "collector/writer.h"

enum {
	STACKS = 400, /* of an interval, each a new one */
	BATCHES = 60,
	FRAMES = 20,
	FEW_BATCHES = 4,
	SPANS = 12000 /* of a kilobyte */
};

struct fixture {
	uv_loop_t loop;
	struct writer *writer;
	struct proc proc;
	int n;           /* batches to be given */
	int given, held; /* batches; turns in which none was given */
	bool has_spans;  /* after the last batch; it waits for none */
	uint64_t spans;  /* given */
	off_t largest;   /* of the file and its log */
};

static struct binary program = { .kind = STORE_ELF,
				 .file = { .path = "/bin/program" } };

/* The n-th interval: stacks that were never before, a sample of each. The last
 * before spans has few, so that what goes has little time. */
static struct batch *make_batch(struct fixture *f, int n)
{
	struct batch *b = batch_new();
	uint32_t process, thread, frames[FRAMES], stack;
	int stacks = f->has_spans && n + 1 == f->n ? 1 : STACKS;

	assert_non_null(b);
	*batch_interval(b) = (struct store_interval){
		.start_ns = (uint64_t)n * 1000000000,
		.end_ns = (uint64_t)(n + 1) * 1000000000,
	};
	assert_int_equal(batch_process(b, &f->proc, &process), 0);
	assert_int_equal(batch_thread(b, process, 42, 1, "name", &thread), 0);
	for (int i = 0; i < stacks; i++) {
		struct store_sample sample = { .time_ns = (uint64_t)n,
					       .value = 1,
					       .weight = 1 };

		for (int k = 0; k < FRAMES; k++) {
			struct batch_code code = {
				.binary = &program,
				.address = (uint64_t)(n * STACKS + i + k),
			};

			assert_int_equal(batch_frame(b, &code, &frames[k]), 0);
		}
		assert_int_equal(batch_stack(b, STORE_COMPLETE, WEFT_END_ROOT,
					     frames, FRAMES, &stack),
				 0);
		assert_int_equal(batch_count(b, 0, process, stack, 0, 1, 1), 0);
		sample.thread = thread;
		sample.stack = stack;
		assert_int_equal(batch_sample(b, &sample), 0);
	}
	assert_int_equal(batch_ledger(b, 0, WEFT_COUNTED, (uint64_t)stacks,
				      (uint64_t)stacks),
			 0);
	assert_int_equal(batch_ledger(b, 0, LEDGER_STORED, (uint64_t)stacks,
				      (uint64_t)stacks),
			 0);
	return b;
}

static void give(struct fixture *f)
{
	if (f->given == f->n)
		return;
	if (writer_is_over_size(f->writer))
		f->held++;
	else
		writer_batch(f->writer, make_batch(f, f->given++));
}

/* Spans of a kilobyte each, of a request each. */
static void give_spans(struct fixture *f, size_t n)
{
	struct span_list l = { .n = n, .text_size = 1024 };

	l.rows = calloc(n, sizeof(*l.rows));
	l.text = calloc(1, l.text_size);
	assert_non_null(l.rows);
	assert_non_null(l.text);
	memset(l.text + 1, 'x', l.text_size - 2);
	for (size_t i = 0; i < n; i++) {
		l.rows[i] = (struct store_span){
			.start_ns = 1700000000000000000,
			.end_ns = 1700000000000000001,
			.service = 1,
			.name = 1,
		};
		f->spans++;
		memcpy(l.rows[i].trace_id, &f->spans, sizeof(f->spans));
		memcpy(l.rows[i].span_id, &f->spans, sizeof(f->spans));
	}
	assert_int_equal(writer_spans(f->writer, &l), 0);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_size;
}

/* Before the one that waits is written there is another. */
static void on_stored(void *ctx, const struct batch *b,
		      const struct store_frame_row *rows, size_t n)
{
	struct fixture *f = ctx;
	off_t size = size_of("a.db") + size_of("a.db-wal");

	(void)b;
	(void)rows;
	(void)n;
	if (size > f->largest)
		f->largest = size;
	if (!f->has_spans)
		give(f);
	else if (f->given == f->n)
		give_spans(f, SPANS);
}

static void on_idle(void *ctx)
{
	give(ctx);
}

static void open_writer(struct fixture *f, uint64_t max_bytes)
{
	struct store_opts opts = t_opts("a.db");
	struct writer_opts how = {
		.loop = &f->loop,
		.on_stored = on_stored,
		.on_idle = on_idle,
		.ctx = f,
		.max_wal_bytes = 64 << 20,
	};

	opts.words.ledger_entry = ledger_names;
	opts.words.n_ledger_entry = LEDGER_ENTRIES;
	keep_init(&how.keep);
	keep_add_defaults(&how.keep);
	how.keep.max_bytes = max_bytes;
	how.store = t_open_with(&opts);
	assert_int_equal(uv_loop_init(&f->loop), 0);
	assert_int_equal(writer_open(&f->writer, &how, &err), 0);
}

static void close_writer(struct fixture *f)
{
	if (writer_close(f->writer, 1700000001000000000, false, &err))
		fail_msg("writer_close: %s", err.msg);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	t_expect("a.db", "PRAGMA integrity_check", "ok");
}

static void a_file_stays_near_its_size_whatever_comes(void **state)
{
	struct fixture f = { .proc = { .who = { 5, 42, 1 }, .comm = "name" },
			     .n = BATCHES };
	uint64_t gone;

	(void)state;
	open_writer(&f, 1 << 20);
	give(&f);
	give(&f);
	while (f.given < BATCHES || writer_queued(f.writer))
		uv_run(&f.loop, UV_RUN_ONCE);
	gone = writer_tended(f.writer)->gone.counts;
	close_writer(&f);
	print_message("# %d held back; %llu of %d counts gone; at most %lld "
		      "bytes\n",
		      f.held, (unsigned long long)gone, BATCHES * STACKS,
		      (long long)f.largest);
	assert_true(gone > BATCHES * STACKS / 2);
	/* Of what is committed at a time a page may be in both. */
	assert_true(f.largest < 8 << 20);
	t_expect("a.db",
		 "SELECT (SELECT total(count) FROM stack_count) + (SELECT"
		 " total(count) FROM ledger WHERE entry = 'expired_counts')",
		 "24000.0");
}

/* Who holds batches back waits for what goes: it must not stop before the file
 * is small enough, or nothing would ever be written again. */
static void what_goes_goes_on_behind_what_is_no_batch(void **state)
{
	struct fixture f = { .proc = { .who = { 5, 42, 1 }, .comm = "name" },
			     .n = FEW_BATCHES,
			     .has_spans = true };

	(void)state;
	open_writer(&f, 8 << 20);
	give(&f);
	while (!f.spans)
		uv_run(&f.loop, UV_RUN_ONCE);
	assert_false(writer_is_over_size(f.writer));
	give_spans(&f, 1); /* behind what lets go, which is queued by now */
	while (writer_queued(f.writer))
		uv_run(&f.loop, UV_RUN_ONCE);
	assert_false(writer_is_over_size(f.writer));
	assert_int_equal(writer_tended(f.writer)->gone.spans, SPANS + 1);
	close_writer(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_file_stays_near_its_size_whatever_comes, enter_place,
			leave_place),
		cmocka_unit_test_setup_teardown(
			what_goes_goes_on_behind_what_is_no_batch, enter_place,
			leave_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
