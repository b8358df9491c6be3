/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collector/measure/parse.h"
#include "collector/measure/plan.h"

#define READ " @ tracepoint:syscalls:sys_enter_read"

static struct measure parsed(const char *text)
{
	struct weft_err err = { 0 };
	struct measure m;

	if (measure_parse(text, &m, &err))
		fail_msg("%s: %s", text, err.msg);
	return m;
}

static void counting_takes_a_name_keys_and_a_probe(void **state)
{
	struct measure m = parsed(
		"calls = count() by comm, pid@tracepoint:raw_syscalls:sys_enter");

	(void)state;
	assert_string_equal(m.name, "calls");
	assert_int_equal(m.aggregate, MEASURE_COUNT);
	assert_int_equal(m.value.kind, MEASURE_NONE);
	assert_int_equal(m.n_keys, 2);
	assert_int_equal(m.key[0].kind, MEASURE_COMM);
	assert_int_equal(m.key[1].kind, MEASURE_PID);
	assert_int_equal(m.probe, MEASURE_TRACEPOINT);
	assert_string_equal(m.where, "raw_syscalls");
	assert_string_equal(m.what, "sys_enter");
	assert_string_equal(m.probe_text, "tracepoint:raw_syscalls:sys_enter");
}

static void without_a_name_it_is_called_by_its_aggregate(void **state)
{
	struct measure m = parsed("hist( args.count )" READ);

	(void)state;
	assert_string_equal(m.name, "hist");
	assert_int_equal(m.value.kind, MEASURE_FIELD);
	assert_string_equal(m.value.field, "count");
	assert_string_equal(m.value.text, "args.count");
	assert_int_equal(parsed("count" READ).aggregate, MEASURE_COUNT);
}

static void a_text_of_several_lines_is_kept_as_one(void **state)
{
	struct measure m =
		parsed(" count()\n\t by comm" READ "\n  if comm == \"a  b\"\n");

	(void)state;
	assert_string_equal(m.text,
			    " count() by comm" READ " if comm == \"a  b\"");
}

static void linear_buckets_have_bounds_and_a_step(void **state)
{
	struct measure m = parsed("lhist(retval, -10, 1k, 0x20)" READ);

	(void)state;
	assert_int_equal(m.linear_min, -10);
	assert_int_equal(m.linear_max, 1024);
	assert_int_equal(m.linear_step, 32);
}

static void conditions_compare_terms_with_numbers_and_names(void **state)
{
	struct measure m = parsed(
		"sum(args.ret) by arg3" READ
		" if args.ret > 0 and comm != \"a b\" && elapsed>=10ms and "
		"(int)retval == -4k");

	(void)state;
	assert_int_equal(m.key[0].kind, MEASURE_ARG);
	assert_int_equal(m.key[0].index, 3);
	assert_int_equal(m.n_tests, 4);
	assert_int_equal(m.test[0].op, MEASURE_GT);
	assert_int_equal(m.test[0].number, 0);
	assert_int_equal(m.test[1].op, MEASURE_NE);
	assert_string_equal(m.test[1].comm, "a b");
	assert_int_equal(m.test[2].op, MEASURE_GE);
	assert_int_equal(m.test[2].number, 10000000);
	assert_int_equal(m.test[3].number, (uint64_t)-4096);
	assert_true(m.test[3].is_negative);
	assert_int_equal(m.test[3].operand.size, 4);
	assert_true(m.test[3].operand.is_signed);
}

static void functions_are_a_path_a_symbol_and_an_offset(void **state)
{
	struct measure m = parsed("count() @ uprobe:/a:b/c:do_it+0x10");

	(void)state;
	assert_int_equal(m.probe, MEASURE_UPROBE);
	assert_string_equal(m.where, "/a:b/c");
	assert_string_equal(m.what, "do_it");
	assert_int_equal(m.offset, 16);
	m = parsed("avg(elapsed) @ uretprobe:/c:do_it");
	assert_int_equal(m.probe, MEASURE_URETPROBE);
	assert_int_equal(m.offset, 0);
	m = parsed("count() @ usdt:/a:b/c:pro:name");
	assert_int_equal(m.probe, MEASURE_USDT);
	assert_string_equal(m.where, "/a:b/c");
	assert_string_equal(m.provider, "pro");
	assert_string_equal(m.what, "name");
}

/* What is wrong, and what the message must say of it. */
static const char *const refused[][2] = {
	{ "", "expected count, sum, avg" },
	{ "count() @ usdt:/a:name", "must be PATH:PROVIDER:NAME" },
	{ "count() @ usdt:/a:pro:", "must be PATH:PROVIDER:NAME" },
	{ "count() @ usdt:a:pro:name", "must be a whole path" },
	{ "cuont()" READ, "no aggregate 'cuont'; did you mean 'count'?" },
	{ "xyzzy()" READ, "there is count, sum" },
	{ "sum" READ, "expected '('" },
	{ "sum()" READ, "expected a term, as args.count or pid, at ')" },
	{ "sum(args.ret" READ, "expected ')', at '@" },
	{ "count(pid)" READ, "takes no value" },
	{ "sum(comm)" READ, "comm is no number" },
	{ "sum(elapsd)" READ, "no term 'elapsd'; did you mean 'elapsed'?" },
	{ "sum(arg6)" READ, "no term 'arg6'" },
	{ "sum((float)arg1)" READ, "a cast is (int)" },
	{ "count() by (int)comm" READ, "takes no cast" },
	{ "count() by pid tid" READ, "expected ',' or '@ PROBE', at 'tid" },
	{ "count() by pid,tid,cpu,comm,cgroup" READ, "at most 4 keys" },
	{ "count() pid" READ, "expected 'by KEY' or '@ PROBE'" },
	{ "lhist(args.count)" READ, "expected ', MIN'" },
	{ "lhist(args.count, 0, 100, 0)" READ, "step of lhist() is 0" },
	{ "lhist(args.count, 0, 100, -5)" READ, "step of lhist() is -5" },
	{ "lhist(args.count, 100, 0, 5)" READ, "(0) must be above" },
	{ "lhist(args.count, 5, 5, 5)" READ, "(5) must be above" },
	{ "lhist(args.count, 0, 1001, 1)" READ, "more than 1000 buckets" },
	{ "lhist(args.count, -9223372036854775808, 9223372036854775807, 1)" READ,
	  "more than 1000 buckets" },
	{ "lhist(args.count, 0, 99999999999999999999, 1)" READ, "too large" },
	{ "count()" READ " if pid > 9223372036854775807k", "too large" },
	{ "count()" READ " if pid > -9223372036854775809", "too large" },
	{ "lhist(args.count, 0, 9999999999999G, 1)" READ, "too large" },
	{ "count()", "expected 'by KEY' or '@ PROBE', at its end" },
	{ "count() @ kprobe:vfs_read", "is of events, not of measures" },
	{ "count() @", "expected a probe" },
	{ "count() @ uprob:/a:b", "did you mean 'uprobe'?" },
	{ "count() @ tracepoint:sched", "must be tracepoint:CATEGORY:NAME" },
	{ "count() @ tracepoint:../x:y", "must be tracepoint:CATEGORY:NAME" },
	{ "count() @ uprobe:/bin/true", "must be PATH:SYMBOL" },
	{ "count() @ uprobe:bin/true:main", "must be a whole path" },
	{ "count() @ uprobe:/bin/true:main+x", "'+x' is no offset" },
	{ "count()" READ " if", "expected a term" },
	{ "count()" READ " if pid", "expected ==" },
	{ "count()" READ " if pid == x", "expected a number" },
	{ "count()" READ " if comm == bash", "in quotes" },
	{ "count()" READ " if comm < \"bash\"", "by == or !=" },
	{ "count()" READ " if comm == \"0123456789abcdef\"", "15 bytes" },
	{ "count()" READ " if stack == 1", "cannot be compared" },
	{ "count()" READ " if attr.x == 1", "cannot be compared" },
	{ "sum(attr.x)" READ, "attr.x is no number" },
	{ "count() by attr." READ, "no term 'attr.'" },
	{ "count()" READ " if pid == 1 or pid == 2", "expected 'and'" },
	{ "count()" READ " when pid == 1", "expected 'if' or the end" },
};

static void what_is_wrong_is_told_with_the_place(void **state)
{
	char longer[600];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct weft_err err = { 0 };
		struct measure m;
		int rc = measure_parse(refused[i][0], &m, &err);

		if (rc != -EINVAL || !strstr(err.msg, refused[i][1]))
			fail_msg("%s: %d '%s', not '%s'", refused[i][0], rc,
				 err.msg, refused[i][1]);
	}
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(measure_parse(longer, &(struct measure){ 0 },
				       &(struct weft_err){ 0 }),
			 -EINVAL);
	longer[100] = '\0';
	assert_int_equal(measure_parse(longer, &(struct measure){ 0 },
				       &(struct weft_err){ 0 }),
			 -EINVAL);
}

static const char format[] =
	"name: sys_enter_openat\nID: 782\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\n"
	"\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:1;\n"
	"\tfield:__data_loc char[] name;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"x\", REC->field\n";

static void a_format_file_tells_the_fields(void **state)
{
	const struct tracepoint_field *f;
	struct tracepoint t;

	(void)state;
	assert_int_equal(tracepoint_parse(format, &t), 0);
	assert_int_equal(t.id, 782);
	assert_int_equal(t.n_fields, 5);
	f = tracepoint_find(&t, "dfd");
	assert_string_equal(f->type, "int");
	assert_int_equal(f->offset, 16);
	assert_int_equal(f->size, 8);
	assert_false(f->is_array);
	f = tracepoint_find(&t, "filename");
	assert_string_equal(f->type, "const char *");
	assert_true(tracepoint_find(&t, "comm")->is_array);
	assert_true(tracepoint_find(&t, "comm")->is_signed);
	assert_true(tracepoint_find(&t, "name")->is_array);
	assert_null(tracepoint_find(&t, "nam"));
}

static void what_is_no_format_file_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"name: x\n",
		"ID: 1\n\tfield:int;\toffset:0;\tsize:4;\tsigned:0;\n",
		"ID: 1\n\tfield:int x;\toffset:0;\tsize:;\tsigned:0;\n",
		"ID: 1\n\tfield:int x;\toffset:70000;\tsize:4;\tsigned:0;\n",
		"ID: 1\n\tfield:int x",
		"ID: 1\n\tfield:;\toffset:0;\tsize:4;\tsigned:0;\n",
	};
	struct tracepoint t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(tracepoint_parse(bad[i], &t), -EPROTO);
}

static void a_plan_is_of_functions_without_a_kernel(void **state)
{
	struct measure m = parsed(
		"lhist((int)retval, 0, 10, 3) by comm, arg1, pid @ uretprobe:/x:f");
	struct measure_ready r;
	struct weft_err err = { 0 };

	(void)state;
	assert_int_equal(measure_plan(&m, -1, &r, &err), 0);
	assert_int_equal(r.hook, MEASURE_AT_RETURN);
	assert_true(r.plan.pairs); /* for arg1, which the return has lost */
	assert_int_equal(r.plan.value.size, 4);
	assert_true(r.plan.value.is_signed);
	assert_int_equal(r.plan.n_buckets, 6); /* 0, 3, 6, 9 to 10 and two */
	assert_int_equal(r.plan.key[0].word, 0);
	assert_int_equal(r.plan.key[1].word, 2);
	assert_int_equal(r.plan.key[2].word, 3);
	assert_int_equal(r.key_bytes, 32);
	assert_int_equal(r.value_bytes,
			 sizeof(struct measure_value) + 6 * sizeof(uint64_t));
}

static void what_a_function_has_not_is_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "sum(retval) @ uprobe:/x:f", "known at a return only" },
		{ "sum(elapsed) @ uprobe:/x:f", "known at a return only" },
		{ "sum(args.x) @ uprobe:/x:f", "is a tracepoint's" },
		{ "count() @ uretprobe:/x:f+4", "has no offset" },
		{ "count() @ uprobe:/x:f if pid == -1", "is never negative" },
		{ "count() @ uprobe:/x:f if arg0 > 0xffffffffffffffff",
		  "never as large" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct measure m = parsed(cases[i][0]);
		struct weft_err err = { 0 };
		struct measure_ready r;

		assert_int_equal(measure_plan(&m, -1, &r, &err), -EINVAL);
		if (!strstr(err.msg, cases[i][1]))
			fail_msg("%s: '%s'", cases[i][0], err.msg);
	}
}

static void system_calls_have_the_numbers_of_their_tracepoints(void **state)
{
	(void)state;
	assert_int_equal(measure_syscall("read"), 0);
	assert_int_equal(measure_syscall("write"), 1);
	assert_int_equal(measure_syscall("newfstat"), 5);
	assert_int_equal(measure_syscall("openat"), 257);
	assert_int_equal(measure_syscall("nonesuch"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_takes_a_name_keys_and_a_probe),
		cmocka_unit_test(without_a_name_it_is_called_by_its_aggregate),
		cmocka_unit_test(a_text_of_several_lines_is_kept_as_one),
		cmocka_unit_test(linear_buckets_have_bounds_and_a_step),
		cmocka_unit_test(
			conditions_compare_terms_with_numbers_and_names),
		cmocka_unit_test(functions_are_a_path_a_symbol_and_an_offset),
		cmocka_unit_test(what_is_wrong_is_told_with_the_place),
		cmocka_unit_test(a_format_file_tells_the_fields),
		cmocka_unit_test(what_is_no_format_file_is_refused),
		cmocka_unit_test(a_plan_is_of_functions_without_a_kernel),
		cmocka_unit_test(what_a_function_has_not_is_refused),
		cmocka_unit_test(
			system_calls_have_the_numbers_of_their_tracepoints),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
