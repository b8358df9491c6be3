/* SPDX-License-Identifier: MIT */
/*
 * libdw walks the entries and takes CIEs apart, but leaves the two addresses
 * that begin an entry encoded. They are decoded here for the encodings that
 * compilers emit; an entry with another is dropped.
 *
 * An entry's CIE must have come before it, at exactly the offset that the
 * entry names: nothing is followed, so nothing can go in circles.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/fde.h"
#include "collector/grow.h"

enum {
	ENTRIES_MAX = 4 << 20,
	CIES_MAX = 1 << 20,
	SECTIONS_MAX = 65536,
	PHDRS_MAX = 1024,
	AUGMENTATION_MAX = 8,
	RETURN_COLUMN = 16,
	HEADER_SIZE_MAX = 16, /* of .eh_frame_hdr, as far as it is read */
	FORMAT_BITS = 0x07,   /* of an encoding: the width */
	BASE_BITS = 0x70,     /* of an encoding: relative to what */
};

static const uint64_t section_bytes_max = 256 << 20;

/* Where the entries are. */
struct place {
	uint64_t offset, size, address;
	bool is_debug; /* .debug_frame */
};

struct reader {
	struct fdes *out;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
};

static bool find_section(const struct elf_file *file, const char *wanted,
			 struct place *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return false;
	for (int i = 0; i < SECTIONS_MAX; i++) {
		const char *name;

		scn = elf_nextscn(file->elf, scn);
		if (!scn)
			break;
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    shdr.sh_flags & SHF_COMPRESSED || !shdr.sh_size)
			continue;
		name = elf_strptr(file->elf, names, shdr.sh_name);
		if (!name || strcmp(name, wanted))
			continue;
		*out = (struct place){ .offset = shdr.sh_offset,
				       .size = shdr.sh_size,
				       .address = shdr.sh_addr };
		return true;
	}
	return false;
}

/* Take a number of the width that encoding says. */
static uint64_t take_number(struct cursor *c, uint8_t encoding)
{
	bool is_signed = encoding & DW_EH_PE_signed;
	uint64_t value;

	switch (encoding & FORMAT_BITS) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
		return cursor_take(c, 8);
	case DW_EH_PE_uleb128:
		return is_signed ? (uint64_t)cursor_take_sleb128(c)
				 : cursor_take_uleb128(c);
	case DW_EH_PE_udata2:
		value = cursor_take(c, 2);
		return is_signed ? (uint64_t)(int16_t)value : value;
	case DW_EH_PE_udata4:
		value = cursor_take(c, 4);
		return is_signed ? (uint64_t)(int32_t)value : value;
	default:
		c->is_bad = true;
		return 0;
	}
}

/* Take an address; here is that of the cursor. */
static uint64_t take_address(struct cursor *c, uint8_t encoding, uint64_t here)
{
	uint64_t value = take_number(c, encoding & (FORMAT_BITS | 8));

	if ((encoding & ~(FORMAT_BITS | 8)) == DW_EH_PE_pcrel)
		return value + here;
	if (encoding & ~(FORMAT_BITS | 8))
		c->is_bad = true;
	return value;
}

uint64_t fdes_take_address(const struct fdes *fdes, uint8_t encoding,
			   struct cursor *c)
{
	return take_address(c, encoding,
			    fdes->address + (uint64_t)(c->at - fdes->section));
}

/* Where the section headers were stripped: .eh_frame_hdr has the address of
 * .eh_frame. Its size it has not, but a terminator ends the entries. */
static bool find_by_header(const struct elf_file *file, const GElf_Phdr *phdr,
			   struct place *out)
{
	uint8_t bytes[HEADER_SIZE_MAX] = { 0 };
	struct cursor c = { .at = bytes + 4, .end = bytes + sizeof(bytes) };
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n = elf_file_segments(file, segments);
	uint8_t encoding;
	uint64_t address;

	if (phdr->p_filesz < sizeof(bytes) ||
	    elf_file_read(file, bytes, sizeof(bytes), phdr->p_offset) ||
	    bytes[0] != 1)
		return false;
	encoding = bytes[1];
	if ((encoding & BASE_BITS) == DW_EH_PE_datarel)
		address = take_address(&c, encoding & ~BASE_BITS, 0) +
			  phdr->p_vaddr;
	else
		address = take_address(&c, encoding, phdr->p_vaddr + 4);
	for (size_t i = 0; i < n && !c.is_bad; i++) {
		uint64_t at = address - segments[i].vaddr;

		if (address < segments[i].vaddr || at >= segments[i].file_size)
			continue;
		*out = (struct place){ .offset = segments[i].offset + at,
				       .size = segments[i].file_size - at,
				       .address = address };
		return true;
	}
	return false;
}

static bool find_segment(const struct elf_file *file, struct place *out)
{
	size_t n = 0;

	(void)elf_getphdrnum(file->elf, &n);
	for (size_t i = 0; i < n && i < PHDRS_MAX; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(file->elf, (int)i, &phdr) &&
		    phdr.p_type == PT_GNU_EH_FRAME)
			return find_by_header(file, &phdr, out);
	}
	return false;
}

/* Go through augmentation data as its letters say. Returns false where the
 * encoding of addresses is not to be told. */
static bool read_augmentation(const Dwarf_CIE *from, struct cie *out)
{
	const char *letters = from->augmentation;
	struct cursor c = { .at = from->augmentation_data };
	uint8_t encoding;

	out->encoding = DW_EH_PE_absptr;
	if (!letters[0])
		return true;
	if (letters[0] != 'z' || strlen(letters) > AUGMENTATION_MAX)
		return false;
	out->is_sized = true;
	c.end = c.at ? c.at + from->augmentation_data_size : NULL;
	for (letters++; *letters; letters++) {
		switch (*letters) {
		case 'R':
			out->encoding = (uint8_t)cursor_take(&c, 1);
			break;
		case 'L':
			(void)cursor_take(&c, 1);
			break;
		case 'P':
			encoding = (uint8_t)cursor_take(&c, 1);
			if (encoding != DW_EH_PE_omit)
				(void)take_number(&c, encoding);
			break;
		case 'S':
			out->is_signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	}
	return !c.is_bad;
}

static int add_cie(struct fdes *fdes, const Dwarf_CIE *from, uint64_t offset)
{
	struct cie cie = {
		.offset = offset,
		.code_align = from->code_alignment_factor,
		.data_align = from->data_alignment_factor,
		.program =
			(uint32_t)(from->initial_instructions - fdes->section),
		.program_size = (uint32_t)(from->initial_instructions_end -
					   from->initial_instructions),
	};
	int rc;

	if (fdes->n_cies == CIES_MAX)
		return -EFBIG;
	cie.is_known = read_augmentation(from, &cie) &&
		       from->return_address_register == RETURN_COLUMN;
	rc = GROW(fdes->cies, fdes->n_cies + 1, fdes->cies_room);
	if (!rc)
		fdes->cies[fdes->n_cies++] = cie;
	return rc;
}

static const struct cie *find_cie(const struct fdes *fdes, uint64_t offset)
{
	size_t low = 0, high = fdes->n_cies;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fdes->cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == fdes->n_cies || fdes->cies[low].offset != offset)
		return NULL;
	return &fdes->cies[low];
}

/* Find the offset of code, of which the part that is loaded is kept. */
static bool place_code(const struct reader *reader, uint64_t start,
		       uint64_t size, struct fde *out)
{
	for (size_t i = 0; i < reader->n_segments; i++) {
		const struct elf_segment *s = &reader->segments[i];
		uint64_t at = start - s->vaddr;

		if (!(s->flags & PF_X) || start < s->vaddr ||
		    at >= s->file_size || s->offset > UINT64_MAX - at)
			continue;
		if (size > s->file_size - at)
			size = s->file_size - at;
		if (size > UINT32_MAX || size > UINT64_MAX - s->offset - at)
			return false;
		out->start = start;
		out->offset = s->offset + at;
		out->size = (uint32_t)size;
		return true;
	}
	return false;
}

static bool decode(const struct reader *reader, const Dwarf_FDE *entry,
		   struct fde *out)
{
	const struct fdes *fdes = reader->out;
	const struct cie *cie = find_cie(fdes, entry->CIE_pointer);
	struct cursor c = { .at = entry->start, .end = entry->end };
	uint64_t start, size;

	if (!cie || !cie->is_known)
		return false;
	start = fdes_take_address(fdes, cie->encoding, &c);
	size = take_number(&c, cie->encoding & FORMAT_BITS);
	if (cie->is_sized)
		(void)cursor_skip(&c, cursor_take_uleb128(&c));
	/* An address of 0 is of code that the linker threw away. */
	if (c.is_bad || !start || !size || size > UINT64_MAX - start)
		return false;
	out->program = (uint32_t)(c.at - fdes->section);
	out->program_size = (uint32_t)(c.end - c.at);
	out->cie = (uint32_t)(cie - fdes->cies);
	return place_code(reader, start, size, out);
}

static int add_fde(struct reader *reader, const Dwarf_FDE *entry)
{
	struct fdes *fdes = reader->out;
	struct fde fde;
	int rc;

	if (fdes->n + fdes->n_dropped >= ENTRIES_MAX)
		return -EFBIG;
	if (!decode(reader, entry, &fde)) {
		fdes->n_dropped++;
		return 0;
	}
	rc = GROW(fdes->all, fdes->n + 1, fdes->room);
	if (!rc)
		fdes->all[fdes->n++] = fde;
	return rc;
}

/* What comes after an entry that cannot be taken apart is not read. */
static int read_entries(struct reader *reader, const unsigned char *ident,
			bool is_debug)
{
	Elf_Data data = { .d_buf = reader->out->section,
			  .d_type = ELF_T_BYTE,
			  .d_version = EV_CURRENT,
			  .d_size = reader->out->section_size,
			  .d_align = 1 };
	Dwarf_CFI_Entry entry;
	Dwarf_Off at = 0, next;
	int rc = 0;

	while (!rc &&
	       !dwarf_next_cfi(ident, &data, !is_debug, at, &next, &entry)) {
		if (dwarf_cfi_cie_p(&entry))
			rc = add_cie(reader->out, &entry.cie, at);
		else
			rc = add_fde(reader, &entry.fde);
		if (next <= at)
			break;
		at = next;
	}
	return rc;
}

static int read_place(struct fdes *out, const struct elf_file *file,
		      const struct place *place)
{
	struct reader reader = { .out = out };
	int rc;

	if (place->size > section_bytes_max)
		return -EFBIG;
	/* Before memory is asked for by a number that may be anything. */
	if (place->size > file->key.size)
		return -EPROTO;
	out->section = malloc(place->size);
	if (!out->section)
		return -ENOMEM;
	out->section_size = place->size;
	out->address = place->address;
	rc = elf_file_read(file, out->section, place->size, place->offset);
	if (rc)
		return rc;
	reader.n_segments = elf_file_segments(file, reader.segments);
	return read_entries(
		&reader, (const unsigned char *)elf_getident(file->elf, NULL),
		place->is_debug);
}

int fdes_read(struct fdes *out, const struct elf_file *file)
{
	struct place place;
	int rc = 0;

	*out = (struct fdes){ 0 };
	if (find_section(file, ".eh_frame", &place) ||
	    find_segment(file, &place))
		rc = read_place(out, file, &place);
	if (rc || out->n || !find_section(file, ".debug_frame", &place))
		return rc;
	fdes_release(out);
	place.is_debug = true;
	return read_place(out, file, &place);
}

void fdes_release(struct fdes *fdes)
{
	free(fdes->section);
	free(fdes->cies);
	free(fdes->all);
	*fdes = (struct fdes){ 0 };
}
