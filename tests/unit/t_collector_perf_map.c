/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/perf_map.h"
#include "tests/unit/skip.h"

static void feed(struct perf_map *map, const char *text, size_t size)
{
	size_t used;

	assert_int_equal(perf_map_feed(map, text, size, &used), 0);
	assert_true(used <= size);
}

static void expect(struct perf_map *map, uint64_t address, const char *want)
{
	const struct perf_entry *found;

	perf_map_find(map, &address, 1, &found);
	if (!want) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(found->name_size, strlen(want));
	assert_memory_equal(map->names + found->name, want, strlen(want));
}

static void good_lines_are_used_and_bad_ones_counted(void **state)
{
	static const char text[] = "1000 10 one\n"
				   "0x2000 0x10 two words\n"
				   "3000\t10\ttab\n"
				   "ABCD 1 upper\n"
				   "4000 10 crlf\r\n"
				   "5000 0 empty range\n"
				   "5000 ffffffffffffffff wraps\n"
				   "ffffffffffffffffff 1 too wide\n"
				   "6000 10 \n"
				   "6000 10\n"
				   "\n"
				   " 7000 10 blank first\n"
				   "-7000 10 sign\n"
				   "7000 10 nul\0inside\n"
				   "0x 10 no digits\n"
				   "8000 10 cut";
	struct perf_map map = { 0 };

	(void)state;
	feed(&map, text, sizeof(text) - 1);
	expect(&map, 0x1000, "one");
	expect(&map, 0x100f, "one");
	expect(&map, 0x1010, NULL);
	expect(&map, 0x2001, "two words");
	expect(&map, 0x3000, "tab");
	expect(&map, 0xabcd, "upper");
	expect(&map, 0x4000, "crlf");
	expect(&map, 0x5000, NULL);
	expect(&map, 0x6000, NULL);
	expect(&map, 0x7000, NULL);
	expect(&map, 0x8000, NULL);
	assert_int_equal(map.lines, 15);
	assert_int_equal(map.bad_lines, 10);
	assert_int_equal(map.first_bad_line, 6);
	perf_map_release(&map);
}

static void a_cut_line_is_left_for_the_next_time(void **state)
{
	struct perf_map map = { 0 };
	size_t used;

	(void)state;
	assert_int_equal(perf_map_feed(&map, "10 1 a\n20 1 b", 13, &used), 0);
	assert_int_equal(used, 7);
	assert_int_equal(map.bad_lines, 0);
	perf_map_release(&map);
}

static void the_latest_entry_for_an_address_wins(void **state)
{
	static const char text[] = "1000 100 old\n1010 10 new\n1018 8 newest\n";
	const uint64_t addresses[] = { 0x1018, 0x1000, 0x1010, 0x1018, 0x10ff };
	const char *const want[] = { "newest", "old", "new", "newest", "old" };
	const struct perf_entry *found[5];
	struct perf_map map = { 0 };

	(void)state;
	feed(&map, text, sizeof(text) - 1);
	perf_map_find(&map, addresses, 5, found);
	for (int i = 0; i < 5; i++)
		assert_memory_equal(map.names + found[i]->name, want[i],
				    strlen(want[i]));
	perf_map_release(&map);
}

/* Many that overlap, found with and without an order of their starts. */
static void sorted_or_not_the_latest_entry_wins(void **state)
{
	struct perf_map map = { 0 };
	unsigned random = 1;
	size_t checked = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char line[64];

		random = random * 1103515245 + 12345;
		snprintf(line, sizeof(line), "%x %x f%d\n", random >> 16 & 4095,
			 1 + (random >> 8) % (i % 100 ? 8 : 512), i);
		feed(&map, line, strlen(line));
		if (i % 1999)
			continue;
		for (uint64_t address = 0; address < 4096; address += 5) {
			const struct perf_entry *found, *want = NULL;

			perf_map_find(&map, &address, 1, &found);
			for (size_t k = 0; k < map.n; k++)
				if (map.entries[k].start <= address &&
				    map.entries[k].end > address)
					want = &map.entries[k];
			assert_ptr_equal(found, want);
			checked += want != NULL;
		}
	}
	assert_true(checked > 1000);
	assert_true(map.n_places > 1000 && map.n_places < map.n);
	perf_map_release(&map);
}

static uint32_t version(struct perf_map *map, uint64_t address)
{
	const struct perf_entry *found;

	perf_map_find(map, &address, 1, &found);
	assert_non_null(found);
	return perf_map_version(map, found);
}

static void equal_lines_are_one_version_of_the_code(void **state)
{
	static const char one[] = "1000 100 one\n2000 100 one\n";
	static const char two[] = "500 1 x\n0x1000 0100 one\r\n2000 101 one\n";
	struct perf_map a = { 0 }, b = { 0 };

	(void)state;
	feed(&a, one, sizeof(one) - 1);
	feed(&b, two, sizeof(two) - 1);
	assert_int_equal(version(&a, 0x1000), version(&b, 0x1050));
	assert_int_not_equal(version(&a, 0x2000), version(&b, 0x2000));
	assert_int_not_equal(version(&a, 0x1000), version(&a, 0x2000));
	feed(&a, "1000 100 onf\n", 13);
	assert_int_not_equal(version(&a, 0x1000), version(&b, 0x1000));
	perf_map_release(&a);
	perf_map_release(&b);
}

/* Not the newest: those would be misnamed by what they replaced. */
static void beyond_the_limit_the_oldest_entries_go(void **state)
{
	enum {
		LINES = PERF_MAP_ENTRIES_MAX + 100
	};
	struct perf_map map = { 0 };
	char line[64];

	(void)state;
	feed(&map, "10 10 oldest\n", 13);
	for (int i = 0; i < LINES; i++) {
		int n = snprintf(line, sizeof(line), "%x 10 f%d\n",
				 0x1000 + i % 1024 * 16, i);

		feed(&map, line, (size_t)n);
	}
	assert_true(map.n <= PERF_MAP_ENTRIES_MAX);
	assert_int_equal(map.n + map.dropped, LINES + 1);
	expect(&map, 0x10, NULL);
	for (int i = LINES - 1024; i < LINES; i++) {
		snprintf(line, sizeof(line), "f%d", i);
		expect(&map, 0x1000 + (uint64_t)(i % 1024) * 16, line);
	}
	perf_map_release(&map);
}

static void names_too_are_bounded(void **state)
{
	static char line[PERF_MAP_NAME_MAX + 64];
	struct perf_map map = { 0 };

	(void)state;
	for (int i = 0; i < 3 * (PERF_MAP_BYTES_MAX / PERF_MAP_NAME_MAX); i++) {
		int n = snprintf(line, sizeof(line), "%x 10 %0*d\n", i * 16,
				 PERF_MAP_NAME_MAX, i);

		feed(&map, line, (size_t)n);
		assert_true(map.names_size <= PERF_MAP_BYTES_MAX);
		n = snprintf(line, sizeof(line), "%0*d", PERF_MAP_NAME_MAX, i);
		if (i % 100 == 0)
			expect(&map, (uint64_t)i * 16, line);
	}
	assert_true(map.dropped > 0);
	expect(&map, 0, NULL);
	perf_map_release(&map);
}

static void an_endless_name_is_malformed(void **state)
{
	size_t size = 1 << 20;
	char *text = malloc(size);
	struct perf_map map = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, "1000 10 ", 8);
	text[size - 1] = '\n';
	feed(&map, text, size);
	assert_int_equal(map.bad_lines, 1);
	assert_int_equal(map.n, 0);
	perf_map_release(&map);
	free(text);
}

/* A directory that stands for a target's root. */
struct root {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	static struct root root;

	snprintf(root.path, sizeof(root.path), "/tmp/weft-perf-map-XXXXXX");
	if (!mkdtemp(root.path))
		return -1;
	root.fd = open(root.path, O_PATH | O_DIRECTORY);
	mkdirat(root.fd, "tmp", 0777);
	*state = &root;
	return 0;
}

static int tear_down(void **state)
{
	struct root *root = *state;
	char command[128];

	close(root->fd);
	snprintf(command, sizeof(command), "rm -rf %s", root->path);
	return system(command);
}

static int try_open(const struct root *root, uid_t uid)
{
	int fd = perf_map_open(root->fd, "tmp/perf-1.map", &uid, 1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void put(const struct root *root, const char *path)
{
	int fd = openat(root->fd, path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void a_regular_file_of_the_user_is_opened(void **state)
{
	put(*state, "tmp/perf-1.map");
	assert_int_equal(try_open(*state, geteuid()), 0);
}

static void what_is_absent_is_told_from_what_is_refused(void **state)
{
	assert_int_equal(try_open(*state, geteuid()), -ENOENT);
}

static void a_link_is_refused_also_within_the_root(void **state)
{
	struct root *root = *state;

	put(root, "tmp/other");
	assert_int_equal(symlinkat("other", root->fd, "tmp/perf-1.map"), 0);
	assert_int_equal(try_open(root, geteuid()), -ELOOP);
}

static void a_path_does_not_leave_the_root(void **state)
{
	struct root *root = *state;
	char outside[80];

	/* Read within the root, /tmp/NAME/real leads back to the link. */
	assert_int_equal(unlinkat(root->fd, "tmp", AT_REMOVEDIR), 0);
	snprintf(outside, sizeof(outside), "%s/real", root->path);
	assert_int_equal(mkdir(outside, 0700), 0);
	put(root, "real/perf-1.map");
	assert_int_equal(symlinkat(outside, root->fd, "tmp"), 0);
	assert_int_equal(try_open(root, geteuid()), -ELOOP);
}

static void what_is_no_regular_file_is_refused_without_opening(void **state)
{
	struct root *root = *state;

	assert_int_equal(mkfifoat(root->fd, "tmp/perf-1.map", 0666), 0);
	assert_int_equal(try_open(root, geteuid()), -EINVAL);
	unlinkat(root->fd, "tmp/perf-1.map", 0);
	assert_int_equal(mkdirat(root->fd, "tmp/perf-1.map", 0777), 0);
	assert_int_equal(try_open(root, geteuid()), -EINVAL);
	unlinkat(root->fd, "tmp/perf-1.map", AT_REMOVEDIR);
	assert_int_equal(
		mknodat(root->fd, "tmp/perf-1.map", S_IFSOCK | 0666, 0), 0);
	assert_int_equal(try_open(root, geteuid()), -EINVAL);
	if (geteuid()) {
		SKIP_BECAUSE("only root can make device nodes");
	}
	unlinkat(root->fd, "tmp/perf-1.map", 0);
	/* /dev/zero */
	assert_int_equal(mknodat(root->fd, "tmp/perf-1.map", S_IFCHR | 0666,
				 makedev(1, 5)),
			 0);
	assert_int_equal(try_open(root, geteuid()), -EINVAL);
}

static void a_second_name_of_a_file_is_refused(void **state)
{
	struct root *root = *state;

	put(root, "tmp/secret");
	assert_int_equal(
		linkat(root->fd, "tmp/secret", root->fd, "tmp/perf-1.map", 0),
		0);
	assert_int_equal(try_open(root, geteuid()), -EMLINK);
}

static void anothers_file_is_refused(void **state)
{
	struct root *root = *state;

	if (geteuid()) {
		SKIP_BECAUSE("only root can give files away");
	}
	put(root, "tmp/perf-1.map");
	assert_int_equal(fchownat(root->fd, "tmp/perf-1.map", 4321, 4321, 0),
			 0);
	assert_int_equal(try_open(root, 1234), -EPERM);
	assert_int_equal(try_open(root, 4321), 0);
	/* Root's is taken from anybody. */
	assert_int_equal(fchownat(root->fd, "tmp/perf-1.map", 0, 0, 0), 0);
	assert_int_equal(try_open(root, 1234), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lines_are_used_and_bad_ones_counted),
		cmocka_unit_test(a_cut_line_is_left_for_the_next_time),
		cmocka_unit_test(the_latest_entry_for_an_address_wins),
		cmocka_unit_test(sorted_or_not_the_latest_entry_wins),
		cmocka_unit_test(equal_lines_are_one_version_of_the_code),
		cmocka_unit_test(beyond_the_limit_the_oldest_entries_go),
		cmocka_unit_test(names_too_are_bounded),
		cmocka_unit_test(an_endless_name_is_malformed),
		cmocka_unit_test_setup_teardown(
			a_regular_file_of_the_user_is_opened, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_absent_is_told_from_what_is_refused, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_link_is_refused_also_within_the_root, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_path_does_not_leave_the_root,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_no_regular_file_is_refused_without_opening,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_second_name_of_a_file_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(anothers_file_is_refused,
						set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
