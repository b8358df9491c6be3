/* SPDX-License-Identifier: MIT */
/* Functions and lines of a file; once more with the file as its own other
 * half, as if dwz had taken it apart. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/elf/dwarf.h"
#include "tests/fuzz/fuzz.h"

static void check(bool is_right)
{
	if (!is_right)
		__builtin_trap();
}

/* Strings are to be readable to their ends. */
static size_t measure(const char *text)
{
	return text ? strlen(text) : 0;
}

static void find(struct elf_dwarf *dwarf, uint64_t address)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	size_t n = elf_dwarf_find(dwarf, address, level), size = 0;

	check(n <= ELF_DWARF_LEVELS_MAX);
	for (size_t i = 0; i < n; i++) {
		size += measure(level[i].linkage_name);
		size += measure(level[i].name);
		size += measure(level[i].file);
		size += measure(level[i].dir);
		check(level[i].line <= INT32_MAX);
		check(level[i].function_line <= INT32_MAX);
		check(!level[i].start || i + 1 == n);
	}
	check(size < SIZE_MAX / 2);
}

static void read_dwarf(const struct elf_file *file, const struct elf_file *alt)
{
	struct elf_dwarf *dwarf;

	if (elf_dwarf_open(&dwarf, file, alt, false)) {
		check(!dwarf);
		return;
	}
	for (uint64_t at = 0; at < 0x2000; at += 13)
		find(dwarf, at);
	find(dwarf, UINT64_MAX);
	check(elf_dwarf_bytes(dwarf) > 0);
	elf_dwarf_close(dwarf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_key key = { .size = size };
	int fd = memfd_create("input", MFD_CLOEXEC);
	struct elf_file file;

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size &&
	    !elf_file_open(&file, fd, &key)) {
		read_dwarf(&file, NULL);
		read_dwarf(&file, &file);
		elf_file_close(&file);
	}
	close(fd);
	return 0;
}
