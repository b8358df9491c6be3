/* SPDX-License-Identifier: MIT */
/* Spans on their way from the receiving process to the file. The process is
 * one of ours: it says what a real one would, and what it never would. */
#include "t_store.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "collector/otlp/receiver.h"
#include "collector/privilege.h"
#include "tests/unit/skip.h"

static struct {
	uv_loop_t loop;
	struct writer *writer;
	struct receiver *receiver;
	bool is_over;
	size_t most; /* bytes of spans that ever were queued */
} t;

static void on_stored(void *ctx, const struct batch *b,
		      const struct store_frame_row *rows, size_t n)
{
	(void)ctx;
	(void)b;
	(void)rows;
	(void)n;
}

static void on_idle(void *ctx)
{
	(void)ctx;
}

static void on_end(void *ctx)
{
	(void)ctx;
	t.is_over = true;
}

/* n spans of trace `trace`, with text_size bytes of text. */
static void send_message(int fd, uint8_t trace, uint64_t n, size_t text_size)
{
	struct otlp_message head = { .n = n, .text_size = text_size };
	char *text = calloc(1, text_size + 1);
	FILE *to = fdopen(dup(fd), "w");

	fwrite(&head, sizeof(head), 1, to);
	for (uint64_t i = 0; i < n; i++) {
		struct store_span span = { .start_ns = 1, .end_ns = 2 };

		memset(span.trace_id, trace, sizeof(span.trace_id));
		memcpy(span.span_id, &(uint64_t){ i + 1 }, 8);
		fwrite(&span, sizeof(span), 1, to);
	}
	fwrite(text, text_size, 1, to);
	if (fclose(to))
		_exit(1);
	free(text);
}

typedef void sender_fn(int fd);

static void start(sender_fn *sender)
{
	struct writer_opts writer = { .loop = &t.loop,
				      .store = t_open("a.db", false),
				      .on_stored = on_stored,
				      .on_idle = on_idle };
	struct receiver_opts opts = { .loop = &t.loop, .on_end = on_end };
	int pair[2];

	memset(&t, 0, sizeof(t));
	assert_int_equal(uv_loop_init(&t.loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	opts.server.fd = pair[0];
	opts.server.pid = fork();
	if (!opts.server.pid) {
		close(pair[0]);
		sender(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	assert_int_equal(writer_open(&t.writer, &writer, &err), 0);
	opts.writer = t.writer;
	assert_int_equal(receiver_open(&t.receiver, &opts, &err), 0);
}

/* Until all has been read and written. */
static void run(struct receiver_totals *totals)
{
	receiver_stop(t.receiver);
	while (!t.is_over || writer_queued(t.writer)) {
		receiver_tick(t.receiver);
		uv_run(&t.loop, UV_RUN_NOWAIT);
		if (writer_span_bytes(t.writer) > t.most)
			t.most = writer_span_bytes(t.writer);
	}
	receiver_read_totals(t.receiver, totals);
	receiver_close(t.receiver);
	assert_int_equal(writer_span_bytes(t.writer), 0);
	assert_int_equal(writer_close(t.writer, 1, false, &err), 0);
	uv_run(&t.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&t.loop), 0);
}

enum {
	MANY = 60,
	LARGE = 8 << 20
};

static void send_many(int fd)
{
	for (uint8_t i = 1; i <= MANY; i++)
		send_message(fd, i, 1, LARGE);
}

static void what_waits_is_bounded_in_bytes(void **state)
{
	struct receiver_totals totals;

	(void)state;
	start(send_many);
	run(&totals);
	assert_int_equal(totals.spans, MANY);
	assert_int_equal(totals.dropped, 0);
	assert_true(t.most > LARGE);
	assert_true(t.most < RECEIVER_QUEUE_MAX + 2 * LARGE);
	t_expect("a.db", "SELECT count(*) FROM span", "60");
}

enum {
	TOO_LARGE = 200 << 20
};

static void send_too_large(int fd)
{
	send_message(fd, 1, 2, 10);
	send_message(fd, 2, 3, TOO_LARGE);
	send_message(fd, 3, 4, 10);
}

static rlim_t memory_now(void)
{
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	if (!statm || fscanf(statm, "%lu", &pages) != 1)
		pages = 0;
	if (statm)
		fclose(statm);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Only that message is lost, and it is told. */
static void what_finds_no_memory_is_counted(void **state)
{
	struct rlimit before, low;
	struct receiver_totals totals;

	(void)state;
#ifdef PRIVILEGE_IS_SANITIZED
	SKIP_BECAUSE("the sanitizer takes all address space");
#endif
	start(send_too_large);
	getrlimit(RLIMIT_AS, &before);
	low = before;
	low.rlim_cur = memory_now() + (128 << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
	run(&totals);
	setrlimit(RLIMIT_AS, &before);
	assert_int_equal(totals.spans, 9);
	assert_int_equal(totals.dropped, 3);
	assert_false(totals.has_failed);
	t_expect("a.db", "SELECT count(*) FROM span", "6");
}

static void send_nonsense(int fd)
{
	send_message(fd, 1, 1, 10);
	send_message(fd, 2, 0, (size_t)OTLP_TEXT_MAX + 1);
}

static void what_makes_no_sense_ends_it(void **state)
{
	struct receiver_totals totals;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	start(send_nonsense);
	run(&totals);
	assert_true(totals.has_failed);
	assert_int_equal(totals.spans, 1);
	t_expect("a.db", "SELECT count(*) FROM span", "1");
}

static void send_one(int fd)
{
	send_message(fd, 1, 1, 10);
}

static size_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* What is watched is no longer watched, then closed, each time anew: run()
 * checks that the loop has nothing left. */
static void nothing_is_left_open_however_often(void **state)
{
	struct receiver_totals totals;
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 50; i++) {
		start(send_one);
		run(&totals);
		assert_int_equal(totals.spans, 1);
		if (i == 0)
			before = count_descriptors();
	}
	assert_int_equal(count_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)
		TEST(what_waits_is_bounded_in_bytes),
		TEST(what_finds_no_memory_is_counted),
		TEST(what_makes_no_sense_ends_it),
		TEST(nothing_is_left_open_however_often),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
