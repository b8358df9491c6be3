/* SPDX-License-Identifier: MIT */
/*
 * Inspectors, live, asked about this process: its mappings, names and lines;
 * how many requests wait, and what becomes of them at the end.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/unit/t_collector_inspect.h"

static void on_names(void *ctx, enum inspect_status status,
		     const struct inspect_name *names, size_t n)
{
	struct fixture *f = ctx;

	answered(f, status);
	snprintf(f->name, sizeof(f->name), "%s",
		 n && names[0].name ? names[0].name : "");
}

static void on_lines(void *ctx, enum inspect_status status,
		     const struct inspect_level *levels, size_t n)
{
	struct fixture *f = ctx;

	answered(f, status);
	f->n_levels = n;
	if (!n)
		return;
	snprintf(f->name, sizeof(f->name), "%s", levels[0].name);
	snprintf(f->outer, sizeof(f->outer), "%s", levels[n - 1].name);
	snprintf(f->file, sizeof(f->file), "%s", levels[0].file);
	assert_int_equal(levels[n - 1].start + f->mapping.start -
				 f->mapping.file_offset,
			 f->look_for);
}

/* Name the function at an address of ours, in the mapping found before. */
static void ask_name(struct fixture *f, const struct weft_identity *who,
		     uintptr_t address)
{
	struct inspect_file file = to_file(f, who);
	uint64_t offset = address - f->mapping.start + f->mapping.file_offset;

	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_names(f->in, &file, &offset, 1, on_names, f),
			 0);
	f->is_asking = false;
}

static void a_process_and_its_functions_are_named(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 1);
	assert_true(f.mapping.end);
	ask_name(&f, &who, (uintptr_t)on_process + 1);
	run_until_answered(&f);
	assert_string_equal(f.name, "on_process");
	close_all(&f);
}

/* Lines of the function that begins at an address of ours. */
static void ask_lines(struct fixture *f, const struct weft_identity *who,
		      uintptr_t address)
{
	struct inspect_file file = to_file(f, who);
	uint64_t offset = address - f->mapping.start + f->mapping.file_offset;

	f->left++;
	f->is_asking = true;
	f->look_for = address;
	assert_int_equal(inspect_lines(f->in, &file, &offset, 1, on_lines, f),
			 0);
	f->is_asking = false;
}

static void a_function_has_its_lines(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	for (int i = 0; i < 3; i++) {
		f.n_levels = 0;
		ask_lines(&f, &who, (uintptr_t)on_names);
		ask_lines(&f, &who, (uintptr_t)on_names);
		run_until_answered(&f);
		assert_true(f.n_levels >= 1);
		assert_string_equal(f.outer, "on_names");
		assert_non_null(strstr(f.file, "t_collector_inspect.c"));
	}
	assert_int_equal(f.seen[INSPECT_OK], 7);
	close_all(&f);
}

static void who_fails_at_lines_keeps_its_names(void **state)
{
	struct inspect_opts opts = { .workers = 1, .lines_deadline_ns = 1 };
	struct weft_identity who = identify(getpid());
	struct fixture f;
	pid_t inspector;

	(void)state;
	open_with(&f, &opts);
	ask_process(&f, &who);
	run_until_answered(&f);
	/* However little time an answer takes, this one never comes. */
	inspector = only_child(f.server_pid);
	assert_true(inspector > 0);
	assert_int_equal(kill(inspector, SIGSTOP), 0);
	ask_lines(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_TIMEOUT], 1);
	ask_name(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 2);
	assert_string_equal(f.name, "on_process");
	ask_lines(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_BARRED], 1);
	close_all(&f);
}

static void a_file_that_is_not_the_mapped_one_is_refused(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	f.mapping.build_id_size = 20;
	f.mapping.build_id[0] ^= 1;
	ask_name(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 1);
	/* Which is told by name, once. */
	ask_name(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 2);
	assert_int_equal(f.troubles, 1);
	assert_non_null(strstr(f.trouble, f.path));
	assert_non_null(strstr(f.trouble, "its symbols are not read"));
	/* Without a build ID the inode decides. */
	f.mapping.build_id_size = 0;
	f.mapping.inode++;
	ask_name(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 3);
	close_all(&f);
}

static void a_pid_that_is_anothers_now_is_gone(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	who.start_ns += 20000000;
	ask_process(&f, &who);
	ask_context(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_GONE], 2);
	close_all(&f);
}

static void three_thousand_requests_are_all_answered(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	for (int i = 0; i < 3000; i++)
		ask_name(&f, &who, (uintptr_t)on_names);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 3001);
	close_all(&f);
}

static void beyond_the_ceiling_requests_are_deferred(void **state)
{
	struct inspect_opts opts = { .workers = 1, .queue = 10 };
	struct weft_identity who = identify(getpid());
	struct inspect_totals totals;
	struct fixture f;

	(void)state;
	open_with(&f, &opts);
	for (int i = 0; i < 100; i++)
		ask_process(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_DEFERRED], 90);
	assert_int_equal(f.seen[INSPECT_OK], 10);
	inspect_read_totals(f.in, &totals);
	assert_int_equal(totals.answers[INSPECT_DEFERRED], 90);
	close_all(&f);
}

static void lines_leave_room_for_other_requests(void **state)
{
	struct inspect_opts opts = { .workers = 1, .queue = 10 };
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, &opts);
	ask_process(&f, &who);
	run_until_answered(&f);
	/* One of them is under way. Half of the queue is for other owners. */
	for (int i = 0; i < 20; i++)
		ask_lines(&f, &who, (uintptr_t)on_process);
	for (int i = 0; i < 10; i++)
		ask_process(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_DEFERRED], 14);
	assert_int_equal(f.seen[INSPECT_OK], 17);
	close_all(&f);
}

static void closing_drops_what_is_outstanding(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	for (int i = 0; i < 100; i++)
		ask_process(&f, &who);
	uv_run(&f.loop, UV_RUN_NOWAIT);
	f.left = 0; /* a callback would fail in answered() */
	close_all(&f);
}

static void cpu_time_counts_ended_inspectors(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	for (int i = 0; i < 500; i++)
		ask_process(&f, &who);
	run_until_answered(&f);
	/* Half a thousand process reads take more than one clock tick. */
	assert_true(inspect_cpu_ns(f.in) > 0);
	close_all(&f);
}

/* Put the first page of this program into a file. */
static int copy_self(int fd)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char page[4096];
	bool is_done = read(self, page, sizeof(page)) == sizeof(page) &&
		       pwrite(fd, page, sizeof(page), 0) == sizeof(page);

	close(self);
	return is_done ? 0 : -1;
}

static void code_in_a_memfd_is_anonymous_unless_it_is_elf(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;
	int fd = memfd_create("jit", MFD_CLOEXEC);
	void *code;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	open_with(&f, NULL);
	f.look_for = (uintptr_t)code;
	ask_process(&f, &who);
	run_until_answered(&f);
	assert_true(f.mapping.is_anonymous);
	assert_string_equal(f.path, "");
	/* Its file is kept as known, so the ELF one is another. */
	munmap(code, 4096);
	close(fd);
	fd = memfd_create("library", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(copy_self(fd), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	f.look_for = (uintptr_t)code;
	ask_process(&f, &who);
	run_until_answered(&f);
	assert_false(f.mapping.is_anonymous);
	assert_string_equal(f.path, "/memfd:library");
	munmap(code, 4096);
	close(fd);
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_and_its_functions_are_named),
		cmocka_unit_test(a_function_has_its_lines),
		cmocka_unit_test(who_fails_at_lines_keeps_its_names),
		cmocka_unit_test(a_file_that_is_not_the_mapped_one_is_refused),
		cmocka_unit_test(a_pid_that_is_anothers_now_is_gone),
		cmocka_unit_test(three_thousand_requests_are_all_answered),
		cmocka_unit_test(beyond_the_ceiling_requests_are_deferred),
		cmocka_unit_test(lines_leave_room_for_other_requests),
		cmocka_unit_test(closing_drops_what_is_outstanding),
		cmocka_unit_test(cpu_time_counts_ended_inspectors),
		cmocka_unit_test(code_in_a_memfd_is_anonymous_unless_it_is_elf),
	};

	/* A watchdog, not a measure. */
	alarm(120);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
