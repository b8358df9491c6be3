/* SPDX-License-Identifier: MIT */
/*
 * Which builds of a program with the publisher readers can see: by symbol, as
 * every reader does, or only by what the program says of itself. Each is
 * built, run, and asked about as the recorder asks; where the answer leads
 * there must be the record of the program's thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "collector/context/tls.h"
#include "collector/inspect/ops.h"
#include "tests/unit/skip.h"
#include "tests/unit/start_ns.h"
#include "tests/unit/t_collector_context.h"
#include "tests/unit/t_collector_elf_built.h"

#define EXPORT "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1"

static const uint8_t trace[16] = { 0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3,
				   0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d,
				   0x0e, 0x0e, 0x47, 0x36 };

/* Says where its thread pointer is once it has a context, and waits. */
static const char program[] =
	"#include <stdio.h>\n"
	"#include \"otel-thread-ctx.h\"\n"
	"int main(void)\n"
	"{\n"
	"	unsigned long pointer;\n"
	"	if (otc_init(\"built\") || otc_set_hex(\n"
	"		\"4bf92f3577b34da6a3ce929d0e0e4736\",\n"
	"		\"00f067aa0ba902b7\", 1))\n"
	"		return 1;\n"
	"#if defined(__x86_64__)\n"
	"	__asm__(\"mov %%fs:0, %0\" : \"=r\"(pointer));\n"
	"#else\n"
	"	__asm__(\"mrs %0, tpidr_el0\" : \"=r\"(pointer));\n"
	"#endif\n"
	"	printf(\"%lx\\n\", pointer);\n"
	"	fflush(stdout);\n"
	"	getchar();\n"
	"	return 0;\n"
	"}\n";

static int set_up(void **state)
{
	int rc = built_set_up(state);

	built_write("main.c", program);
	built_write("list", "{ otel_thread_ctx_v1; };\n");
	return rc;
}

/* In the directory of the test, where $P is the publisher's. */
static bool build(const char *command)
{
	char line[2048], here[1024];

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(line, sizeof(line), "P='%s/tools/publisher'; %s", here,
		 command);
	return built_run(line);
}

static pid_t start(int *input, uint64_t *pointer)
{
	int to[2], from[2];
	char line[64] = "";
	pid_t pid;
	FILE *out;

	assert_int_equal(pipe(to) | pipe(from), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		execl(built_path("p"), "p", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*input = to[1];
	out = fdopen(from[0], "r");
	assert_non_null(out);
	assert_non_null(fgets(line, sizeof(line), out));
	*pointer = strtoull(line, NULL, 16);
	fclose(out);
	return pid;
}

/* As the recorder asks: by symbol, or by what the program says of itself. */
static void ask(pid_t pid, uint64_t pointer, struct weft_context_entry *entry,
		enum inspect_context_state *by_symbol)
{
	struct wire_request head = { .process = { .pid = (uint32_t)pid },
				     .n_offsets = 1 };
	const struct request request = { .head = &head,
					 .offsets = &pointer,
					 .path = "" };
	static struct modules modules;
	const struct wire_record *record;
	struct procfs proc = open_process(pid);
	struct reply reply = { 0 };

	assert_int_equal(modules_read(&modules, &proc), 0);
	context_find_slots(&proc, &modules, CONTEXT_VARIABLE, entry, by_symbol);
	procfs_close(&proc);
	head.process.start_ns = start_ns(pid);
	assert_int_equal(inspect_op_records(&request, &reply), INSPECT_OK);
	assert_int_equal(reply.own.context.state, INSPECT_CONTEXT_FOUND);
	assert_string_equal(reply.strings + reply.own.context.service, "built");
	*entry = reply.own.context.entry;
	assert_int_equal(reply.n, 1);
	record = (const void *)reply.items;
	assert_int_equal(record->status, WEFT_CTX_OK);
	assert_memory_equal(record->trace_id, trace, sizeof(trace));
	free(reply.strings);
	free(reply.items);
}

/* flags: of compiler and linker; then: a command for what was built. */
static void check(const char *name, const char *command,
		  enum inspect_context_state want)
{
	enum inspect_context_state by_symbol;
	struct weft_context_entry entry;
	uint64_t pointer, record;
	uint8_t read[16];
	int input, status;
	pid_t pid;

	if (!build(command)) {
		print_message("# skipped %s: cannot be built here\n", name);
		return;
	}
	pid = start(&input, &pointer);
	ask(pid, pointer, &entry, &by_symbol);
	if (by_symbol != want)
		fail_msg("%s: by symbol %d, not %d", name, by_symbol, want);
	assert_true(read_word(pid, find_slot(pid, &entry, pointer), &record));
	assert_true(read_memory(pid, record, read, sizeof(read)));
	assert_memory_equal(read, trace, sizeof(trace));
	close(input);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

struct row {
	const char *flags;
	const char *name; /* NULL: flags */
	enum inspect_context_state stripped, unstripped;
};

#define SEEN   INSPECT_CONTEXT_FOUND
#define UNSEEN INSPECT_CONTEXT_NO_SYMBOL

static const struct row rows[] = {
	{ EXPORT, NULL, SEEN, SEEN },
	{ EXPORT " -fno-pie -no-pie", NULL, SEEN, SEEN },
	{ EXPORT " -flto", NULL, SEEN, SEEN },
	{ EXPORT " -ffunction-sections -fdata-sections -Wl,--gc-sections", NULL,
	  SEEN, SEEN },
	{ EXPORT " -fvisibility=hidden", NULL, SEEN, SEEN },
	{ EXPORT " -fuse-ld=lld", NULL, SEEN, SEEN },
	{ "-rdynamic", NULL, SEEN, SEEN },
	{ "-Wl,--dynamic-list=list", NULL, SEEN, SEEN },
	{ "", "no flag", UNSEEN, SEEN },
	{ EXPORT " -static-pie -fPIE", NULL, SEEN, SEEN },
	{ EXPORT " -static-pie -fPIE -fuse-ld=lld", NULL, SEEN, SEEN },
	{ "-rdynamic -static-pie -fPIE", NULL, UNSEEN, SEEN },
	{ EXPORT " -static", NULL, UNSEEN, SEEN },
	{ EXPORT " -static -fuse-ld=lld", NULL, UNSEEN, SEEN },
};

static void a_program_is_seen_by_its_symbol_or_by_what_it_says(void **state)
{
	char command[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];

		snprintf(command, sizeof(command),
			 "rm -f p; cc -O2 -I$P %s main.c $P/*.c -o p",
			 row->flags);
		check(row->name ? row->name : row->flags, command,
		      row->unstripped);
		check(row->name ? row->name : row->flags, "strip p",
		      row->stripped);
	}
}

static void a_library_is_seen_with_either_dialect(void **state)
{
	static const char *const dialects[] = { "gnu", "gnu2" };
	char command[512];

	(void)state;
#if !defined(__x86_64__)
	SKIP_BECAUSE("the dialects are those of x86-64");
#endif
	for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
		snprintf(command, sizeof(command),
			 "cc -O2 -I$P -fPIC -shared -s -mtls-dialect=%s "
			 "$P/*.c -o libp.so && cc -O2 -I$P main.c -s -o p -L. "
			 "-lp -Wl,-rpath,'$ORIGIN'",
			 dialects[i]);
		check(dialects[i], command, SEEN);
	}
}

static void cplusplus_and_clang_make_the_same_of_it(void **state)
{
	(void)state;
	check("C++11",
	      "c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -O2 -I$P "
	      "-x c++ main.c $P/*.c -x none -o p " EXPORT " && strip p",
	      SEEN);
	check("clang",
	      "clang -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 -I$P "
	      "main.c $P/*.c -o p " EXPORT " && strip p",
	      SEEN);
	check("clang, C++11",
	      "clang++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -O2 -I$P "
	      "-x c++ main.c $P/*.c -o p " EXPORT " && strip p",
	      SEEN);
}

static void musl_programs_are_seen_too(void **state)
{
	(void)state;
	check("musl",
	      "musl-gcc -O2 -I$P main.c $P/*.c -o p " EXPORT " && strip p",
	      SEEN);
	check("musl, static",
	      "musl-gcc -static -O2 -I$P main.c $P/*.c -o p && strip p",
	      UNSEEN);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, built_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_program_is_seen_by_its_symbol_or_by_what_it_says),
		TEST(a_library_is_seen_with_either_dialect),
		TEST(cplusplus_and_clang_make_the_same_of_it),
		TEST(musl_programs_are_seen_too),
	};

	alarm(300); /* a watchdog, not a measure */
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
