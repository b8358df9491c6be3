/* SPDX-License-Identifier: MIT */
/*
 * Entries are sorted by where their code is in the file; one program at a
 * time is then run, and its rows go straight into the pages they belong to.
 * So memory is little more than section, entries and result.
 *
 * Everything here can be crafted. What bounds the work are the limits on
 * entries, programs, rows, pages and blocks, and, for what these leave room
 * for, CPU time.
 */
#include <assert.h>
#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/elf/cfi.h"
#include "collector/elf/patch.h"
#include "collector/elf/table.h"
#include "collector/grow.h"

enum {
	ROWS_MAX = 16 << 20,
	PAGES_MAX = 1 << 20, /* 4 GiB from first to last code */
	PAGE_BYTES = 1 << WEFT_TABLE_PAGE_BITS,
	BRIDGE_BYTES_MAX = 16, /* a hole that the rule before it runs over */
	SLOTS = 2 * WEFT_TABLE_RULES_MAX,
	STEPS_PER_LOOK = 1 << 18, /* at the clock */
	RULE_WORDS = sizeof(struct weft_rule) / sizeof(uint32_t),
};

static const uint64_t cpu_ns_max = 2000000000;

/* The rules that every table begins with, by number. */
enum {
	NUMBER_NONE,
	NUMBER_BAD,
};

static const struct weft_rule none_rule = { .kind = WEFT_RULE_NONE };
static const struct weft_rule bad_rule = { .kind = WEFT_RULE_BAD };
static const struct weft_rule end_rule = { .kind = WEFT_RULE_END };

struct builder {
	const struct elf_file *file; /* borrowed */
	struct elf_table *out;
	struct cfi_rows *rows; /* owned: of one entry */
	size_t n_words, words_room;
	struct weft_rule *rules; /* owned; by number */
	size_t n_rules, rules_room;
	uint32_t *slots; /* owned: number + 1 by the rule's hash; 0: free */
	/* The page that is being filled, counted from first_page. */
	uint32_t page;
	uint32_t page_rows[PAGE_BYTES];
	uint32_t n_page_rows;
	uint32_t in_force; /* number of the rule after all rows so far */
	uint64_t steps, deadline_ns;
};

static uint64_t cpu_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int spend(struct builder *b, uint64_t steps)
{
	b->steps += steps;
	if (b->steps < STEPS_PER_LOOK)
		return 0;
	b->steps = 0;
	return cpu_ns() > b->deadline_ns ? -EFBIG : 0;
}

/* Append words; NULL stands for zeros. */
static int add_words(struct builder *b, const void *words, size_t n)
{
	const size_t most =
		(size_t)INSPECT_TABLE_BLOCKS_MAX * WEFT_TABLE_BLOCK_WORDS;
	uint32_t *to;
	int rc;

	if (n > most - b->n_words)
		return -EFBIG;
	rc = GROW(b->out->words, b->n_words + n, b->words_room);
	if (rc || !n)
		return rc;
	to = b->out->words + b->n_words;
	if (words)
		memcpy(to, words, n * sizeof(*to));
	else
		memset(to, 0, n * sizeof(*to));
	b->n_words += n;
	return 0;
}

static int fill_block(struct builder *b)
{
	return add_words(b, NULL, -b->n_words % WEFT_TABLE_BLOCK_WORDS);
}

/* Make the page whole, and go to the next. */
static int end_page(struct builder *b)
{
	struct elf_table *t = b->out;
	uint32_t n = b->n_page_rows;
	int rc = 0;

	if (n > ROWS_MAX - t->n_rows)
		return -EFBIG;
	if (b->n_words % WEFT_TABLE_BLOCK_WORDS + n > WEFT_TABLE_BLOCK_WORDS)
		rc = fill_block(b);
	if (!rc)
		rc = add_words(b, b->page_rows, n);
	if (rc)
		return rc;
	t->words[2 * b->page] = (uint32_t)b->n_words - n;
	t->words[2 * b->page + 1] = n;
	t->n_rows += n;
	b->page++;
	b->page_rows[0] = b->in_force;
	b->n_page_rows = 1;
	return spend(b, n);
}

/* From offset on the rule of that number is in force. Offsets ascend; of
 * several for one offset the last counts. */
static int put(struct builder *b, uint64_t offset, uint32_t number)
{
	uint64_t page = (offset >> WEFT_TABLE_PAGE_BITS) - b->out->first_page;
	uint32_t low = (uint32_t)(offset % PAGE_BYTES);
	uint32_t *rows = b->page_rows;
	int rc = 0;

	if (number == b->in_force)
		return 0;
	/* What comes after the last page is given too, but not kept. */
	assert(page <= b->out->n_pages);
	while (b->page < page && !rc)
		rc = end_page(b);
	if (rc)
		return rc;
	if (rows[b->n_page_rows - 1] >> WEFT_TABLE_ROW_SHIFT == low)
		b->n_page_rows--;
	b->in_force = number;
	if (b->n_page_rows &&
	    rows[b->n_page_rows - 1] % WEFT_TABLE_RULES_MAX == number)
		return 0;
	rows[b->n_page_rows++] = low << WEFT_TABLE_ROW_SHIFT | number;
	return 0;
}

static uint32_t hash_rule(const struct weft_rule *rule)
{
	uint64_t bits;

	memcpy(&bits, rule, sizeof(bits));
	return (uint32_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
}

static int add_rule(struct builder *b, const struct weft_rule *rule)
{
	int rc = GROW(b->rules, b->n_rules + 1, b->rules_room);

	if (!rc)
		b->rules[b->n_rules++] = *rule;
	return rc;
}

/* The number of a rule. Where all are taken, NUMBER_BAD. */
static int find_number(struct builder *b, const struct weft_rule *rule,
		       uint32_t *out)
{
	uint32_t slot = hash_rule(rule);
	int rc;

	for (; b->slots[slot]; slot = (slot + 1) % SLOTS) {
		*out = b->slots[slot] - 1;
		if (!memcmp(&b->rules[*out], rule, sizeof(*rule)))
			return 0;
		b->steps++;
	}
	*out = NUMBER_BAD;
	if (b->n_rules == WEFT_TABLE_RULES_MAX)
		return 0;
	rc = add_rule(b, rule);
	if (rc)
		return rc;
	*out = (uint32_t)b->n_rules - 1;
	b->slots[slot] = *out + 1;
	return 0;
}

static int put_rule(struct builder *b, uint64_t offset,
		    const struct weft_rule *rule)
{
	uint32_t number;
	int rc = find_number(b, rule, &number);

	if (!rc)
		rc = spend(b, 1);
	if (rc)
		return rc;
	if (number != b->in_force && b->rules[number].kind == WEFT_RULE_BAD)
		b->out->n_bad_rows++;
	return put(b, offset, number);
}

static int compare(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	/* The longest first, then as they came. */
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return (x->program > y->program) - (x->program < y->program);
}

/* Sort, and leave no two over one byte of code: of those that begin together
 * the longest stays, and one that reaches into the next is cut. */
static void make_disjoint(struct fdes *fdes)
{
	size_t n = 0;

	if (fdes->n)
		qsort(fdes->all, fdes->n, sizeof(*fdes->all), compare);
	for (size_t i = 0; i < fdes->n; i++) {
		const struct fde *fde = &fdes->all[i];
		struct fde *before = n ? &fdes->all[n - 1] : NULL;

		if (before && before->offset == fde->offset) {
			fdes->n_dropped++;
			continue;
		}
		if (before && fde->offset - before->offset < before->size)
			before->size = (uint32_t)(fde->offset - before->offset);
		fdes->all[n++] = *fde;
	}
	fdes->n = n;
}

/* Code that no entry describes. */
struct hole {
	uint64_t start, end;
	bool is_bridged; /* the rule before it holds on */
};

static int put_hole(struct builder *b, const struct hole *hole,
		    const struct elf_patch *patches, size_t n)
{
	int rc = 0;

	if (!hole->is_bridged)
		rc = put(b, hole->start, NUMBER_NONE);
	for (size_t i = 0; i < n && !rc; i++) {
		uint64_t start = patches[i].start, end = patches[i].end;

		if (start < hole->start || start >= hole->end)
			continue;
		end = end < hole->end ? end : hole->end;
		rc = put_rule(b, start, &patches[i].rule);
		if (!rc && end < hole->end)
			rc = put(b, end, NUMBER_NONE);
	}
	return rc;
}

/*
 * glibc's makecontext() returns to __start_context, which takes the next
 * context from the stack and goes on there: nothing called it. Nothing marks
 * it either, and it is called by nobody, so its name is mostly stripped.
 */
static bool is_coroutine_start(struct builder *b, const struct fdes *fdes,
			       const struct fde *fde)
{
	enum {
		BYTES_MIN = 16,
		BYTES_MAX = 64
	};
	/* mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi */
	static const uint8_t start[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b,
					 0x3c, 0x24, 0x48, 0x85, 0xff };
	uint8_t code[sizeof(start)];

	if (fde->size < BYTES_MIN || fde->size > BYTES_MAX)
		return false;
	for (uint32_t i = 0; i < fde->program_size; i++) {
		if (fdes->section[fde->program + i] != DW_CFA_nop)
			return false;
	}
	return !elf_file_read(b->file, code, sizeof(code), fde->offset) &&
	       !memcmp(code, start, sizeof(start));
}

/* is_after_hole: the byte before it is not described. */
static int put_entry(struct builder *b, struct fdes *fdes,
		     const struct fde *fde, bool is_after_hole)
{
	int rc = spend(b, fde->program_size +
				  fdes->cies[fde->cie].program_size + 64);

	if (rc)
		return rc;
	/* It was not called: the return address is its very start, and what is
	 * looked up the byte before. */
	if (is_coroutine_start(b, fdes, fde))
		return put_rule(b, fde->offset - is_after_hole, &end_rule);
	if (cfi_run(b->rows, fdes, fde)) {
		fdes->n_dropped++;
		return put_rule(b, fde->offset, &bad_rule);
	}
	for (size_t i = 0; i < b->rows->n && !rc; i++)
		rc = put_rule(b, b->rows->row[i].offset, &b->rows->row[i].rule);
	return rc;
}

/* Whether a program begins in it. Not every such entry says that it has no
 * caller. */
static bool is_first(const struct fde *fde, const struct elf_patch *patches,
		     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (patches[i].rule.kind == WEFT_RULE_END &&
		    patches[i].start >= fde->offset &&
		    patches[i].start - fde->offset < fde->size)
			return true;
	}
	return false;
}

static int put_all(struct builder *b, struct fdes *fdes,
		   const struct elf_patch *patches, size_t n_patches)
{
	struct hole hole = { .start = 0 };
	int rc = 0;

	for (size_t i = 0; i < fdes->n && !rc; i++) {
		const struct fde *fde = &fdes->all[i];

		hole.end = fde->offset;
		hole.is_bridged &= hole.end - hole.start <= BRIDGE_BYTES_MAX;
		if (hole.start < hole.end)
			rc = put_hole(b, &hole, patches, n_patches);
		if (!rc && is_first(fde, patches, n_patches))
			rc = put_rule(b, fde->offset, &end_rule);
		else if (!rc)
			rc = put_entry(b, fdes, fde, hole.start < hole.end);
		hole.start = fde->offset + fde->size;
		/* After a signal's trampoline comes another function. */
		hole.is_bridged = !fdes->cies[fde->cie].is_signal;
	}
	hole.end = UINT64_MAX;
	hole.is_bridged = false;
	return rc ? rc : put_hole(b, &hole, patches, n_patches);
}

/* Which pages there will be, and room for their index. */
static int begin_pages(struct builder *b, const struct fdes *fdes,
		       const struct elf_patch *patches, size_t n_patches)
{
	uint64_t start = UINT64_MAX, end = 0;
	struct elf_table *t = b->out;

	if (fdes->n) {
		start = fdes->all[0].offset;
		end = fdes->all[fdes->n - 1].offset +
		      fdes->all[fdes->n - 1].size;
	}
	/* The byte before an entry may have its rule: see put_entry(). */
	if (start)
		start--;
	if (n_patches && patches[0].start < start)
		start = patches[0].start;
	if (n_patches && patches[n_patches - 1].end > end)
		end = patches[n_patches - 1].end;
	start >>= WEFT_TABLE_PAGE_BITS;
	end = (end - 1) >> WEFT_TABLE_PAGE_BITS;
	if (end > UINT32_MAX || end - start >= PAGES_MAX)
		return -EFBIG;
	t->first_page = (uint32_t)start;
	t->n_pages = (uint32_t)(end - start + 1);
	b->in_force = NUMBER_NONE;
	b->page_rows[0] = b->in_force;
	b->n_page_rows = 1;
	return add_words(b, NULL, 2 * (size_t)t->n_pages);
}

/* The rest of the pages, the rules, and no more room than is used. */
static int finish(struct builder *b)
{
	struct elf_table *t = b->out;
	uint32_t *words;
	int rc = 0;

	while (b->page < t->n_pages && !rc)
		rc = end_page(b);
	if (!rc)
		rc = fill_block(b);
	if (rc)
		return rc;
	t->rules_block = (uint32_t)(b->n_words / WEFT_TABLE_BLOCK_WORDS);
	t->n_rules = (uint32_t)b->n_rules;
	rc = add_words(b, b->rules, b->n_rules * RULE_WORDS);
	if (!rc)
		rc = fill_block(b);
	if (rc)
		return rc;
	t->n_blocks = (uint32_t)(b->n_words / WEFT_TABLE_BLOCK_WORDS);
	words = realloc(t->words, b->n_words * sizeof(*words));
	if (words)
		t->words = words;
	return 0;
}

static int fill(struct builder *b, const struct elf_file *file,
		struct fdes *fdes)
{
	struct elf_patch patches[ELF_PATCHES_MAX];
	size_t n_patches = elf_find_patches(file, fdes->n > 0, patches);
	uint32_t number;
	int rc;

	if (!fdes->n && !n_patches)
		return 0;

	make_disjoint(fdes);
	b->file = file;
	b->out->n_entries = (uint32_t)fdes->n;
	b->rows = malloc(sizeof(*b->rows));
	b->slots = calloc(SLOTS, sizeof(*b->slots));
	if (!b->rows || !b->slots)
		return -ENOMEM;
	rc = find_number(b, &none_rule, &number);
	if (!rc)
		rc = find_number(b, &bad_rule, &number);
	if (!rc)
		rc = begin_pages(b, fdes, patches, n_patches);
	if (!rc)
		rc = put_all(b, fdes, patches, n_patches);
	return rc ? rc : finish(b);
}

/* Whether its registers are those that rules are about. */
static bool is_ours(const struct elf_file *file)
{
	GElf_Ehdr ehdr;

	return elf_file_is_native(file) && gelf_getehdr(file->elf, &ehdr) &&
	       ehdr.e_machine == EM_X86_64;
}

int elf_table_build(struct elf_table *out, const struct elf_file *file)
{
	struct builder *b;
	struct fdes fdes;
	uint64_t start_ns = cpu_ns();
	int rc;

	*out = (struct elf_table){ 0 };
	if (!is_ours(file))
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->out = out;
	b->deadline_ns = start_ns + cpu_ns_max;
	rc = fdes_read(&fdes, file);
	if (!rc)
		rc = fill(b, file, &fdes);
	out->n_dropped = fdes.n_dropped;
	fdes_release(&fdes);
	free(b->rows);
	free(b->rules);
	free(b->slots);
	free(b);
	return rc;
}

void elf_table_release(struct elf_table *t)
{
	free(t->words);
	*t = (struct elf_table){ 0 };
}

struct weft_rule elf_table_find(const struct elf_table *t, uint64_t offset)
{
	uint64_t page = (offset >> WEFT_TABLE_PAGE_BITS) - t->first_page;
	uint32_t wanted = (uint32_t)(offset % PAGE_BYTES)
				  << WEFT_TABLE_ROW_SHIFT |
			  (WEFT_TABLE_RULES_MAX - 1);
	const uint32_t *rows;
	struct weft_rule rule = { .kind = WEFT_RULE_NONE };
	uint32_t low = 0, high, number;

	if (page >= t->n_pages)
		return rule;
	rows = t->words + t->words[2 * page];
	high = t->words[2 * page + 1];
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (rows[middle] <= wanted)
			low = middle;
		else
			high = middle;
	}
	number = rows[low] & (WEFT_TABLE_RULES_MAX - 1);
	memcpy(&rule,
	       t->words + (size_t)t->rules_block * WEFT_TABLE_BLOCK_WORDS +
		       number * RULE_WORDS,
	       sizeof(rule));
	return rule;
}
