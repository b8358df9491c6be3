/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/open_spans.h"
#include "query/span_tree.h"

enum {
	NODES = 40,
	TIMES = 60,
	ROUNDS = 500
};

/* What is meant, slowly. */
static size_t look(const struct span_node *nodes, size_t n, int64_t now)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		if (!nodes[i].start_ns || nodes[i].start_ns > now ||
		    nodes[i].end_ns < now)
			continue;
		if (found == SIZE_MAX || nodes[i].depth > nodes[found].depth ||
		    (nodes[i].depth == nodes[found].depth &&
		     nodes[i].start_ns >= nodes[found].start_ns))
			found = i;
	}
	return found;
}

static void the_innermost_is_found_at_every_time(void **state)
{
	struct span_node nodes[NODES];
	struct open_spans open;

	(void)state;
	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = (size_t)(rand() % NODES);

		memset(nodes, 0, sizeof(nodes));
		for (size_t i = 0; i < n; i++) {
			nodes[i].start_ns = rand() % TIMES; /* 0: not known */
			nodes[i].end_ns = rand() % TIMES;   /* or before it */
			nodes[i].depth = (size_t)(rand() % 4);
		}
		assert_int_equal(open_spans_make(&open, nodes, n), 0);
		for (int64_t now = -1; now <= TIMES + 1; now++)
			if (open_spans_at(&open, now) != look(nodes, n, now))
				fail_msg("round %d, time %d: %zd, not %zd",
					 round, (int)now,
					 (ssize_t)open_spans_at(&open, now),
					 (ssize_t)look(nodes, n, now));
		open_spans_release(&open);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_is_found_at_every_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
