/* SPDX-License-Identifier: MIT */
/*
 * Symbols of files built in every way that changes where code lies. The
 * program prints, for 100 functions of its own, the address of each; the
 * address becomes a file offset by its mappings, as for a sample, and the
 * symbols must give the name back.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/elf/symbols.h"
#include "tests/unit/skip.h"
#include "tests/unit/t_collector_elf_built.h"

enum {
	FUNCTIONS = 100
};

/* Writes probe.c: 100 functions f_00 ... f_99 of differing size, and a main
 * that prints "file-offset name" for each by way of its own maps. */
static void write_probe(void)
{
	FILE *file = fopen(built_path("probe.c"), "we");

	assert_non_null(file);
	fprintf(file, "#include <stdint.h>\n#include <stdio.h>\n"
		      "volatile int sink;\n");
	for (int i = 0; i < FUNCTIONS; i++) {
		fprintf(file,
			"__attribute__((noinline, noclone)) %s f_%02d("
			"void) {",
			i % 3 ? "void" : "static void", i);
		for (int k = 0; k <= i % 7; k++)
			fprintf(file, " sink += %d;", i * 8 + k);
		fprintf(file, " }\n");
	}
	fprintf(file, "static void (*const all[])(void) = {");
	for (int i = 0; i < FUNCTIONS; i++)
		fprintf(file, " f_%02d,", i);
	fprintf(file,
		" };\n"
		"static void show(int i)\n{\n"
		"\tuintptr_t a = (uintptr_t)all[i], s, e, o;\n"
		"\tchar line[4096];\n"
		"\tFILE *maps = fopen(\"/proc/self/maps\", \"r\");\n"
		"\twhile (fgets(line, sizeof(line), maps))\n"
		"\t\tif (sscanf(line, \"%%lx-%%lx %%*s %%lx\", &s, &e, &o) == 3\n"
		"\t\t    && a >= s && a < e)\n"
		"\t\t\tprintf(\"%%lx f_%%02d\\n\", a - s + o, i);\n"
		"\tfclose(maps);\n}\n"
		"void run(void)\n{\n"
		"\tfor (int i = 0; i < %d; i++) { all[i](); show(i); }\n}\n"
		"#ifndef NO_MAIN\n"
		"int main(void) { run(); return 0; }\n"
		"#endif\n",
		FUNCTIONS);
	fclose(file);
}

/* Check file against what the program wrote into "out". */
static void expect_names(const char *name)
{
	struct symbols *symbols;
	struct elf_file file;
	uint64_t offset;
	char want[32];
	int right = 0;
	FILE *out = fopen(built_path("out"), "re");

	assert_non_null(out);
	assert_int_equal(built_open(&file, built_path(name)), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	elf_file_close(&file);
	while (fscanf(out, "%" SCNx64 " %31s", &offset, want) == 2) {
		struct symbol_name found;

		assert_true(symbols_find(symbols, offset, &found));
		assert_int_equal(found.name_size, strlen(want));
		assert_memory_equal(found.name, want, found.name_size);
		assert_int_equal(found.start, offset);
		/* Also within, and not past the end. */
		assert_true(symbols_find(symbols, found.end - 1, &found));
		assert_int_equal(found.start, offset);
		right++;
	}
	assert_int_equal(right, FUNCTIONS);
	fclose(out);
	symbols_free(symbols);
}

static void try_variant(const char *flags)
{
	char command[512];

	write_probe();
	snprintf(command, sizeof(command),
		 "cc -O1 -w -o probe %s probe.c "
		 "&& ./probe >out",
		 flags);
	if (!built_run(command)) {
		SKIP_BECAUSE(flags);
	}
	expect_names("probe");
}

static void a_position_independent_program_is_named(void **state)
{
	(void)state;
	try_variant("-fPIE -pie");
}

static void a_program_at_a_fixed_address_is_named(void **state)
{
	(void)state;
	try_variant("-fno-pie -no-pie");
}

static void a_static_program_is_named(void **state)
{
	(void)state;
	try_variant("-static");
}

static void a_static_position_independent_program_is_named(void **state)
{
	(void)state;
	try_variant("-static-pie -fPIE");
}

static void text_far_from_its_file_offset_is_named(void **state)
{
	(void)state;
	try_variant("-fno-pie -no-pie -Wl,-Ttext=0xab000");
}

static void segments_as_lld_lays_them_out_are_named(void **state)
{
	(void)state;
	try_variant("-fuse-ld=lld");
}

static void segments_as_lld_separates_them_are_named(void **state)
{
	(void)state;
	try_variant("-fuse-ld=lld -Wl,-z,separate-code");
}

static void code_and_headers_in_one_segment_are_named(void **state)
{
	(void)state;
	try_variant("-Wl,-z,noseparate-code");
}

static void a_shared_library_is_named(void **state)
{
	(void)state;
	write_probe();
	built_write("use.c", "void run(void); int main(void) { run(); "
			     "return 0; }\n");
	assert_true(built_run("cc -O1 -w -DNO_MAIN -fPIC -shared -o libp.so "
			      "probe.c && cc -o use use.c ./libp.so && "
			      "./use >out"));
	expect_names("libp.so");
}

/* Where name is defined, asked of the unstripped file; 0 if nowhere. */
static uint64_t offset_of(const char *file_name, const char *name)
{
	struct symbol_name found = { 0 };
	struct symbols *symbols;
	struct elf_file file;

	assert_int_equal(built_open(&file, built_path(file_name)), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	elf_file_close(&file);
	if (!symbols_find_by_name(symbols, name, &found))
		found.start = 0;
	symbols_free(symbols);
	return found.start;
}

/* The name for an offset, "" for none. */
static const char *name_at(const char *file_name, uint64_t offset)
{
	static char name[64];
	struct symbol_name found;
	struct symbols *symbols;
	struct elf_file file;

	assert_int_equal(built_open(&file, built_path(file_name)), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	elf_file_close(&file);
	name[0] = '\0';
	if (symbols_find(symbols, offset, &found))
		snprintf(name, sizeof(name), "%.*s", (int)found.name_size,
			 found.name);
	symbols_free(symbols);
	return name;
}

static void a_stripped_function_is_not_its_neighbour(void **state)
{
	uint64_t bar, foo;

	(void)state;
	built_write("l.c", "int foo(int a) { return a * 3; }\n"
			   "static __attribute__((noinline, used)) int bar("
			   "int a) { return a * 5 + 1; }\n"
			   "int baz(int a) { return bar(a) + a; }\n");
	assert_true(built_run("cc -O1 -fno-toplevel-reorder -fPIC -shared "
			      "-o l.so l.c && cp l.so full.so && "
			      "strip l.so"));
	bar = offset_of("full.so", "bar");
	foo = offset_of("full.so", "foo");
	assert_true(bar && foo);
	assert_string_equal(name_at("full.so", bar), "bar");
	assert_string_equal(name_at("l.so", bar), "");
	assert_string_equal(name_at("l.so", foo), "foo");
}

static void a_call_that_does_not_return_belongs_to_its_caller(void **state)
{
	struct symbol_name found;
	struct symbols *symbols;
	struct elf_file file;

	(void)state;
	built_write("n.c", "__attribute__((noreturn, noinline)) void spin("
			   "void) { for (;;) ; }\n"
			   "__attribute__((noinline)) void caller(void) { "
			   "spin(); }\n"
			   "__attribute__((noinline)) void neighbour(void) "
			   "{ __asm__(\"\"); }\n"
			   "int main(void) { caller(); neighbour(); }\n");
	assert_true(built_run("cc -O1 -falign-functions=1 "
			      "-fno-toplevel-reorder -o n n.c"));
	assert_int_equal(built_open(&file, built_path("n")), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	elf_file_close(&file);
	assert_true(symbols_find_by_name(symbols, "caller", &found));
	/* The return address is the end; the caller asks for one less. */
	assert_true(symbols_find(symbols, found.end - 1, &found));
	assert_memory_equal(found.name, "caller", 6);
	symbols_free(symbols);
}

static void symbols_without_a_size_end_at_the_next(void **state)
{
	uint64_t raw, last;

	(void)state;
	built_write("s.s", ".text\n.globl main, raw, sized, last\n"
			   ".type main,@function\n.type raw,@function\n"
			   ".type sized,@function\n.type last,@function\n"
			   "main: ret\n.size main,.-main\n"
			   "raw: nop\nnop\nnop\nret\n"
			   "sized: ret\n.size sized,.-sized\nnop\nnop\n"
			   ".section .text.other,\"ax\",@progbits\n"
			   "last: nop\nret\n");
	assert_true(built_run("cc -o s s.s -no-pie && cc -shared -o s.so s.s "
			      "&& strip s.so"));
	raw = offset_of("s", "raw");
	assert_string_equal(name_at("s", raw + 3), "raw");
	assert_string_equal(name_at("s", raw + 4), "sized");
	assert_string_equal(name_at("s", raw + 5), "");
	last = offset_of("s.so", "raw");
	/* .dynsym leaves out too much to reach from one to the next. */
	assert_string_equal(name_at("s.so", last), "raw");
	assert_string_equal(name_at("s.so", last + 1), "");
}

/* Build a library of one function, of 2 bytes, that has these symbols at its
 * start ("binding name size", in this order), and name it. */
static const char *name_among(const char *const *symbols)
{
	char text[2048] = ".text\n", anchor[32];
	size_t at = strlen(text);

	for (size_t i = 0; symbols[i]; i++) {
		char binding[16], name[32];
		int size;

		assert_int_equal(sscanf(symbols[i], "%15s %31s %d", binding,
					name, &size),
				 3);
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       ".%s %s\n.type %s,@function\n"
				       ".size %s,%d\n%s:\n",
				       binding, name, name, name, size, name);
		snprintf(anchor, sizeof(anchor), "%s", name);
	}
	snprintf(text + at, sizeof(text) - at, "nop\nret\n");
	built_write("a.s", text);
	assert_true(built_run("as -o a.o a.s && cc -shared -nostdlib -o a.so "
			      "a.o"));
	return name_at("a.so", offset_of("a.so", anchor));
}

#define NAME_AMONG(...) name_among((const char *const[]){ __VA_ARGS__, NULL })

static void of_several_names_the_choice_is_fixed(void **state)
{
	(void)state;
	/* What has a size before what has none. */
	assert_string_equal(NAME_AMONG("globl a 0", "local b 2"), "b");
	/* Global, weak, local. */
	assert_string_equal(NAME_AMONG("local a 2", "weak b 2", "globl c 2"),
			    "c");
	assert_string_equal(NAME_AMONG("local a 2", "weak b 2"), "b");
	/* As glibc names one: its own names come last, then underscores. */
	assert_string_equal(NAME_AMONG("local __GI_clone3 2",
				       "local ____clone3 2", "local __clone3 2",
				       "local clone3 2"),
			    "clone3");
	assert_string_equal(
		NAME_AMONG("local __GI_write 2", "local ____write 2"),
		"____write");
	/* The longest, then the first by name. */
	assert_string_equal(NAME_AMONG("globl a 1", "globl b 2"), "b");
	assert_string_equal(NAME_AMONG("local z 2", "local b 2"), "b");
}

/* Names do not depend on where a table has them. */
static void the_order_of_symbols_changes_no_name(void **state)
{
	(void)state;
	assert_string_equal(NAME_AMONG("globl b 2", "weak a 2", "local c 2",
				       "globl z 2", "globl _b 2"),
			    "b");
	assert_string_equal(NAME_AMONG("globl _b 2", "globl z 2", "local c 2",
				       "weak a 2", "globl b 2"),
			    "b");
}

static void labels_without_a_type_name_nothing(void **state)
{
	uint64_t f, g;

	(void)state;
	/* $x and $d are mapping symbols on other machines. */
	built_write("m.s", ".text\n.globl f, g\n.type f,@function\n"
			   "f: nop\n$d: nop\nlabel: nop\n$x: ret\n"
			   ".size f,.-f\nafter: nop\n.type g,@function\n"
			   "g: ret\n.size g,1\n");
	assert_true(built_run("as -o m.o m.s && cc -shared -nostdlib -o m.so "
			      "m.o"));
	f = offset_of("m.so", "f");
	g = offset_of("m.so", "g");
	assert_int_equal(g, f + 5);
	for (uint64_t at = f; at < f + 4; at++)
		assert_string_equal(name_at("m.so", at), "f");
	assert_string_equal(name_at("m.so", f + 4), "");
}

static void an_ifunc_is_its_resolver(void **state)
{
	(void)state;
	built_write("i.c", "static int slow(void) { return 1; }\n"
			   "static int (*pick(void))(void) { return slow; }\n"
			   "int chosen(void) __attribute__((ifunc(\"pick\")"
			   "));\n");
	assert_true(built_run("cc -O0 -fPIC -shared -o i.so i.c"));
	/* Two names of one place: the exported one. */
	assert_string_equal(name_at("i.so", offset_of("i.so", "pick")),
			    "chosen");
	assert_string_equal(name_at("i.so", offset_of("i.so", "slow")), "slow");
}

static void parts_of_a_function_are_told_apart(void **state)
{
	uint64_t f, cold, part;

	(void)state;
	/* f.cold within f, as some linkers put it; f.part.0 after it. */
	built_write("p.s", ".text\n.globl f\n.type f,@function\n"
			   ".type f.cold,@function\n"
			   ".type f.part.0,@function\n"
			   "f: nop\nf.cold: nop\nnop\n.size f.cold,2\n"
			   "nop\n.size f,.-f\n"
			   "f.part.0: ret\n.size f.part.0,1\n");
	assert_true(built_run("as -o p.o p.s && cc -shared -nostdlib -o p.so "
			      "p.o"));
	f = offset_of("p.so", "f");
	cold = offset_of("p.so", "f.cold");
	part = offset_of("p.so", "f.part.0");
	assert_int_equal(cold, f + 1);
	assert_string_equal(name_at("p.so", f), "f");
	assert_string_equal(name_at("p.so", cold + 1), "f.cold");
	assert_string_equal(name_at("p.so", cold + 2), "f");
	assert_string_equal(name_at("p.so", part), "f.part.0");
}

static void each_segment_has_its_own_distance(void **state)
{
	(void)state;
	built_write("two.s", ".text\n.globl near, _start\n"
			     ".type near,@function\n_start:\nnear: ret\n"
			     ".size near,1\n"
			     ".section away,\"ax\",@progbits\n.globl far\n"
			     ".type far,@function\nfar: nop\nret\n"
			     ".size far,2\n");
	built_write("two.ld", "PHDRS { a PT_LOAD; b PT_LOAD; }\nSECTIONS {\n"
			      ". = 0xab000; .text : { *(.text) } :a\n"
			      ". = 0x7fff123; away : { *(away) } :b\n}\n");
	assert_true(built_run("as -o two.o two.s && ld -T two.ld -o two "
			      "two.o"));
	assert_int_not_equal(offset_of("two", "far"), 0);
	assert_string_equal(name_at("two", offset_of("two", "near")), "near");
	assert_string_equal(name_at("two", offset_of("two", "far") + 1), "far");
	assert_string_equal(name_at("two", offset_of("two", "far") + 2), "");
}

static void versions_are_left_out(void **state)
{
	(void)state;
	built_write("v.c", "__asm__(\".symver old_f,f@V1\");\n"
			   "__asm__(\".symver new_g,g@@V1\");\n"
			   "void old_f(void) { __asm__(\"nop\"); }\n"
			   "void new_g(void) { __asm__(\"nop\"); }\n");
	built_write("v.map", "V1 { global: f; g; };\n");
	assert_true(built_run("cc -shared -fPIC -Wl,--version-script=v.map "
			      "-o v.so v.c"));
	/* In .symtab they are f@V1 and g@@V1, beside old_f and new_g. */
	assert_string_equal(name_at("v.so", offset_of("v.so", "old_f")), "f");
	assert_string_equal(name_at("v.so", offset_of("v.so", "new_g")), "g");
}

static void files_for_other_machines_are_refused_by_class(void **state)
{
	/* 32 bits, the other byte order, both, another machine. */
	static const char *const names[] = { "e32.o", "big.o", "big32.o",
					     "arm.o" };
	struct symbols *symbols;
	struct elf_file file;

	(void)state;
	built_write("e.c", "int f(void) { return 1; }\n");
	assert_true(built_run(
		"spoil() { printf \"$3\" | dd of=$1 bs=1 seek=$2 "
		"conv=notrunc; }; cc -c -o e.o e.c && "
		"for to in e32.o big.o big32.o arm.o; do cp e.o $to; done && "
		"spoil e32.o 4 '\\001' && spoil big.o 5 '\\002' && "
		"spoil big32.o 4 '\\001\\002' && spoil arm.o 18 '\\050'"));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(built_open(&file, built_path(names[i])), 0);
		assert_int_equal(symbols_load(&symbols, &file), -ENOEXEC);
		elf_file_close(&file);
	}
}

/* A name of 5 MB, in a table of symbols that is otherwise good. */
static void a_giant_name_is_found_and_bounded(void **state)
{
	enum {
		NAME_SIZE = 5 << 20
	};
	struct symbol_name found;
	struct symbols *symbols;
	struct elf_file file;
	FILE *out;

	(void)state;
	out = fopen(built_path("giant.s"), "we");
	assert_non_null(out);
	fprintf(out, ".text\n.globl f\n.type f,@function\n.set f,giant\n"
		     ".type giant,@function\n.set giant,_Z");
	for (int i = 0; i < NAME_SIZE; i++)
		fputc('N', out);
	fprintf(out, "\n_Z");
	for (int i = 0; i < NAME_SIZE; i++)
		fputc('N', out);
	fprintf(out, ": nop\nret\n.type _Z");
	for (int i = 0; i < NAME_SIZE; i++)
		fputc('N', out);
	fprintf(out, ",@function\n");
	assert_int_equal(fclose(out), 0);
	assert_true(built_run("as -o giant.o giant.s && ld -shared -o giant.so "
			      "giant.o"));
	assert_int_equal(built_open(&file, built_path("giant.so")), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	elf_file_close(&file);
	assert_true(symbols_find_by_name(symbols, "f", &found));
	assert_true(symbols_find(symbols, found.start, &found));
	assert_int_equal(found.name_size, 1);
	assert_true(symbols_bytes(symbols) > NAME_SIZE);
	symbols_free(symbols);
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
	struct elf_file file;

	(void)state;
	assert_true(built_run("mkfifo fifo"));
	assert_int_equal(built_open(&file, built_path("fifo")), -EINVAL);
	assert_int_equal(built_open(&file, built_dir), -EINVAL);
	assert_int_equal(built_open(&file, "/dev/null"), -EINVAL);
	built_write("text", "no program\n");
	assert_int_equal(built_open(&file, built_path("text")), -ENOEXEC);
}

#define BUILT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, built_set_up, built_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILT_TEST(a_position_independent_program_is_named),
		BUILT_TEST(a_program_at_a_fixed_address_is_named),
		BUILT_TEST(a_static_program_is_named),
		BUILT_TEST(a_static_position_independent_program_is_named),
		BUILT_TEST(text_far_from_its_file_offset_is_named),
		BUILT_TEST(segments_as_lld_lays_them_out_are_named),
		BUILT_TEST(segments_as_lld_separates_them_are_named),
		BUILT_TEST(code_and_headers_in_one_segment_are_named),
		BUILT_TEST(a_shared_library_is_named),
		BUILT_TEST(a_stripped_function_is_not_its_neighbour),
		BUILT_TEST(a_call_that_does_not_return_belongs_to_its_caller),
		BUILT_TEST(symbols_without_a_size_end_at_the_next),
		BUILT_TEST(of_several_names_the_choice_is_fixed),
		BUILT_TEST(the_order_of_symbols_changes_no_name),
		BUILT_TEST(labels_without_a_type_name_nothing),
		BUILT_TEST(an_ifunc_is_its_resolver),
		BUILT_TEST(parts_of_a_function_are_told_apart),
		BUILT_TEST(each_segment_has_its_own_distance),
		BUILT_TEST(versions_are_left_out),
		BUILT_TEST(files_for_other_machines_are_refused_by_class),
		BUILT_TEST(a_giant_name_is_found_and_bounded),
		BUILT_TEST(what_is_no_regular_file_is_not_opened),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
