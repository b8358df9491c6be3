/* SPDX-License-Identifier: MIT */
/* Owners of files take turns at inspectors' time for lines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/inspect/inspect.h"
#include "tests/unit/skip.h"

enum {
	ASKED = 9 /* for the lines of one file */
};

struct asked {
	char name;
	size_t *left;
	char *order; /* names of those whose lines came */
};

static void on_names(void *ctx, enum inspect_status status,
		     const struct inspect_name *names, size_t n)
{
	struct asked *asked = ctx;

	(void)names;
	assert_int_equal(status, INSPECT_OK);
	assert_int_equal(n, 1);
	--*asked->left;
}

static void on_lines(void *ctx, enum inspect_status status,
		     const struct inspect_level *levels, size_t n)
{
	struct asked *asked = ctx;

	(void)levels;
	(void)n;
	assert_int_equal(status, INSPECT_OK);
	strncat(asked->order, &asked->name, 1);
	--*asked->left;
}

static void wait_for(uv_loop_t *loop, const size_t *left)
{
	while (*left)
		uv_run(loop, UV_RUN_ONCE);
}

/* A program of a user's, and the request about it. */
static struct inspect_file make_file(const char *dir, const char *name,
				     uid_t uid, struct inspect_place *place)
{
	char command[256], path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(command, sizeof(command), "cp /bin/true %s", path);
	assert_int_equal(system(command), 0);
	assert_int_equal(chown(path, uid, (gid_t)-1), 0);
	*place = (struct inspect_place){ dir, name };
	return (struct inspect_file){ .path = name,
				      .pid = uid,
				      .start_ns = 1,
				      .places = place,
				      .n_places = 1,
				      .is_vouched = true };
}

static void start(uv_loop_t *loop, struct inspect **in)
{
	struct inspect_opts opts = { .workers = 1 };
	struct inspect_server server;
	struct weft_err err = { 0 };

	assert_int_equal(inspect_fork(&server, &err), 0);
	assert_int_equal(uv_loop_init(loop), 0);
	assert_int_equal(inspect_open(in, loop, server, &opts, &err), 0);
}

static void another_owners_file_waits_for_one_request(void **state)
{
	char dir[] = "/tmp/weft-turns-XXXXXX", command[64];
	char order[ASKED + 2] = "";
	size_t left = 2;
	struct asked first = { 'a', &left, order },
		     second = { 'b', &left, order };
	struct inspect_place places[2];
	struct inspect_file a, b;
	struct inspect *in;
	uint64_t offset = 0x2000;
	uv_loop_t loop;

	(void)state;
	if (geteuid())
		SKIP_BECAUSE("needs root, to give files to others");
	assert_non_null(mkdtemp(dir));
	a = make_file(dir, "a", 1001, &places[0]);
	b = make_file(dir, "b", 1002, &places[1]);
	start(&loop, &in);
	assert_int_equal(inspect_names(in, &a, &offset, 1, on_names, &first),
			 0);
	assert_int_equal(inspect_names(in, &b, &offset, 1, on_names, &second),
			 0);
	wait_for(&loop, &left);
	left = ASKED + 1;
	for (int i = 0; i < ASKED; i++)
		assert_int_equal(
			inspect_lines(in, &a, &offset, 1, on_lines, &first), 0);
	assert_int_equal(inspect_lines(in, &b, &offset, 1, on_lines, &second),
			 0);
	wait_for(&loop, &left);
	assert_string_equal(order, "abaaaaaaaa");
	inspect_close(in);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_owners_file_waits_for_one_request),
	};

	alarm(120); /* a watchdog, not a measure */
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
