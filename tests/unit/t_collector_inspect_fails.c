/* SPDX-License-Identifier: MIT */
/*
 * Inspectors, live, that fail: killed, or at a child whose memory never answers
 * (a page that userfaultfd serves and nobody fills).
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/skip.h"
#include "tests/unit/t_collector_inspect.h"

static void without_the_server_every_request_is_answered(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	kill(f.server_pid, SIGKILL);
	/* Its inspectors die with it, in their own time. */
	while (!f.seen[INSPECT_CRASHED]) {
		ask_process(&f, &who);
		run_until_answered(&f);
	}
	for (int i = 0; i < 10; i++) {
		ask_process(&f, &who);
		run_until_answered(&f);
	}
	close_all(&f);
}

/*
 * A child that names a page like a process context and lets userfaultfd serve
 * it, which nobody does: to read the page is to wait until killed. Returns
 * its pid, 0 where this cannot be had here.
 */
static pid_t start_stuck(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct uffdio_api api = { .api = UFFD_API };
		int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		int memory = memfd_create("OTEL_CTX", MFD_CLOEXEC);
		struct uffdio_register range = {
			.mode = UFFDIO_REGISTER_MODE_MISSING
		};
		void *page;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd < 0 || memory < 0 || ftruncate(memory, 4096) ||
		    ioctl(fd, UFFDIO_API, &api))
			_exit(1);
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			    memory, 0);
		range.range.start = (uintptr_t)page;
		range.range.len = 4096;
		if (page == MAP_FAILED || ioctl(fd, UFFDIO_REGISTER, &range) ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_target_that_never_answers_costs_only_itself(void **state)
{
	struct inspect_opts opts = { .workers = 1, .deadline_ns = 200000000 };
	struct weft_identity who = identify(getpid()), stuck;
	struct inspect_totals totals;
	struct fixture f;
	char want[128];
	pid_t pid;

	(void)state;
	open_with(&f, &opts);
	pid = start_stuck();
	if (!pid) {
		close_all(&f);
		SKIP_BECAUSE("no userfaultfd here");
	}
	stuck = identify(pid);
	ask_context(&f, &stuck);
	ask_context(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_TIMEOUT], 1);
	assert_int_equal(f.seen[INSPECT_OK], 1);
	assert_int_equal(f.state, INSPECT_CONTEXT_NO_MAPPING);
	/* And is not asked about again. */
	ask_context(&f, &stuck);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_BARRED], 1);
	inspect_read_totals(f.in, &totals);
	assert_int_equal(totals.replaced, 1);
	snprintf(want, sizeof(want),
		 "process %d: reading its trace context took too long; left "
		 "alone for a while",
		 pid);
	assert_string_equal(f.trouble, want);
	assert_int_equal(f.troubles, 1);
	end(pid);
	close_all(&f);
}

static void a_bar_ends(void **state)
{
	struct inspect_opts opts = { .workers = 1,
				     .deadline_ns = 50000000,
				     .bar_ns = 1 };
	struct weft_identity stuck;
	struct fixture f;
	pid_t pid;

	(void)state;
	open_with(&f, &opts);
	pid = start_stuck();
	if (!pid) {
		close_all(&f);
		SKIP_BECAUSE("no userfaultfd here");
	}
	stuck = identify(pid);
	for (int i = 0; i < 3; i++) {
		ask_context(&f, &stuck);
		run_until_answered(&f);
	}
	assert_int_equal(f.seen[INSPECT_TIMEOUT], 3);
	end(pid);
	close_all(&f);
}

static void on_kill(uv_timer_t *timer)
{
	struct fixture *f = timer->data;
	pid_t pid = only_child(f->server_pid);

	if (pid)
		kill(pid, SIGKILL);
}

static void an_inspector_that_dies_is_replaced(void **state)
{
	struct inspect_opts opts = { .workers = 1, .deadline_ns = 60000000000 };
	struct weft_identity who = identify(getpid()), stuck;
	struct fixture f;
	uv_timer_t timer;
	pid_t pid;

	(void)state;
	open_with(&f, &opts);
	pid = start_stuck();
	if (!pid) {
		close_all(&f);
		SKIP_BECAUSE("no userfaultfd here");
	}
	ask_context(&f, &who);
	run_until_answered(&f);
	stuck = identify(pid);
	ask_context(&f, &stuck);
	ask_context(&f, &who);
	/* The first is under way; its inspector dies of it, so to speak. */
	uv_timer_init(&f.loop, &timer);
	timer.data = &f;
	uv_timer_start(&timer, on_kill, 50, 0);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_CRASHED], 1);
	assert_int_equal(f.seen[INSPECT_OK], 2);
	assert_non_null(strstr(f.trouble, "ended the inspector"));
	uv_close((uv_handle_t *)&timer, NULL);
	end(pid);
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_server_every_request_is_answered),
		cmocka_unit_test(a_target_that_never_answers_costs_only_itself),
		cmocka_unit_test(a_bar_ends),
		cmocka_unit_test(an_inspector_that_dies_is_replaced),
	};

	/* A watchdog, not a measure. */
	alarm(120);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
