/* SPDX-License-Identifier: MIT */
#include "t_store.h"

static struct t_batch b;

/* name at 1, service at 5, attributes at 9 */
static const char text[] = "\0get\0app\0{\"http.route\":\"/x\"}";

static struct store_span span_of(uint8_t trace, uint8_t id)
{
	struct store_span span = {
		.kind = 2,
		.status = 1,
		.start_ns = 1700000000000000000,
		.end_ns = 1700000000005000000,
		.name = 1,
		.service = 5,
		.attributes = 9,
	};

	memset(span.trace_id, trace, sizeof(span.trace_id));
	memset(span.span_id, id, sizeof(span.span_id));
	return span;
}

static size_t add(struct store *st, const struct store_span *spans, size_t n)
{
	size_t added;

	if (store_write_spans(st, spans, n, text, sizeof(text), &added, &err))
		fail_msg("store_write_spans: %s", err.msg);
	return added;
}

static void spans_join_their_traces(void **state)
{
	struct store *st = t_open("a.db", false);
	struct store_span spans[] = { span_of(0xaa, 1), span_of(0xaa, 2),
				      span_of(0xcc, 1) };

	(void)state;
	spans[1].has_parent = true;
	memset(spans[1].parent_span_id, 1, 8);
	spans[2].end_ns = 0;
	spans[2].attributes = 0;
	spans[2].kind = 0;
	t_fill(&b);
	t_write(st, &b);
	assert_int_equal(add(st, spans, 3), 3);
	t_close(st);
	t_expect("a.db",
		 "SELECT substr(t.hex, 1, 2), t.samples, hex(s.span_id),"
		 " hex(s.parent_span_id), s.service, s.name, s.kind,"
		 " s.end_ns - s.start_ns, s.status,"
		 " s.attributes ->> '$.\"http.route\"'"
		 " FROM span s JOIN trace t ON t.id = s.trace"
		 " ORDER BY t.hex, s.span_id",
		 "aa|2|0101010101010101||app|get|server|5000000|ok|/x\n"
		 "aa|2|0202020202020202|0101010101010101|app|get|server|"
		 "5000000|ok|/x\n"
		 "cc|0|0101010101010101||app|get|NULL|NULL|ok|NULL");
}

static void what_is_sent_again_stays_one(void **state)
{
	struct store *st = t_open("a.db", false);
	struct store_span spans[] = { span_of(0xcc, 1), span_of(0xcc, 1),
				      span_of(0xdd, 1) };

	(void)state;
	assert_int_equal(add(st, spans, 2), 1);
	assert_int_equal(add(st, spans, 3), 1);
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM span", "2");
	t_expect("a.db", "SELECT count(*) FROM trace", "2");
}

static void samples_that_come_later_make_its_times(void **state)
{
	struct store *st = t_open("a.db", false);
	struct store_span span = span_of(0xaa, 1);

	(void)state;
	assert_int_equal(add(st, &span, 1), 1);
	t_fill(&b);
	t_write(st, &b);
	t_close(st);
	t_expect("a.db",
		 "SELECT substr(hex, 1, 2), samples, first_ns, last_ns"
		 " FROM trace ORDER BY hex",
		 "aa|2|5000|5010\nbb|1|5020|5020");
}

static void all_or_none(void **state)
{
	struct store *st = t_open("a.db", false);
	struct store_span spans[] = { span_of(0xaa, 1), span_of(0xab, 1) };
	size_t added;

	(void)state;
	spans[1].name = sizeof(text);
	assert_int_equal(store_write_spans(st, spans, 2, text, sizeof(text),
					   &added, &err),
			 -EINVAL);
	spans[1].name = 0;
	spans[1].status = STORE_SPAN_STATUSES;
	assert_int_equal(store_write_spans(st, spans, 2, text, sizeof(text),
					   &added, &err),
			 -EINVAL);
	assert_int_equal(added, 0);
	spans[1].status = 0;
	assert_int_equal(add(st, spans, 2), 2);
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM span", "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)
		TEST(spans_join_their_traces),
		TEST(what_is_sent_again_stays_one),
		TEST(samples_that_come_later_make_its_times),
		TEST(all_or_none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
