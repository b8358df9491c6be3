/* SPDX-License-Identifier: MIT */
/*
 * Program headers and PT_DYNAMIC only, for these are what the loader uses and
 * what strip leaves. Every address is translated through a PT_LOAD, every
 * size is bounded.
 */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "collector/context/elf.h"

enum {
	PHDRS_MAX = 64,
	DYNAMIC_MAX = 256,
	CHAIN_MAX = 4096,
	NAME_MAX_BYTES = 64,
	BLOCK = 1024,
};

static const uint64_t relocation_bytes_max = 256 << 20;
static const uint64_t symtab_bytes_max = 64 << 20;

#if defined(__aarch64__)
enum {
	R_OFFSET = 1030,
	R_DESCRIPTOR = 1031,
	R_MODULE = 1028
};
#else
enum {
	R_OFFSET = R_X86_64_TPOFF64,
	R_DESCRIPTOR = R_X86_64_TLSDESC,
	R_MODULE = R_X86_64_DTPMOD64
};
#endif

/* Some symbol that no relocation can name. */
static const uint32_t not_dynamic = UINT32_MAX;

/* The parts of PT_DYNAMIC that we use; 0: absent. */
struct dynamic {
	uint64_t symtab, strtab, strsz, gnu_hash, hash;
	uint64_t rela, rela_size, jmprel, jmprel_size;
};

struct elf_view {
	const struct elf_file *file;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
	struct dynamic dynamic;
};

static int read_vaddr(const struct elf_view *view, uint64_t vaddr, void *out,
		      size_t size)
{
	return elf_read_vaddr(view->file, view->segments, view->n_segments,
			      vaddr, out, size);
}

static void take_dynamic(struct dynamic *out, const Elf64_Dyn *dyn)
{
	uint64_t value = dyn->d_un.d_val;

	switch (dyn->d_tag) {
	case DT_SYMTAB:
		out->symtab = value;
		break;
	case DT_STRTAB:
		out->strtab = value;
		break;
	case DT_STRSZ:
		out->strsz = value;
		break;
	case DT_GNU_HASH:
		out->gnu_hash = value;
		break;
	case DT_HASH:
		out->hash = value;
		break;
	case DT_RELA:
		out->rela = value;
		break;
	case DT_RELASZ:
		out->rela_size = value;
		break;
	case DT_JMPREL:
		out->jmprel = value;
		break;
	case DT_PLTRELSZ:
		out->jmprel_size = value;
		break;
	default:
		break;
	}
}

static int read_dynamic(struct elf_view *view, const GElf_Phdr *phdr)
{
	Elf64_Dyn dyn[DYNAMIC_MAX];
	uint64_t n = phdr->p_filesz / sizeof(dyn[0]);
	int rc;

	if (n > DYNAMIC_MAX)
		n = DYNAMIC_MAX;
	rc = elf_file_read(view->file, dyn, n * sizeof(dyn[0]), phdr->p_offset);
	for (uint64_t i = 0; i < n && !rc && dyn[i].d_tag != DT_NULL; i++)
		take_dynamic(&view->dynamic, &dyn[i]);
	return rc;
}

/* Returns 0, or a negative errno. out may be NULL: TLS is not asked for. */
static int view_open(struct elf_view *view, const struct elf_file *file,
		     struct tls_variable *out)
{
	size_t n = 0;
	int rc = 0;

	*view = (struct elf_view){ .file = file };
	if (!elf_file_is_native(file) || elf_getphdrnum(file->elf, &n))
		return -ENOEXEC;
	view->n_segments = elf_file_segments(file, view->segments);
	for (size_t i = 0; i < n && i < PHDRS_MAX && !rc; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			return -EPROTO;
		if (phdr.p_type == PT_DYNAMIC) {
			rc = read_dynamic(view, &phdr);
		} else if (phdr.p_type == PT_TLS && out) {
			out->tls_vaddr = phdr.p_vaddr;
			out->tls_size = phdr.p_memsz;
			out->tls_align = phdr.p_align ? phdr.p_align : 1;
		}
	}
	return rc;
}

/* Whether symbol index of .dynsym is defined and has this name. */
static bool is_symbol(const struct elf_view *view, uint32_t index,
		      const char *name, Elf64_Sym *out)
{
	char there[NAME_MAX_BYTES];
	size_t size = strlen(name) + 1;

	if (read_vaddr(view,
		       view->dynamic.symtab + index * (uint64_t)sizeof(*out),
		       out, sizeof(*out)) ||
	    out->st_shndx == SHN_UNDEF || size > sizeof(there) ||
	    out->st_name > view->dynamic.strsz ||
	    size > view->dynamic.strsz - out->st_name)
		return false;
	return !read_vaddr(view, view->dynamic.strtab + out->st_name, there,
			   size) &&
	       !memcmp(there, name, size);
}

static int find_by_gnu_hash(const struct elf_view *view, const char *name,
			    uint32_t *index, Elf64_Sym *out)
{
	uint64_t at = view->dynamic.gnu_hash;
	uint32_t head[4], hash = 5381, there, i;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (read_vaddr(view, at, head, sizeof(head)) || !head[0])
		return -EPROTO;
	/* Buckets, symbol offset, words of the Bloom filter, its shift. */
	at += sizeof(head) + head[2] * (uint64_t)8;
	if (read_vaddr(view, at + hash % head[0] * (uint64_t)4, &i, sizeof(i)))
		return -EPROTO;
	at += head[0] * (uint64_t)4;
	if (i < head[1])
		return -ENOENT;
	for (int steps = 0; steps < CHAIN_MAX; steps++, i++) {
		if (read_vaddr(view, at + (i - head[1]) * (uint64_t)4, &there,
			       sizeof(there)))
			return -EPROTO;
		if ((there | 1) == (hash | 1) &&
		    is_symbol(view, i, name, out)) {
			*index = i;
			return 0;
		}
		if (there & 1 || i == UINT32_MAX)
			return -ENOENT;
	}
	return -EPROTO;
}

static int find_by_old_hash(const struct elf_view *view, const char *name,
			    uint32_t *index, Elf64_Sym *out)
{
	uint64_t at = view->dynamic.hash;
	uint32_t head[2], hash = 0, i;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	if (read_vaddr(view, at, head, sizeof(head)) || !head[0])
		return -EPROTO;
	at += sizeof(head);
	if (read_vaddr(view, at + hash % head[0] * (uint64_t)4, &i, sizeof(i)))
		return -EPROTO;
	at += head[0] * (uint64_t)4;
	for (int steps = 0; i && steps < CHAIN_MAX; steps++) {
		if (is_symbol(view, i, name, out)) {
			*index = i;
			return 0;
		}
		if (read_vaddr(view, at + i * (uint64_t)4, &i, sizeof(i)))
			return -EPROTO;
	}
	return i ? -EPROTO : -ENOENT;
}

static int find_dynamic(const struct elf_view *view, const char *name,
			uint32_t *index, Elf64_Sym *out)
{
	if (!view->dynamic.symtab || !view->dynamic.strtab)
		return -ENOENT;
	if (view->dynamic.gnu_hash)
		return find_by_gnu_hash(view, name, index, out);
	if (view->dynamic.hash)
		return find_by_old_hash(view, name, index, out);
	return -ENOENT;
}

int context_find_dynamic(const struct elf_file *file, const char *name,
			 struct elf_dynamic_symbol *out)
{
	struct elf_view view;
	Elf64_Sym sym;
	int rc = view_open(&view, file, NULL);

	if (!rc)
		rc = find_dynamic(&view, name, &out->index, &sym);
	if (rc)
		return rc;
	out->value = sym.st_value;
	out->size = sym.st_size;
	out->info = sym.st_info;
	return 0;
}

static bool is_usable(const Elf64_Sym *sym, const struct tls_variable *variable)
{
	int bind = ELF64_ST_BIND(sym->st_info);

	return ELF64_ST_TYPE(sym->st_info) == STT_TLS &&
	       (bind == STB_GLOBAL || bind == STB_WEAK ||
		bind == STB_GNU_UNIQUE) &&
	       sym->st_shndx != SHN_UNDEF && sym->st_size == 8 &&
	       variable->tls_size >= 8 &&
	       sym->st_value <= variable->tls_size - 8;
}

/* Look for name among the TLS symbols of one .symtab. */
static int find_in_symtab(const struct elf_file *file, const GElf_Shdr *shdr,
			  const GElf_Shdr *strings, const char *name,
			  struct tls_variable *out)
{
	static Elf64_Sym block[BLOCK];
	uint64_t n = shdr->sh_size / sizeof(block[0]);
	char there[NAME_MAX_BYTES];
	size_t size = strlen(name) + 1;

	if (shdr->sh_size > symtab_bytes_max || size > sizeof(there))
		return -EFBIG;
	for (uint64_t at = 0; at < n; at += BLOCK) {
		uint64_t step = n - at < BLOCK ? n - at : BLOCK;
		int rc = elf_file_read(file, block, step * sizeof(block[0]),
				       shdr->sh_offset + at * sizeof(block[0]));

		if (rc)
			return rc;
		for (uint64_t i = 0; i < step; i++) {
			if (!is_usable(&block[i], out) ||
			    block[i].st_name > strings->sh_size ||
			    elf_file_read(file, there, size,
					  strings->sh_offset +
						  block[i].st_name) ||
			    memcmp(there, name, size))
				continue;
			out->value = block[i].st_value;
			return 0;
		}
	}
	return -ENOENT;
}

static int find_static(const struct elf_file *file, const char *name,
		       struct tls_variable *out)
{
	Elf_Scn *scn = NULL, *strings;
	GElf_Shdr shdr, strings_shdr;

	for (int i = 0; i < UINT16_MAX; i++) {
		scn = elf_nextscn(file->elf, scn);
		if (!scn)
			return -ENOENT;
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_SYMTAB)
			continue;
		strings = elf_getscn(file->elf, shdr.sh_link);
		if (!strings || !gelf_getshdr(strings, &strings_shdr))
			return -EPROTO;
		return find_in_symtab(file, &shdr, &strings_shdr, name, out);
	}
	return -ENOENT;
}

/* Which model a relocation shows, for symbol index with that value. */
static enum tls_model to_model(const Elf64_Rela *rela, uint32_t index,
			       uint64_t value)
{
	uint32_t symbol = ELF64_R_SYM(rela->r_info);
	bool is_exact = symbol == index;

	if (!is_exact && symbol)
		return TLS_NONE;
	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_OFFSET:
		if (is_exact || (uint64_t)rela->r_addend == value)
			return TLS_OFFSET;
		return TLS_NONE;
	case R_DESCRIPTOR:
		return is_exact ? TLS_DESCRIPTOR : TLS_SIBLING_DESCRIPTOR;
	case R_MODULE:
		return is_exact ? TLS_MODULE : TLS_SIBLING_MODULE;
	default:
		return TLS_NONE;
	}
}

/* Find the best relocation of one table. Exact ones come first in the enum:
 * they follow what the loader bound, which may be another module's. */
static int scan_relocations(const struct elf_view *view, uint64_t table,
			    uint64_t size, uint32_t index,
			    struct tls_variable *out)
{
	static Elf64_Rela block[BLOCK];
	uint64_t n = size / sizeof(block[0]);

	if (size > relocation_bytes_max)
		return -EFBIG;
	for (uint64_t at = 0; at < n; at += BLOCK) {
		uint64_t step = n - at < BLOCK ? n - at : BLOCK;
		int rc = read_vaddr(view, table + at * sizeof(block[0]), block,
				    step * sizeof(block[0]));

		if (rc)
			return rc;
		for (uint64_t i = 0; i < step; i++) {
			enum tls_model model =
				to_model(&block[i], index, out->value);

			if (model == TLS_NONE || model >= out->model)
				continue;
			out->model = model;
			out->got = block[i].r_offset;
			/* An index 0 TPOFF64's addend is the variable. */
			out->addend = ELF64_R_SYM(block[i].r_info) ||
						      model != TLS_OFFSET
					      ? block[i].r_addend
					      : 0;
		}
	}
	return 0;
}

int context_find_variable(const struct elf_file *file, const char *name,
			  bool is_executable, struct tls_variable *out)
{
	uint32_t index = not_dynamic;
	struct elf_view view;
	Elf64_Sym sym;
	GElf_Ehdr ehdr;
	int rc;

	*out = (struct tls_variable){ 0 };
	rc = view_open(&view, file, out);
	if (rc || !out->tls_size || !gelf_getehdr(file->elf, &ehdr))
		return rc;
	rc = find_dynamic(&view, name, &index, &sym);
	if (!rc && is_usable(&sym, out)) {
		out->value = sym.st_value;
	} else {
		index = not_dynamic;
		rc = is_executable ? find_static(file, name, out) : -ENOENT;
	}
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	out->model = TLS_BY_NAME;
	out->is_fixed = ehdr.e_type == ET_EXEC;
	out->first_vaddr = view.n_segments ? view.segments[0].vaddr : 0;
	rc = scan_relocations(&view, view.dynamic.rela, view.dynamic.rela_size,
			      index, out);
	if (!rc)
		rc = scan_relocations(&view, view.dynamic.jmprel,
				      view.dynamic.jmprel_size, index, out);
	return rc;
}
