/* SPDX-License-Identifier: MIT */
/*
 * The first functions of a stack, by name and, where names were stripped, by
 * structure. What ends a chain of frame pointers on glibc 2.36, x86-64:
 *
 *   main            __libc_start_call_main, stripped in Debian's libc; its
 *                   frame pointer register holds argc (in a static program:
 *                   some other value left there)
 *   constructors    __libc_start_main itself, exported
 *   exit handlers   exit(), frame pointer 0
 *   threads         start_thread, frame pointer 0: clone and clone3 clear it
 *
 * A frame pointer of 0 needs no range. start_thread has no mark in a stripped
 * libc, but what calls it does: in clone and clone3 the return address is
 * undefined once in the new thread, which is how unwinders know to end.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "collector/elf_fde.h"
#include "collector/elf_roots.h"
#include "collector/inspect_names.h"

#if defined(__aarch64__)
enum {
	RETURN_REGISTER = 30
};
#else
enum {
	RETURN_REGISTER = 16
};
#endif

enum {
	HOLE_BYTES_MAX = 256,    /* entry code without unwind entries */
	CALLER_BYTES_MAX = 4096, /* __libc_start_call_main is 160 */
	GAP_BYTES_MAX = 64,      /* alignment between functions */
	DYNAMIC_MAX = 256,
};

static const char *const names[] = {
	"_start",       "__libc_start_call_main",
	"start_thread", "__libc_start_main",
	"clone",        "clone3",
	"__clone",      "__clone3",
};

struct finder {
	const struct elf_file *file;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
	struct fde *fdes; /* owned */
	size_t n_fdes;
	struct inspect_range *out;
	int n;
};

static void add(struct finder *finder, uint64_t start, uint64_t end)
{
	for (int i = 0; i < finder->n; i++) {
		if (finder->out[i].start <= start && finder->out[i].end >= end)
			return;
	}
	if (start < end && finder->n < INSPECT_ROOTS_MAX)
		finder->out[finder->n++] = (struct inspect_range){ start, end };
}

static void add_addresses(struct finder *finder, uint64_t start, uint64_t end)
{
	uint64_t offset;

	if (elf_vaddr_to_offset(finder->segments, finder->n_segments, start,
				&offset) &&
	    end - start <= UINT64_MAX - offset)
		add(finder, offset, offset + (end - start));
}

/* The last entry that starts at or below addr, or NULL. */
static const struct fde *find_below(const struct finder *finder, uint64_t addr)
{
	size_t low = 0, high = finder->n_fdes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (finder->fdes[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &finder->fdes[low - 1] : NULL;
}

/* A shared library's entry point is most often a leftover of the linker: the
 * start of its code. */
static bool is_program(const struct elf_file *file, const GElf_Ehdr *ehdr)
{
	size_t n = 0;

	if (ehdr->e_type == ET_EXEC)
		return true;
	(void)elf_getphdrnum(file->elf, &n);
	for (size_t i = 0; i < n && i < ELF_SEGMENTS_MAX; i++) {
		Elf_Data *data;
		GElf_Phdr phdr;
		GElf_Dyn dyn;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			continue;
		if (phdr.p_type == PT_INTERP)
			return true;
		if (phdr.p_type != PT_DYNAMIC ||
		    phdr.p_filesz > DYNAMIC_MAX * sizeof(Elf64_Dyn))
			continue;
		data = elf_getdata_rawchunk(file->elf, (int64_t)phdr.p_offset,
					    phdr.p_filesz, ELF_T_DYN);
		for (int k = 0; data && gelf_getdyn(data, k, &dyn); k++) {
			if (dyn.d_tag == DT_FLAGS_1 &&
			    dyn.d_un.d_val & DF_1_PIE)
				return true;
		}
	}
	return false;
}

static void add_entry(struct finder *finder)
{
	const struct fde *below;
	uint64_t end;
	size_t next;
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(finder->file->elf, &ehdr) || !ehdr.e_entry ||
	    !is_program(finder->file, &ehdr))
		return;
	below = find_below(finder, ehdr.e_entry);
	if (below && below->end > ehdr.e_entry) {
		add_addresses(finder, below->start, below->end);
		return;
	}
	/* A hole, from the entry on: up to the next entry. */
	end = ehdr.e_entry + HOLE_BYTES_MAX;
	next = below ? (size_t)(below - finder->fdes) + 1 : 0;
	if (next < finder->n_fdes && finder->fdes[next].start < end)
		end = finder->fdes[next].start;
	add_addresses(finder, ehdr.e_entry, end);
}

/* glibc's source has the caller of main just before __libc_start_main. */
static void add_caller_of_main(struct finder *finder,
			       const struct symbols *symbols)
{
	struct symbol_name found;
	const struct fde *below;
	uint64_t addr;

	if (!symbols_find_by_name(symbols, "__libc_start_main", &found) ||
	    !elf_offset_to_vaddr(finder->segments, finder->n_segments,
				 found.start, &addr) ||
	    !addr)
		return;
	below = find_below(finder, addr - 1);
	if (!below || below->end > addr || addr - below->end > GAP_BYTES_MAX ||
	    below->end - below->start > CALLER_BYTES_MAX)
		return;
	add_addresses(finder, below->start, below->end);
}

static bool is_first(Dwarf_CFI *cfi, uint64_t addr)
{
	Dwarf_Op memory[3], *ops = NULL;
	Dwarf_Frame *frame = NULL;
	size_t n = 1;
	bool is_it;

	if (dwarf_cfi_addrframe(cfi, addr, &frame))
		return false;
	is_it = !dwarf_frame_register(frame, RETURN_REGISTER, memory, &ops,
				      &n) &&
		!n && ops == memory;
	free(frame);
	return is_it;
}

static void add_firsts(struct finder *finder)
{
	Dwarf_CFI *cfi = NULL;

	for (size_t i = 0; i < finder->n_fdes; i++) {
		const struct fde *fde = &finder->fdes[i];

		if (!fde->may_be_first || finder->n == INSPECT_ROOTS_MAX)
			continue;
		if (!cfi)
			cfi = dwarf_getcfi_elf(finder->file->elf);
		if (!cfi)
			return;
		/* Near the end: a parent's half may come before. */
		if (is_first(cfi, fde->end - 1))
			add_addresses(finder, fde->start, fde->end);
	}
	if (cfi)
		dwarf_cfi_end(cfi);
}

int elf_find_roots(const struct elf_file *file, const struct symbols *symbols,
		   struct inspect_range out[INSPECT_ROOTS_MAX])
{
	struct finder finder = { .file = file, .out = out };
	struct symbol_name found;
	int rc;

	finder.n_segments = elf_file_segments(file, finder.segments);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (symbols_find_by_name(symbols, names[i], &found))
			add(&finder, found.start, found.end);
	}
	rc = elf_read_fdes(file, &finder.fdes, &finder.n_fdes);
	/* Bad unwind tables leave what was found by name. */
	if (!rc) {
		add_entry(&finder);
		add_caller_of_main(&finder, symbols);
		add_firsts(&finder);
	}
	free(finder.fdes);
	return rc == -ENOMEM ? rc : finder.n;
}

enum inspect_status inspect_op_roots(const struct request *request,
				     struct reply *reply)
{
	struct inspect_range found[INSPECT_ROOTS_MAX];
	const struct symbols *symbols;
	struct elf_file file;
	int n = elf_file_find(&file, request->head, request->path);
	int rc = 0;

	if (n)
		return inspect_to_status(n);
	n = inspect_load_symbols(&file, &symbols);
	if (!n)
		n = elf_find_roots(&file, symbols, found);
	elf_file_close(&file);
	for (int i = 0; i < n && !rc; i++) {
		struct wire_range wire = { found[i].start, found[i].end };

		rc = reply_add(reply, &wire, sizeof(wire));
	}
	return inspect_to_status(n < 0 ? n : rc);
}
