/* SPDX-License-Identifier: MIT */
/*
 * Names that are not in the mapped file's own tables. A library is built, its
 * names are taken away, and put where distributions put them; for each byte
 * of its code the name must be what the whole library says. Then each proof
 * and each limit is tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "collector/elf/debug.h"
#include "collector/inspect/names.h"
#include "tests/unit/skip.h"
#include "tests/unit/start_ns.h"
#include "tests/unit/t_collector_elf_built.h"

enum {
	LIBRARY_SIZE = 1 << 16 /* more than any of them has */
};

/*
 * full.so is whole, d.so has exported names only, full.debug has the rest.
 * extra is of the linker. No start-up code, for some of its symbols have no
 * size.
 */
static void build(const char *extra)
{
	char command[1024];

	built_write("d.c",
		    "static int n;\n"
		    "static __attribute__((noinline, used)) void hidden(int a) "
		    "{ n += a * 3; }\n"
		    "void shown(int a) { hidden(a); n += a; }\n"
		    "static __attribute__((noinline, used)) void second(void) "
		    "{ hidden(n); n ^= 5; }\n"
		    "void last(void) { second(); n--; }\n");
	snprintf(command, sizeof(command),
		 "cc -O1 -g -fPIC -shared -nostdlib %s -o full.so d.c && "
		 "objcopy --only-keep-debug full.so full.debug && "
		 "strip -o d.so full.so",
		 extra);
	assert_true(built_run(command));
}

/* Put packed into .gnu_debugdata of d.so. */
static void embed(const char *packed)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "objcopy --add-section .gnu_debugdata=%s d.so", packed);
	assert_true(built_run(command));
}

/* As Fedora's builds do it. */
static void make_minidebug(void)
{
	assert_true(built_run(
		"nm -D --format=posix --defined-only full.so | "
		"awk '{ print $1 }' | sort >dynamic && "
		"nm --format=posix --defined-only full.so | "
		"awk '$2 ~ /[TtD]/ { print $1 }' | sort >all && "
		"comm -13 dynamic all >keep && "
		"objcopy -S --remove-section .comment --keep-symbols=keep "
		"full.debug mini && xz -k mini"));
}

/* Put file under the build ID of full.so into the tree at built_dir. */
static void place(const char *file)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "id=$(readelf -n full.so | sed -n 's/.*Build ID: //p') && "
		 "at=usr/lib/debug/.build-id/$(echo $id | cut -c-2) && "
		 "mkdir -p $at && ln %s $at/$(echo $id | cut -c3-).debug",
		 file);
	assert_true(built_run(command));
}

static struct symbols *load(struct elf_file *file, const char *name)
{
	struct symbols *symbols;

	assert_int_equal(built_open(file, built_path(name)), 0);
	assert_int_equal(symbols_load(&symbols, file), 0);
	return symbols;
}

/* For each byte, the name in full.so is that of symbols; what .dynsym does
 * not name is of this source. */
static void expect_whole(const struct symbols *symbols, enum wire_source source)
{
	struct elf_file file;
	struct symbols *whole = load(&file, "full.so");
	int named = 0, added = 0;

	elf_file_close(&file);
	for (uint64_t at = 0; at < LIBRARY_SIZE; at++) {
		struct symbol_name want, got;
		bool is_named = symbols_find(whole, at, &want);

		assert_int_equal(symbols_find(symbols, at, &got), is_named);
		if (!is_named)
			continue;
		assert_int_equal(got.name_size, want.name_size);
		assert_memory_equal(got.name, want.name, want.name_size);
		assert_int_equal(got.start, want.start);
		assert_int_equal(got.end, want.end);
		named++;
		if (got.source != WIRE_SOURCE_DYNSYM) {
			assert_int_equal(got.source, source);
			added++;
		}
	}
	assert_true(added && named > added);
	symbols_free(whole);
}

static void expect_added(const struct elf_file *file, struct symbols *symbols,
			 struct elf_debug *debug, enum wire_source source)
{
	assert_int_equal(symbols_add(symbols, &debug->file, source), 0);
	elf_debug_close(debug);
	expect_whole(symbols, source);
	symbols_free(symbols);
	elf_file_close((struct elf_file *)file);
}

static int unpack_only(void)
{
	struct elf_debug debug;
	struct elf_file file;
	int rc;

	assert_int_equal(built_open(&file, built_path("d.so")), 0);
	rc = elf_debug_unpack(&debug, &file);
	if (!rc)
		elf_debug_close(&debug);
	elf_file_close(&file);
	return rc;
}

static int root_open(void)
{
	int root = open(built_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(root >= 0);
	return root;
}

/* Look for the debug file of d.so in built_dir, by ID or by link. */
static int find_only(bool by_id)
{
	struct elf_debug debug;
	struct elf_file file;
	int root = root_open(), rc;

	assert_int_equal(built_open(&file, built_path("d.so")), 0);
	rc = by_id ? elf_debug_find_id(&debug, &file, root)
		   : elf_debug_find_link(&debug, &file, root, "/lib/d.so",
					 NULL);
	if (!rc)
		elf_debug_close(&debug);
	elf_file_close(&file);
	close(root);
	return rc;
}

/* It is there, by ID or by link, and names all that d.so does not. */
static void expect_found(bool by_id)
{
	struct elf_debug debug;
	struct symbols *symbols;
	struct elf_file file;
	int root = root_open();

	symbols = load(&file, "d.so");
	assert_int_equal(by_id ? elf_debug_find_id(&debug, &file, root)
			       : elf_debug_find_link(&debug, &file, root,
						     "/lib/d.so", NULL),
			 0);
	close(root);
	expect_added(&file, symbols, &debug,
		     by_id ? WIRE_SOURCE_BUILD_ID : WIRE_SOURCE_DEBUGLINK);
}

static void minidebug_names_what_is_not_exported(void **state)
{
	struct elf_debug debug;
	struct symbols *symbols;
	struct elf_file file;

	(void)state;
	build("");
	make_minidebug();
	embed("mini.xz");
	symbols = load(&file, "d.so");
	assert_int_equal(elf_debug_unpack(&debug, &file), 0);
	expect_added(&file, symbols, &debug, WIRE_SOURCE_MINIDEBUG);
}

static void what_is_packed_is_bounded(void **state)
{
	static const struct {
		const char *make;
		int rc;
	} packed[] = {
		{ "head -c 64M /dev/zero | xz -1 >p", -EFBIG },
		{ "xz --lzma2=dict=256MiB -c mini >p", -EFBIG },
		{ "head -c 9M /dev/zero >p", -EFBIG },
		{ "head -c 100 mini.xz >p", -EPROTO },
		{ "echo nothing >p", -EPROTO },
		{ "head -c 300 /dev/urandom | xz >p", -ENOEXEC },
	};

	(void)state;
	build("");
	make_minidebug();
	assert_int_equal(unpack_only(), -ENOENT);
	for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++) {
		assert_true(built_run("strip -o d.so full.so"));
		assert_true(built_run(packed[i].make));
		embed("p");
		assert_int_equal(unpack_only(), packed[i].rc);
	}
}

static void a_debug_file_is_found_by_build_id(void **state)
{
	(void)state;
	build("-Wl,--build-id");
	assert_int_equal(find_only(true), -ENOENT);
	place("full.debug");
	expect_found(true);
}

/* A debug file's segments cannot serve: here they differ from the file's. */
static void text_far_from_its_file_offset_is_named(void **state)
{
	(void)state;
	build("-Wl,--build-id -Wl,-Ttext=0xab000");
	place("full.debug");
	expect_found(true);
}

static void another_build_is_refused(void **state)
{
	(void)state;
	build("-Wl,--build-id");
	assert_true(built_run("cc -shared -nostdlib -fPIC -g -DOTHER -O2 "
			      "-Wl,--build-id -o other.so d.c"));
	place("other.so");
	assert_int_equal(find_only(true), -ESTALE);
}

static void a_cut_debug_file_is_refused(void **state)
{
	(void)state;
	build("-Wl,--build-id");
	assert_true(built_run("truncate -s $(($(stat -c %s full.debug) / 2)) "
			      "full.debug"));
	place("full.debug");
	assert_int_equal(find_only(true), -ESTALE);
}

/* The sections are there, the symbols are not. */
static void symbols_that_are_cut_off_name_nothing(void **state)
{
	struct elf_debug debug;
	struct symbols *symbols;
	struct symbol_name name;
	struct elf_file file;
	int root;

	(void)state;
	build("-Wl,--build-id");
	place("full.debug");
	symbols = load(&file, "d.so");
	root = root_open();
	assert_int_equal(elf_debug_find_id(&debug, &file, root), 0);
	close(root);
	debug.file.key.size = 512;
	assert_int_equal(
		symbols_add(symbols, &debug.file, WIRE_SOURCE_BUILD_ID),
		-EPROTO);
	elf_debug_close(&debug);
	elf_file_close(&file);
	assert_false(symbols_find_by_name(symbols, "hidden", &name));
	assert_true(symbols_find_by_name(symbols, "shown", &name));
	symbols_free(symbols);
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
	(void)state;
	build("-Wl,--build-id");
	assert_true(built_run("mkfifo fifo"));
	place("fifo");
	assert_int_equal(find_only(true), -EINVAL);
}

static void links_stay_in_the_root(void **state)
{
	char command[512];

	(void)state;
	build("-Wl,--build-id");
	assert_true(built_run("mkdir real && mv full.debug real && "
			      "ln -s /real/full.debug full.debug"));
	place("full.debug");
	assert_int_equal(find_only(true), 0);
	/* The same file by its path outside. */
	snprintf(command, sizeof(command),
		 "rm -r usr full.debug && "
		 "ln -s %s/real/full.debug full.debug",
		 built_dir);
	assert_true(built_run(command));
	place("full.debug");
	assert_int_equal(find_only(true), -ENOENT);
}

static void what_the_owner_could_not_read_is_not_read(void **state)
{
	(void)state;
	if (geteuid())
		SKIP_BECAUSE("not root");
	build("-Wl,--build-id");
	place("full.debug");
	assert_true(built_run("chown 65534 d.so && chmod 600 full.debug"));
	assert_int_equal(find_only(true), -EACCES);
	assert_true(built_run("chown 65534 full.debug"));
	assert_int_equal(find_only(true), 0);
}

static void a_debug_file_is_found_by_link(void **state)
{
	static const char *const places[] = { "lib", "lib/.debug",
					      "usr/lib/debug/lib" };

	(void)state;
	build("-Wl,--build-id=none");
	assert_true(built_run("objcopy --add-gnu-debuglink=full.debug d.so"));
	assert_int_equal(find_only(false), -ENOENT);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char command[256];

		snprintf(command, sizeof(command),
			 "rm -rf lib usr && mkdir -p %s && cp full.debug %s",
			 places[i], places[i]);
		assert_true(built_run(command));
		expect_found(false);
	}
}

static void a_link_with_another_sum_is_refused(void **state)
{
	(void)state;
	build("-Wl,--build-id=none");
	assert_true(built_run("objcopy --add-gnu-debuglink=full.debug d.so && "
			      "mkdir lib && cp full.debug lib && "
			      "printf x >>lib/full.debug"));
	assert_int_equal(find_only(false), -ESTALE);
	/* Good again in the next place. */
	assert_true(built_run("mkdir lib/.debug && cp full.debug lib/.debug"));
	assert_int_equal(find_only(false), 0);
	/* A sparse file costs nobody but us. */
	assert_true(built_run("rm -r lib/.debug && "
			      "truncate -s 2G lib/full.debug"));
	assert_int_equal(find_only(false), -EFBIG);
}

/* Where both have a build ID it decides, whatever the sum. */
static void a_link_to_another_build_is_refused(void **state)
{
	(void)state;
	build("-Wl,--build-id=0x1234abcd");
	assert_true(built_run("cp d.so mine.so"));
	build("-Wl,--build-id=0x4321abcd");
	assert_true(built_run("objcopy --add-gnu-debuglink=full.debug mine.so "
			      "d.so && mkdir lib && cp full.debug lib"));
	assert_int_equal(find_only(false), -ESTALE);
}

static void a_link_that_is_no_name_is_refused(void **state)
{
	static const char *const links[] = {
		"x/full.debug\\0\\0\\0\\0\\0\\0\\0\\0", "full.debug",
		"\\0\\0\\0", ""
	};

	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		char command[256];
		int rc;

		build("-Wl,--build-id=none");
		snprintf(command, sizeof(command),
			 "printf '%s' >link && mkdir -p lib/x && "
			 "objcopy --add-section .gnu_debuglink=link d.so",
			 links[i]);
		assert_true(built_run(command));
		rc = find_only(false);
		assert_int_equal(rc, -EPROTO);
	}
}

/* ---- the operation, for a process that has built_dir for its root */

static pid_t start_in_root(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (chroot(built_dir) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* Who named the function name of full.so, asked of path; WIRE_SOURCE_COUNT:
 * nobody. */
static enum wire_source ask(pid_t pid, const char *path, const char *name)
{
	struct wire_request head = { .n_offsets = 1 };
	struct reply reply = { 0 };
	struct symbol_name where;
	struct wire_name *answer;
	struct elf_file file;
	struct symbols *whole = load(&file, "full.so");
	struct request request = { .head = &head, .path = path };
	enum wire_source source = WIRE_SOURCE_COUNT;

	assert_true(symbols_find_by_name(whole, name, &where));
	head.build_id_size = elf_file_build_id(&file, head.build_id);
	assert_true(head.build_id_size);
	elf_file_close(&file);
	request.offsets = &where.start;
	if (pid) {
		head.process.pid = (uint32_t)pid;
		head.process.start_ns = start_ns(pid);
	}
	assert_int_equal(inspect_op_names(&request, &reply), INSPECT_OK);
	assert_int_equal(reply.n, 1);
	answer = (struct wire_name *)reply.items;
	if (answer->name != WIRE_NO_STRING) {
		assert_string_equal(reply.strings + answer->name, name);
		source = (enum wire_source)answer->source;
	}
	symbols_free(whole);
	free(reply.items);
	free(reply.strings);
	return source;
}

static void each_source_gives_what_those_before_lack(void **state)
{
	pid_t pid;

	(void)state;
	if (geteuid())
		SKIP_BECAUSE("not root");
	inspect_drop_kept();
	build("-Wl,--build-id");
	make_minidebug();
	assert_true(built_run("mkdir lib && cp full.so d.so lib && "
			      "cp d.so lib/bare.so && "
			      "objcopy --add-section .gnu_debugdata=mini.xz "
			      "d.so lib/mini.so && "
			      "echo second >one && objcopy -S "
			      "--keep-symbols=one full.debug part && "
			      "xz part && "
			      "objcopy --add-section .gnu_debugdata=part.xz "
			      "d.so lib/part.so"));
	pid = start_in_root();
	/* Before there is a debug file. */
	assert_int_equal(ask(pid, "/lib/bare.so", "shown"), WIRE_SOURCE_DYNSYM);
	assert_int_equal(ask(pid, "/lib/bare.so", "hidden"), WIRE_SOURCE_COUNT);
	place("full.debug");
	assert_int_equal(ask(pid, "/lib/full.so", "hidden"),
			 WIRE_SOURCE_SYMTAB);
	assert_int_equal(ask(pid, "/lib/mini.so", "hidden"),
			 WIRE_SOURCE_MINIDEBUG);
	assert_int_equal(ask(pid, "/lib/part.so", "second"),
			 WIRE_SOURCE_MINIDEBUG);
	assert_int_equal(ask(pid, "/lib/part.so", "hidden"),
			 WIRE_SOURCE_BUILD_ID);
	assert_int_equal(ask(pid, "/lib/d.so", "hidden"), WIRE_SOURCE_BUILD_ID);
	assert_int_equal(ask(pid, "/lib/d.so", "shown"), WIRE_SOURCE_DYNSYM);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void after_the_process_s_root_comes_ours(void **state)
{
	char path[256];

	(void)state;
	inspect_drop_kept();
	build("-Wl,--build-id");
	assert_true(built_run("objcopy --add-gnu-debuglink=full.debug d.so"));
	snprintf(path, sizeof(path), "%s", built_path("d.so"));
	/* pid 0: nobody. */
	assert_int_equal(ask(0, path, "hidden"), WIRE_SOURCE_DEBUGLINK);
}

#define BUILT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, built_set_up, built_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILT_TEST(minidebug_names_what_is_not_exported),
		BUILT_TEST(what_is_packed_is_bounded),
		BUILT_TEST(a_debug_file_is_found_by_build_id),
		BUILT_TEST(text_far_from_its_file_offset_is_named),
		BUILT_TEST(another_build_is_refused),
		BUILT_TEST(a_cut_debug_file_is_refused),
		BUILT_TEST(symbols_that_are_cut_off_name_nothing),
		BUILT_TEST(what_is_no_regular_file_is_not_opened),
		BUILT_TEST(links_stay_in_the_root),
		BUILT_TEST(what_the_owner_could_not_read_is_not_read),
		BUILT_TEST(a_debug_file_is_found_by_link),
		BUILT_TEST(a_link_with_another_sum_is_refused),
		BUILT_TEST(a_link_to_another_build_is_refused),
		BUILT_TEST(a_link_that_is_no_name_is_refused),
		BUILT_TEST(each_source_gives_what_those_before_lack),
		BUILT_TEST(after_the_process_s_root_comes_ours),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
