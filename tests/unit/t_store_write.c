/* SPDX-License-Identifier: MIT */
#include "store/inside.h"
#include "t_store.h"

#include "store/retention.h"

static struct t_batch b;

static void every_statement_prepares(void **state)
{
	struct store *st = t_open("a.db", false);
	const struct store_keep keep = { .detail_ns = STORE_KEEP_ALL };
	struct store_gone gone = { 0 };
	sqlite3_stmt *stmt;
	bool more;
	int i;

	(void)state;
	/* Made only when the memory of nodes is full. */
	assert_int_equal(conn_exec(&st->conn,
				   "CREATE INDEX stack_node_identity ON"
				   " stack_node (parent_id, frame_id)",
				   &err),
			 0);
	/* And so are the tables of one step of letting go. */
	assert_int_equal(store_tend(st, &keep, 0, &gone, &more, &err), 0);
	for (i = 0; i < STORE_SQL_COUNT; i++) {
		if (store_stmt(st, i, &stmt, &err))
			fail_msg("%s: %s", store_sql_name[i], err.msg);
	}
	t_close(st);
}

/* Does a statement look its rows up by key? */
static void expect_seek(struct store *st, enum store_sql which)
{
	char sql[2048];
	const char *plan;

	snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s",
		 store_sql_text[which]);
	plan = t_ask_db(st->conn.db, sql);
	if (strstr(plan, "SCAN") || !strstr(plan, "SEARCH"))
		fail_msg("%s: %s", store_sql_name[which], plan);
}

static void what_is_looked_up_per_batch_seeks_an_index(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	assert_int_equal(conn_exec(&st->conn,
				   "CREATE INDEX stack_node_identity ON"
				   " stack_node (parent_id, frame_id)",
				   &err),
			 0);
	expect_seek(st, STORE_SQL_PROCESS_FIND);
	expect_seek(st, STORE_SQL_THREAD_FIND);
	expect_seek(st, STORE_SQL_BINARY_FIND);
	expect_seek(st, STORE_SQL_FRAME_FIND);
	expect_seek(st, STORE_SQL_STACK_NODE_FIND);
	expect_seek(st, STORE_SQL_TRACE_FIND);
	expect_seek(st, STORE_SQL_TRACE_SUM);
	expect_seek(st, STORE_SQL_FUNCTION_FIND);
	t_close(st);
}

static void a_batch_is_read_back_as_it_was_given(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	b.batch.interval.has_bpf_run = true;
	b.batch.interval.bpf_run_ns = 42;
	t_write(st, &b);
	/* While it records, as anyone sees it. */
	t_expect("a.db",
		 "SELECT host, kernel, arch, cpus, command, boot_id, detail_n,"
		 " interval_ns, ended_ns FROM recording",
		 "host|6.1|x86_64|2|NULL|boot|10|1000000000|NULL");
	t_expect("a.db", "SELECT name, unit, requested_hz FROM event",
		 "timer|ns|997\nfault|events|NULL");
	t_expect("a.db", "SELECT start_ns, end_ns, bpf_run_ns FROM interval",
		 "5000|6000|42");
	t_expect("a.db",
		 "SELECT event_id, cpu, period, due, fired, throttled"
		 " FROM cpu_interval",
		 "1|1|1003009|997|997|NULL");
	t_expect(
		"a.db",
		"SELECT pid, start_ns, parent_pid, hex(comm), exe FROM process",
		"10|1|NULL|636D64|NULL\n11|2|NULL|FFFE|NULL");
	t_expect("a.db", "SELECT process_id, tid, hex(comm) FROM thread",
		 "1|10|636D64\n2|12|FFFE");
	t_expect("a.db", "SELECT kind, path, build_id, identity FROM binary",
		 "elf|/bin/x|abcd|\nunknown||NULL|dev1");
	t_expect("a.db",
		 "SELECT binary_id, printf('%x', address), in_kernel, version"
		 " FROM frame",
		 "1|10|0|0\n1|20|0|7\n2|ffffffffff600000|0|0\n1|10|1|0");
	t_expect("a.db", "SELECT status, depth, ended FROM stack ORDER BY id",
		 "lost|0|NULL\ncomplete|3|root\nbroken|3|no_frame");
	t_expect("a.db",
		 "SELECT status, group_concat(frame_id) FROM stack JOIN"
		 " (SELECT * FROM stack_frame ORDER BY stack_id, position)"
		 " ON stack_id = id GROUP BY id",
		 "complete|1,2,3\nbroken|1,2,3");
	t_expect("a.db",
		 "SELECT id, leaf_frame_id FROM stack"
		 " WHERE leaf_frame_id IS NOT (SELECT n.frame_id"
		 " FROM stack_node n WHERE n.id = stack.id)",
		 "");
	t_expect("a.db", "SELECT count(leaf_frame_id) FROM stack", "2");
	t_expect("a.db",
		 "SELECT time_ns, thread_id, status, cpu, value, weight,"
		 " lower(hex(span_id)), trace_flags, context_source,"
		 " context_status FROM sample s JOIN stack k ON k.id = stack_id"
		 " ORDER BY s.id LIMIT 2 OFFSET 2",
		 "5020|1|lost|1|102|10.0|0303030303030303|1|1|0\n"
		 "5030|2|complete|1|103|10.0||NULL|1|0");
	t_expect("a.db", "SELECT event_id, entry, count, value FROM ledger",
		 "1|fired|13|1300\n1|idle|0|0\n2|counted|NULL|NULL");
	t_expect("a.db", "SELECT id, cpu_ns FROM event", "1|1000\n2|0");
	t_expect("a.db", "SELECT * FROM ledger_sum",
		 "1|1|13|1300|0\n1|3|0|0|0\n2|2|0|0|1");
	t_write(st, &b);
	t_expect("a.db", "SELECT id, cpu_ns FROM event", "1|2000\n2|0");
	t_expect("a.db", "SELECT * FROM ledger_sum",
		 "1|1|26|2600|0\n1|3|0|0|0\n2|2|0|0|2");
	t_close(st);
	t_expect("a.db", "SELECT ended_ns FROM recording",
		 "1700000001000000000");
}

static void counts_of_one_stack_are_added_up(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	t_expect("a.db",
		 "SELECT event_id, process_id, count, value FROM stack_count",
		 "1|1|6|600\n2|2|7|700");
	t_write(st, &b);
	t_expect("a.db",
		 "SELECT event_id, process_id, count, value FROM stack_total",
		 "1|1|12|1200\n2|2|14|1400");
	t_close(st);
}

/* Texts of attributes, behind what the batch has. */
static const struct store_attribute *add_texts(struct t_batch *batch)
{
	static const char more[] = "http.route\0/a\0GET";
	static char text[4096];
	static struct store_attribute a[3];
	size_t at = batch->batch.text_size;

	assert_true(at + sizeof(more) <= sizeof(text));
	memcpy(text, batch->batch.text, at);
	memcpy(text + at, more, sizeof(more));
	a[0] = (struct store_attribute){ (store_text)at, (store_text)at + 11 };
	a[1] = (struct store_attribute){ (store_text)at, 0 };
	a[2] = (struct store_attribute){ (store_text)at, (store_text)at + 14 };
	batch->batch.text = text;
	batch->batch.text_size = at + sizeof(more);
	batch->batch.attributes = a;
	batch->batch.n_attributes = ARRAY_LEN(a);
	return a;
}

static void counts_with_an_attribute_are_part_of_all(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	(void)add_texts(&b);
	for (size_t i = 0; i < b.batch.n_counts; i++)
		b.count[i].attribute = i == 0 ? 1 : i == 1 ? 2 : 0;
	t_write(st, &b);
	t_write(st, &b);
	t_expect("a.db", "SELECT sum(count), sum(value) FROM stack_count",
		 "26|2600");
	t_expect("a.db", "SELECT key, value FROM shape_attribute ORDER BY id",
		 "http.route|/a\nhttp.route|NULL");
	t_expect("a.db",
		 "SELECT (SELECT sum(count) FROM stack_attribute_count) ="
		 " (SELECT sum(count) FROM stack_attribute_total),"
		 " (SELECT count(*) FROM stack_attribute_count c"
		 " WHERE c.count > (SELECT s.count FROM stack_count s"
		 " WHERE s.interval_id = c.interval_id AND"
		 " s.event_id = c.event_id AND s.process_id = c.process_id AND"
		 " s.stack_id = c.stack_id))",
		 "1|0");
	t_close(st);
}

static void samples_and_processes_have_attributes(void **state)
{
	static const struct store_has of_sample[] = { { 1, 0 }, { 1, 2 } };
	static const struct store_has of_process[] = { { 0, 0 } };
	static const struct store_has bad[] = { { 0, 1 } }; /* has no value */
	struct weft_err why = { 0 };
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	(void)add_texts(&b);
	b.batch.sample_attributes = of_sample;
	b.batch.n_sample_attributes = ARRAY_LEN(of_sample);
	b.batch.process_attributes = of_process;
	b.batch.n_process_attributes = 1;
	t_write(st, &b);
	t_expect("a.db", "SELECT * FROM sample_attribute", "2|http.route|/a");
	t_expect("a.db", "SELECT * FROM process_attribute", "1|http.route|/a");
	b.batch.sample_attributes = bad;
	b.batch.n_sample_attributes = 1;
	assert_int_equal(store_write(st, &b.batch, b.row, &why), -EINVAL);
	t_close(st);
}

static void traces_sum_their_samples(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	t_expect("a.db",
		 "SELECT substr(hex, 1, 4), samples, weight_sum, value_sum,"
		 " first_ns, last_ns FROM trace ORDER BY id",
		 "aaaa|2|20.0|2010.0|5000|5010\nbbbb|1|10.0|1020.0|5020|5020");
	b.sample[0].time_ns = 10;
	b.sample[0].weight = 2.5;
	t_write(st, &b);
	t_expect("a.db",
		 "SELECT samples, weight_sum, value_sum, first_ns, last_ns"
		 " FROM trace ORDER BY id",
		 "4|32.5|3270.0|10|5010\n2|20.0|2040.0|5020|5020");
	t_close(st);
}

static void equal_things_become_equal_rows(void **state)
{
	static const char rows[] =
		"SELECT (SELECT count(*) FROM process),"
		" (SELECT count(*) FROM thread), (SELECT count(*) FROM binary),"
		" (SELECT count(*) FROM frame), (SELECT count(*) FROM stack),"
		" (SELECT count(*) FROM stack_node)";
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	assert_true(b.row[0].is_new && b.row[3].is_new);
	t_write(st, &b);
	assert_false(b.row[0].is_new || b.row[3].is_new);
	t_expect("a.db", rows, "2|2|2|4|3|6");
	t_close(st);

	/* Another recording has processes of its own, but the same code. */
	st = t_open("a.db", true);
	t_write(st, &b);
	assert_false(b.row[0].is_new || b.row[3].is_new);
	t_close(st);
	t_expect("a.db", rows, "4|4|2|4|3|6");
	t_expect("a.db", "SELECT count(*), max(recording_id) FROM event",
		 "4|2");
	t_expect("a.db",
		 "SELECT count(*), count(DISTINCT id), count(DISTINCT stack_id)"
		 " FROM sample",
		 "12|12|3");
	t_expect("a.db", "SELECT count(*), sum(samples) FROM trace", "2|9");
}

static void stacks_that_ended_otherwise_are_other_rows(void **state)
{
	static const char rows[] =
		"SELECT status, ended, depth, count(*) FROM stack"
		" GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
	static const char all[] = "broken|fault|0|1\nbroken|fault|3|1\n"
				  "broken|no_frame|3|1\nlost|NULL|0|1";
	struct store *st = t_open("a.db", false);
	struct store_stack *stack = b.stack;

	(void)state;
	t_fill(&b);
	stack[0] = (struct store_stack){ STORE_BROKEN, 3, 0, 3 };
	t_write(st, &b);  /* beside stack 1: of equal frames, no_frame */
	stack[2].end = 3; /* the lost are one, whatever their end is said to
			     be */
	t_write(st, &b);
	stack[2] = (struct store_stack){ STORE_BROKEN, 3, 0, 0 };
	t_write(st, &b);
	t_expect("a.db", rows, all);
	t_close(st);

	/* And are found again. */
	st = t_open("a.db", true);
	t_write(st, &b);
	t_close(st);
	t_expect("a.db", rows, all);
	t_expect("a.db", "SELECT count(*) FROM stack_node", "6");
}

static void stack_ends_sums_by_process_status_and_reason(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	b.stack[0].end = 3;
	b.count[2].stack = 1;
	t_write(st, &b);
	t_expect("a.db",
		 "SELECT process_id, pid, hex(comm), event_id, status, ended,"
		 " count, value FROM stack_ends ORDER BY 1, 5, 6",
		 "1|10|636D64|1|broken|no_frame|1|100\n"
		 "1|10|636D64|1|complete|fault|5|500\n"
		 "1|10|636D64|1|complete|root|6|600\n"
		 "2|11|FFFE|2|broken|no_frame|14|1400");
	t_close(st);
}

static void a_full_memory_keeps_rows_unique(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	assert_true(memory_count(&st->node) > 2);
	assert_true(memory_count(&st->frame) > 2);
	st->node.ceiling = st->frame.ceiling = st->trace.ceiling = 2;
	memory_clear(&st->node);
	memory_clear(&st->frame);
	memory_clear(&st->trace);
	st->stack_ceiling = 0;
	stack_forget(st);
	t_write(st, &b);
	b.frame[1].address = 0x30;
	t_write(st, &b);
	t_write(st, &b);
	assert_in_range(memory_count(&st->node), 1, 2);
	assert_in_range(memory_count(&st->frame), 1, 2);
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM frame),"
		 " (SELECT count(*) FROM stack),"
		 " (SELECT count(*) FROM stack_node),"
		 " (SELECT count(DISTINCT parent_id || ' ' || frame_id)"
		 " FROM stack_node), (SELECT count(*) FROM trace)",
		 "5|5|10|10|2");
	t_close(st);
	t_expect("a.db",
		 "SELECT count(*) FROM sqlite_schema"
		 " WHERE name = 'stack_node_identity'",
		 "0");
}

/* By that who waits for the end tells a long batch from a disk that is stuck.
 */
static void writing_goes_on_visibly(void **state)
{
	struct store *st = t_open("a.db", false);
	uint64_t before;

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	before = store_steps(st);
	for (int i = 0; i < 100; i++)
		t_write(st, &b);
	assert_true(store_steps(st) > before);
	t_close(st);
}

static void whole_stacks_are_remembered_up_to_a_ceiling(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	st->stack_ceiling = 1;
	t_fill(&b);
	t_write(st, &b);
	assert_in_range(st->stack.n, 0, 1);
	st->stack_ceiling = 2;
	t_write(st, &b);
	assert_int_equal(st->stack.n, 2); /* the lost one is a root */
	idmap_clear(&st->node.young);     /* nobody asks it */
	t_write(st, &b);
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM stack),"
		 " (SELECT count(*) FROM stack_node)",
		 "3|6");
	t_close(st);
}

static void a_first_batch_larger_than_the_memory_keeps_rows_unique(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	st->node.ceiling = st->frame.ceiling = 2;
	st->stack_ceiling = 0;
	t_fill(&b);
	t_write(st, &b);
	t_write(st, &b);
	assert_in_range(memory_count(&st->node), 1, 2);
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM stack_node) > 1,"
		 " (SELECT count(*) FROM stack_node) ="
		 " (SELECT count(*) FROM (SELECT DISTINCT parent_id, frame_id"
		 " FROM stack_node))",
		 "1|1");
	t_close(st);
}

/* Whether remembered, asked of the file, or learnt from an older recording. */
static void other_code_at_an_address_is_another_frame(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	b.frame[1] = b.frame[0];
	b.frame[1].version = UINT32_MAX;
	t_write(st, &b);
	assert_int_not_equal(b.row[0].id, b.row[1].id);
	st->frame.ceiling = 1;
	t_write(st, &b);
	t_close(st);
	st = t_open("a.db", true);
	t_write(st, &b);
	assert_false(b.row[0].is_new);
	assert_false(b.row[1].is_new);
	t_close(st);
	t_expect("a.db",
		 "SELECT count(*), count(DISTINCT version), max(version)"
		 " FROM frame WHERE binary_id = 1 AND NOT in_kernel",
		 "2|2|4294967295");
}

static void what_is_learnt_later_completes_a_process(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	b.process[0].comm = 0;
	b.process[0].exe = PATH;
	b.process[0].parent_pid = 3;
	t_write(st, &b);
	t_expect("a.db",
		 "SELECT comm, exe, parent_pid FROM process WHERE pid = 10",
		 "cmd|/bin/x|3");
	t_close(st);
}

static void expect_refused(struct store *st, const char *message)
{
	t_expect_refused(st, &b, message);
	t_fill(&b);
}

static void a_bad_index_fails_the_whole_batch(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	b.sample[3].thread = 2;
	expect_refused(st, "bad batch: sample 3 leads out of it");
	b.sample[1].stack = 3;
	expect_refused(st, "bad batch: sample 1 leads out of it");
	b.count[0].event = 2;
	expect_refused(st, "bad batch: count 0 leads out of it");
	b.thread[1].process = UINT32_MAX;
	expect_refused(st, "bad batch: thread 1 leads out of it");
	b.frame[0].binary = 2;
	expect_refused(st, "bad batch: frame 0 leads out of it");
	b.stack_frame[5] = 4;
	expect_refused(st, "bad batch: stack frame 5 leads out of it");
	b.stack[1].first = 4;
	expect_refused(st, "bad batch: stack 1 leads out of it");
	b.stack[1].depth = UINT32_MAX;
	expect_refused(st, "bad batch: stack 1 leads out of it");
	b.stack[2].status = STORE_STACK_STATUSES;
	expect_refused(st, "bad batch: stack 2 leads out of it");
	b.stack[1].end = ARRAY_LEN(t_ends);
	expect_refused(st, "bad batch: stack 1 leads out of it");
	b.binary[1].kind = STORE_BINARY_KINDS;
	expect_refused(st, "bad batch: binary 1 leads out of it");
	b.ledger[2].entry = 3;
	expect_refused(st, "bad batch: ledger entry 2 leads out of it");
	b.cpu[0].event = 2;
	expect_refused(st, "bad batch: CPU 0 leads out of it");
	b.process[0].comm = (store_text)b.batch.text_size;
	expect_refused(st, "bad batch: process 0 leads out of it");
	b.batch.text_size -= 2;
	expect_refused(st, "bad batch: its text is not terminated");
	t_write(st, &b);
	t_close(st);
}

/* Enough new frames, stacks and traces that the file must grow. */
enum {
	MANY = 2000
};

static void fill_many(struct t_batch *batch, struct store_frame *frame,
		      struct store_sample *sample, struct store_stack *stack,
		      uint32_t *stack_frame)
{
	size_t i;

	for (i = 0; i < MANY; i++) {
		frame[i] = (struct store_frame){ .address = 0x1000 + i };
		stack[i] = (struct store_stack){ STORE_COMPLETE, 1, (uint32_t)i,
						 1 };
		stack_frame[i] = (uint32_t)i;
		sample[i] = (struct store_sample){ .stack = (uint32_t)i,
						   .weight = 1,
						   .has_trace = true };
		memcpy(sample[i].trace_id, &i, sizeof(i));
	}
	batch->batch.frames = frame;
	batch->batch.stacks = stack;
	batch->batch.stack_frames = stack_frame;
	batch->batch.samples = sample;
	batch->batch.n_frames = batch->batch.n_stacks =
		batch->batch.n_stack_frames = batch->batch.n_samples = MANY;
}

static void a_failed_batch_leaves_nothing_and_may_be_given_again(void **state)
{
	static struct store_frame frame[MANY];
	static struct store_sample sample[MANY];
	static struct store_stack stack[MANY];
	static uint32_t stack_frame[MANY];
	static struct store_frame_row row[MANY];
	struct store *st = t_open("a.db", false);
	struct t_batch many;
	char sql[160];
	int64_t pages;

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	assert_int_equal(conn_int(&st->conn, "PRAGMA page_count", &pages, &err),
			 0);
	t_fill(&many);
	fill_many(&many, frame, sample, stack, stack_frame);

	/* Each limit stops it at another place. */
	for (int more = 0; more < 40; more += 3) {
		snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d",
			 (int)pages + more);
		assert_int_equal(conn_exec(&st->conn, sql, &err), 0);
		memset(&err, 0, sizeof(err));
		assert_int_equal(store_write(st, &many.batch, row, &err),
				 -ENOSPC);
		snprintf(sql, sizeof(sql),
			 "cannot write to '%s/a.db': no space left for it",
			 place);
		assert_string_equal(err.msg, sql);
		t_expect("a.db",
			 "SELECT (SELECT count(*) FROM interval),"
			 " (SELECT count(*) FROM frame),"
			 " (SELECT count(*) FROM trace),"
			 " (SELECT count(*) FROM sample)",
			 "1|4|2|4");
	}
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		conn_exec(&st->conn, "PRAGMA max_page_count = 100000", &err),
		0);
	assert_int_equal(store_write(st, &many.batch, row, &err), 0);
	assert_true(row[0].is_new && row[MANY - 1].is_new);
	t_write(st, &b);
	assert_false(b.row[0].is_new);
	t_close(st);
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM frame),"
		 " (SELECT count(*) FROM stack), (SELECT count(*) FROM trace),"
		 " (SELECT count(*) FROM sample), (SELECT sum(samples) FROM"
		 " trace)",
		 "2004|2003|2002|2008|2006");
	t_expect("a.db",
		 "SELECT count(*) FROM sample s LEFT JOIN trace t ON"
		 " t.id = s.trace WHERE s.trace IS NOT NULL AND t.id IS NULL",
		 "0");
	t_expect("a.db", "PRAGMA integrity_check", "ok");
}

/* The caller alone of a stack that is there: its node is, its row is not. */
static void a_stack_of_a_failed_batch_is_put_again(void **state)
{
	static struct store_frame frame[MANY];
	static struct store_sample sample[MANY];
	static struct store_stack stack[MANY];
	static uint32_t stack_frame[MANY];
	static struct store_frame_row row[MANY];
	struct store *st = t_open("a.db", false);
	struct t_batch many;
	char sql[160];
	int64_t pages;

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	t_fill(&many);
	fill_many(&many, frame, sample, stack, stack_frame);
	/* The root of the batch's complete stack. */
	frame[0] = b.frame[2];
	assert_int_equal(conn_int(&st->conn, "PRAGMA page_count", &pages, &err),
			 0);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d",
		 (int)pages + 20);
	assert_int_equal(conn_exec(&st->conn, sql, &err), 0);
	assert_int_equal(store_write(st, &many.batch, row, &err), -ENOSPC);
	assert_int_equal(
		conn_exec(&st->conn, "PRAGMA max_page_count = 100000", &err),
		0);
	assert_int_equal(store_write(st, &many.batch, row, &err), 0);
	t_write(st, &b);
	t_close(st);
	t_expect("a.db",
		 "SELECT count(*) FROM stack_count LEFT JOIN stack s"
		 " ON s.id = stack_id WHERE s.id IS NULL",
		 "0");
	t_expect("a.db",
		 "SELECT count(*) FROM sample LEFT JOIN stack s"
		 " ON s.id = stack_id WHERE s.id IS NULL",
		 "0");
	t_expect("a.db", "SELECT count(*) FROM stack", "2003");
}

static void a_busy_file_fails_the_batch_and_takes_it_later(void **state)
{
	struct store *st = t_open("a.db", false);
	sqlite3 *other;

	(void)state;
	t_fill(&b);
	sqlite3_busy_timeout(st->conn.db, 0);
	assert_int_equal(sqlite3_open("a.db", &other), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(store_write(st, &b.batch, b.row, &err), -EBUSY);
	assert_non_null(
		strstr(err.msg, "a.db': another program keeps it locked"));
	sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(other);
	memset(&err, 0, sizeof(err));
	t_write(st, &b);
	t_close(st);
}

static void a_frame_keeps_its_first_name(void **state)
{
	static const char text[] = "\0main\0_Zmain\0x.c\0symtab\0other";
	const struct store_name first[] = {
		{ .frame_id = 1,
		  .line = 7,
		  .name = 1,
		  .linkage_name = 6,
		  .file = 13,
		  .function_line = 5,
		  .source = 17 },
		{ .frame_id = 1, .inline_depth = 1, .name = 24, .source = 17 },
		{ .frame_id = 2, .name = 24, .source = 17 },
	};
	const struct store_name second = { .frame_id = 1,
					   .name = 24,
					   .source = 17 };
	const struct store_name unknown = { .frame_id = 99,
					    .name = 1,
					    .source = 17 };
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	assert_int_equal(
		store_write_names(st, first, 3, text, sizeof(text), &err), 0);
	assert_int_equal(
		store_write_names(st, &second, 1, text, sizeof(text), &err), 0);
	assert_int_equal(
		store_write_names(st, &unknown, 1, text, sizeof(text), &err),
		-EINVAL);
	assert_string_equal(err.msg, "bad names: name 0 leads out of them");
	t_expect("a.db",
		 "SELECT frame_id, inline_depth, name, linkage_name, file,"
		 " f.line, source, ff.line FROM frame_function ff"
		 " JOIN function f ON f.id = function_id",
		 "1|0|main|_Zmain|x.c|5|symtab|7\n"
		 "1|1|other|NULL|NULL|NULL|symtab|NULL\n"
		 "2|0|other|NULL|NULL|NULL|symtab|NULL");
	t_expect("a.db", "SELECT count(*) FROM function", "2");
	memset(&err, 0, sizeof(err));
	t_close(st);
}

static void a_store_in_memory_needs_no_file(void **state)
{
	struct store_opts opts = t_opts(NULL);
	struct store *st;

	(void)state;
	opts.in_memory = true;
	assert_int_equal(store_open(&st, &opts, &err), 0);
	t_fill(&b);
	t_write(st, &b);
	assert_int_equal(store_checkpoint(st, &err), 0);
	assert_int_equal(store_wal_bytes(st), 0);
	assert_string_equal(
		t_ask_db(st->conn.db, "SELECT count(*) FROM samples"), "4");
	t_close(st);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_statement_prepares),
		TEST(what_is_looked_up_per_batch_seeks_an_index),
		TEST(a_batch_is_read_back_as_it_was_given),
		TEST(counts_of_one_stack_are_added_up),
		TEST(counts_with_an_attribute_are_part_of_all),
		TEST(samples_and_processes_have_attributes),
		TEST(traces_sum_their_samples),
		TEST(equal_things_become_equal_rows),
		TEST(stacks_that_ended_otherwise_are_other_rows),
		TEST(stack_ends_sums_by_process_status_and_reason),
		TEST(a_full_memory_keeps_rows_unique),
		TEST(writing_goes_on_visibly),
		TEST(whole_stacks_are_remembered_up_to_a_ceiling),
		TEST(a_first_batch_larger_than_the_memory_keeps_rows_unique),
		TEST(other_code_at_an_address_is_another_frame),
		TEST(what_is_learnt_later_completes_a_process),
		TEST(a_bad_index_fails_the_whole_batch),
		TEST(a_failed_batch_leaves_nothing_and_may_be_given_again),
		TEST(a_stack_of_a_failed_batch_is_put_again),
		TEST(a_busy_file_fails_the_batch_and_takes_it_later),
		TEST(a_frame_keeps_its_first_name),
		TEST(a_store_in_memory_needs_no_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
