/* SPDX-License-Identifier: MIT */
/*
 * Trace context: the parts by themselves, then programs built in each way
 * that changes where the variable is. These say where each thread's variable
 * lies; walking from the thread pointer as the kernel program does must end
 * there.
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

#include "collector/context/process.h"
#include "collector/context/tls.h"
#include "collector/inspect/ops.h"
#include "tests/unit/skip.h"
#include "tests/unit/start_ns.h"
#include "tests/unit/t_collector_context.h"
#include "tests/unit/t_collector_elf_built.h"

/* ---- header and payload */

static void put_header(uint8_t out[CONTEXT_HEADER_SIZE], uint32_t version,
		       uint32_t size)
{
	memset(out, 0, CONTEXT_HEADER_SIZE);
	memcpy(out, "OTEL_CTX", 8);
	memcpy(out + 8, &version, 4);
	memcpy(out + 12, &size, 4);
}

static void headers_of_other_versions_or_sizes_are_refused(void **state)
{
	uint8_t bytes[CONTEXT_HEADER_SIZE];
	struct context_header header;

	(void)state;
	put_header(bytes, 2, 10);
	assert_true(context_parse_header(bytes, &header));
	put_header(bytes, 2, 65536);
	assert_true(context_parse_header(bytes, &header));
	put_header(bytes, 1, 10);
	assert_false(context_parse_header(bytes, &header));
	put_header(bytes, 2, 0);
	assert_false(context_parse_header(bytes, &header));
	put_header(bytes, 2, 65537);
	assert_false(context_parse_header(bytes, &header));
	put_header(bytes, 2, 10);
	bytes[0] = 'o';
	assert_false(context_parse_header(bytes, &header));
}

/* Append a length-delimited field; everything here is shorter than 128. */
static size_t put(uint8_t *out, int field, const void *data, size_t size)
{
	out[0] = (uint8_t)(field << 3 | 2);
	out[1] = (uint8_t)size;
	memcpy(out + 2, data, size);
	return size + 2;
}

static size_t put_pair(uint8_t *out, int field, const char *key,
		       const char *value)
{
	uint8_t any[128], pair[128];
	size_t n = put(pair, 1, key, strlen(key));

	n += put(pair + n, 2, any, put(any, 1, value, strlen(value)));
	return put(out, field, pair, n);
}

static void expect(const uint8_t *payload, size_t size,
		   enum inspect_context_state want, const char *service)
{
	struct process_context context = { 0 };
	uint8_t *copy = malloc(size + 1);

	assert_non_null(copy);
	memcpy(copy, payload, size);
	context_decode(copy, size, &context);
	assert_int_equal(context.state, want);
	assert_string_equal(context.service, service);
	free(copy);
}

static const char schema_key[] = "threadlocal.schema_version";

static void the_schema_and_the_service_are_found(void **state)
{
	static const char *const known[] = { "tls_v1", "tlsdesc_v1_dev",
					     "tlsdesc_v1", "tls_v1_dev" };
	uint8_t out[512], resource[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		size_t n = put(out, 1, resource,
			       put_pair(resource, 1, "service.name", "shop"));

		n += put_pair(out + n, 2, schema_key, known[i]);
		expect(out, n, INSPECT_CONTEXT_FOUND, "shop");
	}
}

static void early_writers_schema_in_the_resource_is_found(void **state)
{
	uint8_t out[512], resource[256];
	size_t n = put_pair(resource, 1, schema_key, "tls_v1");

	(void)state;
	expect(out, put(out, 1, resource, n), INSPECT_CONTEXT_FOUND, "");
}

static void the_first_of_two_equal_keys_wins(void **state)
{
	uint8_t out[512];
	size_t n = put_pair(out, 2, schema_key, "tls_v1");

	(void)state;
	n += put_pair(out + n, 2, schema_key, "other");
	expect(out, n, INSPECT_CONTEXT_FOUND, "");
}

static void other_schemas_are_named_unknown(void **state)
{
	static const char *const other[] = { "nodejs_v1", "nodejs_v1_dev",
					     "go_pprof_labels_v1", "tls_v2",
					     "" };
	uint8_t out[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		expect(out, put_pair(out, 2, schema_key, other[i]),
		       INSPECT_CONTEXT_UNKNOWN_SCHEMA, "");
	expect(out, put_pair(out, 2, "service.name", "x"),
	       INSPECT_CONTEXT_UNKNOWN_SCHEMA, "x");
}

static void unknown_fields_are_skipped(void **state)
{
	static const uint8_t unknown[] = {
		0x98, 0x06, 0x01,                            /* varint */
		0xa1, 0x06, 1,    2,   3,   4,   5, 6, 7, 8, /* 64 bits */
		0xaa, 0x06, 0x03, 'a', 'b', 'c',             /* bytes */
		0xb5, 0x06, 1,    2,   3,   4                /* 32 bits */
	};
	uint8_t out[512];
	size_t n = sizeof(unknown);

	(void)state;
	memcpy(out, unknown, n);
	n += put_pair(out + n, 2, schema_key, "tls_v1");
	expect(out, n, INSPECT_CONTEXT_FOUND, "");
}

static void malformed_payloads_are_refused(void **state)
{
	static const uint8_t group[] = { 0x0b, 0x0c };
	static const uint8_t wire_type_7[] = { 0x0f };
	static const uint8_t past_the_end[] = { 0x0a, 0x7f, 'x' };
	static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff };

	(void)state;
	expect(group, sizeof(group), INSPECT_CONTEXT_BAD_HEADER, "");
	expect(wire_type_7, 1, INSPECT_CONTEXT_BAD_HEADER, "");
	expect(past_the_end, 3, INSPECT_CONTEXT_BAD_HEADER, "");
	expect(endless, sizeof(endless), INSPECT_CONTEXT_BAD_HEADER, "");
}

static void deep_nesting_is_an_unknown_field(void **state)
{
	static uint8_t out[CONTEXT_PAYLOAD_MAX];
	struct process_context context;

	(void)state;
	/* Each pair of bytes opens a message that claims the rest. */
	for (size_t i = 0; i + 4 <= sizeof(out); i += 4) {
		size_t left = sizeof(out) - i - 4;

		out[i] = i ? 0x2a : 0x12;
		out[i + 1] = (uint8_t)(left | 0x80);
		out[i + 2] = (uint8_t)(left >> 7 | 0x80);
		out[i + 3] = (uint8_t)(left >> 14);
	}
	context_decode(out, sizeof(out), &context);
	assert_int_not_equal(context.state, INSPECT_CONTEXT_FOUND);
}

/* ---- reckoning */

static void the_executables_offset_follows_the_segment(void **state)
{
	/* value, memsz, align, vaddr -> offset; x86-64, as linkers made it. */
	static const struct {
		struct tls_variable v;
		int64_t want;
	} rows[] = {
		{ { .value = 0, .tls_size = 8, .tls_align = 8 }, -8 },
		{ { .value = 0, .tls_size = 0x58, .tls_align = 8 }, -0x58 },
		{ { .value = 8, .tls_size = 0x14, .tls_align = 16 }, -0x18 },
		{ { .value = 0,
		    .tls_size = 0x14,
		    .tls_align = 16,
		    .tls_vaddr = 0x3de8 },
		  -0x18 },
		{ { .value = 0, .tls_size = 8, .tls_align = 0 }, -8 },
	};

	(void)state;
#if defined(__x86_64__)
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t offset;

		assert_true(context_executable_offset(&rows[i].v, &offset));
		assert_int_equal(offset, rows[i].want);
	}
#else
	(void)rows;
	SKIP_BECAUSE("cannot be built here");
#endif
}

static void impossible_segments_are_refused(void **state)
{
	struct tls_variable v = { .value = 0, .tls_size = 8, .tls_align = 3 };
	int64_t offset;

	(void)state;
	assert_false(context_executable_offset(&v, &offset));
	v.tls_align = UINT64_C(1) << 63;
	assert_false(context_executable_offset(&v, &offset));
	v.tls_align = 8;
	v.tls_size = UINT64_MAX;
	assert_false(context_executable_offset(&v, &offset));
	v.tls_size = 8;
	v.value = 16;
	assert_false(context_executable_offset(&v, &offset));
}

static void descriptor_arguments_are_told_apart(void **state)
{
	const uint64_t block[2] = { 2, 64 }, no_module[2] = { 0, 64 },
		       far_module[2] = { 4097, 64 },
		       far_offset[2] = { 2, UINT64_C(1) << 30 };
	uint64_t heap = 0x55550000;

	(void)state;
	assert_int_equal(context_classify_argument(heap, block, false),
			 TLS_ARGUMENT_POINTER);
	assert_int_equal(context_classify_argument((uint64_t)-64, NULL, false),
			 TLS_ARGUMENT_OFFSET);
#if defined(__x86_64__)
	assert_int_equal(context_classify_argument(heap, block, true),
			 TLS_ARGUMENT_UNKNOWN);
	assert_int_equal(context_classify_argument(heap, no_module, false),
			 TLS_ARGUMENT_UNKNOWN);
	assert_int_equal(context_classify_argument(heap, far_module, false),
			 TLS_ARGUMENT_UNKNOWN);
	assert_int_equal(context_classify_argument(heap, far_offset, false),
			 TLS_ARGUMENT_UNKNOWN);
	assert_int_equal(context_classify_argument(0, NULL, false),
			 TLS_ARGUMENT_UNKNOWN);
#else
	(void)no_module;
	(void)far_module;
	(void)far_offset;
#endif
	assert_int_equal(
		context_classify_argument((uint64_t)INT64_MIN, NULL, false),
		TLS_ARGUMENT_UNKNOWN);
}

/* ---- live */

/* Start a writer, its output to be read from *out. */
static pid_t start(const char *program, const char *library, const char *again,
		   FILE **out)
{
	int from[2];
	pid_t pid;

	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (!pid) {
		int hold[2];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(from[1], 1);
		/* Standard input that does not end. */
		if (pipe(hold) || dup2(hold[0], 0) < 0)
			_exit(127);
		execl(program, program, library, again, (char *)NULL);
		_exit(127);
	}
	close(from[1]);
	*out = fdopen(from[0], "r");
	assert_non_null(*out);
	return pid;
}

/* What doctor is told of the two threads: the writer fills IDs with bytes of
 * their own. */
static void check_records(pid_t pid, const uint64_t pointers[2])
{
	struct wire_request head = { .process = { .pid = (uint32_t)pid,
						  .start_ns = start_ns(pid) },
				     .n_offsets = 2 };
	const struct request request = { .head = &head,
					 .offsets = pointers,
					 .path = "" };
	const struct wire_record *records;
	struct reply reply = { 0 };

	assert_int_equal(inspect_op_records(&request, &reply), INSPECT_OK);
	assert_int_equal(reply.n, 2);
	records = (const void *)reply.items;
	for (int i = 0; i < 2; i++) {
		uint8_t trace[16];

		assert_int_equal(records[i].status, WEFT_CTX_OK);
		memset(trace, records[i].span_id[0], sizeof(trace));
		assert_memory_equal(records[i].trace_id, trace, sizeof(trace));
	}
	assert_int_not_equal(records[0].span_id[0], records[1].span_id[0]);
	free(reply.items);
	free(reply.strings);
}

static void check_live(const char *program, const char *library,
		       const char *again, enum weft_context_kind kind)
{
	static struct modules modules;
	uint64_t pointer, slot, record, word, pointers[2];
	enum inspect_context_state found;
	struct weft_context_entry entry;
	struct process_context context;
	int threads = 0, tid, status;
	char line[256];
	FILE *out;
	pid_t pid = start(program, library, again, &out);
	struct procfs proc = open_process(pid);
	char lines[2][256];

	while (fgets(line, sizeof(line), out) && strcmp(line, "ready\n")) {
		assert_true(threads < 2);
		memcpy(lines[threads++], line, sizeof(line));
	}
	assert_int_equal(threads, 2);
	assert_int_equal(context_read_process(&proc, &context), 0);
	assert_int_equal(context.state, INSPECT_CONTEXT_FOUND);
	assert_string_equal(context.service, "ctx");
	assert_int_not_equal(context.published_ns, 0);
	assert_int_equal(modules_read(&modules, &proc), 0);
	context_find_slots(&proc, &modules, CONTEXT_VARIABLE, &entry, &found);
	assert_int_equal(found, INSPECT_CONTEXT_FOUND);
	assert_int_equal(entry.kind, kind);
	assert_int_equal(entry.n_slots, 1);
	for (int i = 0; i < threads; i++) {
		assert_int_equal(sscanf(lines[i],
					"%d %" SCNx64 " %" SCNx64 " %" SCNx64,
					&tid, &pointer, &slot, &record),
				 4);
		assert_int_equal(find_slot(pid, &entry, pointer), slot);
		assert_true(read_word(pid, slot, &word));
		assert_int_equal(word, record);
		pointers[i] = pointer;
	}
	check_records(pid, pointers);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	procfs_close(&proc);
	fclose(out);
}

/* The writer's source, from where tests are run. */
static bool build(const char *command)
{
	char line[2048], here[1024];

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(line, sizeof(line),
		 "W='-D_GNU_SOURCE -O1 -w %s/tests/load/ctx_writer.c'; %s",
		 here, command);
	if (built_run(line))
		return true;
	print_message("cannot build: %s\n", command);
	return false;
}

static void check_program(const char *flags)
{
	char command[512];

	snprintf(command, sizeof(command), "cc $W %s -o w", flags);
	if (!build(command))
		SKIP_BECAUSE("cannot be built here");
	check_live(built_path("w"), NULL, NULL, WEFT_CONTEXT_STATIC);
}

static void in_a_position_independent_program(void **state)
{
	(void)state;
	check_program("-fPIE -pie");
}

static void in_a_program_at_a_fixed_address(void **state)
{
	(void)state;
	check_program("-fno-pie -no-pie");
}

static void in_a_stripped_program_that_exports_it(void **state)
{
	(void)state;
	check_program("-Wl,--export-dynamic-symbol=otel_thread_ctx_v1 -s");
}

static void in_a_static_program(void **state)
{
	(void)state;
	check_program("-static");
}

static void in_a_static_position_independent_program(void **state)
{
	(void)state;
	check_program("-static-pie -fPIE");
}

static void in_a_program_linked_by_lld(void **state)
{
	(void)state;
	check_program("-fuse-ld=lld");
}

static void check_library(const char *flags, enum weft_context_kind kind)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "cc $W -DCTX_SLOT -fPIC -shared %s -o libw.so && "
		 "cc $W -DCTX_MAIN -DCTX_LINKED -o w -L. -lw "
		 "-Wl,-rpath,'$ORIGIN'",
		 flags);
	if (!build(command))
		SKIP_BECAUSE("cannot be built here");
	check_live(built_path("w"), NULL, NULL, kind);
}

static void in_a_library_with_the_old_dialect(void **state)
{
	(void)state;
	check_library("-mtls-dialect=gnu", WEFT_CONTEXT_DTV);
}

static void in_a_library_with_descriptors(void **state)
{
	(void)state;
	check_library("-mtls-dialect=gnu2", WEFT_CONTEXT_STATIC);
}

static void in_a_library_with_initial_exec(void **state)
{
	(void)state;
	check_library("-ftls-model=initial-exec", WEFT_CONTEXT_STATIC);
}

static void check_loaded(const char *flags, const char *again,
			 enum weft_context_kind kind)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "cc $W -DCTX_SLOT -fPIC -shared %s -o libw.so && "
		 "cc $W -DCTX_MAIN -o w",
		 flags);
	if (!build(command))
		SKIP_BECAUSE("cannot be built here");
	check_live(built_path("w"), built_path("libw.so"), again, kind);
}

static void in_a_loaded_library_with_the_old_dialect(void **state)
{
	(void)state;
	check_loaded("-mtls-dialect=gnu", NULL, WEFT_CONTEXT_DTV);
}

static void in_a_loaded_library_with_descriptors(void **state)
{
	(void)state;
	check_loaded("-mtls-dialect=gnu2", NULL, WEFT_CONTEXT_STATIC);
}

static void in_a_library_whose_module_id_was_anothers(void **state)
{
	(void)state;
	check_loaded("-mtls-dialect=gnu", "again", WEFT_CONTEXT_DTV);
}

static void descriptors_of_a_block_too_large_to_be_static(void **state)
{
	(void)state;
	if (!build("printf '__thread char big[70000]; char *big_use(void) "
		   "{ return big; }' >big.c && cc $W -DCTX_SLOT -fPIC -shared "
		   "-mtls-dialect=gnu2 big.c -o libw.so && "
		   "cc $W -DCTX_MAIN -o w"))
		SKIP_BECAUSE("cannot be built here");
	check_live(built_path("w"), built_path("libw.so"), NULL,
		   WEFT_CONTEXT_DTV);
}

#define BUILT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, built_set_up, built_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			headers_of_other_versions_or_sizes_are_refused),
		cmocka_unit_test(the_schema_and_the_service_are_found),
		cmocka_unit_test(early_writers_schema_in_the_resource_is_found),
		cmocka_unit_test(the_first_of_two_equal_keys_wins),
		cmocka_unit_test(other_schemas_are_named_unknown),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(malformed_payloads_are_refused),
		cmocka_unit_test(deep_nesting_is_an_unknown_field),
		cmocka_unit_test(the_executables_offset_follows_the_segment),
		cmocka_unit_test(impossible_segments_are_refused),
		cmocka_unit_test(descriptor_arguments_are_told_apart),
		BUILT_TEST(in_a_position_independent_program),
		BUILT_TEST(in_a_program_at_a_fixed_address),
		BUILT_TEST(in_a_stripped_program_that_exports_it),
		BUILT_TEST(in_a_static_program),
		BUILT_TEST(in_a_static_position_independent_program),
		BUILT_TEST(in_a_program_linked_by_lld),
		BUILT_TEST(in_a_library_with_the_old_dialect),
		BUILT_TEST(in_a_library_with_descriptors),
		BUILT_TEST(in_a_library_with_initial_exec),
		BUILT_TEST(in_a_loaded_library_with_the_old_dialect),
		BUILT_TEST(in_a_loaded_library_with_descriptors),
		BUILT_TEST(in_a_library_whose_module_id_was_anothers),
		BUILT_TEST(descriptors_of_a_block_too_large_to_be_static),
	};

	/* A watchdog, not a measure. */
	alarm(300);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
