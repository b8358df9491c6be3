/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file by address. A name is given only where a
 * symbol's own size covers the address; the nearest symbol is no answer.
 *
 * A function is what has type FUNC or GNU_IFUNC (whose name then is that of
 * the resolver, not of what it chose). Labels without a type name nothing:
 * most lie within functions, as do the mapping symbols ($x, $d) of other
 * machines. A function without a size reaches, in .symtab, to the next one
 * but not out of its section; in .dynsym and MiniDebugInfo, which leave
 * functions out, it is its first byte.
 */
#ifndef WEFT_ELF_SYMBOLS_H
#define WEFT_ELF_SYMBOLS_H

#include "collector/elf/file.h"

struct symbols; /* independent of the file once loaded */

/*
 * Load .symtab and .dynsym. Returns 0 (also where there is neither, or it is
 * lost: see symbols_loss()), -ENOEXEC (not for this machine), -ENOMEM, or what
 * reading failed with. Free with symbols_free(), which takes NULL.
 */
int symbols_load(struct symbols **out, const struct elf_file *file) MUST_CHECK;
void symbols_free(struct symbols *symbols);

/*
 * Add the .symtab of another file with the same addresses: what was unpacked
 * from it (WIRE_SOURCE_MINIDEBUG), or a debug file. Asked after those that
 * are there already. Returns as symbols_load(), with smaller limits; where the
 * table is lost -EFBIG (beyond them) or -EPROTO; and -ENOENT if it names
 * nothing. Symbols are then as they were, but for the loss.
 */
int symbols_add(struct symbols *symbols, const struct elf_file *file,
		enum wire_source source) MUST_CHECK;

/* What a file says that it has of symbols, and was not to be had. */
struct symbols_loss {
	enum wire_loss what;     /* the worst */
	enum wire_source source; /* of which that is true */
	uint64_t skipped; /* functions, of all sources, by WIRE_LOSS_NAMES */
};
struct symbols_loss symbols_loss(const struct symbols *symbols);

/* Memory that they take, for the caller's ceiling. */
size_t symbols_bytes(const struct symbols *symbols);

struct symbol_name {
	const char *name;    /* borrowed; ends at name_size, not at a NUL */
	size_t name_size;    /* without the version after '@' */
	uint64_t start, end; /* file offsets of the function */
	enum wire_source source;
};

/*
 * Name a file offset: .symtab first, then .dynsym, then what was added. Where
 * several symbols cover it, the one that starts last (so f.cold is named even
 * within f); of those one with a size; then global over weak over local; then
 * no name that begins with "__GI_"; the fewest leading underscores; the
 * longest function; the name that sorts first. Nothing depends on the order
 * in the file. Returns false if none covers it.
 */
bool symbols_find(const struct symbols *symbols, uint64_t offset,
		  struct symbol_name *out);

/* Find a function by name in any table. */
bool symbols_find_by_name(const struct symbols *symbols, const char *name,
			  struct symbol_name *out);

/* Whether functions of that name begin at several places. */
bool symbols_has_several(const struct symbols *symbols, const char *name);

/* The names of all functions, at most max, borrowed; some end in '@' and a
 * version. Returns how many. */
size_t symbols_names(const struct symbols *symbols, const char **out,
		     size_t max);

#endif
