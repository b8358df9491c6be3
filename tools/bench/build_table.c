/* SPDX-License-Identifier: MIT */
/*
 * Build the unwind table of each file that is named on the input, one path a
 * line. Prints, by tabs: path, milliseconds of CPU time, bytes of code,
 * entries, rows, different rules, rows that cannot be expressed, bytes of the
 * table; or the path and why there is none.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/wire.h"
#include "collector/elf/table.h"

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint64_t code_bytes(const struct elf_file *file)
{
	struct elf_segment segment[ELF_SEGMENTS_MAX];
	size_t n = elf_file_segments(file, segment);
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		if (segment[i].flags & PF_X)
			bytes += segment[i].file_size;
	return bytes;
}

static int open_file(struct elf_file *file, const char *path)
{
	struct file_key key;
	int reference = elf_open_reference(AT_FDCWD, path, 0, &key);
	int rc;

	if (reference < 0)
		return reference;
	rc = elf_file_open(file, reference, &key);
	close(reference);
	return rc;
}

static void build(const char *path)
{
	struct elf_table table;
	struct elf_file file;
	int rc = open_file(&file, path);
	double start = cpu_ms();

	if (rc) {
		printf("%s\t%s\n", path, strerror(-rc));
		return;
	}
	rc = elf_table_build(&table, &file);
	if (rc)
		printf("%s\t%s\n", path, strerror(-rc));
	else
		printf("%s\t%.2f\t%llu\t%u\t%u\t%u\t%u\t%llu\n", path,
		       cpu_ms() - start, (unsigned long long)code_bytes(&file),
		       table.n_entries, table.n_rows, table.n_rules,
		       table.n_bad_rows,
		       (unsigned long long)table.n_blocks *
			       WEFT_TABLE_BLOCK_WORDS * sizeof(uint32_t));
	elf_table_release(&table);
	elf_file_close(&file);
}

int main(void)
{
	char path[4096];

	while (fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		build(path);
	}
	return 0;
}
