/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/inspect/reply.h"

/* A reply to be spoiled: one mapping, strings "", "a", "bc". */
struct process_reply {
	struct wire_reply head;
	struct wire_process own;
	struct wire_mapping mapping[2];
	char strings[6];
};

static const struct wire_request asked = { .id = 7, .op = WIRE_PROCESS };
enum {
	REPLY_SIZE = offsetof(struct process_reply, strings) + 6
};

static struct process_reply good(void)
{
	return (struct process_reply){
		.head = { .id = 7, .n = 2, .strings_size = 6 },
		.own = { .comm = 1, .exe = 3, .cgroup = 0, .inner_pid = 9 },
		.mapping = { { .start = 1, .end = 2, .path = 1 },
			     { .start = 2, .end = 3, .path = 5 } },
		.strings = "\0a\0bc",
	};
}

static void expect(const struct process_reply *reply, int want)
{
	struct inspect_answer answer;
	/* Of its own size, so that reading past it shows. */
	void *copy = malloc(REPLY_SIZE);

	assert_non_null(copy);
	memcpy(copy, reply, REPLY_SIZE);
	assert_int_equal(
		inspect_answer_decode(&answer, copy, REPLY_SIZE, &asked), want);
	inspect_answer_release(&answer);
	free(copy);
}

static void a_good_reply_is_taken(void **state)
{
	struct process_reply reply = good();
	struct inspect_answer answer;

	(void)state;
	assert_int_equal(inspect_reply_size(&reply.head, &asked), REPLY_SIZE);
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, REPLY_SIZE, &asked), 0);
	assert_int_equal(answer.status, INSPECT_OK);
	assert_string_equal(answer.process.comm, "a");
	assert_string_equal(answer.process.exe, "bc");
	assert_string_equal(answer.process.cgroup, "");
	assert_int_equal(answer.process.n_mappings, 2);
	assert_string_equal(answer.process.mappings[1].path, "");
	inspect_answer_release(&answer);
}

static void a_reply_to_another_request_is_refused(void **state)
{
	struct process_reply reply = good();

	(void)state;
	reply.head.id = 8;
	expect(&reply, -EPROTO);
}

static void counts_beyond_the_limit_are_refused(void **state)
{
	const uint32_t counts[] = { 0,          1,
				    3,          INSPECT_MAPPINGS_MAX + 1,
				    0x40000000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct process_reply reply = good();

		reply.head.n = counts[i];
		expect(&reply, -EPROTO);
		reply = good();
		reply.head.strings_size = counts[i];
		expect(&reply, -EPROTO);
	}
}

static void strings_end_within_the_reply(void **state)
{
	struct process_reply reply = good();

	(void)state;
	reply.strings[5] = 'x';
	expect(&reply, -EPROTO);
	reply = good();
	reply.own.comm = 6;
	expect(&reply, -EPROTO);
	reply = good();
	reply.own.exe = WIRE_NO_STRING;
	expect(&reply, -EPROTO);
	reply = good();
	reply.mapping[1].path = 6;
	expect(&reply, -EPROTO);
}

static void mappings_ascend_and_are_not_empty(void **state)
{
	struct process_reply reply = good();

	(void)state;
	reply.mapping[0].end = 1;
	expect(&reply, -EPROTO);
	reply = good();
	reply.mapping[1].start = 1;
	expect(&reply, -EPROTO);
	reply = good();
	reply.mapping[0].build_id_size = INSPECT_BUILD_ID_MAX + 1;
	expect(&reply, -EPROTO);
}

static void nothing_follows_a_failure(void **state)
{
	struct process_reply reply = good();

	(void)state;
	reply.head.status = INSPECT_GONE;
	expect(&reply, -EPROTO);
	reply.head.status = INSPECT_STATUSES;
	reply.head.n = 0;
	reply.head.strings_size = 0;
	expect(&reply, -EPROTO);
}

static void there_is_a_name_for_each_offset(void **state)
{
	const struct wire_request names = { .id = 7,
					    .op = WIRE_NAMES,
					    .n_offsets = 2 };
	struct {
		struct wire_reply head;
		struct wire_names own;
		struct wire_name name[2];
		char strings[8];
	} reply = { .head = { .id = 7, .n = 2, .strings_size = 2 },
		    .name = { { .name = 0, .linkage_name = WIRE_NO_STRING },
			      { .name = WIRE_NO_STRING,
				.linkage_name = WIRE_NO_STRING } },
		    .strings = "f" };
	size_t size =
		sizeof(reply.head) + sizeof(reply.own) + sizeof(reply.name) + 2;
	struct inspect_answer answer;

	(void)state;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &names),
			 0);
	assert_string_equal(answer.names[0].name, "f");
	assert_null(answer.names[1].name);
	inspect_answer_release(&answer);
	reply.name[0].source = WIRE_SOURCE_COUNT;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &names),
			 -EPROTO);
	reply.head.n = 1;
	assert_int_equal(inspect_reply_size(&reply.head, &names), 0);
}

static void refused_names_say_what_was_in_the_way(void **state)
{
	static const struct wire_request names = {
		.id = 7, .op = WIRE_NAMES, .n_offsets = 2, .n_places = 1
	};
	struct {
		struct wire_reply head;
		struct wire_names own;
	} reply = { .head = { .id = 7, .status = INSPECT_REFUSED },
		    .own.other[0] = { .error = -ESTALE, .build_id_size = 20 },
		    .own.linked = WIRE_NO_STRING };
	struct inspect_answer answer;

	(void)state;
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, sizeof(reply), &names),
		0);
	assert_int_equal(answer.status, INSPECT_REFUSED);
	assert_int_equal(answer.n, 0);
	assert_int_equal(answer.of_names.other[0].build_id_size, 20);
	inspect_answer_release(&answer);
	reply.own.other[7].build_id_size = 21;
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, sizeof(reply), &names),
		-EPROTO);
	reply.own.other[7].build_id_size = 0;
	reply.own.other[7].error = INT32_MIN;
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, sizeof(reply), &names),
		-EPROTO);
	reply.own.other[7].error = 0;
	/* A path that is not in the reply. */
	reply.own.linked = 0;
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, sizeof(reply), &names),
		-EPROTO);
	reply.own.linked = WIRE_NO_STRING;
	reply.own.loss = WIRE_LOSS_COUNT;
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, sizeof(reply), &names),
		-EPROTO);
	reply.own.loss = 0;
	reply.own.source = WIRE_SOURCE_COUNT;
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, sizeof(reply), &names),
		-EPROTO);
	/* Of those that are gone nothing is said. */
	reply.own.source = 0;
	reply.head.status = INSPECT_GONE;
	assert_int_equal(
		inspect_answer_decode(&answer, &reply, sizeof(reply), &names),
		-EPROTO);
}

static void levels_ascend_and_are_of_what_was_asked(void **state)
{
	const struct wire_request lines = { .id = 7,
					    .op = WIRE_LINES,
					    .n_offsets = 2 };
	struct {
		struct wire_reply head;
		struct wire_lines own;
		struct wire_level level[40];
		char strings[8];
	} reply = { .head = { .id = 7, .n = 40, .strings_size = 2 },
		    .own = { .dwarf = WIRE_DWARF_DAMAGED },
		    .strings = "f" };
	size_t size = sizeof(reply.head) + sizeof(reply.own) +
		      sizeof(reply.level) + 2;
	struct inspect_answer answer;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		reply.level[i] = (struct wire_level){
			.at = i >= INSPECT_LEVELS_MAX,
			.linkage_name = WIRE_NO_STRING,
			.file = WIRE_NO_STRING,
			.line = i,
		};
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &lines),
			 0);
	assert_int_equal(answer.n, 40);
	assert_int_equal(answer.lines.dwarf, WIRE_DWARF_DAMAGED);
	assert_string_equal(answer.levels[39].name, "f");
	assert_null(answer.levels[39].file);
	assert_int_equal(answer.levels[39].line, 39);
	assert_int_equal(answer.levels[39].at, 1);
	inspect_answer_release(&answer);
	/* One more of the first than one may have. */
	reply.level[INSPECT_LEVELS_MAX].at = 0;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &lines),
			 -EPROTO);
	reply.level[INSPECT_LEVELS_MAX].at = 1;
	reply.level[39].at = 0;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &lines),
			 -EPROTO);
	reply.level[39].at = 2;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &lines),
			 -EPROTO);
	reply.level[39].at = 1;
	reply.level[39].file = 2;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &lines),
			 -EPROTO);
	reply.head.n = 2 * INSPECT_LEVELS_MAX + 1;
	assert_int_equal(inspect_reply_size(&reply.head, &lines), 0);
}

static void segments_lead_to_no_impossible_place(void **state)
{
	static const struct wire_request wanted = { .id = 7,
						    .op = WIRE_SEGMENTS };
	const struct {
		struct inspect_segment segment;
		int want;
	} tried[] = {
		{ { 0x1000, 0x2000, 0x401000 }, 0 },
		{ { 1ULL << 63, 1, 0 }, -EPROTO },
		{ { 1, INT64_MAX, 0 }, -EPROTO },
		{ { 0, 1, 1ULL << 63 }, -EPROTO },
	};
	struct {
		struct wire_reply head;
		struct inspect_segment segment;
	} reply = { .head = { .id = 7, .n = 1 } };
	struct inspect_answer answer;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tried); i++) {
		reply.segment = tried[i].segment;
		assert_int_equal(inspect_answer_decode(&answer, &reply,
						       sizeof(reply), &wanted),
				 tried[i].want);
		assert_int_equal(answer.n, !tried[i].want);
		if (answer.n)
			assert_int_equal(answer.segments[0].address, 0x401000);
		inspect_answer_release(&answer);
	}
	reply.head.n = INSPECT_SEGMENTS_MAX + 1;
	assert_int_equal(inspect_reply_size(&reply.head, &wanted), 0);
}

static void a_context_speaks_of_who_was_asked_about(void **state)
{
	const struct wire_request who = {
		.id = 7,
		.op = WIRE_CONTEXT,
		.process = { .pid = 5, .start_ns = 6, .exec_seq = 1 },
	};
	struct {
		struct wire_reply head;
		struct wire_context own;
		char strings[8];
	} reply = { .head = { .id = 7, .strings_size = 1 },
		    .own = { .entry = { .process = { .pid = 99 },
					.kind = WEFT_CONTEXT_STATIC,
					.n_slots = 1 } } };
	size_t size = sizeof(reply.head) + sizeof(reply.own) + 1;
	struct inspect_answer answer;

	(void)state;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &who), 0);
	assert_int_equal(answer.context.entry.process.pid, 5);
	assert_int_equal(answer.context.entry.process.exec_seq, 1);
	inspect_answer_release(&answer);
	reply.own.entry.n_slots = WEFT_MAX_CONTEXT_SLOTS + 1;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &who),
			 -EPROTO);
	reply.own.entry.n_slots = 0;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &who),
			 -EPROTO);
}

static void there_is_a_record_for_each_thread_or_none(void **state)
{
	const struct wire_request two = { .id = 7,
					  .op = WIRE_RECORDS,
					  .n_offsets = 2 };
	struct {
		struct wire_reply head;
		struct wire_context own;
		struct wire_record records[2];
		char strings[8];
	} reply = { .head = { .id = 7, .n = 2, .strings_size = 1 },
		    .own = { .state = INSPECT_CONTEXT_NO_MAPPING },
		    .records = { { .status = WEFT_CTX_NULL },
				 { .trace_id = { 9 } } } };
	size_t size = sizeof(reply.head) + sizeof(reply.own) +
		      sizeof(reply.records) + 1;
	struct inspect_answer answer;

	(void)state;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &two), 0);
	assert_int_equal(answer.n, 2);
	assert_int_equal(answer.records[0].status, WEFT_CTX_NULL);
	assert_int_equal(answer.records[1].status, WEFT_CTX_OK);
	assert_int_equal(answer.records[1].trace_id[0], 9);
	inspect_answer_release(&answer);
	reply.records[1].status = WEFT_CTX_COUNT;
	assert_int_equal(inspect_answer_decode(&answer, &reply, size, &two),
			 -EPROTO);
	reply.head.n = 1;
	assert_int_equal(inspect_reply_size(&reply.head, &two), 0);
	reply.head.n = 3;
	assert_int_equal(inspect_reply_size(&reply.head, &two), 0);
	reply.head.n = 0;
	assert_int_equal(inspect_reply_size(&reply.head, &two),
			 sizeof(reply.head) + sizeof(reply.own) + 1);
}

/* A table of two blocks: two pages that share a row, and a rule. */
struct table_reply {
	struct wire_reply head;
	struct wire_table own;
	uint32_t block[2][WEFT_TABLE_BLOCK_WORDS];
};

static struct table_reply good_table(void)
{
	return (struct table_reply){
		.head = { .id = 7, .n = 2 },
		.own = { .first_page = 3,
			 .n_pages = 2,
			 .rules_block = 1,
			 .n_rows = 1,
			 .build_ns = 9 },
		.block[0] = { 4, 1, 4, 1, 0 },
	};
}

static const struct wire_request asked_table = { .id = 7, .op = WIRE_TABLE };

static void expect_table(const struct table_reply *reply, int want)
{
	struct inspect_answer answer;

	assert_int_equal(inspect_answer_decode(&answer, reply, sizeof(*reply),
					       &asked_table),
			 want);
	inspect_answer_release(&answer);
}

static void a_table_is_taken_in_place(void **state)
{
	static struct table_reply reply;
	struct inspect_answer answer;

	(void)state;
	reply = good_table();
	assert_int_equal(inspect_answer_decode(&answer, &reply, sizeof(reply),
					       &asked_table),
			 0);
	assert_int_equal(answer.table.first_page, 3);
	assert_int_equal(answer.table.n_pages, 2);
	assert_int_equal(answer.table.n_blocks, 2);
	assert_int_equal(answer.table.build_ns, 9);
	assert_ptr_equal(answer.table.words, reply.block);
	inspect_answer_release(&answer);
}

static void a_file_may_have_no_table(void **state)
{
	struct {
		struct wire_reply head;
		struct wire_table own;
	} reply = { .head.id = 7 };
	struct inspect_answer answer;

	(void)state;
	assert_int_equal(inspect_answer_decode(&answer, &reply, sizeof(reply),
					       &asked_table),
			 0);
	assert_int_equal(answer.table.n_pages, 0);
	inspect_answer_release(&answer);
	reply.own.n_pages = 1;
	assert_int_equal(inspect_answer_decode(&answer, &reply, sizeof(reply),
					       &asked_table),
			 -EPROTO);
}

static void a_table_is_of_whole_blocks_and_has_a_limit(void **state)
{
	static struct table_reply reply;
	struct wire_reply head = { .id = 7, .n = INSPECT_TABLE_BLOCKS_MAX };

	(void)state;
	assert_int_equal(inspect_reply_size(&head, &asked_table),
			 sizeof(struct wire_reply) + sizeof(struct wire_table) +
				 (64 << 20));
	head.n++;
	assert_int_equal(inspect_reply_size(&head, &asked_table), 0);
	head.n = 1;
	head.strings_size = 1;
	assert_int_equal(inspect_reply_size(&head, &asked_table), 0);
	reply = good_table();
	reply.head.n = 1;
	expect_table(&reply, -EPROTO);
	reply.head.n = 3;
	expect_table(&reply, -EPROTO);
}

static void an_index_names_rows_within_a_block(void **state)
{
	static struct table_reply reply;
	const struct {
		uint32_t first, n;
	} wrong[] = {
		{ 4, 0 },          { 4, WEFT_TABLE_BLOCK_WORDS },
		{ 8191, 2 },       { 8192, 1 },
		{ UINT32_MAX, 1 }, { 1, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		reply = good_table();
		reply.block[0][2] = wrong[i].first;
		reply.block[0][3] = wrong[i].n;
		expect_table(&reply, -EPROTO);
	}
	reply = good_table();
	reply.block[0][0] = 4096;
	reply.block[0][1] = WEFT_TABLE_BLOCK_WORDS;
	expect_table(&reply, 0);
	reply = good_table();
	reply.own.rules_block = 2;
	expect_table(&reply, -EPROTO);
	reply.own.rules_block = UINT32_MAX;
	expect_table(&reply, -EPROTO);
	/* The index would reach into the rules, or past the end. */
	reply = good_table();
	reply.own.rules_block = 0;
	expect_table(&reply, -EPROTO);
	reply = good_table();
	reply.own.n_pages = WEFT_TABLE_BLOCK_WORDS / 2 + 1;
	expect_table(&reply, -EPROTO);
	reply.own.n_pages = UINT32_MAX;
	expect_table(&reply, -EPROTO);
	reply = good_table();
	reply.own.first_page = UINT32_MAX;
	expect_table(&reply, -EPROTO);
	/* Blocks of no page. */
	reply = good_table();
	reply.own.n_pages = 0;
	expect_table(&reply, -EPROTO);
}

static void any_bytes_are_taken_or_refused(void **state)
{
	struct inspect_answer answer;
	uint64_t random = 88172645463325252;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		struct process_reply reply = good();
		uint8_t *bytes = (uint8_t *)&reply;

		for (int i = 0; i < 3; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[random % REPLY_SIZE] = (uint8_t)(random >> 32);
		}
		if (inspect_answer_decode(&answer, &reply, REPLY_SIZE, &asked))
			continue;
		if (answer.status == INSPECT_OK)
			(void)strlen(answer.process.exe);
		inspect_answer_release(&answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_reply_is_taken),
		cmocka_unit_test(a_reply_to_another_request_is_refused),
		cmocka_unit_test(counts_beyond_the_limit_are_refused),
		cmocka_unit_test(strings_end_within_the_reply),
		cmocka_unit_test(mappings_ascend_and_are_not_empty),
		cmocka_unit_test(nothing_follows_a_failure),
		cmocka_unit_test(there_is_a_name_for_each_offset),
		cmocka_unit_test(refused_names_say_what_was_in_the_way),
		cmocka_unit_test(levels_ascend_and_are_of_what_was_asked),
		cmocka_unit_test(segments_lead_to_no_impossible_place),
		cmocka_unit_test(a_context_speaks_of_who_was_asked_about),
		cmocka_unit_test(there_is_a_record_for_each_thread_or_none),
		cmocka_unit_test(a_table_is_taken_in_place),
		cmocka_unit_test(a_file_may_have_no_table),
		cmocka_unit_test(a_table_is_of_whole_blocks_and_has_a_limit),
		cmocka_unit_test(an_index_names_rows_within_a_block),
		cmocka_unit_test(any_bytes_are_taken_or_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
