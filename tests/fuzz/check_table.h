/* SPDX-License-Identifier: MIT */
/* What every unwind table must be, whatever it was made of. */
#ifndef WEFT_FUZZ_CHECK_TABLE_H
#define WEFT_FUZZ_CHECK_TABLE_H

#include "bpf/wire.h"
#include "collector/elf/table.h"

static inline const char *check_rows(const struct elf_table *t, uint32_t first,
				     uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t number = t->words[i] % (1 << WEFT_TABLE_ROW_SHIFT);
		uint32_t low = t->words[i] >> WEFT_TABLE_ROW_SHIFT;
		uint32_t before = i == first ? 0 : t->words[i - 1];

		if (number >= t->n_rules)
			return "a rule that is not there";
		if (i == first && low)
			return "a page does not begin with its first byte";
		if (i > first && low <= before >> WEFT_TABLE_ROW_SHIFT)
			return "rows do not ascend";
		if (i > first && number == before % (1 << WEFT_TABLE_ROW_SHIFT))
			return "two rows for one rule";
	}
	return NULL;
}

/* What is wrong with it, or NULL. */
static inline const char *check_table(const struct elf_table *t)
{
	const uint64_t block = WEFT_TABLE_BLOCK_WORDS;
	uint64_t rows = 0;

	if (!t->n_pages)
		return t->n_blocks ? "blocks without pages" : NULL;
	if (t->n_blocks > INSPECT_TABLE_BLOCKS_MAX ||
	    t->rules_block >= t->n_blocks ||
	    t->n_rules > WEFT_TABLE_RULES_MAX ||
	    t->rules_block * block + 2 * t->n_rules > t->n_blocks * block ||
	    2 * (uint64_t)t->n_pages > t->rules_block * block)
		return "parts that do not fit";
	for (uint32_t page = 0; page < t->n_pages; page++) {
		uint32_t first = t->words[2 * page];
		uint32_t n = t->words[2 * page + 1];
		const char *fault;

		if (!n || first % block + n > block ||
		    first + n > t->rules_block * block)
			return "rows that are not within a block";
		fault = check_rows(t, first, n);
		if (fault)
			return fault;
		rows += n;
	}
	return rows == t->n_rows ? NULL : "rows that are not counted";
}

#endif
