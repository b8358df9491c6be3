/* SPDX-License-Identifier: MIT */
/*
 * Inlined functions and lines, of a library built in many ways whose places
 * are marked: the chain at each mark is known from its source. Then what a
 * crafted or cut file must not do.
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

/* The lines are what expect_chains() knows. */
static const char source[] =
	"int n;\n"
	"#define INLINED static inline __attribute__((always_inline)) void\n"
	"INLINED deep(int a)\n"
	"{\n"
	"	n += a;\n"
	"	__asm__ volatile(\"mark_deep: nop\");\n"
	"	n ^= a;\n"
	"}\n"
	"INLINED middle(int a)\n"
	"{\n"
	"	{\n"
	"		volatile int x = a;\n"
	"		deep(a + x);\n"
	"	}\n"
	"	__asm__ volatile(\"mark_middle: nop\");\n"
	"}\n"
	"int outer(int a);\n"
	"int outer(int a)\n"
	"{\n"
	"	middle(a * 3);\n"
	"	__asm__ volatile(\"mark_outer: nop\");\n"
	"	return n;\n"
	"}\n";

static void build(const char *compiler)
{
	char command[512];

	built_write("d.c", source);
	built_write("e.c", "int other(int a); int other(int a) "
			   "{ return a * a + 7; }\n");
	snprintf(command, sizeof(command),
		 "%s -O2 -fPIC -shared -nostdlib -o d.so e.c d.c", compiler);
	if (!built_run(command)) {
		built_run("cat log >&2");
		fail_msg("%s", command);
	}
}

/* Where a mark, or a function, is in d.so. */
static uint64_t find_mark(const char *name)
{
	unsigned long long address = 0;
	char command[256];
	FILE *file;

	snprintf(command, sizeof(command),
		 "nm d.so | awk '$3 == \"%s\" { print $1 }' >mark", name);
	assert_true(built_run(command));
	file = fopen(built_path("mark"), "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llx", &address), 1);
	fclose(file);
	return address;
}

static int open_with(struct elf_dwarf **out, const char *name, const char *alt,
		     bool follow_split)
{
	struct elf_file file, other;
	int rc;

	assert_int_equal(built_open(&file, built_path(name)), 0);
	if (alt)
		assert_int_equal(built_open(&other, built_path(alt)), 0);
	rc = elf_dwarf_open(out, &file, alt ? &other : NULL, follow_split);
	elf_file_close(&file);
	if (alt)
		elf_file_close(&other);
	return rc;
}

static void expect_level(const struct elf_dwarf_level *level, const char *name,
			 uint32_t line, uint32_t function_line)
{
	assert_non_null(level->name);
	assert_string_equal(level->name, name);
	assert_int_equal(level->line, line);
	assert_int_equal(level->function_line, function_line);
	assert_non_null(level->file);
	assert_string_equal(strrchr(level->file, '/'), "/d.c");
}

/* That each mark has the chain that the source says. */
static void expect_chains_of(struct elf_dwarf *dwarf)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	uint64_t start = find_mark("outer");

	assert_int_equal(elf_dwarf_find(dwarf, find_mark("mark_deep"), level),
			 3);
	expect_level(&level[0], "deep", 6, 3);
	expect_level(&level[1], "middle", 13, 9);
	expect_level(&level[2], "outer", 20, 18);
	assert_int_equal(level[0].start, 0);
	assert_int_equal(level[2].start, start);
	assert_int_equal(elf_dwarf_find(dwarf, find_mark("mark_middle"), level),
			 2);
	expect_level(&level[0], "middle", 15, 9);
	expect_level(&level[1], "outer", 20, 18);
	assert_int_equal(elf_dwarf_find(dwarf, find_mark("mark_outer"), level),
			 1);
	expect_level(&level[0], "outer", 21, 18);
	assert_int_equal(elf_dwarf_find(dwarf, 1, level), 0);
	assert_int_equal(elf_dwarf_find(dwarf, UINT64_MAX, level), 0);
	assert_true(elf_dwarf_bytes(dwarf) > 1000);
}

static void expect_chains(const char *name, const char *alt, bool follow_split)
{
	struct elf_dwarf *dwarf;

	assert_int_equal(open_with(&dwarf, name, alt, follow_split), 0);
	expect_chains_of(dwarf);
	elf_dwarf_close(dwarf);
}

/* Those that differ most come first; NAMES_BUILDS=all tries all. */
static void inlined_functions_are_told(void **state)
{
	enum {
		FEW = 4
	};
	static const char *const ways[] = {
		"gcc -gdwarf-5",
		"clang -gdwarf-5",
		"gcc -gdwarf-3",
		"gcc -g -gz=zlib",
		"gcc -g -flto",
		"gcc -g -fdebug-types-section",
		"gcc -gdwarf-4",
		"clang -gdwarf-3",
		"clang -gdwarf-4",
		"gcc -g -gz=zlib-gnu",
		"clang -g -gz=zlib",
		"clang -g -fuse-ld=lld",
		"gcc -gdwarf64 -gdwarf-5",
	};
	const char *builds = getenv("NAMES_BUILDS");
	size_t n = builds && !strcmp(builds, "all") ? ARRAY_LEN(ways) : FEW;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		print_message("# %s\n", ways[i]);
		build(ways[i]);
		expect_chains("d.so", NULL, false);
	}
}

static void a_debug_file_tells_the_same(void **state)
{
	struct elf_dwarf *dwarf;

	(void)state;
	build("gcc -g");
	assert_true(built_run("objcopy --only-keep-debug d.so d.debug && "
			      "objcopy --only-keep-debug "
			      "--compress-debug-sections d.so z.debug && "
			      "strip -g -o bare.so d.so"));
	expect_chains("d.debug", NULL, false);
	expect_chains("z.debug", NULL, false);
	assert_int_equal(open_with(&dwarf, "bare.so", NULL, false), -ENOENT);
}

static void split_units_are_read_only_where_allowed(void **state)
{
	static const char *const ways[] = { "gcc -gdwarf-4 -gsplit-dwarf",
					    "gcc -gdwarf-5 -gsplit-dwarf",
					    "clang -gdwarf-5 -gsplit-dwarf" };
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	struct elf_dwarf *dwarf;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		char command[256];

		built_write("d.c", source);
		snprintf(command, sizeof(command),
			 "rm -f *.dwo; %s -O2 -fPIC -c d.c && "
			 "cc -shared -nostdlib -o d.so d.o && test -e d.dwo",
			 ways[i]);
		print_message("# %s\n", ways[i]);
		assert_true(built_run(command));
		expect_chains("d.so", NULL, true);
		assert_int_equal(open_with(&dwarf, "d.so", NULL, false), 0);
		assert_int_equal(
			elf_dwarf_find(dwarf, find_mark("mark_deep"), level),
			1);
		assert_null(level[0].name);
		assert_int_equal(level[0].line, 6);
		elf_dwarf_close(dwarf);
	}
}

static void a_linkage_name_comes_with_the_name(void **state)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	struct elf_dwarf *dwarf;

	(void)state;
	if (!built_has("g++"))
		SKIP_BECAUSE("no g++");
	built_write("d.cc",
		    "namespace space { struct thing {\n"
		    "int n; void add(int a); }; }\n"
		    "void space::thing::add(int a)\n"
		    "{ n += a; __asm__ volatile(\"mark_add: nop\"); }\n");
	assert_true(built_run("g++ -g -O2 -fPIC -shared -nostdlib "
			      "-o d.so d.cc"));
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), 0);
	assert_int_equal(elf_dwarf_find(dwarf, find_mark("mark_add"), level),
			 1);
	assert_string_equal(level[0].name, "add");
	assert_string_equal(level[0].linkage_name, "_ZN5space5thing3addEi");
	assert_int_equal(level[0].line, 4);
	elf_dwarf_close(dwarf);
}

/* Two libraries of one header, from which dwz takes what they share. */
static void make_alt(void)
{
	FILE *header = fopen(built_path("many.h"), "we");

	assert_non_null(header);
	for (int i = 0; i < 200; i++)
		fprintf(header,
			"struct thing_%d { struct thing_%d *next; "
			"int first_number, second_number, third_number; };\n",
			i, i ? i - 1 : 0);
	fprintf(header, "%s", source);
	fclose(header);
	built_write("x.c", "#include \"many.h\"\nstruct thing_199 x;\n");
	built_write("y.c", "#include \"many.h\"\nstruct thing_199 y;\n");
	assert_true(built_run("gcc -g -O2 -fPIC -shared -nostdlib -o d.so x.c "
			      "-Wl,--build-id && "
			      "gcc -g -O2 -fPIC -shared -nostdlib -o y.so y.c "
			      "-Wl,--build-id && "
			      "dwz -r -m common.alt d.so y.so && "
			      "readelf -SW d.so | grep -q gnu_debugaltlink"));
}

static void open_root(int *root)
{
	*root = open(built_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(*root >= 0);
}

static int find_alt(struct elf_debug *out)
{
	struct elf_file file;
	int root, rc;

	open_root(&root);
	assert_int_equal(built_open(&file, built_path("d.so")), 0);
	rc = elf_debug_find_alt(out, &file, &file, root, "/d.so");
	elf_file_close(&file);
	close(root);
	return rc;
}

static void what_dwz_moved_is_found(void **state)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	struct elf_dwarf *dwarf;
	struct elf_debug alt;
	struct elf_file file;

	(void)state;
	if (!built_has("dwz"))
		SKIP_BECAUSE("no dwz");
	make_alt();
	assert_int_equal(find_alt(&alt), 0);
	assert_int_equal(built_open(&file, built_path("d.so")), 0);
	assert_int_equal(elf_dwarf_open(&dwarf, &file, &alt.file, false), 0);
	elf_debug_close(&alt);
	elf_file_close(&file);
	assert_int_equal(elf_dwarf_find(dwarf, find_mark("mark_deep"), level),
			 3);
	assert_string_equal(level[0].name, "deep");
	assert_string_equal(level[1].name, "middle");
	assert_string_equal(level[2].name, "outer");
	assert_string_equal(strrchr(level[1].file, '/'), "/many.h");
	elf_dwarf_close(dwarf);
	/* Under its build ID it needs no name. */
	assert_true(built_run(
		"id=$(readelf -n common.alt | sed -n 's/.*Build ID: //p') && "
		"at=usr/lib/debug/.build-id/$(echo $id | cut -c-2) && "
		"mkdir -p $at && "
		"mv common.alt $at/$(echo $id | cut -c3-).debug"));
	assert_int_equal(find_alt(&alt), 0);
	elf_debug_close(&alt);
}

static void an_alt_that_is_another_is_refused(void **state)
{
	struct elf_debug alt;

	(void)state;
	if (!built_has("dwz"))
		SKIP_BECAUSE("no dwz");
	make_alt();
	assert_true(built_run("cp y.so common.alt"));
	assert_int_equal(find_alt(&alt), -ESTALE);
	assert_true(built_run("rm common.alt"));
	assert_int_equal(find_alt(&alt), -ENOENT);
	assert_true(built_run("mkfifo common.alt"));
	assert_int_equal(find_alt(&alt), -EINVAL);
	build("gcc -g");
	assert_int_equal(find_alt(&alt), -ENODATA);
}

/* Where a section's header is in d.so, and what it says. */
static uint64_t find_section(const char *name, GElf_Shdr *shdr)
{
	struct elf_file file;
	GElf_Ehdr ehdr;
	Elf_Scn *scn = NULL;
	uint64_t at = 0;
	size_t names;

	assert_int_equal(built_open(&file, built_path("d.so")), 0);
	assert_non_null(gelf_getehdr(file.elf, &ehdr));
	assert_int_equal(elf_getshdrstrndx(file.elf, &names), 0);
	while (!at && (scn = elf_nextscn(file.elf, scn))) {
		assert_non_null(gelf_getshdr(scn, shdr));
		if (!strcmp(elf_strptr(file.elf, names, shdr->sh_name), name))
			at = ehdr.e_shoff +
			     elf_ndxscn(scn) * sizeof(Elf64_Shdr);
	}
	elf_file_close(&file);
	assert_true(at > 0);
	return at;
}

static void patch(uint64_t at, uint64_t value)
{
	int fd = open(built_path("d.so"), O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &value, sizeof(value), (off_t)at),
			 sizeof(value));
	close(fd);
}

static void what_is_claimed_is_checked_before_it_is_unpacked(void **state)
{
	struct elf_dwarf *dwarf;
	GElf_Shdr shdr;
	uint64_t at;

	(void)state;
	build("gcc -g -gz=zlib");
	(void)find_section(".debug_info", &shdr);
	assert_true(shdr.sh_flags & SHF_COMPRESSED);
	at = shdr.sh_offset + offsetof(Elf64_Chdr, ch_size);
	patch(at, 1ULL << 40);
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), -EPROTO);
	/* More than there is, but as much as there might be. */
	patch(at, shdr.sh_size * 1000);
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), -EPROTO);
	patch(at, 10);
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), -EPROTO);
	patch(shdr.sh_offset, 7);
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), -ENOTSUP);

	build("gcc -g");
	at = find_section(".debug_str", &shdr);
	patch(at + offsetof(Elf64_Shdr, sh_size), 600 << 20);
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), -EPROTO);
	assert_int_equal(truncate(built_path("d.so"), 1 << 30), 0);
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), -EFBIG);
}

/* Ask for every address that has code: linkers begin it at 0x1000. */
static void ask_all(const char *name)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	struct elf_dwarf *dwarf;

	if (open_with(&dwarf, name, NULL, false))
		return;
	for (uint64_t at = 0x1000; at < 0x1100; at++) {
		size_t n = elf_dwarf_find(dwarf, at, level);

		assert_true(n <= ELF_DWARF_LEVELS_MAX);
		for (size_t i = 0; i < n; i++) {
			/* Strings end: a reader finds out. */
			if (level[i].name)
				assert_true(strlen(level[i].name) < 1 << 20);
			if (level[i].file)
				assert_true(strlen(level[i].file) < 1 << 20);
		}
	}
	elf_dwarf_close(dwarf);
}

static void a_file_that_is_cut_or_damaged_does_no_harm(void **state)
{
	static const char *const sections[] = { ".debug_info", ".debug_abbrev",
						".debug_line",
						".debug_line_str",
						".debug_str" };
	struct stat st;

	(void)state;
	build("gcc -gdwarf-5");
	assert_int_equal(stat(built_path("d.so"), &st), 0);
	for (off_t size = st.st_size - 1; size > 64; size -= 97) {
		assert_int_equal(truncate(built_path("d.so"), size), 0);
		if (size > st.st_size / 2)
			ask_all("d.so");
	}
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		GElf_Shdr shdr;

		for (uint64_t at = 0; at < 400; at += 7) {
			if (!at)
				build("gcc -gdwarf-5");
			(void)find_section(sections[i], &shdr);
			if (at + 8 > shdr.sh_size)
				break;
			patch(shdr.sh_offset + at, at * 0x9e3779b97f4a7c15ULL);
			ask_all("d.so");
		}
	}
}

/* A function whose origin is itself, and in it 40 inlined in each other that
 * are it, too. */
static void references_in_a_ring_end(void **state)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	struct elf_dwarf *dwarf;
	FILE *file;

	(void)state;
	file = fopen(built_path("d.s"), "we");
	assert_non_null(file);
	fprintf(file,
		".text\n.globl mark\nmark: .fill 16, 1, 0x90\nend:\n"
		".section .debug_abbrev,\"\",@progbits\n"
		".byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0\n"
		".byte 2, 0x2e, 1, 0x11, 1, 0x12, 7, 0x31, 0x13, 0, 0\n"
		".byte 3, 0x1d, 1, 0x11, 1, 0x12, 7, 0x31, 0x13, 0, 0\n"
		".byte 0\n"
		".section .debug_info,\"\",@progbits\n"
		"unit: .long last - first\nfirst: .short 4\n.long 0\n.byte 8\n"
		".byte 1\n.quad mark, 16\n"
		"function: .byte 2\n.quad mark, 16\n.long function - unit\n");
	for (int i = 0; i < 40; i++)
		fprintf(file, ".byte 3\n.quad mark, 16\n"
			      ".long function - unit\n");
	fprintf(file, ".fill 44, 1, 0\nlast:\n");
	fclose(file);
	assert_true(built_run("cc -shared -nostdlib -o d.so d.s"));
	assert_int_equal(open_with(&dwarf, "d.so", NULL, false), 0);
	assert_int_equal(elf_dwarf_find(dwarf, find_mark("mark"), level),
			 ELF_DWARF_LEVELS_MAX);
	assert_null(level[0].name);
	elf_dwarf_close(dwarf);
}

#define BUILT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, built_set_up, built_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILT_TEST(inlined_functions_are_told),
		BUILT_TEST(a_debug_file_tells_the_same),
		BUILT_TEST(split_units_are_read_only_where_allowed),
		BUILT_TEST(a_linkage_name_comes_with_the_name),
		BUILT_TEST(what_dwz_moved_is_found),
		BUILT_TEST(an_alt_that_is_another_is_refused),
		BUILT_TEST(what_is_claimed_is_checked_before_it_is_unpacked),
		BUILT_TEST(a_file_that_is_cut_or_damaged_does_no_harm),
		BUILT_TEST(references_in_a_ring_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
