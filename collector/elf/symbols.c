/* SPDX-License-Identifier: MIT */
/*
 * A table is read in blocks; of each function we keep 32 bytes, and the
 * string table as it is in the file. Sorted by address; "reach" is the
 * furthest end so far, which tells a search when to stop walking back
 * through symbols that enclose others.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/elf/symbols.h"

enum {
	FUNCTIONS_MAX = 4 << 20,
	SECTIONS_MAX = 65536,
	BLOCK_SYMBOLS = 4096,
	STEPS_MAX = 4096, /* back from where a search begins */
};

static const uint64_t section_bytes_max = 512 << 20;

/* Of a file that is read besides, in the same request. */
static const uint64_t added_symbols_bytes_max = 32 << 20;
static const uint64_t added_strings_bytes_max = 96 << 20;

struct function {
	uint64_t start, end; /* addresses in the file's own space */
	uint64_t reach;      /* while loading: end of the section */
	uint32_t name;
	uint32_t rank; /* among names of one address: lower is better */
};

struct table {
	struct function *functions; /* owned */
	size_t n, room;
	char *strings; /* owned; strings_size bytes and a NUL */
	size_t strings_size;
	size_t names_size; /* of it, up to the last NUL that is its own */
	enum wire_source source;
	bool is_sparse;   /* it leaves functions out: on purpose, or lost */
	bool is_taken;    /* by the first section of its type */
	uint64_t skipped; /* functions whose names are damaged */
};

/* In the order in which they are asked. */
enum {
	SYMTAB,
	DYNSYM,
	MINIDEBUG,
	DEBUG_FILE,
	TABLES
};

struct symbols {
	struct table table[TABLES];
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
	struct symbols_loss loss;
};

/* What loading needs to know of the file. */
struct loader {
	const struct elf_file *file;
	struct symbols *symbols;
	uint64_t symbols_bytes_max, strings_bytes_max;
	uint64_t *section_ends; /* owned */
	size_t n_sections;
};

static int load_strings(const struct loader *loader, size_t section,
			struct table *table)
{
	Elf_Scn *scn = elf_getscn(loader->file->elf, section);
	uint64_t limit = loader->file->key.size;
	const char *end;
	GElf_Shdr shdr;
	int rc;

	if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_STRTAB ||
	    shdr.sh_size > limit)
		return -EPROTO;
	if (shdr.sh_size > loader->strings_bytes_max)
		return -EFBIG;
	table->strings = malloc(shdr.sh_size + 1);
	if (!table->strings)
		return -ENOMEM;
	table->strings_size = shdr.sh_size;
	table->strings[shdr.sh_size] = '\0';
	rc = elf_file_read(loader->file, table->strings, shdr.sh_size,
			   shdr.sh_offset);
	if (rc)
		return rc;
	end = memrchr(table->strings, '\0', shdr.sh_size);
	table->names_size = end ? (size_t)(end - table->strings) + 1 : 0;
	return 0;
}

static uint32_t binding_rank(const Elf64_Sym *sym)
{
	switch (ELF64_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 0;
	case STB_WEAK:
		return 1;
	default:
		return 2;
	}
}

/* The order that symbols_find() states, as far as it is not by number or
 * letter. "__GI_" is glibc's for its own calls of what it exports. */
static uint32_t to_rank(const Elf64_Sym *sym, const char *name)
{
	uint32_t is_unsized = !sym->st_size;
	uint32_t is_internal = !strncmp(name, "__GI_", 5);
	size_t underscores = strspn(name, "_");

	return is_unsized << 16 | binding_rank(sym) << 12 | is_internal << 8 |
	       (underscores < 255 ? (uint32_t)underscores : 255);
}

static bool is_function(const Elf64_Sym *sym)
{
	int type = ELF64_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS;
}

static int keep(const struct loader *loader, struct table *table,
		const Elf64_Sym *sym)
{
	uint64_t start = sym->st_value, offset;
	struct function *bigger;

	if (!is_function(sym) || !sym->st_name ||
	    !elf_vaddr_to_offset(loader->symbols->segments,
				 loader->symbols->n_segments, start, &offset))
		return 0;
	if (sym->st_name >= table->names_size) {
		table->skipped++;
		return 0;
	}
	if (!table->strings[sym->st_name])
		return 0;
	if (table->n == FUNCTIONS_MAX)
		return -EFBIG;
	if (table->n == table->room) {
		table->room = table->room ? table->room * 2 : 1024;
		bigger = reallocarray(table->functions, table->room,
				      sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		table->functions = bigger;
	}
	table->functions[table->n++] = (struct function){
		.start = start,
		.end = sym->st_size > UINT64_MAX - start ? UINT64_MAX
							 : start + sym->st_size,
		.reach = sym->st_shndx < loader->n_sections
				 ? loader->section_ends[sym->st_shndx]
				 : start,
		.name = sym->st_name,
		.rank = to_rank(sym, table->strings + sym->st_name),
	};
	return 0;
}

static int load_functions(const struct loader *loader, const GElf_Shdr *shdr,
			  struct table *table)
{
	static Elf64_Sym block[BLOCK_SYMBOLS];
	uint64_t n = shdr->sh_size / sizeof(block[0]);
	int rc = 0;

	if (shdr->sh_size > loader->file->key.size)
		return -EPROTO;
	if (shdr->sh_size > loader->symbols_bytes_max)
		return -EFBIG;
	for (uint64_t at = 0; at < n && !rc; at += BLOCK_SYMBOLS) {
		uint64_t step = n - at < BLOCK_SYMBOLS ? n - at : BLOCK_SYMBOLS;

		rc = elf_file_read(loader->file, block, step * sizeof(block[0]),
				   shdr->sh_offset + at * sizeof(block[0]));
		for (uint64_t i = 0; i < step && !rc; i++)
			rc = keep(loader, table, &block[i]);
	}
	return rc;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct function *x = a, *y = b;
	const struct table *table = ctx;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return strcmp(table->strings + x->name, table->strings + y->name);
}

/* Give symbols without a size one: in .symtab up to the next symbol, but not
 * out of the section; where functions are left out, nothing but the address
 * itself. */
static void settle_ends(struct table *table)
{
	uint64_t next = UINT64_MAX, reach = 0;

	for (size_t i = table->n; i--;) {
		struct function *f = &table->functions[i];

		if (i + 1 < table->n && f[1].start != f->start)
			next = f[1].start;
		if (f->end != f->start)
			continue;
		f->end = next < f->reach ? next : f->reach;
		if (table->is_sparse || f->end <= f->start)
			f->end = f->start + 1;
	}
	for (size_t i = 0; i < table->n; i++) {
		struct function *f = &table->functions[i];

		if (f->end > reach)
			reach = f->end;
		f->reach = reach;
	}
}

static void release(struct table *table)
{
	free(table->functions);
	free(table->strings);
	*table = (struct table){ .source = table->source,
				 .is_sparse = table->is_sparse };
}

/* Remember the worst that is lost, and of which source. */
static void lose(struct symbols *symbols, enum wire_loss what,
		 enum wire_source source)
{
	if (what > symbols->loss.what)
		symbols->loss = (struct symbols_loss){ what, source,
						       symbols->loss.skipped };
}

static bool is_loss(int rc)
{
	return rc == -EPROTO || rc == -EFBIG;
}

static int read_table(const struct loader *loader, const GElf_Shdr *shdr,
		      struct table *table)
{
	int rc = load_strings(loader, shdr->sh_link, table);

	if (!rc && shdr->sh_entsize != sizeof(Elf64_Sym))
		rc = -EPROTO;
	return rc ? rc : load_functions(loader, shdr, table);
}

/* A table is there as a whole or not: in a part of one, functions would have
 * the names of those around them. */
static int load_table(const struct loader *loader, const GElf_Shdr *shdr,
		      struct table *table)
{
	int rc;

	if (table->is_taken || !shdr->sh_size)
		return 0;
	rc = read_table(loader, shdr, table);
	if (is_loss(rc))
		lose(loader->symbols,
		     rc == -EFBIG ? WIRE_LOSS_TOO_LARGE : WIRE_LOSS_TABLE,
		     table->source);
	if (rc)
		release(table);
	table->is_taken = true;
	if (rc)
		return rc;
	if (table->skipped) {
		table->is_sparse = true;
		loader->symbols->loss.skipped += table->skipped;
		lose(loader->symbols, WIRE_LOSS_NAMES, table->source);
	}
	if (table->n)
		qsort_r(table->functions, table->n, sizeof(*table->functions),
			compare, table);
	settle_ends(table);
	return 0;
}

static int load_section_ends(struct loader *loader)
{
	size_t n;

	if (elf_getshdrnum(loader->file->elf, &n))
		return 0; /* none that can be read: no names */
	if (n > SECTIONS_MAX)
		n = SECTIONS_MAX;
	loader->section_ends = calloc(n + 1, sizeof(uint64_t));
	if (!loader->section_ends)
		return -ENOMEM;
	loader->n_sections = n;
	for (size_t i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(loader->file->elf, i);
		GElf_Shdr shdr;

		if (scn && gelf_getshdr(scn, &shdr) &&
		    shdr.sh_size <= UINT64_MAX - shdr.sh_addr)
			loader->section_ends[i] = shdr.sh_addr + shdr.sh_size;
	}
	return 0;
}

/*
 * Whether the header speaks of sections that are not there: of a file that was
 * cut their headers are gone first, for they come last. libelf takes whatever
 * lies at e_shoff for them; but the first one is always the same.
 */
static bool lacks_sections(const struct elf_file *file)
{
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;
	Elf_Scn *first;

	if (!gelf_getehdr(file->elf, &ehdr))
		return true;
	if (!ehdr.e_shoff && !ehdr.e_shnum)
		return false;
	first = elf_getscn(file->elf, 0);
	return !first || !gelf_getshdr(first, &shdr) ||
	       shdr.sh_type != SHT_NULL || shdr.sh_addr || shdr.sh_offset ||
	       ehdr.e_shentsize != sizeof(Elf64_Shdr);
}

/* The first table of each type; NULL: of that type none is wanted. Where one
 * is lost, the other is loaded all the same. */
static int load_tables(struct loader *loader, struct table *symtab,
		       struct table *dynsym)
{
	int rc, lost = 0;

	if (lacks_sections(loader->file)) {
		lose(loader->symbols, WIRE_LOSS_SECTIONS, symtab->source);
		return -EPROTO;
	}
	rc = load_section_ends(loader);
	for (size_t i = 1; i < loader->n_sections && !rc; i++) {
		Elf_Scn *scn = elf_getscn(loader->file->elf, i);
		GElf_Shdr shdr;

		if (!scn || !gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_SYMTAB)
			rc = load_table(loader, &shdr, symtab);
		else if (shdr.sh_type == SHT_DYNSYM && dynsym)
			rc = load_table(loader, &shdr, dynsym);
		if (is_loss(rc)) {
			lost = rc;
			rc = 0;
		}
	}
	free(loader->section_ends);
	return rc ? rc : lost;
}

int symbols_load(struct symbols **out, const struct elf_file *file)
{
	struct loader loader = {
		.file = file,
		.symbols_bytes_max = section_bytes_max,
		.strings_bytes_max = section_bytes_max,
	};
	struct symbols *symbols;
	int rc;

	*out = NULL;
	if (!elf_file_is_native(file))
		return -ENOEXEC;
	symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	symbols->table[SYMTAB].source = WIRE_SOURCE_SYMTAB;
	symbols->table[DYNSYM].source = WIRE_SOURCE_DYNSYM;
	symbols->table[DYNSYM].is_sparse = true;
	symbols->n_segments = elf_file_segments(file, symbols->segments);
	loader.symbols = symbols;
	rc = load_tables(&loader, &symbols->table[SYMTAB],
			 &symbols->table[DYNSYM]);
	if (rc && !is_loss(rc)) {
		symbols_free(symbols);
		return rc;
	}
	*out = symbols;
	return 0;
}

int symbols_add(struct symbols *symbols, const struct elf_file *file,
		enum wire_source source)
{
	bool is_minidebug = source == WIRE_SOURCE_MINIDEBUG;
	struct table *into =
		&symbols->table[is_minidebug ? MINIDEBUG : DEBUG_FILE];
	struct table table = { .source = source, .is_sparse = is_minidebug };
	struct loader loader = {
		.file = file,
		.symbols = symbols,
		.symbols_bytes_max = added_symbols_bytes_max,
		.strings_bytes_max = added_strings_bytes_max,
	};
	int rc;

	if (!elf_file_is_native(file))
		return -ENOEXEC;
	rc = load_tables(&loader, &table, NULL);
	if (!rc && !table.n)
		rc = -ENOENT;
	if (rc) {
		release(&table);
		return rc;
	}
	release(into);
	*into = table;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (int i = 0; i < TABLES; i++)
		release(&symbols->table[i]);
	free(symbols);
}

struct symbols_loss symbols_loss(const struct symbols *symbols)
{
	return symbols->loss;
}

size_t symbols_bytes(const struct symbols *symbols)
{
	size_t bytes = sizeof(*symbols);

	for (int i = 0; i < TABLES; i++)
		bytes += symbols->table[i].room * sizeof(struct function) +
			 symbols->table[i].strings_size;
	return bytes;
}

static const struct function *find_in(const struct table *table, uint64_t addr)
{
	const struct function *found = NULL;
	size_t low = 0, high = table->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->functions[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (int steps = 0; low-- && steps < STEPS_MAX; steps++) {
		const struct function *f = &table->functions[low];

		if ((found && f->start != found->start) || f->reach <= addr)
			break;
		/* Of one address the best comes first, so it is found last. */
		if (f->end > addr)
			found = f;
	}
	return found;
}

static bool describe(const struct symbols *symbols, const struct table *table,
		     const struct function *f, struct symbol_name *out)
{
	const char *name = table->strings + f->name;
	const char *version = strchr(name + 1, '@');

	*out = (struct symbol_name){
		.name = name,
		.name_size = version ? (size_t)(version - name) : strlen(name),
		.source = table->source,
	};
	if (!elf_vaddr_to_offset(symbols->segments, symbols->n_segments,
				 f->start, &out->start))
		return false;
	out->end = out->start + (f->end - f->start);
	return out->end > out->start;
}

bool symbols_find(const struct symbols *symbols, uint64_t offset,
		  struct symbol_name *out)
{
	uint64_t addr;

	if (!elf_offset_to_vaddr(symbols->segments, symbols->n_segments, offset,
				 &addr))
		return false;
	for (int i = 0; i < TABLES; i++) {
		const struct table *table = &symbols->table[i];
		const struct function *f = find_in(table, addr);

		if (f && describe(symbols, table, f, out))
			return true;
	}
	return false;
}

static bool is_named(const struct symbols *symbols, const struct table *table,
		     const struct function *f, const char *name,
		     struct symbol_name *out)
{
	return describe(symbols, table, f, out) &&
	       out->name_size == strlen(name) &&
	       !memcmp(out->name, name, out->name_size);
}

bool symbols_find_by_name(const struct symbols *symbols, const char *name,
			  struct symbol_name *out)
{
	for (int i = 0; i < TABLES; i++) {
		const struct table *table = &symbols->table[i];

		for (size_t k = 0; k < table->n; k++)
			if (is_named(symbols, table, &table->functions[k], name,
				     out))
				return true;
	}
	return false;
}

bool symbols_has_several(const struct symbols *symbols, const char *name)
{
	struct symbol_name first, other;

	if (!symbols_find_by_name(symbols, name, &first))
		return false;
	for (int i = 0; i < TABLES; i++) {
		const struct table *table = &symbols->table[i];

		for (size_t k = 0; k < table->n; k++)
			if (is_named(symbols, table, &table->functions[k], name,
				     &other) &&
			    other.start != first.start)
				return true;
	}
	return false;
}

size_t symbols_names(const struct symbols *symbols, const char **out,
		     size_t max)
{
	size_t n = 0;

	for (int i = 0; i < TABLES; i++) {
		const struct table *table = &symbols->table[i];

		for (size_t k = 0; k < table->n && n < max; k++)
			out[n++] = table->strings + table->functions[k].name;
	}
	return n;
}
