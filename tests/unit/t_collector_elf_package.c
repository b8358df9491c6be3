/* SPDX-License-Identifier: MIT */
/*
 * Packages of split DWARF: that each address of a library has the functions
 * and lines that it has without a package, and that a crafted or cut package
 * does no harm.
 */
#include <errno.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "collector/elf/debug.h"
#include "collector/elf/dwarf.h"
#include "tests/unit/skip.h"
#include "tests/unit/t_collector_elf_built.h"

static const char header[] =
	"extern int n;\n"
	"static inline __attribute__((always_inline)) void inlined(int a)\n"
	"{\n"
	"	if (a > 3)\n"
	"		n += a;\n"
	"	n ^= a;\n"
	"}\n";
static const char first[] =
	"#include \"p.h\"\n"
	"int first(int a);\n"
	"int first(int a)\n"
	"{\n"
	"	inlined(a);\n"
	"	return a + 1;\n"
	"}\n"
	"__attribute__((section(\".text.far\"))) int far(int a);\n"
	"int far(int a)\n"
	"{\n"
	"	inlined(a * 3);\n"
	"	return a - 1;\n"
	"}\n";
static const char second[] = "#include \"p.h\"\n"
			     "int n;\n"
			     "int second(int a);\n"
			     "int second(int a)\n"
			     "{\n"
			     "	inlined(a * 5);\n"
			     "	return a * 7;\n"
			     "}\n";

/* Of a compiler and what packs for it: dwp of binutils 2.40 and llvm-dwp 14
 * each fail at DWARF 5 as gcc writes it. */
static const struct way {
	const char *compiler, *packer;
} ways[] = {
	{ "gcc -gdwarf-4", "dwp" },
	{ "gcc -gdwarf-4 -ffunction-sections", "dwp" },
	{ "clang -gdwarf-4", "dwp" },
	{ "clang -gdwarf-5", "llvm-dwp" },
	{ "clang -gdwarf-5 -ffunction-sections", "llvm-dwp" },
	{ "gcc -gdwarf-5", "llvm-dwp-16" },
	{ "gcc -gdwarf-5 -ffunction-sections", "llvm-dwp-16" },
};

/* Build p.so, whole.so of the same code, and p.dwp. */
static bool build(const struct way *way)
{
	char command[1024];

	if (!built_has(way->packer))
		return false;
	built_write("p.h", header);
	built_write("first.c", first);
	built_write("second.c", second);
	snprintf(command, sizeof(command),
		 "rm -f *.dwo *.dwp; cc='%s -O2 -fPIC'; "
		 "so='cc -shared -nostdlib first.o second.o -o'; "
		 "$cc -c first.c second.c && $so whole.so && "
		 "$cc -gsplit-dwarf -c first.c second.c && $so p.so && "
		 "%s -e p.so -o p.dwp && rm *.dwo",
		 way->compiler, way->packer);
	if (!built_run(command)) {
		built_run("cat log >&2");
		fail_msg("%s, %s", way->compiler, way->packer);
	}
	return true;
}

static struct elf_dwarf *open_dwarf(const char *name, bool with_package)
{
	struct elf_package *package;
	struct elf_dwarf *dwarf;
	struct elf_file file;

	assert_int_equal(built_open(&file, built_path(name)), 0);
	assert_int_equal(elf_dwarf_open(&dwarf, &file, NULL, false), 0);
	elf_file_close(&file);
	assert_int_equal(elf_dwarf_is_split(dwarf), !strcmp(name, "p.so"));
	if (!with_package)
		return dwarf;
	if (!built_open(&file, built_path("p.dwp"))) {
		if (!elf_package_open(&package, &file))
			elf_dwarf_set_package(dwarf, package);
		elf_file_close(&file);
	}
	return dwarf;
}

static void expect_text(const char *x, const char *y)
{
	if (!x || !y)
		assert_ptr_equal(x, y);
	else
		assert_string_equal(x, y);
}

static bool is_named(const struct elf_dwarf_level *level)
{
	return level->name != NULL;
}

/* Returns how many addresses have an inlined function. */
static size_t compare(struct elf_dwarf *whole, struct elf_dwarf *split)
{
	struct elf_dwarf_level x[ELF_DWARF_LEVELS_MAX], y[ELF_DWARF_LEVELS_MAX];
	size_t n_inlined = 0;

	for (uint64_t at = 0; at < 0x2000; at++) {
		size_t n = elf_dwarf_find(whole, at, x);

		assert_int_equal(elf_dwarf_find(split, at, y), n);
		for (size_t i = 0; i < n; i++) {
			expect_text(x[i].name, y[i].name);
			expect_text(x[i].linkage_name, y[i].linkage_name);
			expect_text(x[i].file, y[i].file);
			assert_int_equal(x[i].line, y[i].line);
			assert_int_equal(x[i].function_line,
					 y[i].function_line);
			assert_int_equal(x[i].start, y[i].start);
		}
		n_inlined += n > 1 && is_named(&y[0]);
	}
	return n_inlined;
}

static void a_package_tells_what_the_whole_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct elf_dwarf *whole, *split;
		bool is_built = build(&ways[i]);

		print_message("# %s, %s%s\n", ways[i].compiler, ways[i].packer,
			      is_built ? "" : ": not there");
		if (!is_built)
			continue;
		whole = open_dwarf("whole.so", false);
		split = open_dwarf("p.so", true);
		assert_true(compare(whole, split) > 10);
		assert_true(elf_dwarf_bytes(split) > 1000);
		elf_dwarf_close(whole);
		elf_dwarf_close(split);
	}
}

static void without_its_package_a_unit_has_lines_only(void **state)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	struct elf_dwarf *whole, *split;
	size_t n_lines = 0;

	(void)state;
	if (!build(&ways[0]))
		SKIP_BECAUSE("no dwp");
	whole = open_dwarf("whole.so", false);
	/* That of another program has other IDs. */
	built_write("second.c", "int second(int a); int second(int a)\n"
				"{ return a; }\n");
	assert_true(built_run("gcc -O2 -gdwarf-4 -gsplit-dwarf -fPIC -shared "
			      "-nostdlib -o other.so second.c && "
			      "dwp -e other.so -o p.dwp"));
	split = open_dwarf("p.so", true);
	for (uint64_t at = 0; at < 0x2000; at++) {
		if (!elf_dwarf_find(split, at, level))
			continue;
		assert_null(level[0].name);
		n_lines += level[0].line > 0;
	}
	assert_true(n_lines > 10);
	elf_dwarf_close(whole);
	elf_dwarf_close(split);
}

/* Ask for all, for what a sanitizer sees. Returns how many names. */
static size_t ask_all(void)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	struct elf_dwarf *dwarf = open_dwarf("p.so", true);
	size_t n_named = 0;

	for (uint64_t at = 0x1000; at < 0x1100; at++) {
		size_t n = elf_dwarf_find(dwarf, at, level);

		for (size_t i = 0; i < n; i++) {
			if (level[i].name)
				assert_true(strlen(level[i].name) < 1 << 20);
			if (level[i].file)
				assert_true(strlen(level[i].file) < 1 << 20);
			n_named += is_named(&level[i]);
		}
	}
	elf_dwarf_close(dwarf);
	return n_named;
}

static void damage(int fd, off_t at, uint64_t value)
{
	uint64_t was;

	assert_int_equal(pread(fd, &was, sizeof(was), at), sizeof(was));
	assert_int_equal(pwrite(fd, &value, sizeof(value), at), sizeof(value));
	(void)ask_all();
	assert_int_equal(pwrite(fd, &was, sizeof(was), at), sizeof(was));
}

static void a_package_that_is_damaged_or_cut_does_no_harm(void **state)
{
	static const uint64_t bad[] = { 0, UINT64_MAX, 0x0000000100000001,
					0x7fffffff7fffffff };

	(void)state;
	/* One of each version of the index. */
	for (size_t i = 0; i < 4; i += 3) {
		struct stat st;
		int fd;

		if (!build(&ways[i]))
			continue;
		assert_true(ask_all() > 10);
		fd = open(built_path("p.dwp"), O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		for (off_t at = 64; at + 8 <= st.st_size; at += 36)
			damage(fd, at, bad[(at / 36) % (off_t)ARRAY_LEN(bad)]);
		assert_true(ask_all() > 10);
		for (off_t size = st.st_size; size > 0; size -= 97) {
			assert_int_equal(ftruncate(fd, size), 0);
			(void)ask_all();
		}
		close(fd);
	}
}

/* Open p.dwp as a package; it is not read further. */
static int open_package(void)
{
	struct elf_package *package;
	struct elf_file file;
	int rc;

	assert_int_equal(built_open(&file, built_path("p.dwp")), 0);
	rc = elf_package_open(&package, &file);
	elf_file_close(&file);
	elf_package_close(package);
	return rc;
}

static void what_is_no_package_is_refused(void **state)
{
	(void)state;
	if (!build(&ways[0]))
		SKIP_BECAUSE("no dwp");
	assert_int_equal(open_package(), 0);
	assert_true(built_run("cp p.dwp was && objcopy "
			      "--compress-debug-sections=zlib p.dwp"));
	/* What packing does not make smaller stays as it is. */
	if (built_run("readelf -SW p.dwp | grep -q 'debug.* C '"))
		assert_int_equal(open_package(), -ENOTSUP);
	assert_true(built_run("cp was p.dwp && objcopy "
			      "-R .debug_cu_index p.dwp"));
	assert_int_equal(open_package(), -ENOENT);
	assert_true(built_run("head -c 8 /dev/zero >index && cp was p.dwp && "
			      "objcopy --update-section "
			      ".debug_cu_index=index p.dwp"));
	assert_int_equal(open_package(), -ENOTSUP);
	assert_true(built_run("printf '\\2\\0\\0\\0\\1\\0\\0\\0\\1\\0\\0\\0"
			      "\\3\\0\\0\\0' >index && "
			      "head -c 999 /dev/zero >>index && "
			      "cp was p.dwp && objcopy --update-section "
			      ".debug_cu_index=index p.dwp"));
	assert_int_equal(open_package(), -EPROTO);
}

#define BUILT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, built_set_up, built_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILT_TEST(a_package_tells_what_the_whole_does),
		BUILT_TEST(without_its_package_a_unit_has_lines_only),
		BUILT_TEST(a_package_that_is_damaged_or_cut_does_no_harm),
		BUILT_TEST(what_is_no_package_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
