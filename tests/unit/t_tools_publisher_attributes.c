/* SPDX-License-Identifier: MIT */
/* The publisher's attributes and their key map, records that are swapped, and
 * what it says of where its variable is. */
#include <errno.h>
#include <pthread.h>

#include "tests/unit/t_tools_publisher.h"

static int init_once(void **state)
{
	(void)state;
	return otc_init("attributes");
}

static struct bytes key_name(int index)
{
	struct bytes map = find_attribute(published_payload(),
					  "threadlocal.attribute_key_map");

	return field(field(field(map, 5, 0), 1, index), 1, 0);
}

/* Where in the record an entry is: after those before it. */
static void assert_entry(size_t at, int key, const char *value)
{
	const uint8_t *entry = attached() + 28 + at;

	assert_int_equal(entry[0], key);
	assert_int_equal(entry[1], strlen(value));
	assert_memory_equal(entry + 2, value, strlen(value));
}

static uint16_t attrs_size(const uint8_t *record)
{
	uint16_t size;

	memcpy(&size, record + 26, sizeof(size));
	return size;
}

/* ---- keys */

static void a_key_has_one_index_and_is_published(void **state)
{
	const struct context_header *header;
	uint64_t before;
	int found, route, method;

	(void)state;
	header = find_mapping(&found);
	before = header->published_ns;
	route = otc_key("http.route");
	method = otc_key("http.request.method");
	assert_int_equal(otc_key("http.route"), route);
	assert_int_equal(method, route + 1);
	assert_text(key_name(route), "http.route");
	assert_text(key_name(method), "http.request.method");
	assert_true(header->published_ns > before);
	before = header->published_ns;
	assert_int_equal(otc_key("http.route"), route);
	assert_int_equal(header->published_ns, before);
}

static void what_a_reader_may_be_copying_stays_as_it_is(void **state)
{
	static uint8_t copy[4096];
	struct bytes payload = published_payload();

	(void)state;
	assert_true(payload.size <= sizeof(copy));
	memcpy(copy, payload.at, payload.size);
	assert_true(otc_key("yet another") >= 0);
	assert_memory_equal(payload.at, copy, payload.size);
	assert_ptr_not_equal(published_payload().at, payload.at);
}

static void keys_that_cannot_be_are_refused(void **state)
{
	char name[OTC_KEY_MAX + 2];

	(void)state;
	memset(name, 'k', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(otc_key(NULL), -EINVAL);
	assert_int_equal(otc_key(""), -EINVAL);
	assert_int_equal(otc_key(name), -EINVAL);
}

static void publish_all_keys(void)
{
	char name[OTC_KEY_MAX + 1];

	/* before the first publication, and after it */
	for (int i = 0; i < OTC_KEYS_MAX; i++) {
		memset(name, 'k', OTC_KEY_MAX);
		name[OTC_KEY_MAX] = '\0';
		memcpy(name,
		       (char[]){ (char)('a' + i / 16), (char)('a' + i % 16) },
		       2);
		if (i == OTC_KEYS_MAX / 2 && otc_init("full") != 0)
			_exit(2);
		if (otc_key(name) != i)
			_exit(3);
	}
	if (otc_key("one more") != -ENOSPC || otc_key(name) != OTC_KEYS_MAX - 1)
		_exit(4);
	assert_text(key_name(OTC_KEYS_MAX - 1), name);
	assert_null(key_name(OTC_KEYS_MAX).at);
}

static void as_many_keys_as_an_index_has_values(void **state)
{
	(void)state;
	in_child(publish_all_keys);
}

enum {
	KEYS_EACH = 25,
	ASKERS = 4
};

static void *ask_keys(void *arg)
{
	char name[32];

	for (int i = 0; i < KEYS_EACH; i++) {
		snprintf(name, sizeof(name), "key %d", i);
		((int *)arg)[i] = otc_key(name);
	}
	return NULL;
}

static void ask_at_once(void)
{
	static int index[ASKERS][KEYS_EACH];
	pthread_t thread[ASKERS];
	char name[32];

	if (otc_init("askers") != 0)
		_exit(2);
	for (int i = 0; i < ASKERS; i++)
		pthread_create(&thread[i], NULL, ask_keys, index[i]);
	for (int i = 0; i < ASKERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < KEYS_EACH; i++) {
		snprintf(name, sizeof(name), "key %d", i);
		for (int n = 0; n < ASKERS; n++)
			assert_int_equal(index[n][i], index[0][i]);
		assert_text(key_name(index[0][i]), name);
	}
}

static void threads_that_ask_at_once_get_the_same_index(void **state)
{
	(void)state;
	in_child(ask_at_once);
}

/* ---- attributes */

static void attributes_are_appended_and_go_with_the_next_context(void **state)
{
	int route = otc_key("http.route"), user = otc_key("user.kind");

	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_int_equal(attrs_size(attached()), 0);
	assert_int_equal(otc_attr(route, "/cart", 5), 0);
	assert_int_equal(otc_attr(user, "", 0), 0);
	assert_int_equal(otc_attr(route, "/pay", 4), 0);
	assert_int_equal(attrs_size(attached()), 7 + 2 + 6);
	assert_entry(0, route, "/cart");
	assert_entry(7, user, "");
	assert_entry(9, route, "/pay");
	assert_int_equal(attached()[24], 1);
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_int_equal(attrs_size(attached()), 0);
}

static void what_does_not_fit_is_refused_not_cut(void **state)
{
	int route = otc_key("http.route");
	char value[OTC_VALUE_MAX + 1];

	(void)state;
	memset(value, 'v', sizeof(value));
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_int_equal(otc_attr(route, value, OTC_ATTRS_BYTES - 1), -ENOSPC);
	assert_int_equal(attrs_size(attached()), 0);
	assert_int_equal(otc_attr(route, value, OTC_ATTRS_BYTES - 2), 0);
	assert_int_equal(attrs_size(attached()), OTC_ATTRS_BYTES);
	assert_int_equal(otc_attr(route, "", 0), -ENOSPC);
	assert_int_equal(otc_attr(route, value, OTC_VALUE_MAX + 1), -EINVAL);
	assert_int_equal(otc_attr(OTC_KEYS_MAX, "", 0), -EINVAL);
	assert_int_equal(otc_attr(-1, "", 0), -EINVAL);
	assert_int_equal(otc_attr(200, "", 0), -EINVAL);
	assert_int_equal(otc_attr(route, NULL, 1), -EINVAL);
}

static void attributes_need_a_context(void **state)
{
	(void)state;
	assert_int_equal(otc_attr(otc_key("http.route"), "/", 1), -ENOENT);
	assert_null(attached());
}

static void add_in_child(void)
{
	int route = otc_key("http.route");

	/* Nobody has told what a key means: a vendor may, otherwise. */
	if (otc_set(trace_a, span_a, 1) != 0 ||
	    otc_attr(route, "/", 1) != -ENOENT)
		_exit(2);
	otc_clear();
	if (otc_init("child") != 0 || otc_set(trace_a, span_a, 1) != 0 ||
	    otc_attr(route, "/", 1) != 0)
		_exit(3);
	assert_text(key_name(route), "http.route");
}

static void attributes_need_a_published_key_map(void **state)
{
	(void)state;
	in_child(add_in_child);
}

/* ---- records that are swapped */

static void a_swapped_record_has_a_context_of_its_own(void **state)
{
	struct otc_record one = { 0 }, two = { 0 };

	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_null(otc_swap(&one));
	assert_null(attached()); /* it has none yet */
	assert_int_equal(otc_set_hex("00000000000000000000000000000001",
				     "0000000000000001", 0),
			 0);
	assert_ptr_equal(attached(), &one);
	assert_ptr_equal(otc_swap(&two), &one);
	assert_null(attached());
	assert_ptr_equal(otc_swap(&one), &two);
	assert_int_equal(attached()[15], 1);
	assert_int_equal(otc_attr(otc_key("http.route"), "/one", 4), 0);
	otc_clear();
	assert_null(attached());
	assert_ptr_equal(otc_swap(NULL), &one);
	assert_memory_equal(attached(), trace_a, 16);
	assert_int_equal(attrs_size(attached()), 0);
	otc_swap(&one); /* cleared is cleared */
	assert_null(attached());
	otc_swap(NULL);
}

static void *go_on_elsewhere(void *arg)
{
	static uint8_t seen;

	otc_swap(arg);
	seen = attached() ? attached()[15] : 0;
	otc_swap(NULL);
	return attached() ? NULL : &seen;
}

static void a_record_goes_with_its_coroutine_to_another_thread(void **state)
{
	struct otc_record record = { 0 };
	pthread_t thread;
	void *seen;

	(void)state;
	otc_swap(&record);
	assert_int_equal(otc_set_hex("00000000000000000000000000000007",
				     "0000000000000001", 0),
			 0);
	otc_swap(NULL);
	assert_null(attached());
	assert_int_equal(
		pthread_create(&thread, NULL, go_on_elsewhere, &record), 0);
	assert_int_equal(pthread_join(thread, &seen), 0);
	assert_non_null(seen);
	assert_int_equal(*(uint8_t *)seen, 7);
}

static void fork_with_swapped_record(void)
{
	if (attached())
		_exit(2);
	/* the thread's own again, not one that the parent's runtime owns */
	if (otc_swap(NULL) != NULL || attached())
		_exit(3);
}

static void a_forked_child_forgets_what_was_swapped_in(void **state)
{
	struct otc_record record = { 0 };

	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	otc_swap(&record);
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	in_child(fork_with_swapped_record);
	assert_ptr_equal(otc_swap(NULL), &record);
}

static void another_publishers_record_is_replaced_not_written(void **state)
{
	static const uint8_t theirs[28] = { 9 };
	uint8_t copy[28];
	const uint8_t **slot = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");

	(void)state;
	memcpy(copy, theirs, sizeof(copy));
	*slot = copy;
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_ptr_not_equal(attached(), copy);
	assert_memory_equal(copy, theirs, sizeof(copy));
}

/* ---- where it is */

static void the_offset_that_is_told_is_the_variables(void **state)
{
	const uint8_t *slot = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");
	struct bytes value;
	uintptr_t pointer;

	(void)state;
	value = find_attribute(published_payload(),
			       "weft.thread_ctx.tp_offset");
	assert_true(value.size > 1);
	assert_int_equal(value.at[0], 3 << 3); /* AnyValue.int_value */
	value.at++;
	value.size--;
#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	/* a negative varint has ten bytes, of which the last has one bit */
	assert_ptr_equal((uint8_t *)pointer + (int64_t)take_varint(&value),
			 slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, detach)
		/* children of a process that does not publish */
		TEST(as_many_keys_as_an_index_has_values),
		TEST(threads_that_ask_at_once_get_the_same_index),
		cmocka_unit_test_setup_teardown(
			a_key_has_one_index_and_is_published, init_once,
			detach),
		TEST(what_a_reader_may_be_copying_stays_as_it_is),
		TEST(keys_that_cannot_be_are_refused),
		TEST(attributes_are_appended_and_go_with_the_next_context),
		TEST(what_does_not_fit_is_refused_not_cut),
		TEST(attributes_need_a_context),
		TEST(attributes_need_a_published_key_map),
		TEST(a_swapped_record_has_a_context_of_its_own),
		TEST(a_record_goes_with_its_coroutine_to_another_thread),
		TEST(a_forked_child_forgets_what_was_swapped_in),
		TEST(another_publishers_record_is_replaced_not_written),
		TEST(the_offset_that_is_told_is_the_variables),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
