/* SPDX-License-Identifier: MIT */
/*
 * A program with frame pointers follows its own chain to the end, in main, a
 * constructor, a thread and a signal handler, and prints where the last
 * return address lies and what frame pointer was left. A stack that ends with
 * 0 is whole by that; one that does not must end in a range found here.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/elf_roots.h"
#include "tests/unit/skip.h"
#include "tests/unit/t_collector_elf_built.h"

static const char chain_c[] =
	"#include <pthread.h>\n#include <signal.h>\n#include <stdint.h>\n"
	"#include <stdio.h>\n#include <string.h>\n#include <sys/uio.h>\n"
	"#include <unistd.h>\n"
	"static void show(const char *where, uintptr_t a, uintptr_t fp)\n{\n"
	"\tuintptr_t s, e, o;\n\tchar line[4096], path[4096];\n"
	"\tFILE *maps = fopen(\"/proc/self/maps\", \"r\");\n"
	"\twhile (fgets(line, sizeof(line), maps)) {\n"
	"\t\tpath[0] = 0;\n"
	"\t\tif (sscanf(line, \"%lx-%lx %*s %lx %*s %*s %s\", &s, &e, &o, "
	"path) >= 3\n\t\t    && a >= s && a < e)\n"
	"\t\t\tprintf(\"%s %lx %lx %s\\n\", where, fp, a - s + o, path);\n"
	"\t}\n\tfclose(maps);\n\tfflush(stdout);\n}\n"
	"__attribute__((noinline)) static void walk(const char *where)\n{\n"
	"\tuintptr_t fp = (uintptr_t)__builtin_frame_address(0), v[2], last = "
	"0;\n"
	"\tfor (;;) {\n"
	"\t\tstruct iovec l = { v, 16 }, r = { (void *)fp, 16 };\n"
	"\t\tif (process_vm_readv(getpid(), &l, 1, &r, 1, 0) != 16) break;\n"
	"\t\tlast = v[1];\n"
	"\t\tif (v[0] <= fp) { fp = v[0]; break; }\n"
	"\t\tfp = v[0];\n\t}\n"
	"\tshow(where, last, fp);\n}\n"
	"static void *thread(void *a) { walk(\"thread\"); return a; }\n"
	"static void handler(int s) { (void)s; walk(\"handler\"); }\n"
	"__attribute__((constructor)) static void early(void) { "
	"walk(\"constructor\"); }\n"
	"int main(void)\n{\n\tpthread_t t;\n\twalk(\"main\");\n"
	"\tpthread_create(&t, 0, thread, 0);\n\tpthread_join(t, 0);\n"
	"\tsignal(SIGUSR1, handler);\n\tkill(getpid(), SIGUSR1);\n\treturn 0;\n}\n";

/* Whether an address of a file lies in one of its ranges. */
static bool is_root(const char *path, uint64_t offset)
{
	struct inspect_range ranges[INSPECT_ROOTS_MAX];
	struct symbols *symbols;
	struct elf_file file;
	bool is_it = false;
	int n;

	assert_int_equal(built_open(&file, path), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	n = elf_find_roots(&file, symbols, ranges);
	symbols_free(symbols);
	elf_file_close(&file);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++)
		is_it |= offset > ranges[i].start && offset <= ranges[i].end;
	return is_it;
}

static void check(const char *flags)
{
	char where[32], path[4096], command[512];
	uint64_t pointer, offset;
	int stacks = 0;
	FILE *out;

	built_write("chain.c", chain_c);
	snprintf(command, sizeof(command),
		 "cc -D_GNU_SOURCE -w -O1 -fno-omit-frame-pointer "
		 "-fno-optimize-sibling-calls %s -o chain chain.c && "
		 "./chain >out",
		 flags);
	if (!built_run(command)) {
		SKIP_BECAUSE(flags);
	}
	out = fopen(built_path("out"), "re");
	assert_non_null(out);
	while (fscanf(out, "%31s %" SCNx64 " %" SCNx64 " %4095s", where,
		      &pointer, &offset, path) == 4) {
		stacks++;
		if (pointer && !is_root(path, offset)) {
			print_message("%s ends at %s+%#" PRIx64
				      " with frame pointer %#" PRIx64 "\n",
				      where, path, offset, pointer);
			fail();
		}
	}
	fclose(out);
	assert_int_equal(stacks, 4);
}

static void a_programs_stacks_end_in_a_root(void **state)
{
	(void)state;
	check("");
}

static void a_stripped_programs_stacks_end_in_a_root(void **state)
{
	(void)state;
	check("-s");
}

static void a_fixed_programs_stacks_end_in_a_root(void **state)
{
	(void)state;
	check("-no-pie -fno-pie");
}

static void a_static_programs_stacks_end_in_a_root(void **state)
{
	(void)state;
	check("-static");
}

static void roots_by_structure_are_those_by_name(void **state)
{
	struct inspect_range ranges[INSPECT_ROOTS_MAX];
	struct symbol_name start;
	struct symbols *symbols;
	struct elf_file file;
	int n;

	(void)state;
	built_write("m.c", "int main(void) { return 0; }\n");
	assert_true(built_run("cc -o m m.c && cp m s && strip s"));
	assert_int_equal(built_open(&file, built_path("m")), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	elf_file_close(&file);
	assert_true(symbols_find_by_name(symbols, "_start", &start));
	symbols_free(symbols);
	assert_int_equal(built_open(&file, built_path("s")), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	n = elf_find_roots(&file, symbols, ranges);
	assert_int_equal(n, 1);
	assert_int_equal(ranges[0].start, start.start);
	assert_int_equal(ranges[0].end, start.end);
	symbols_free(symbols);
	elf_file_close(&file);
}

static void a_librarys_entry_is_no_root(void **state)
{
	struct inspect_range ranges[INSPECT_ROOTS_MAX];
	struct symbols *symbols;
	struct elf_file file;

	(void)state;
	built_write("l.c", "int f(int a) { return a; }\n");
	assert_true(built_run("cc -shared -fPIC -Wl,-e,f -o l.so l.c"));
	assert_int_equal(built_open(&file, built_path("l.so")), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	assert_int_equal(elf_find_roots(&file, symbols, ranges), 0);
	symbols_free(symbols);
	elf_file_close(&file);
}

#define BUILT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, built_set_up, built_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILT_TEST(a_programs_stacks_end_in_a_root),
		BUILT_TEST(a_stripped_programs_stacks_end_in_a_root),
		BUILT_TEST(a_fixed_programs_stacks_end_in_a_root),
		BUILT_TEST(a_static_programs_stacks_end_in_a_root),
		BUILT_TEST(roots_by_structure_are_those_by_name),
		BUILT_TEST(a_librarys_entry_is_no_root),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
