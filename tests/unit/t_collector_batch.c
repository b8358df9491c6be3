/* SPDX-License-Identifier: MIT */
/* What cmocka.h needs comes before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/batch.h"
#include "collector/ledger.h"
#include "collector/options.h"
#include "collector/resolve.h"
#include "collector/table.h"

static struct binary program = { .kind = STORE_ELF,
				 .file = { .path = "/bin/program" } };

static bool is_it(const void *entry, const void *wanted)
{
	return *(const int *)entry == *(const int *)wanted;
}

static void a_table_finds_what_is_in_it_and_no_more(void **state)
{
	static int numbers[5000];
	struct table t = { 0 };

	(void)state;
	for (int i = 0; i < 5000; i++) {
		numbers[i] = i;
		/* Few hashes: every chain is long. */
		assert_int_equal(table_add(&t, i % 7, &numbers[i]), 0);
	}
	for (int i = 0; i < 5000; i += 2)
		table_remove(&t, i % 7, &numbers[i]);
	for (int i = 0; i < 5000; i++) {
		void *found = table_find(&t, i % 7, is_it, &i);

		if (i % 2)
			assert_ptr_equal(found, &numbers[i]);
		else
			assert_null(found);
	}
	table_release(&t);
}

static void equal_things_are_one_row_and_counts_add_up(void **state)
{
	struct batch *b = batch_new();
	struct proc proc = { .who = { 5, 42, 1 }, .comm = "name" };
	struct store_batch view;
	struct batch_code code = { .binary = &program, .address = 16 };
	uint32_t process, again, frames[2], stack, stack2;

	(void)state;
	assert_non_null(b);
	assert_int_equal(batch_process(b, &proc, &process), 0);
	assert_int_equal(batch_process(b, &proc, &again), 0);
	assert_int_equal(process, again);
	assert_int_equal(batch_frame(b, &code, &frames[0]), 0);
	assert_int_equal(batch_frame(b, &code, &frames[1]), 0);
	assert_int_equal(frames[0], frames[1]);
	assert_int_equal(batch_stack(b, STORE_COMPLETE, WEFT_END_ROOT, frames,
				     1, &stack),
			 0);
	assert_int_equal(batch_stack(b, STORE_COMPLETE, WEFT_END_ROOT, frames,
				     1, &again),
			 0);
	assert_int_equal(stack, again);
	assert_int_equal(batch_stack(b, STORE_BROKEN, WEFT_END_FAULT, frames, 1,
				     &stack2),
			 0);
	assert_int_not_equal(stack, stack2);
	assert_int_equal(batch_stack(b, STORE_BROKEN, WEFT_END_NO_FRAME, frames,
				     1, &again),
			 0);
	assert_int_not_equal(stack2, again);
	assert_int_equal(batch_count(b, 0, process, stack, 0, 2, 20), 0);
	assert_int_equal(batch_count(b, 0, process, stack, 0, 3, 31), 0);
	batch_view(b, &view);
	assert_int_equal(view.n_processes, 1);
	assert_int_equal(view.n_frames, 1);
	assert_int_equal(view.n_stacks, 3);
	assert_int_equal(view.stacks[stack].end, WEFT_END_ROOT);
	assert_int_equal(view.stacks[again].end, WEFT_END_NO_FRAME);
	assert_int_equal(view.n_counts, 1);
	assert_int_equal(view.counts[0].count, 5);
	assert_int_equal(view.counts[0].value, 51);
	assert_string_equal(view.text + view.processes[0].comm, "name");
	batch_free(b);
}

static void other_code_at_an_address_is_another_row(void **state)
{
	struct batch *b = batch_new();
	struct batch_code old = { .binary = &program,
				  .address = 16,
				  .version = 1,
				  .name = "old",
				  .source = "perf-map" };
	struct batch_code new = old, got;
	struct store_batch view;
	uint32_t frames[2];

	(void)state;
	new.version = 2;
	new.name = "new";
	new.linkage_name = "_new";
	assert_int_equal(batch_frame(b, &old, &frames[0]), 0);
	assert_int_equal(batch_frame(b, &new, &frames[1]), 0);
	assert_int_not_equal(frames[0], frames[1]);
	batch_view(b, &view);
	assert_int_equal(view.frames[frames[1]].version, 2);
	batch_frame_code(b, frames[0], &got);
	assert_string_equal(got.name, "old");
	assert_null(got.linkage_name);
	batch_frame_code(b, frames[1], &got);
	assert_string_equal(got.name, "new");
	assert_string_equal(got.linkage_name, "_new");
	assert_string_equal(got.source, "perf-map");
	batch_free(b);
}

/* The index of a stack that is new, or why there is none. */
static int add_new_stack(struct batch *b, uint32_t number, uint32_t *out)
{
	uint32_t frames[WEFT_MAX_FRAMES];

	for (uint32_t i = 0; i < WEFT_MAX_FRAMES; i++)
		frames[i] = number + i;
	return batch_stack(b, STORE_COMPLETE, WEFT_END_ROOT, frames,
			   WEFT_MAX_FRAMES, out);
}

static void a_batch_has_a_size_and_then_takes_only_what_it_knows(void **state)
{
	struct batch *b = batch_new();
	struct proc proc = { .who = { 5, 42, 1 } }, other = { .who = { 6 } };
	struct batch_code code = { .binary = &program, .address = 16 };
	struct store_sample sample = { 0 };
	struct store_batch view;
	uint32_t process, stack, more, n = 0;
	int rc;

	(void)state;
	assert_int_equal(batch_process(b, &proc, &process), 0);
	assert_int_equal(add_new_stack(b, n++, &stack), 0);
	assert_int_equal(batch_count(b, 0, process, stack, 0, 1, 1), 0);
	do
		rc = add_new_stack(b, n++, &more);
	while (!rc && n < BATCH_COUNTS_MAX);
	assert_int_equal(rc, -E2BIG);
	batch_view(b, &view);
	assert_in_range(view.n_stack_frames * sizeof(*view.stack_frames),
			BATCH_BYTES_MAX / 2, BATCH_BYTES_MAX);
	assert_in_range(batch_bytes(b), BATCH_BYTES_MAX,
			BATCH_BYTES_MAX + 4096);
	/* What is new has no room; what is there already adds up. */
	assert_int_equal(batch_process(b, &other, &more), -E2BIG);
	assert_int_equal(batch_thread(b, process, 5, 0, "", &more), -E2BIG);
	assert_int_equal(batch_frame(b, &code, &more), -E2BIG);
	assert_int_equal(batch_count(b, 1, process, stack, 0, 1, 1), -E2BIG);
	assert_int_equal(batch_sample(b, &sample), -E2BIG);
	assert_int_equal(batch_attribute(b, "key", "value", &more), -E2BIG);
	assert_int_equal(batch_process(b, &proc, &process), 0);
	assert_int_equal(add_new_stack(b, 0, &more), 0);
	assert_int_equal(more, stack);
	assert_int_equal(batch_count(b, 0, process, stack, 0, 2, 2), 0);
	assert_int_equal(batch_ledger(b, 0, LEDGER_LOST_DISCARDED, 1, 1), 0);
	batch_view(b, &view);
	assert_int_equal(view.n_counts, 1);
	assert_int_equal(view.counts[0].count, 3);
	batch_free(b);
}

static void a_renamed_process_is_stored_with_its_newest_name(void **state)
{
	struct batch *b = batch_new();
	struct proc proc = { .who = { 5, 42, 1 }, .comm = "before" };
	struct store_batch view;
	uint32_t process;

	(void)state;
	assert_int_equal(batch_process(b, &proc, &process), 0);
	strcpy(proc.comm, "after");
	proc.changed = true;
	assert_int_equal(batch_process(b, &proc, &process), 0);
	batch_view(b, &view);
	assert_int_equal(view.n_processes, 1);
	assert_string_equal(view.text + view.processes[0].comm, "after");
	batch_free(b);
}

static void every_ledger_entry_is_present_and_0_is_not_unmeasured(void **state)
{
	struct batch *b = batch_new();
	struct weft_ledger kernel = { 0 };
	struct store_batch view;
	bool saw_throttled = false;
	size_t named = 0;

	(void)state;
	kernel.entry[WEFT_FIRED].count = 7;
	assert_int_equal(ledger_add_kernel(b, 0, &kernel), 0);
	batch_view(b, &view);
	for (size_t i = 0; i < LEDGER_ENTRIES; i++) {
		assert_non_null(ledger_names[i]);
		named += strncmp(ledger_names[i], "reserved", 8) != 0;
	}
	assert_int_equal(view.n_ledger, named);
	for (size_t i = 0; i < view.n_ledger; i++) {
		if (view.ledger[i].entry == WEFT_FIRED)
			assert_int_equal(view.ledger[i].count, 7);
		if (view.ledger[i].entry == LEDGER_THROTTLED) {
			saw_throttled = true;
			assert_false(view.ledger[i].measured);
		} else {
			assert_true(view.ledger[i].measured);
		}
	}
	assert_true(saw_throttled);
	batch_free(b);
}

static void every_end_of_a_walk_has_a_word_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < WEFT_END_COUNT; i++) {
		assert_non_null(walk_end_names[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(walk_end_names[i],
						walk_end_names[k]);
	}
}

static void merged_intervals_keep_the_mean_period_of_a_cpu(void **state)
{
	struct batch *b = batch_new();
	struct store_cpu first = {
		.cpu = 1, .period = 100, .due = 30, .fired = 30
	};
	struct store_cpu second = {
		.cpu = 1, .period = 200, .due = 10, .fired = 9
	};
	struct store_batch view;

	(void)state;
	assert_int_equal(batch_cpu(b, &first), 0);
	assert_int_equal(batch_cpu(b, &second), 0);
	batch_view(b, &view);
	assert_int_equal(view.n_cpus, 1);
	assert_int_equal(view.cpus[0].due, 40);
	assert_int_equal(view.cpus[0].fired, 39);
	assert_int_equal(view.cpus[0].period, 125);
	batch_free(b);
}

static void lists_of_cpus_are_read_as_the_kernel_writes_them(void **state)
{
	struct cpu_list list;

	(void)state;
	assert_int_equal(cpu_list_parse("0,2-4\n", &list), 0);
	assert_int_equal(list.n, 4);
	assert_int_equal(list.cpu[3], 4);
	assert_int_equal(cpu_list_parse("", &list), -EINVAL);
	assert_int_equal(cpu_list_parse("3-1", &list), -EINVAL);
	assert_int_equal(cpu_list_parse("1,1", &list), -EINVAL);
	assert_int_equal(cpu_list_parse("1x", &list), -EINVAL);
	assert_int_equal(cpu_list_parse("-1", &list), -EINVAL);
	assert_int_equal(cpu_list_parse("99999", &list), -ERANGE);
}

static uint64_t count_of(const struct store_batch *view, uint32_t event,
			 uint32_t entry)
{
	for (size_t i = 0; i < view->n_ledger; i++)
		if (view->ledger[i].event == event &&
		    view->ledger[i].entry == entry)
			return view->ledger[i].count;
	return 0;
}

static void what_found_no_room_is_lost_by_its_own_event(void **state)
{
	struct harvest h = { .lost = { [2] = { 7, 70 } },
			     .lost_attributes = 3 };
	struct resolver r = { 0 };
	struct batch *b = batch_new();
	struct store_batch view;

	(void)state;
	assert_non_null(b);
	assert_int_equal(
		resolve(&r, &h, &(struct measure_harvest){ 0 }, NULL, b), 0);
	batch_view(b, &view);
	assert_int_equal(count_of(&view, 0, LEDGER_LOST_DISCARDED), 0);
	assert_int_equal(count_of(&view, 2, LEDGER_LOST_DISCARDED), 7);
	assert_int_equal(count_of(&view, 0, LEDGER_ATTRIBUTES_REFUSED), 3);
	batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_finds_what_is_in_it_and_no_more),
		cmocka_unit_test(equal_things_are_one_row_and_counts_add_up),
		cmocka_unit_test(other_code_at_an_address_is_another_row),
		cmocka_unit_test(
			a_batch_has_a_size_and_then_takes_only_what_it_knows),
		cmocka_unit_test(
			a_renamed_process_is_stored_with_its_newest_name),
		cmocka_unit_test(
			every_ledger_entry_is_present_and_0_is_not_unmeasured),
		cmocka_unit_test(what_found_no_room_is_lost_by_its_own_event),
		cmocka_unit_test(every_end_of_a_walk_has_a_word_of_its_own),
		cmocka_unit_test(
			merged_intervals_keep_the_mean_period_of_a_cpu),
		cmocka_unit_test(
			lists_of_cpus_are_read_as_the_kernel_writes_them),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
