/* SPDX-License-Identifier: MIT */
/* Read everything of an ELF file that inspectors read. */
#ifndef WEFT_FUZZ_READ_ELF_H
#define WEFT_FUZZ_READ_ELF_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "collector/context_tls.h"
#include "collector/elf_roots.h"

/* fd stays the caller's. */
static inline void read_elf(int fd)
{
	struct inspect_range ranges[INSPECT_ROOTS_MAX];
	uint8_t build_id[INSPECT_BUILD_ID_MAX];
	struct elf_dynamic_symbol dynamic;
	struct tls_variable variable;
	struct symbols *symbols;
	struct symbol_name name;
	struct elf_file file;
	struct file_key key = { 0 };
	struct stat st;
	int64_t offset;

	if (fstat(fd, &st))
		return;
	key.size = (uint64_t)st.st_size;
	if (elf_file_open(&file, fd, &key))
		return;
	(void)elf_file_build_id(&file, build_id);
	for (int i = 0; i < 2; i++) {
		if (!context_find_variable(&file, CONTEXT_VARIABLE, i,
					   &variable))
			(void)context_executable_offset(&variable, &offset);
	}
	(void)!context_find_dynamic(&file, "_rtld_global", &dynamic);
	if (!symbols_load(&symbols, &file)) {
		for (uint64_t at = 0; at < 0x4000; at += 61)
			(void)symbols_find(symbols, at, &name);
		(void)elf_find_roots(&file, symbols, ranges);
		symbols_free(symbols);
	}
	elf_file_close(&file);
}

#endif
