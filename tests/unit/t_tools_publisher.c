/* SPDX-License-Identifier: MIT */
/*
 * The publisher, seen as a profiler sees it: through its exported variable,
 * the bytes behind it, and a mapping found in /proc/self/maps.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/t_tools_publisher.h"

#define ZERO_16 "00000000000000000000000000000000"
#define ZERO_8  "0000000000000000"

/* ---- the record ---- */

static void a_record_has_the_layout_of_the_standard(void **state)
{
	const uint8_t tail[4] = { 1, 3, 0,
				  0 }; /* valid, flags, no attributes */

	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 3), 0);
	assert_non_null(attached());
	assert_int_equal((uintptr_t)attached() % 2, 0);
	assert_memory_equal(attached(), trace_a, 16);
	assert_memory_equal(attached() + 16, span_a, 8);
	assert_memory_equal(attached() + 24, tail, 4);
}

static void clear_detaches_and_set_attaches_again(void **state)
{
	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 0), 0);
	otc_clear();
	assert_null(attached());
	assert_int_equal(otc_set(trace_a, span_a, 0), 0);
	assert_non_null(attached());
	assert_int_equal(attached()[24], 1);
}

static void a_zero_id_leaves_no_context_not_the_previous(void **state)
{
	const uint8_t zero[16] = { 0 };

	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_int_equal(otc_set(zero, span_a, 1), -EINVAL);
	assert_null(attached());
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_int_equal(otc_set(trace_a, zero, 1), -EINVAL);
	assert_null(attached());
}

static void *other_thread(void *arg)
{
	const uint8_t **seen = arg;

	seen[0] = attached();
	otc_set_hex("00000000000000000000000000000001", SPAN_A, 0);
	seen[1] = attached();
	return NULL;
}

static void threads_do_not_share_a_record(void **state)
{
	const uint8_t *seen[2];
	pthread_t thread;

	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, other_thread, seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(seen[0]);
	assert_non_null(seen[1]);
	assert_ptr_not_equal(seen[1], attached());
	assert_memory_equal(attached(), trace_a, 16);
}

/* ---- interrupted in the middle ---- */

enum {
	INTERRUPTS = 20000
};

extern _Thread_local const volatile uint8_t *volatile otel_thread_ctx_v1;

static volatile sig_atomic_t interrupts, seen_valid, seen_torn;

/* As a profiler: on the writing thread, wherever it is just now. All bytes of
 * both IDs are the same, so a mixture of two shows. */
static void on_interrupt(int number)
{
	const volatile uint8_t *record = otel_thread_ctx_v1;

	(void)number;
	interrupts++;
	if (!record || record[24] != 1)
		return;
	seen_valid++;
	for (int i = 1; i < 24; i++) {
		if (record[i] != record[0]) {
			seen_torn++;
			return;
		}
	}
}

static void *interrupt_often(void *writer)
{
	for (int i = 0; i < INTERRUPTS; i++)
		pthread_kill(*(const pthread_t *)writer, SIGUSR1);
	return NULL;
}

static void an_interrupted_write_is_never_seen_as_valid(void **state)
{
	const struct sigaction action = { .sa_handler = on_interrupt };
	struct sigaction before;
	pthread_t self = pthread_self(), other;
	uint8_t id[16];

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(pthread_create(&other, NULL, interrupt_often, &self),
			 0);
	for (uint8_t n = 1; pthread_tryjoin_np(other, NULL) == EBUSY;) {
		for (int i = 0; i < 100; i++) {
			n = n == 255 ? 1 : (uint8_t)(n + 1);
			memset(id, n, sizeof(id));
			otc_set(id, id, 0);
			if (n % 16 == 0)
				otc_clear();
		}
	}
	sigaction(SIGUSR1, &before, NULL);
	print_message("# %d interrupts, %d saw a valid record\n", interrupts,
		      seen_valid);
	assert_true(seen_valid > 0);
	assert_int_equal(seen_torn, 0);
}

/* ---- text forms ---- */

static void hex_is_taken_in_byte_order(void **state)
{
	(void)state;
	assert_int_equal(otc_set_hex(TRACE_A, SPAN_A, 1), 0);
	assert_memory_equal(attached(), trace_a, 16);
	assert_memory_equal(attached() + 16, span_a, 8);
	assert_int_equal(attached()[25], 1);
}

static void bad_hex_is_refused_and_detaches(void **state)
{
	static const char *const bad[][2] = {
		{ NULL, SPAN_A },
		{ TRACE_A, NULL },
		{ "", SPAN_A },
		{ TRACE_A "0", SPAN_A },
		{ TRACE_A, SPAN_A "0" },
		{ TRACE_A, "00f067aa0ba902b" },
		{ "4BF92F3577B34DA6A3CE929D0E0E4736", SPAN_A },
		{ "4bf92f3577b34da6a3ce929d0e0e473g", SPAN_A },
		{ ZERO_16, SPAN_A },
		{ TRACE_A, ZERO_8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(otc_set(trace_a, span_a, 1), 0);
		assert_int_equal(otc_set_hex(bad[i][0], bad[i][1], 1), -EINVAL);
		assert_null(attached());
	}
}

static void a_traceparent_sets_ids_and_known_flags(void **state)
{
	static const struct {
		const char *value;
		uint8_t flags;
	} good[] = {
		{ "00-" TRACE_A "-" SPAN_A "-01", 1 },
		{ "00-" TRACE_A "-" SPAN_A "-00", 0 },
		{ "00-" TRACE_A "-" SPAN_A "-03", 3 },
		{ "00-" TRACE_A "-" SPAN_A "-ff", 3 },
		{ "01-" TRACE_A "-" SPAN_A "-01", 1 },
		{ "fe-" TRACE_A "-" SPAN_A "-01-what-may-come", 1 },
		{ "01-" TRACE_A "-" SPAN_A "-01-", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		otc_clear();
		assert_int_equal(otc_set_traceparent(good[i].value), 0);
		assert_memory_equal(attached(), trace_a, 16);
		assert_memory_equal(attached() + 16, span_a, 8);
		assert_int_equal(attached()[25], good[i].flags);
	}
}

static void a_bad_traceparent_is_refused_and_detaches(void **state)
{
	static const char *const bad[] = {
		NULL,
		"",
		"0",
		"00",
		"00-",
		"00-" TRACE_A,
		"00-" TRACE_A "-" SPAN_A,
		"00-" TRACE_A "-" SPAN_A "-",
		"00-" TRACE_A "-" SPAN_A "-0",
		"00-" TRACE_A "-" SPAN_A "-01-",
		"00-" TRACE_A "-" SPAN_A "-01-more",
		"00-" TRACE_A "-" SPAN_A "-01 ",
		" 00-" TRACE_A "-" SPAN_A "-01",
		"01-" TRACE_A "-" SPAN_A "-01.more",
		"ff-" TRACE_A "-" SPAN_A "-01",
		"0g-" TRACE_A "-" SPAN_A "-01",
		"00_" TRACE_A "-" SPAN_A "-01",
		"00-" TRACE_A "_" SPAN_A "-01",
		"00-" TRACE_A "-" SPAN_A "_01",
		"00-" TRACE_A "-" SPAN_A "-0x",
		"00-" ZERO_16 "-" SPAN_A "-01",
		"00-" TRACE_A "-" ZERO_8 "-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN_A "-01",
		"00-" TRACE_A "-00F067AA0BA902B7-01",
		"00-" TRACE_A "-" SPAN_A "-0A",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(otc_set(trace_a, span_a, 1), 0);
		if (otc_set_traceparent(bad[i]) != -EINVAL || attached())
			fail_msg("accepted '%s'", bad[i]);
	}
}

/* ---- what makes it findable ---- */

static const Elf64_Sym *find_dynamic_symbol(const uint8_t *elf,
					    const char *name)
{
	const Elf64_Ehdr *header = (const void *)elf;
	const Elf64_Shdr *section = (const void *)(elf + header->e_shoff);

	for (int i = 0; i < header->e_shnum; i++) {
		const Elf64_Sym *symbol =
			(const void *)(elf + section[i].sh_offset);
		size_t count = section[i].sh_size / sizeof(*symbol);
		const char *names;

		if (section[i].sh_type != SHT_DYNSYM)
			continue;
		names = (const char *)elf +
			section[section[i].sh_link].sh_offset;
		for (size_t n = 0; n < count; n++) {
			if (strcmp(names + symbol[n].st_name, name) == 0)
				return &symbol[n];
		}
	}
	return NULL;
}

static void the_symbol_is_exported_thread_local_and_8_bytes(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const Elf64_Sym *symbol;
	struct stat info;
	void *elf;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	elf = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(elf, MAP_FAILED);
	symbol = find_dynamic_symbol(elf, "otel_thread_ctx_v1");
	assert_non_null(symbol);
	assert_int_equal(ELF64_ST_TYPE(symbol->st_info), STT_TLS);
	assert_int_equal(ELF64_ST_VISIBILITY(symbol->st_other), STV_DEFAULT);
	assert_int_not_equal(symbol->st_shndx, SHN_UNDEF);
	assert_int_equal(symbol->st_size, 8);
	munmap(elf, (size_t)info.st_size);
	close(fd);
}

/* ---- the process context, by a decoder of our own ---- */

static void assert_context(const char *name)
{
	struct bytes payload = published_payload();
	struct bytes service = field(field(payload, 1, 0), 1, 0);

	assert_text(field(service, 1, 0), "service.name");
	assert_text(field(field(service, 2, 0), 1, 0), name);
	assert_null(field(field(payload, 1, 0), 1, 1).at);
	assert_text(field(find_attribute(payload, "threadlocal.schema_version"),
			  1, 0),
		    "tlsdesc_v1_dev");
	assert_null(field(payload, 1, 1).at);
}

static void names_of_all_lengths(void)
{
	static const size_t sizes[] = { 0,   1,   100, 107, 108, 109, 110, 111,
					112, 113, 123, 126, 127, 128, 255 };
	char name[257] = { 0 };

	/* a child each: a process publishes once */
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		pid_t pid = fork();
		int status = -1;

		memset(name, 'x', sizes[i]);
		name[sizes[i]] = '\0';
		if (pid == 0) {
			assert_int_equal(otc_init(name), 0);
			assert_context(name);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status != 0)
			_exit(1);
	}
	memset(name, 'x', 256);
	if (otc_init(name) != -EINVAL || otc_init(NULL) != -EINVAL)
		_exit(1);
}

static void a_service_name_of_any_legal_length_decodes(void **state)
{
	(void)state;
	in_child(names_of_all_lengths);
}

static void init_with_context_attached(void)
{
	int found;

	otc_set(trace_a, span_a, 1);
	if (otc_init("late") != -EBUSY)
		_exit(1);
	find_mapping(&found);
	otc_clear();
	if (found != 0 || otc_init("late") != 0)
		_exit(1);
}

static void init_is_busy_while_a_context_is_attached(void **state)
{
	(void)state;
	in_child(init_with_context_attached);
}

static void init_beside_another_publisher(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096) != 0 ||
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    otc_init("second") != -EBUSY)
		_exit(1);
}

static void init_is_busy_beside_another_publisher(void **state)
{
	(void)state;
	in_child(init_beside_another_publisher);
}

static void init_publishes_a_context_that_decodes(void **state)
{
	(void)state;
	assert_int_equal(otc_init("test-service"), 0);
	assert_context("test-service");
}

static void a_second_init_is_busy_and_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(otc_init("other"), -EBUSY);
	assert_context("test-service");
}

static void child_after_fork(void)
{
	int found;

	find_mapping(&found);
	if (attached() || found != 0)
		_exit(1);
	if (otc_init("child") != 0 || attached())
		_exit(2);
	if (otc_set_hex("00000000000000000000000000000002", SPAN_A, 1) != 0 ||
	    attached()[15] != 2)
		_exit(3);
}

static void a_forked_child_has_no_context_until_it_asks(void **state)
{
	(void)state;
	assert_int_equal(otc_set(trace_a, span_a, 1), 0);
	in_child(child_after_fork);
	assert_memory_equal(attached(), trace_a, 16);
	assert_context("test-service");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, detach)
		TEST(a_record_has_the_layout_of_the_standard),
		TEST(clear_detaches_and_set_attaches_again),
		TEST(a_zero_id_leaves_no_context_not_the_previous),
		TEST(threads_do_not_share_a_record),
		TEST(an_interrupted_write_is_never_seen_as_valid),
		TEST(hex_is_taken_in_byte_order),
		TEST(bad_hex_is_refused_and_detaches),
		TEST(a_traceparent_sets_ids_and_known_flags),
		TEST(a_bad_traceparent_is_refused_and_detaches),
		TEST(the_symbol_is_exported_thread_local_and_8_bytes),
		TEST(a_service_name_of_any_legal_length_decodes),
		TEST(init_is_busy_while_a_context_is_attached),
		TEST(init_is_busy_beside_another_publisher),
		/* from here on this process publishes */
		TEST(init_publishes_a_context_that_decodes),
		TEST(a_second_init_is_busy_and_changes_nothing),
		TEST(a_forked_child_has_no_context_until_it_asks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
