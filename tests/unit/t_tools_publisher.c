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

#include "tools/publisher/otel-thread-ctx.h"

static const uint8_t trace_a[16] = { 0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3,
				     0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d,
				     0x0e, 0x0e, 0x47, 0x36 };
static const uint8_t span_a[8] = { 0x00, 0xf0, 0x67, 0xaa,
				   0x0b, 0xa9, 0x02, 0xb7 };

#define TRACE_A "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN_A  "00f067aa0ba902b7"
#define ZERO_16 "00000000000000000000000000000000"
#define ZERO_8  "0000000000000000"

/* The record of the calling thread, NULL if none. */
static const uint8_t *attached(void)
{
	const uint8_t *const *slot = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");

	assert_non_null(slot);
	return *slot;
}

static int detach(void **state)
{
	(void)state;
	otc_clear();
	return 0;
}

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

struct context_header {
	char signature[8];
	uint32_t version;
	uint32_t payload_size;
	uint64_t published_ns;
	uint64_t payload;
};

static const struct context_header *find_mapping(int *found)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const struct context_header *header = NULL;
	char line[512];

	*found = 0;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[anon_shmem:OTEL_CTX]") &&
		    !strstr(line, "[anon:OTEL_CTX]") &&
		    !strstr(line, "/memfd:OTEL_CTX"))
			continue;
		header = (const void *)(uintptr_t)strtoull(line, NULL, 16);
		++*found;
	}
	fclose(maps);
	return header;
}

struct bytes {
	const uint8_t *at;
	size_t size;
};

static uint64_t take_varint(struct bytes *from)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		assert_true(from->size > 0);
		value |= (uint64_t)(*from->at & 0x7f) << shift;
		from->size--;
		if (!(*from->at++ & 0x80))
			return value;
	}
	fail_msg("varint too long");
	return 0;
}

/* The n-th field of that number; all fields of our messages are wire type 2. */
static struct bytes field(struct bytes message, unsigned int number, int n)
{
	while (message.size > 0) {
		uint64_t key = take_varint(&message);
		struct bytes value = { NULL, (size_t)take_varint(&message) };

		assert_int_equal(key & 7, 2);
		assert_true(value.size <= message.size);
		value.at = message.at;
		message.at += value.size;
		message.size -= value.size;
		if (key >> 3 == number && n-- == 0)
			return value;
	}
	return (struct bytes){ NULL, 0 };
}

static void assert_text(struct bytes got, const char *want)
{
	assert_non_null(got.at);
	assert_int_equal(got.size, strlen(want));
	assert_memory_equal(got.at, want, got.size);
}

static void assert_pair(struct bytes pair, const char *key, const char *value)
{
	assert_text(field(pair, 1, 0), key);
	assert_text(field(field(pair, 2, 0), 1, 0), value);
}

static void assert_context(const char *service)
{
	const struct context_header *header;
	struct bytes payload, resource;
	struct timespec now;
	int found;

	header = find_mapping(&found);
	assert_int_equal(found, 1);
	assert_memory_equal(header->signature, "OTEL_CTX", 8);
	assert_int_equal(header->version, 2);
	clock_gettime(CLOCK_BOOTTIME, &now);
	assert_in_range(header->published_ns, 1,
			(uint64_t)(now.tv_sec + 1) * 1000000000);

	payload.at = (const uint8_t *)(uintptr_t)header->payload;
	payload.size = header->payload_size;
	resource = field(payload, 1, 0);
	assert_pair(field(resource, 1, 0), "service.name", service);
	assert_null(field(resource, 1, 1).at);
	assert_pair(field(payload, 2, 0), "threadlocal.schema_version",
		    "tlsdesc_v1_dev");
	assert_null(field(payload, 2, 1).at);
}

/* Run check in a child made by fork, which starts without a context. */
static void in_child(void (*check)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		check();
		_exit(0); /* a failed assertion ends in exit status 1 or more */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
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
