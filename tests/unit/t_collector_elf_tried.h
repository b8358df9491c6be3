/* SPDX-License-Identifier: MIT */
/* Pieces of assembly, the unwind tables made of them, and what these must say
 * of each byte. */
#ifndef T_COLLECTOR_ELF_TRIED_H
#define T_COLLECTOR_ELF_TRIED_H

#include "bpf/wire.h"
#include "collector/elf/table.h"
#include "tests/fuzz/check_table.h"
#include "tests/unit/t_collector_elf_built.h"

/* Stands before the code that a test looks at. */
#define MARK ".text\n.quad 0x7766554433221100, 0xffeeddccbbaa9988\n"
static const uint8_t mark[] = {
	0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
	0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff
};

#define LINK "cc -nostdlib -shared -Wl,--build-id=none "

static const struct weft_rule none = { .kind = WEFT_RULE_NONE };
static const struct weft_rule end = { .kind = WEFT_RULE_END };
static const struct weft_rule bad = { .kind = WEFT_RULE_BAD };
static const struct weft_rule start = { .kind = WEFT_RULE_RSP, .offset = 8 };
static const struct weft_rule at_16 = { .kind = WEFT_RULE_RSP, .offset = 16 };
static const struct weft_rule at_24 = { .kind = WEFT_RULE_RSP, .offset = 24 };
static const struct weft_rule at_32 = { .kind = WEFT_RULE_RSP, .offset = 32 };

/* An instance of a table, and where the code after MARK is in the file. */
struct tried {
	struct elf_table table;
	uint64_t base;
};
static inline size_t read_whole(const char *path, uint8_t **out)
{
	FILE *file = fopen(path, "re");
	long size;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	*out = malloc((size_t)size);
	assert_non_null(*out);
	assert_int_equal(fread(*out, 1, (size_t)size, file), size);
	fclose(file);
	return (size_t)size;
}

static inline uint64_t find_mark(const char *path)
{
	uint8_t *bytes, *at;
	size_t size = read_whole(path, &bytes);
	uint64_t offset;

	at = memmem(bytes, size, mark, sizeof(mark));
	assert_non_null(at);
	offset = (uint64_t)(at - bytes) + sizeof(mark);
	free(bytes);
	return offset;
}

static inline int build(struct elf_table *out, const char *path)
{
	struct elf_file file;
	int rc;

	assert_int_equal(built_open(&file, path), 0);
	rc = elf_table_build(out, &file);
	elf_file_close(&file);
	if (!rc && check_table(out))
		fail_msg("%s", check_table(out));
	return rc;
}

static inline void try_with(struct tried *t, const char *text,
			    const char *command)
{
	built_write("t.s", text);
	if (!built_run(command)) {
		built_run("cat log >&2");
		fail_msg("%s", command);
	}
	assert_int_equal(build(&t->table, built_path("t")), 0);
	t->base = find_mark(built_path("t"));
}

static inline void try(struct tried *t, const char *text)
{
	try_with(t, text, LINK "-o t t.s");
}

static inline void done(struct tried *t)
{
	elf_table_release(&t->table);
}

static inline void expect_rule(struct weft_rule is, struct weft_rule want,
			       uint64_t at)
{
	if (!memcmp(&is, &want, sizeof(is)))
		return;
	fail_msg("+%llu: kind %u offset %d rbp %u rbx %u aux %u, not kind %u "
		 "offset %d rbp %u rbx %u aux %u",
		 (unsigned long long)at, is.kind, is.offset, is.rbp, is.rbx,
		 is.aux, want.kind, want.offset, want.rbp, want.rbx, want.aux);
}

/* That the rule holds for the bytes from `from` to before `to`. */
static inline void expect(const struct tried *t, uint64_t from, uint64_t to,
			  struct weft_rule want)
{
	for (uint64_t at = from; at < to; at++)
		expect_rule(elf_table_find(&t->table, t->base + at), want, at);
}

#define BUILT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, built_set_up, built_tear_down)

#endif
