/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/event_opener.h"
#include "tests/unit/only_child.h"
#include "tests/unit/skip.h"

static const struct perf_event_attr kinds[] = {
	{
		.size = sizeof(kinds[0]),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	},
};

static struct event_opener *start(void)
{
	struct event_opener *o;
	struct weft_err err;

	assert_int_equal(event_opener_start(&o, kinds, 1, &err), 0);
	return o;
}

/* Whether we may do what it does. */
static bool may_open(void)
{
	struct perf_event_attr attr = kinds[0];
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void an_event_is_opened_for_who_asks(void **state)
{
	struct event_opener *o;
	uint64_t count = 1;
	int fd;

	(void)state;
	if (!may_open())
		SKIP_BECAUSE("perf_event_open(2) is not allowed");
	o = start();
	for (int i = 0; i < 100; i++) {
		fd = event_opener_ask(o, 0, 0);
		assert_true(fd >= 0);
		assert_int_equal(read(fd, &count, sizeof(count)),
				 sizeof(count));
		assert_int_equal(count, 0);
		close(fd);
	}
	event_opener_close(o);
}

static void nothing_but_what_it_was_told_is_opened(void **state)
{
	struct event_opener *o = start();

	(void)state;
	assert_int_equal(event_opener_ask(o, 1, 0), -EINVAL);
	assert_int_equal(event_opener_ask(o, UINT32_MAX, 0), -EINVAL);
	assert_int_equal(event_opener_ask(o, 0, UINT32_MAX), -EINVAL);
	event_opener_close(o);
}

/* Else an event of one CPU would be taken for another's. */
static void an_answer_that_comes_late_is_nobodys(void **state)
{
	struct event_opener *o = start();
	pid_t pid = only_child(getpid());
	int next = dup(0);

	(void)state;
	close(next);
	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(event_opener_ask(o, 0, 0), -ETIMEDOUT);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(event_opener_ask(o, 1, 0), -EINVAL);
	/* And its descriptor is closed. */
	assert_int_equal(dup(0), next);
	close(next);
	event_opener_close(o);
}

static void that_it_is_gone_is_told(void **state)
{
	struct event_opener *o = start();
	pid_t pid = only_child(getpid());

	(void)state;
	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(event_opener_ask(o, 0, 0), -EPIPE);
	event_opener_close(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_opened_for_who_asks),
		cmocka_unit_test(nothing_but_what_it_was_told_is_opened),
		cmocka_unit_test(an_answer_that_comes_late_is_nobodys),
		cmocka_unit_test(that_it_is_gone_is_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
