/* SPDX-License-Identifier: MIT */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/patch.h"
#include "collector/elf/symbols.h"

enum {
	ENTRY_BYTES_MAX = 256, /* code at the entry point; the loader's: 80 */
	FRAGMENT_BYTES_MAX = 4096, /* .init or .fini; mostly 9 to 27 */
	SECTIONS_MAX = 65536,
	PHDRS_MAX = 1024,
	DYNAMIC_MAX = 256,
	GO_PATCHES_MAX = 5,
	SECTION_PATCHES_MAX = GO_PATCHES_MAX,
};

/* Whether the dynamic section is one of a program, or of the loader, which
 * has the name of a library but is where programs begin. */
static bool is_of_program(const struct elf_file *file, const GElf_Phdr *phdr)
{
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments = elf_file_segments(file, segments);
	Elf64_Dyn dyn[DYNAMIC_MAX];
	uint64_t n = phdr->p_filesz / sizeof(dyn[0]);
	uint64_t strings = 0, name = 0;
	char start[3];

	if (n > DYNAMIC_MAX)
		n = DYNAMIC_MAX;
	if (elf_file_read(file, dyn, n * sizeof(dyn[0]), phdr->p_offset))
		return false;
	for (uint64_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_FLAGS_1 && dyn[i].d_un.d_val & DF_1_PIE)
			return true;
		if (dyn[i].d_tag == DT_STRTAB)
			strings = dyn[i].d_un.d_ptr;
		if (dyn[i].d_tag == DT_SONAME)
			name = dyn[i].d_un.d_val;
	}
	return strings && name && name <= UINT64_MAX - strings &&
	       !elf_read_vaddr(file, segments, n_segments, strings + name,
			       start, sizeof(start)) &&
	       !memcmp(start, "ld-", sizeof(start));
}

/* A shared library's entry point is most often a leftover of the linker: the
 * start of its code. */
static bool is_program(const struct elf_file *file, const GElf_Ehdr *ehdr)
{
	size_t n = 0;

	if (ehdr->e_type == ET_EXEC)
		return true;
	(void)elf_getphdrnum(file->elf, &n);
	for (size_t i = 0; i < n && i < PHDRS_MAX; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			continue;
		if (phdr.p_type == PT_INTERP ||
		    (phdr.p_type == PT_DYNAMIC && is_of_program(file, &phdr)))
			return true;
	}
	return false;
}

static size_t find_entry(const struct elf_file *file, struct elf_patch *out)
{
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n = elf_file_segments(file, segments);
	uint64_t offset;
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(file->elf, &ehdr) || !ehdr.e_entry ||
	    !is_program(file, &ehdr) ||
	    !elf_vaddr_to_offset(segments, n, ehdr.e_entry, &offset) ||
	    offset > UINT64_MAX - ENTRY_BYTES_MAX)
		return 0;
	*out = (struct elf_patch){
		.start = offset,
		.end = offset + ENTRY_BYTES_MAX,
		.rule = { .kind = WEFT_RULE_END },
	};
	return 1;
}

/*
 * .init and .fini are functions put together of pieces, of which the first
 * begins with `sub $8,%rsp` and the last ends with `add $8,%rsp; ret`. What
 * lies between calls, and leaves rsp where it was.
 */
static size_t find_fragment(const struct elf_file *file, const GElf_Shdr *shdr,
			    struct elf_patch out[3])
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t sub[] = { 0x48, 0x83, 0xec, 0x08 };
	static const uint8_t add_ret[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	uint8_t code[FRAGMENT_BYTES_MAX];
	uint64_t start = shdr->sh_offset, size = shdr->sh_size;
	uint64_t deep, shallow; /* offsets from where rules hold */
	size_t at = 0;

	if (size < sizeof(sub) + sizeof(add_ret) || size > sizeof(code) ||
	    elf_file_read(file, code, size, start))
		return 0;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (size < at + sizeof(sub) + sizeof(add_ret) ||
	    memcmp(code + at, sub, sizeof(sub)) ||
	    memcmp(code + size - sizeof(add_ret), add_ret, sizeof(add_ret)))
		return 0;
	deep = start + at + sizeof(sub);
	shallow = start + size - 1;
	out[0] = (struct elf_patch){ start,
				     deep,
				     { .kind = WEFT_RULE_RSP, .offset = 8 } };
	out[1] = (struct elf_patch){ deep,
				     shallow,
				     { .kind = WEFT_RULE_RSP, .offset = 16 } };
	out[2] = (struct elf_patch){ shallow,
				     start + size,
				     { .kind = WEFT_RULE_RSP, .offset = 8 } };
	return 3;
}

/*
 * Stubs that jump to other files' functions. Linkers mostly describe them; lld
 * does not. In .plt the first stub pushes a word, then jumps; each other one
 * jumps, or pushes the number of its function and jumps to the first.
 */
static size_t find_stubs(const struct elf_file *file, const GElf_Shdr *shdr,
			 struct elf_patch out[3])
{
	enum {
		STUB = 16,
		PUSH = 0x68,
		PUSHED_FIRST = 6 /* bytes of the first stub's push */
	};
	static const uint8_t first[] = { 0xff, 0x35 };
	uint64_t start = shdr->sh_offset, size = shdr->sh_size;
	uint8_t code[2 * STUB];
	int32_t pushed = 0;

	*out = (struct elf_patch){ start,
				   start + size,
				   { .kind = WEFT_RULE_RSP, .offset = 8 } };
	if (size < sizeof(code) ||
	    elf_file_read(file, code, sizeof(code), start) ||
	    memcmp(code, first, sizeof(first)))
		return 1;
	/* After the push of the second stub, which has a 32-bit number. */
	for (int i = STUB; i + 5 < 2 * STUB && !pushed; i++) {
		if (code[i] == PUSH)
			pushed = i - STUB + 5;
	}
	out[0] = (struct elf_patch){ start,
				     start + PUSHED_FIRST,
				     { .kind = WEFT_RULE_RSP, .offset = 16 } };
	out[1] = (struct elf_patch){ start + PUSHED_FIRST,
				     start + STUB,
				     { .kind = WEFT_RULE_RSP, .offset = 24 } };
	out[2] = (struct elf_patch){ start + STUB,
				     start + size,
				     { .kind = WEFT_RULE_PLT,
				       .offset = pushed ? pushed : STUB } };
	return 3;
}

/*
 * crtbegin's __do_global_dtors_aux, which runs at every exit and mostly faults
 * on its first instruction. From its second push on it has a frame pointer.
 */
static size_t find_destructors(const struct elf_file *file,
			       const GElf_Shdr *shdr, struct elf_patch out[2])
{
	enum {
		SEARCHED_BYTES = 65536,
		PUSH_AT = 9,
		MOV_END = 21
	};
	/* cmpb $0,completed; jne; push %rbp; cmpq $0,__cxa_finalize;
	 * mov %rsp,%rbp. 0x100 is any byte. */
	static const uint16_t pattern[MOV_END] = {
		0x80,  0x3d,  0x100, 0x100, 0x100, 0x100, 0x00,
		0x75,  0x100, 0x55,  0x48,  0x83,  0x3d,  0x100,
		0x100, 0x100, 0x100, 0x00,  0x48,  0x89,  0xe5,
	};
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint64_t start = shdr->sh_offset;
	uint64_t size = shdr->sh_size;
	uint8_t *code, *at;
	size_t n = 0;

	if (size > SEARCHED_BYTES)
		size = SEARCHED_BYTES;
	code = malloc(size + 1);
	if (!code || elf_file_read(file, code, size, start))
		size = 0;
	for (at = code; size >= MOV_END && !n; at++) {
		size_t same = 0;

		at = memchr(at, pattern[0],
			    size - MOV_END + 1 - (size_t)(at - code));
		if (!at)
			break;
		while (same < MOV_END &&
		       (pattern[same] == 0x100 || pattern[same] == at[same]))
			same++;
		if (same < MOV_END)
			continue;
		start += (uint64_t)(at - code);
		out[0] = (struct elf_patch){ start,
					     start + PUSH_AT + 1,
					     { .kind = WEFT_RULE_RSP,
					       .offset = 8 } };
		if ((size_t)(at - code) >= sizeof(endbr64) &&
		    !memcmp(at - sizeof(endbr64), endbr64, sizeof(endbr64)))
			out[0].start -= sizeof(endbr64);
		out[1] = (struct elf_patch){
			start + PUSH_AT + 1,
			start + MOV_END,
			{ .kind = WEFT_RULE_RSP, .offset = 16, .rbp = 2 }
		};
		n = 2;
	}
	free(code);
	return n;
}

/* By section: what to look for, and how many patches that makes at most. */
static size_t find_in_section(const struct elf_file *file, const char *name,
			      const GElf_Shdr *shdr, struct elf_patch *out)
{
	static const char *const fragments[] = { ".init", ".fini" };
	static const char *const stubs[] = { ".plt", ".plt.got", ".plt.sec",
					     ".iplt" };

	for (size_t i = 0; i < ARRAY_LEN(fragments); i++) {
		if (!strcmp(name, fragments[i]))
			return find_fragment(file, shdr, out);
	}
	for (size_t i = 0; i < ARRAY_LEN(stubs); i++) {
		if (!strcmp(name, stubs[i]))
			return find_stubs(file, shdr, out);
	}
	return strcmp(name, ".text") ? 0 : find_destructors(file, shdr, out);
}

/*
 * Go describes nothing this way: its frames go by frame pointer. But the
 * stacks of its threads, on which the scheduler and the garbage collector run,
 * begin in functions that keep none, or that are entered from another stack.
 */
static size_t find_go_firsts(const struct elf_file *file, struct elf_patch *out)
{
	static const char *const names[GO_PATCHES_MAX] = {
		"runtime.rt0_go.abi0", "runtime.mstart.abi0",
		"runtime.mcall",       "runtime.morestack.abi0",
		"runtime.goexit.abi0",
	};
	struct symbols *symbols;
	size_t n = 0;

	if (symbols_load(&symbols, file))
		return 0;
	for (size_t i = 0; i < GO_PATCHES_MAX; i++) {
		struct symbol_name found;

		if (symbols_find_by_name(symbols, names[i], &found) &&
		    found.start < found.end)
			out[n++] = (struct elf_patch){
				.start = found.start,
				.end = found.end,
				.rule = { .kind = WEFT_RULE_END },
			};
	}
	symbols_free(symbols);
	return n;
}

static size_t find_in_sections(const struct elf_file *file,
			       struct elf_patch *out, size_t room)
{
	Elf_Scn *scn = NULL;
	size_t n = 0, names;
	GElf_Shdr shdr;

	if (elf_getshdrstrndx(file->elf, &names))
		return 0;
	for (int i = 0; i < SECTIONS_MAX && n + SECTION_PATCHES_MAX <= room;
	     i++) {
		const char *name;

		scn = elf_nextscn(file->elf, scn);
		if (!scn)
			break;
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS ||
		    shdr.sh_size > UINT64_MAX - shdr.sh_offset)
			continue;
		name = elf_strptr(file->elf, names, shdr.sh_name);
		if (!name)
			continue;
		if (shdr.sh_flags & SHF_EXECINSTR)
			n += find_in_section(file, name, &shdr, out + n);
		else if (!strcmp(name, ".gopclntab"))
			n += find_go_firsts(file, out + n);
	}
	return n;
}

static int compare(const void *a, const void *b)
{
	const struct elf_patch *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

size_t elf_find_patches(const struct elf_file *file, bool has_entries,
			struct elf_patch out[ELF_PATCHES_MAX])
{
	/* Only other entries say how far the code at the entry point goes. */
	size_t n = has_entries ? find_entry(file, out) : 0;

	n += find_in_sections(file, out + n, ELF_PATCHES_MAX - n);
	if (!n)
		return 0;
	qsort(out, n, sizeof(*out), compare);
	for (size_t i = 0; i + 1 < n; i++) {
		if (out[i].end > out[i + 1].start)
			out[i].end = out[i + 1].start;
	}
	return n;
}
