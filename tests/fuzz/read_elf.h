/* SPDX-License-Identifier: MIT */
/* Read everything of an ELF file that inspectors read. */
#ifndef WEFT_FUZZ_READ_ELF_H
#define WEFT_FUZZ_READ_ELF_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "collector/context/go.h"
#include "collector/context/tls.h"
#include "collector/elf/debug.h"
#include "collector/elf/symbols.h"
#include "collector/elf/table.h"

/* fd stays the caller's. */
static inline void read_elf(int fd)
{
	uint8_t build_id[INSPECT_BUILD_ID_MAX];
	char version[CONTEXT_GO_VERSION_MAX];
	struct elf_dynamic_symbol dynamic;
	struct tls_variable variable;
	struct elf_debug debug;
	struct elf_table table;
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
	(void)!context_go_version(&file, version);
	for (int i = 0; i < 2; i++) {
		if (!context_find_variable(&file, CONTEXT_VARIABLE, i,
					   &variable))
			(void)context_executable_offset(&variable, &offset);
	}
	(void)!context_find_dynamic(&file, "_rtld_global", &dynamic);
	(void)elf_file_build_id_section(&file, build_id);
	/* No root to look in: only the link and the build ID are read. */
	if (!elf_debug_find_id(&debug, &file, -1))
		elf_debug_close(&debug);
	if (!elf_debug_find_link(&debug, &file, -1, "/lib/x", NULL))
		elf_debug_close(&debug);
	if (!symbols_load(&symbols, &file)) {
		if (!elf_debug_unpack(&debug, &file)) {
			(void)!symbols_add(symbols, &debug.file,
					   WIRE_SOURCE_MINIDEBUG);
			elf_debug_close(&debug);
		}
		(void)!symbols_add(symbols, &file, WIRE_SOURCE_BUILD_ID);
		for (uint64_t at = 0; at < 0x4000; at += 61)
			(void)symbols_find(symbols, at, &name);
		symbols_free(symbols);
	}
	if (!elf_table_build(&table, &file)) {
		for (uint64_t at = 0; at < 0x4000; at += 61)
			(void)elf_table_find(&table, at);
	}
	elf_table_release(&table);
	elf_file_close(&file);
}

#endif
