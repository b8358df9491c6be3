/* SPDX-License-Identifier: MIT */
/*
 * What an ELF file says of a thread-local variable: whether it defines it and
 * by which relocation its own code finds it. The half of TRACE_CONTEXT that
 * depends on the file alone and can be kept.
 */
#ifndef WEFT_CONTEXT_ELF_H
#define WEFT_CONTEXT_ELF_H

#include "collector/elf/file.h"

enum tls_model {
	TLS_NONE,       /* the file does not define the variable */
	TLS_OFFSET,     /* GOT word 0 is the offset from the thread pointer */
	TLS_DESCRIPTOR, /* GOT words are resolver and argument */
	TLS_MODULE,     /* GOT words are module ID and offset */
	TLS_SIBLING_DESCRIPTOR, /* as above, of another variable */
	TLS_SIBLING_MODULE,     /* of the same file */
	TLS_BY_NAME, /* no relocation: only looked up at run time, or (in the
			executable) a constant of the link */
};

struct tls_variable {
	enum tls_model model;
	uint64_t got;   /* address of the relocated words; file's space */
	int64_t addend; /* of the relocation */
	uint64_t value; /* offset in the file's TLS block */
	uint64_t tls_vaddr, tls_size, tls_align;
	uint64_t first_vaddr; /* of the first loaded segment */
	bool is_fixed;        /* loaded where it says: ET_EXEC */
};

/* An object of the dynamic symbol table. */
struct elf_dynamic_symbol {
	uint64_t value, size;
	uint32_t index;
	uint8_t info;
};

/*
 * Find variable name, 8 bytes. Only for the executable is .symtab read too,
 * where .dynsym has no such name. Returns 0 (also for TLS_NONE), or a
 * negative errno.
 */
int context_find_variable(const struct elf_file *file, const char *name,
			  bool is_executable,
			  struct tls_variable *out) MUST_CHECK;

/* Find any defined symbol by the dynamic hash table. Returns 0, -ENOENT, or
 * -EPROTO. */
int context_find_dynamic(const struct elf_file *file, const char *name,
			 struct elf_dynamic_symbol *out) MUST_CHECK;

#endif
