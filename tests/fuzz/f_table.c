/* SPDX-License-Identifier: MIT */
/* Unwind tables of ELF files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/check_table.h"
#include "tests/fuzz/fuzz.h"

static void build(const struct elf_file *file)
{
	struct elf_table table;
	const char *fault;

	if (!elf_table_build(&table, file)) {
		fault = check_table(&table);
		if (fault) {
			fprintf(stderr, "%s\n", fault);
			abort();
		}
		for (uint64_t at = 0; at < 0x4000; at += 61)
			(void)elf_table_find(&table, at);
	}
	elf_table_release(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of the input's own size, so that a sanitizer sees its end. */
	uint8_t *image = malloc(size + !size);
	struct elf_file file;

	if (!image)
		return 0;
	memcpy(image, data, size);
	if (!elf_file_open_memory(&file, image, size)) {
		build(&file);
		elf_file_close(&file);
	}
	free(image);
	return 0;
}
