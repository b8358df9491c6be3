/* SPDX-License-Identifier: MIT */
/*
 * Which code lies at addresses of JITs, asked of real inspectors: of children
 * that do nothing, and of maps that we write in their place.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/jit.h"
#include "tests/unit/start_ns.h"

/* A process that has JIT code, so its map says. */
struct target {
	pid_t pid;
	char path[64]; /* of its map */
	struct binary *binary;
};

struct fixture {
	uv_loop_t loop;
	struct inspect *in;
	struct binaries *binaries;
	struct jit *jit;
	size_t answers;
	char trouble[512]; /* the last that was told */
	size_t troubles;
	struct target target[2];
};

static void on_answer(void *ctx)
{
	((struct fixture *)ctx)->answers++;
}

static void on_trouble(void *ctx, enum inspect_trouble kind,
		       const char *sentence)
{
	struct fixture *f = ctx;

	(void)kind;
	snprintf(f->trouble, sizeof(f->trouble), "%s", sentence);
	f->troubles++;
}

static void expect_trouble(const struct fixture *f, const struct target *t,
			   const char *what)
{
	char want[512];

	snprintf(want, sizeof(want), "process %d: %s", t->pid, what);
	assert_string_equal(f->trouble, want);
}

static void start_target(struct fixture *f, struct target *t)
{
	struct weft_identity who = { 0 };

	t->pid = fork();
	assert_true(t->pid >= 0);
	if (!t->pid) {
		alarm(120);
		for (;;)
			pause();
	}
	who.pid = (uint32_t)t->pid;
	who.start_ns = start_ns(t->pid);
	t->binary = binaries_process(f->binaries, STORE_JIT, &who);
	snprintf(t->path, sizeof(t->path), "/tmp/perf-%d.map", t->pid);
	unlink(t->path);
}

static void end_target(struct target *t)
{
	if (t->pid) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	t->pid = 0;
}

static int set_up(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;
	/* One: each keeps maps of its own. */
	struct inspect_opts opts = { .workers = 1 };
	struct inspect_server server;
	struct weft_err err = { 0 };

	*f = (struct fixture){ 0 };
	*state = f;
	if (inspect_fork(&server, &err) || uv_loop_init(&f->loop) ||
	    inspect_open(&f->in, &f->loop, server, &opts, &err) ||
	    binaries_open(&f->binaries, &err) ||
	    jit_open(&f->jit, f->in, on_answer, f, &err))
		return -1;
	inspect_on_trouble(f->in, on_trouble, f);
	for (int i = 0; i < 2; i++)
		start_target(f, &f->target[i]);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		end_target(&f->target[i]);
		unlink(f->target[i].path);
	}
	inspect_close(f->in);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	jit_close(f->jit);
	binaries_close(f->binaries);
	return uv_loop_close(&f->loop);
}

static void write_map(const struct target *t, int flags, const char *text)
{
	int fd = open(t->path, O_WRONLY | O_CREAT | flags, 0644);
	size_t size = strlen(text);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

static void append(const struct target *t, const char *text)
{
	write_map(t, O_APPEND, text);
}

/* An interval's questions, and all their answers. */
static struct jit_ask *ask(struct fixture *f, struct jit_place *places,
			   size_t n)
{
	struct jit_ask *ask = jit_ask(f->jit, places, n);

	assert_non_null(ask);
	while (!jit_is_answered(ask))
		uv_run(&f->loop, UV_RUN_ONCE);
	return ask;
}

/* What lies at an address in an interval of its own. A name of NULL: none. */
static uint32_t expect_code(struct fixture *f, struct target *t,
			    uint64_t address, const char *name, bool is_read)
{
	struct jit_place place = { t->binary, address };
	struct jit_ask *a = ask(f, &place, 1);
	struct jit_code code;
	struct jit_place wanted = { t->binary, address };

	jit_find(f->jit, a, &wanted, &code);
	assert_int_equal(code.is_read, is_read);
	if (name) {
		assert_non_null(code.name);
		assert_string_equal(code.name, name);
	} else {
		assert_null(code.name);
	}
	jit_release(a);
	return code.version;
}

static void a_later_entry_is_another_version(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0];
	uint32_t first, second;

	append(t, "1000 100 first\n2000 100 other\n");
	first = expect_code(f, t, 0x1010, "first", true);
	assert_int_not_equal(first, 0);
	append(t, "3000 100 more\n");
	assert_int_equal(expect_code(f, t, 0x1010, "first", true), first);
	append(t, "1000 100 second\n");
	second = expect_code(f, t, 0x1010, "second", true);
	assert_int_not_equal(second, 0);
	assert_int_not_equal(second, first);
	/* Repeated lines are the same function; so is one that is back. */
	append(t, "1000 100 second\n");
	assert_int_equal(expect_code(f, t, 0x1010, "second", true), second);
	append(t, "1000 100 first\n");
	assert_int_equal(expect_code(f, t, 0x1010, "first", true), first);
	/* Another size, another start: other code. */
	append(t, "1000 180 first\n");
	assert_int_not_equal(expect_code(f, t, 0x1010, "first", true), first);
}

static void what_has_no_entry_is_version_0_until_it_has(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0];

	assert_int_equal(expect_code(f, t, 0x1010, NULL, true), 0);
	append(t, "2000 100 other\n1000 100 cut");
	assert_int_equal(expect_code(f, t, 0x1010, NULL, true), 0);
	append(t, " short\n");
	assert_int_not_equal(expect_code(f, t, 0x1010, "cut short", true), 0);
}

static void a_map_written_anew_is_read_anew(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0];
	uint32_t first, other;

	append(t, "1000 100 first\n2000 100 other\n");
	first = expect_code(f, t, 0x1000, "first", true);
	other = expect_code(f, t, 0x2000, "other", true);
	write_map(t, O_TRUNC, "1000 100 second\n");
	assert_int_not_equal(expect_code(f, t, 0x1000, "second", true), first);
	/* It may still run; nothing else is said to be there. */
	assert_int_equal(expect_code(f, t, 0x2000, NULL, true), other);
	/* Longer than it was. */
	write_map(t, O_TRUNC,
		  "1000 100 a_name_that_is_longer\n3000 100 and_one_more\n");
	expect_code(f, t, 0x1000, "a_name_that_is_longer", true);
	/* As another file, longer again, and with the old line back. */
	unlink(t->path);
	append(t,
	       "8000 100 long_name_of_a_new_file_that_is_longer_than_all\n1000 100 first\n");
	assert_int_equal(expect_code(f, t, 0x1000, "first", true), first);
}

static void answers_of_an_interval_hold_for_it_alone(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0];
	struct jit_place place = { t->binary, 0x1000 };
	struct jit_ask *before, *after;
	struct jit_code code[2];

	append(t, "1000 100 first\n");
	before = ask(f, &place, 1);
	append(t, "1000 100 second\n");
	after = ask(f, &place, 1);
	jit_find(f->jit, before, &place, &code[0]);
	jit_find(f->jit, after, &place, &code[1]);
	assert_string_equal(code[0].name, "first");
	assert_string_equal(code[1].name, "second");
	jit_release(before);
	jit_release(after);
}

static void what_has_ended_is_as_was_told_last(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0];
	uint32_t first, second;

	append(t, "1000 100 first\n");
	first = expect_code(f, t, 0x1000, "first", true);
	append(t, "1000 100 second\n");
	second = expect_code(f, t, 0x1000, "second", true);
	assert_int_not_equal(first, second);
	append(t, "1000 100 third\n");
	end_target(t);
	assert_int_equal(expect_code(f, t, 0x1000, NULL, false), second);
	assert_int_equal(expect_code(f, t, 0x1001, NULL, false), 0);
}

static void a_map_that_is_refused_costs_its_names_only(void **state)
{
	struct fixture *f = *state;
	struct target *t = f->target;

	assert_int_equal(mkfifo(t[0].path, 0666), 0);
	append(&t[1], "1000 100 good\n");
	assert_int_equal(expect_code(f, &t[0], 0x1000, NULL, false), 0);
	assert_int_not_equal(expect_code(f, &t[1], 0x1000, "good", true), 0);
}

static void a_map_that_is_refused_is_told_of_once(void **state)
{
	struct fixture *f = *state;
	struct target *t = f->target;

	assert_int_equal(symlink("/etc/shadow", t[0].path), 0);
	for (int i = 0; i < 3; i++)
		expect_code(f, &t[0], 0x1000, NULL, false);
	assert_int_equal(f->troubles, 1);
	expect_trouble(f, &t[0],
		       "its perf map is not read: it must be a regular file "
		       "with one name, of the process's user or of root");
	/* To have none is no trouble. */
	expect_code(f, &t[1], 0x1000, NULL, true);
	assert_int_equal(f->troubles, 1);
}

static void malformed_lines_are_told_of_once_with_the_first(void **state)
{
	struct fixture *f = *state;
	struct target *t = f->target;

	append(&t[1], "1000 100 good\n");
	expect_code(f, &t[1], 0x1000, "good", true);
	assert_int_equal(f->troubles, 0);
	append(&t[1], "zz\n2000 0 empty\n3000 100 third\n");
	expect_code(f, &t[1], 0x3000, "third", true);
	append(&t[1], "zz\n");
	expect_code(f, &t[1], 0x1000, "good", true);
	assert_int_equal(f->troubles, 1);
	expect_trouble(f, &t[1],
		       "2 lines of its perf map are malformed, the first is "
		       "line 2");
}

/* Places of both, in no order and repeated, in more than one request. */
static void each_place_is_asked_for_once(void **state)
{
	struct fixture *f = *state;
	struct target *t = f->target;
	struct jit_place places[3000];
	struct jit_ask *a;

	append(&t[0], "0 100000 one\n");
	append(&t[1], "0 100000 two\n");
	for (size_t i = 0; i < 3000; i++)
		places[i] = (struct jit_place){ t[i % 2].binary, i * 7 % 1000 };
	a = ask(f, places, 3000);
	/* 500 addresses of each. */
	assert_int_equal(f->answers, 2);
	for (size_t i = 0; i < 1000; i++) {
		struct jit_place place = { t[i % 2].binary, i };
		struct jit_code code;

		jit_find(f->jit, a, &place, &code);
		assert_true(code.is_read);
		assert_string_equal(code.name, i % 2 ? "two" : "one");
	}
	jit_release(a);
}

static void ask_many(struct fixture *f, struct target *t, uint64_t first,
		     size_t n, size_t *n_read)
{
	struct jit_place *places = calloc(n, sizeof(*places));
	struct jit_code code;
	struct jit_ask *a;

	assert_non_null(places);
	for (size_t i = 0; i < n; i++)
		places[i] = (struct jit_place){ t->binary, first + i };
	a = ask(f, places, n);
	*n_read = 0;
	for (size_t i = 0; i < n; i++) {
		jit_find(f->jit, a, &places[i], &code);
		*n_read += code.is_read;
	}
	jit_release(a);
	free(places);
}

static void what_is_asked_and_remembered_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0], ended;
	uint64_t at = 0;
	size_t n_read;

	append(t, "0 100000000 all\n");
	ask_many(f, t, 0, JIT_ADDRESSES_MAX + 1000, &n_read);
	assert_true(n_read <= JIT_ADDRESSES_MAX);
	assert_true(n_read > JIT_ADDRESSES_MAX - INSPECT_NAMES_MAX);
	/* One generation more, and it is still there; two, and it is not. */
	for (; at < JIT_KNOWN_MAX; at += JIT_ADDRESSES_MAX)
		ask_many(f, t, (1 << 24) + at, JIT_ADDRESSES_MAX, &n_read);
	end_target(t);
	unlink(t->path);
	ended = *t;
	assert_int_not_equal(expect_code(f, &ended, 5, NULL, false), 0);
	start_target(f, t);
	append(t, "0 100000000 all\n");
	for (; at < 3 * JIT_KNOWN_MAX; at += JIT_ADDRESSES_MAX)
		ask_many(f, t, (1 << 24) + at, JIT_ADDRESSES_MAX, &n_read);
	assert_int_equal(expect_code(f, &ended, 5, NULL, false), 0);
}

/* The interval was stored without them. */
static void answers_may_come_after_nobody_waits(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0];
	struct jit_place place = { t->binary, 0x1000 };
	struct jit_ask *early;

	append(t, "1000 100 first\n");
	early = jit_ask(f->jit, &place, 1);
	assert_non_null(early);
	assert_false(jit_is_answered(early));
	jit_release(early);
	expect_code(f, t, 0x1000, "first", true);
	while (f->answers < 2)
		uv_run(&f->loop, UV_RUN_ONCE);
	/* And some never: freed when all is closed. */
	assert_non_null(jit_ask(f->jit, &place, 1));
	jit_release(jit_ask(f->jit, &place, 1));
}

/* Of a file without end the end is read. */
static void of_a_huge_map_the_end_counts(void **state)
{
	struct fixture *f = *state;
	struct target *t = &f->target[0];
	uint32_t last;

	append(t, "500 100 lost\nzz\n");
	expect_code(f, t, 0x500, "lost", true);
	assert_int_equal(f->troubles, 1);
	assert_int_equal(truncate(t->path, (off_t)1 << 40), 0);
	append(t, "\n1000 100 last\n2000 100 other\n");
	/* It is read in parts, one in each interval. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(expect_code(f, t, 0x1000, NULL, false), 0);
	last = expect_code(f, t, 0x1000, "last", true);
	append(t, "1000 100 later\n");
	assert_int_not_equal(expect_code(f, t, 0x1000, "later", true), last);
	expect_code(f, t, 0x2000, "other", true);
	expect_code(f, t, 0x500, NULL, true);
	/* Beside that a line is malformed, which was told before. */
	assert_int_equal(f->troubles, 2);
	expect_trouble(f, t,
		       "its perf map is larger than is kept of one: its first "
		       "1048512 MiB are not read, and 0 older functions are "
		       "dropped; their code has no name");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_later_entry_is_another_version),
		TEST(what_has_no_entry_is_version_0_until_it_has),
		TEST(a_map_written_anew_is_read_anew),
		TEST(answers_of_an_interval_hold_for_it_alone),
		TEST(what_has_ended_is_as_was_told_last),
		TEST(a_map_that_is_refused_costs_its_names_only),
		TEST(a_map_that_is_refused_is_told_of_once),
		TEST(malformed_lines_are_told_of_once_with_the_first),
		TEST(each_place_is_asked_for_once),
		TEST(what_is_asked_and_remembered_is_bounded),
		TEST(answers_may_come_after_nobody_waits),
		TEST(of_a_huge_map_the_end_counts),
	};

	/* A watchdog, not a measure. */
	alarm(120);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
