/* SPDX-License-Identifier: MIT */
/* What the words of -e mean, and what is said of those that mean nothing. */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collector/trigger.h"

/* What one -e makes; the caller releases it. */
static struct triggers understood(const char *text)
{
	struct triggers t = { 0 };
	struct weft_err err = { 0 };

	if (triggers_add(&t, text, &err))
		fail_msg("%s: %s", text, err.msg);
	return t;
}

static void expect_call(const char *text, enum trigger_kind kind,
			const char *path, const char *scope, const char *symbol,
			uint64_t offset)
{
	struct triggers t = understood(text);
	const struct trigger *c = &t.trigger[0];

	assert_int_equal(t.n, 1);
	assert_int_equal(c->kind, kind);
	assert_string_equal(c->path ? c->path : "", path);
	assert_string_equal(c->scope ? c->scope : "", scope);
	assert_string_equal(c->symbol, symbol);
	assert_int_equal(c->offset, offset);
	assert_true(trigger_is_call(c));
	assert_string_equal(trigger_unit(c), "calls");
	triggers_release(&t);
}

static void calls_are_taken_apart_from_their_end(void **state)
{
	(void)state;
	expect_call("tracepoint:sched:sched_switch", TRIGGER_TRACEPOINT, "",
		    "sched", "sched_switch", 0);
	expect_call("uprobe:/bin/x:f", TRIGGER_UPROBE, "/bin/x", "", "f", 0);
	expect_call("uprobe:/bin/x:f+0x10", TRIGGER_UPROBE, "/bin/x", "", "f",
		    16);
	/* A path may hold colons, and pluses are a part of many names. */
	expect_call("uprobe:/a:b/x:operator+", TRIGGER_UPROBE, "/a:b/x", "",
		    "operator+", 0);
	expect_call("uretprobe:/bin/x:f+8", TRIGGER_URETPROBE, "/bin/x", "",
		    "f+8", 0);
	expect_call("usdt:/lib/c.so:libc:memory_heap_new", TRIGGER_USDT,
		    "/lib/c.so", "libc", "memory_heap_new", 0);
	expect_call("usdt:/a:b:p:n", TRIGGER_USDT, "/a:b", "p", "n", 0);
	expect_call("kprobe:do_exit+4", TRIGGER_KPROBE, "", "", "do_exit", 4);
	/* What is not a path to libbpf must not become a search for one. */
	expect_call("uprobe:x:f", TRIGGER_UPROBE, "./x", "", "f", 0);
}

static void options_stand_behind(void **state)
{
	struct triggers t =
		understood("uprobe:/bin/x:f,stacks=1/100,name=calls of f");

	(void)state;
	assert_string_equal(t.trigger[0].name, "calls of f");
	assert_int_equal(t.trigger[0].stacks_n, 100);
	triggers_release(&t);
	t = understood("cache-misses,period=5000");
	assert_int_equal(t.trigger[0].perf_type, PERF_TYPE_HARDWARE);
	assert_int_equal(t.trigger[0].period, 5000);
	triggers_release(&t);
	t = understood("r1a8");
	assert_int_equal(t.trigger[0].perf_type, PERF_TYPE_RAW);
	assert_int_equal(t.trigger[0].perf_config, 0x1a8);
	triggers_release(&t);
}

static void wall_is_four_events_of_which_the_timer_has_no_tau(void **state)
{
	struct triggers t = understood("wall,tau=0.002");

	(void)state;
	assert_int_equal(t.n, 4);
	for (uint32_t i = 0; i < t.n; i++)
		assert_int_equal(t.trigger[i].tau_ns,
				 t.trigger[i].kind == TRIGGER_TIMER
					 ? TRIGGER_TAU_DEFAULT
					 : 2000000);
	assert_int_not_equal(triggers_find(&t, TRIGGER_RUN_QUEUE),
			     WEFT_NO_EVENT);
	assert_int_equal(triggers_find(&t, TRIGGER_USDT), WEFT_NO_EVENT);
	triggers_release(&t);
}

static void what_is_there_is_not_added_again(void **state)
{
	struct triggers t = understood("off-cpu");
	struct weft_err err = { 0 };
	char text[40];

	(void)state;
	assert_int_equal(triggers_add(&t, "off-cpu", &err), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(triggers_add(&t, "off-cpu,name=other", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "asked for twice"));
	err = (struct weft_err){ 0 };
	/* Of the same name, but other samples: neither is left out. */
	assert_int_equal(triggers_add(&t, "off-cpu,tau=1", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "two different events are called"));
	err = (struct weft_err){ 0 };
	assert_int_equal(triggers_add(&t, "kprobe:f,name=off-cpu", &err),
			 -EINVAL);
	assert_non_null(strstr(err.msg, "two different events are called"));
	err = (struct weft_err){ 0 };
	assert_int_equal(t.n, 1);
	for (int i = 1; i < WEFT_MAX_EVENTS; i++) {
		snprintf(text, sizeof(text), "kprobe:f%d", i);
		assert_int_equal(triggers_add(&t, text, &err), 0);
	}
	assert_int_equal(triggers_add(&t, "kprobe:more", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "at most 8 events"));
	triggers_release(&t);
}

static void mistakes_are_told_with_what_was_meant(void **state)
{
	static const char *const wrong[][2] = {
		{ "cpu-clok", "did you mean 'cpu-clock'" },
		{ "nonesuch-at-all", "`weft list events`" },
		{ "", "`weft list events`" },
		{ "uprobe:/bin/x", "uprobe:PATH:SYMBOL" },
		{ "uprobe:/bin/x:", "uprobe:PATH:SYMBOL" },
		{ "uprobe::f", "uprobe:PATH:SYMBOL" },
		{ "uprobe:/bin/x:f+12z", "uprobe:PATH:SYMBOL" },
		{ "usdt:/bin/x:name", "usdt:PATH:PROVIDER:NAME" },
		{ "tracepoint:sched", "tracepoint:CATEGORY:NAME" },
		{ "cycles,perod=5", "did you mean 'period'" },
		{ "cycles,period=0", "period cannot be '0'" },
		{ "cpu-clock,period=5", "is for counters" },
		{ "off-cpu,stacks=1/5", "is for calls" },
		{ "kprobe:f,stacks=5", "stacks cannot be '5'" },
		{ "kprobe:f,tau=1", "is for on-cpu, off-cpu" },
		{ "on-cup", "did you mean 'on-cpu'" },
		{ "off-cpu,tau=5", "up to 4" },
		{ "wall,name=x", "wall is four events" },
		{ "r1234567890abcdef0", "`weft list events`" },
	};
	struct triggers t = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct weft_err err = { 0 };

		assert_int_equal(triggers_add(&t, wrong[i][0], &err), -EINVAL);
		if (!strstr(err.msg, wrong[i][1]))
			fail_msg("'%s': %s", wrong[i][0], err.msg);
	}
	assert_int_equal(t.n, 0);
}

static void states_go_by_their_letters(void **state)
{
	uint32_t states;

	(void)state;
	assert_int_equal(trigger_parse_states("S,D", &states), 0);
	assert_int_equal(states,
			 1U << WEFT_BLOCK_SLEEPING | 1U << WEFT_BLOCK_DISK);
	assert_int_equal(trigger_parse_states("RX", &states), 0);
	assert_int_equal(states,
			 1U << WEFT_BLOCK_PREEMPTED | 1U << WEFT_BLOCK_OTHER);
	assert_int_equal(trigger_parse_states("", &states), -EINVAL);
	assert_int_equal(trigger_parse_states("S,Q", &states), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_taken_apart_from_their_end),
		cmocka_unit_test(options_stand_behind),
		cmocka_unit_test(
			wall_is_four_events_of_which_the_timer_has_no_tau),
		cmocka_unit_test(what_is_there_is_not_added_again),
		cmocka_unit_test(mistakes_are_told_with_what_was_meant),
		cmocka_unit_test(states_go_by_their_letters),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
