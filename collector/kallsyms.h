/* SPDX-License-Identifier: MIT */
/*
 * The kernel's functions and modules, as it lists them: the texts of
 * /proc/kallsyms and /proc/modules, and what they say of an address.
 */
#ifndef WEFT_KALLSYMS_H
#define WEFT_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/weft.h"

enum {
	KALLSYMS_NAME_MAX = 512, /* with its NUL; KSYM_NAME_LEN in the kernel */
	KALLSYMS_MODULES_MAX = 8192,
	KALLSYMS_NO_MODULE = -1 /* the kernel itself */
};

struct kallsyms_symbol {
	uint64_t start;
	uint32_t name;  /* offset into text */
	int32_t module; /* index, or KALLSYMS_NO_MODULE */
};

/* What stands in brackets: a module, or code that the kernel made ("bpf",
 * "__builtin__kprobes", ...), which is in no list of modules. */
struct kallsyms_module {
	char name[64];
	uint64_t start, end; /* 0, 0: not listed */
};

/* Zero is an empty one. */
struct kallsyms {
	struct kallsyms_symbol *symbols; /* owned; ascending */
	size_t n_symbols, symbols_room;
	struct kallsyms_module *modules; /* owned */
	size_t n_modules, modules_room;
	char *text; /* owned; names */
	size_t n_text, text_room;
	uint64_t text_start, text_end; /* _stext, _etext; 0: not known */
};

/*
 * Parse both texts, which are used up; either may be NULL. Symbols without an
 * address (the kernel hides them) and lines that are none are passed over.
 * Returns 0 or -ENOMEM; release it in either case.
 */
int kallsyms_parse(struct kallsyms *k, char *symbols, char *modules) MUST_CHECK;
void kallsyms_release(struct kallsyms *k);

/* The symbol that starts last at or before addr; of several at one address the
 * first by name, so that a function has one name in every recording. NULL if
 * none does. */
const struct kallsyms_symbol *kallsyms_find(const struct kallsyms *k,
					    uint64_t addr);

/* Where the next symbol after this one starts; UINT64_MAX: it is the last. */
uint64_t kallsyms_next_start(const struct kallsyms *k,
			     const struct kallsyms_symbol *symbol);

const char *kallsyms_name(const struct kallsyms *k,
			  const struct kallsyms_symbol *symbol);

/* The module of a symbol; NULL: the kernel itself. */
const struct kallsyms_module *
kallsyms_module_of(const struct kallsyms *k,
		   const struct kallsyms_symbol *symbol);

/* Whether it is code that the kernel made. */
bool kallsyms_is_made(const struct kallsyms_module *module);

#endif
