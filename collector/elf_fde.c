/* SPDX-License-Identifier: MIT */
/*
 * libdw walks the entries and takes them apart, but leaves the two addresses
 * that begin an entry encoded. They are decoded here for the encodings that
 * compilers emit; an entry with another is skipped.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf_fde.h"

enum {
	FDES_MAX = 1 << 21,
	SECTIONS_MAX = 4096
};

static const uint64_t eh_frame_bytes_max = 128 << 20;

struct reader {
	Elf_Data *data;
	uint64_t addr; /* of the section */
	/* Of the last CIE read: entries mostly share one. */
	Dwarf_Off cie_offset;
	uint8_t encoding;
	uint8_t return_column;
	bool is_known;
	struct fde *fdes; /* owned */
	size_t n, room;
};

static bool find_section(const struct elf_file *file, GElf_Shdr *out)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return false;
	for (int i = 0; i < SECTIONS_MAX; i++) {
		const char *name;

		scn = elf_nextscn(file->elf, scn);
		if (!scn)
			break;
		if (!gelf_getshdr(scn, out) || out->sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(file->elf, names, out->sh_name);
		if (name && !strcmp(name, ".eh_frame"))
			return true;
	}
	return false;
}

/* The pointer encoding is the byte of augmentation data that belongs to 'R'.
 * Returns false where it is not to be told. */
static bool find_encoding(const Dwarf_CIE *cie, uint8_t *out)
{
	const uint8_t *data = cie->augmentation_data;
	size_t left = cie->augmentation_data_size;

	*out = DW_EH_PE_absptr;
	if (cie->augmentation[0] != 'z')
		return !cie->augmentation[0];
	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		size_t skip;

		switch (*letter) {
		case 'R':
			if (!data || !left)
				return false;
			*out = *data;
			return true;
		case 'L':
			skip = 1;
			break;
		case 'P':
			if (!data || !left)
				return false;
			/* The width of the personality's address. */
			skip = (*data & 7) == DW_EH_PE_udata4   ? 5
			       : (*data & 7) == DW_EH_PE_udata2 ? 3
								: 9;
			break;
		case 'S':
		case 'B':
			continue;
		default:
			return false;
		}
		if (left < skip)
			return false;
		data += skip;
		left -= skip;
	}
	return true;
}

static void learn_cie(struct reader *reader, const Elf_Data *data,
		      const unsigned char *ident, Dwarf_Off offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (reader->is_known && reader->cie_offset == offset)
		return;
	reader->is_known = false;
	reader->cie_offset = offset;
	if (dwarf_next_cfi(ident, (Elf_Data *)data, true, offset, &next,
			   &entry) ||
	    !dwarf_cfi_cie_p(&entry))
		return;
	reader->return_column = (uint8_t)entry.cie.return_address_register;
	reader->is_known = find_encoding(&entry.cie, &reader->encoding);
}

/* Read an encoded value of the width that encoding says. */
static bool take_value(const uint8_t **at, const uint8_t *end, uint8_t encoding,
		       uint64_t *out)
{
	int32_t narrow;

	if ((encoding & 7) == DW_EH_PE_udata4 && end - *at >= 4) {
		memcpy(&narrow, *at, 4);
		*out = encoding & DW_EH_PE_signed ? (uint64_t)narrow
						  : (uint32_t)narrow;
		*at += 4;
		return true;
	}
	if (((encoding & 7) == DW_EH_PE_absptr ||
	     (encoding & 7) == DW_EH_PE_udata8) &&
	    end - *at >= 8) {
		memcpy(out, *at, 8);
		*at += 8;
		return true;
	}
	return false;
}

static bool decode(const struct reader *reader, const Dwarf_FDE *entry,
		   struct fde *out)
{
	const uint8_t undefined[] = { DW_CFA_undefined, reader->return_column };
	const uint8_t *begin = reader->data->d_buf;
	const uint8_t *at = entry->start;
	uint64_t start, size;
	uint64_t here = reader->addr + (uint64_t)(at - begin);

	if (!reader->is_known || reader->encoding & DW_EH_PE_indirect ||
	    !take_value(&at, entry->end, reader->encoding, &start) ||
	    !take_value(&at, entry->end, reader->encoding & 7, &size))
		return false;
	if ((reader->encoding & 0x70) == DW_EH_PE_pcrel)
		start += here;
	else if (reader->encoding & 0x70)
		return false;
	if (!size || size > UINT64_MAX - start)
		return false;
	*out = (struct fde){
		.start = start,
		.end = start + size,
		.may_be_first = memmem(at, (size_t)(entry->end - at), undefined,
				       sizeof(undefined)) != NULL,
	};
	return true;
}

static int append(struct reader *reader, const struct fde *fde)
{
	struct fde *bigger;

	if (reader->n == FDES_MAX)
		return -EFBIG;
	if (reader->n == reader->room) {
		reader->room = reader->room ? reader->room * 2 : 1024;
		bigger = reallocarray(reader->fdes, reader->room,
				      sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		reader->fdes = bigger;
	}
	reader->fdes[reader->n++] = *fde;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int read_entries(struct reader *reader, const unsigned char *ident)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off at = 0, next;
	struct fde fde;
	int rc = 0;

	while (!rc &&
	       !dwarf_next_cfi(ident, reader->data, true, at, &next, &entry)) {
		if (next <= at)
			break;
		at = next;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		learn_cie(reader, reader->data, ident, entry.fde.CIE_pointer);
		if (decode(reader, &entry.fde, &fde))
			rc = append(reader, &fde);
	}
	return rc;
}

int elf_read_fdes(const struct elf_file *file, struct fde **out, size_t *n)
{
	struct reader reader = { 0 };
	GElf_Shdr shdr;
	int rc;

	*out = NULL;
	*n = 0;
	if (!find_section(file, &shdr))
		return 0;
	if (shdr.sh_size > eh_frame_bytes_max)
		return -EFBIG;
	reader.data = elf_getdata_rawchunk(file->elf, (int64_t)shdr.sh_offset,
					   shdr.sh_size, ELF_T_BYTE);
	if (!reader.data || !reader.data->d_buf)
		return -EPROTO;
	reader.addr = shdr.sh_addr;
	rc = read_entries(&reader,
			  (const unsigned char *)elf_getident(file->elf, NULL));
	if (rc) {
		free(reader.fdes);
		return rc;
	}
	if (reader.n)
		qsort(reader.fdes, reader.n, sizeof(*reader.fdes), compare);
	*out = reader.fdes;
	*n = reader.n;
	return 0;
}
