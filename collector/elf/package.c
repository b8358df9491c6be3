/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/elf/cursor.h"
#include "collector/elf/debug.h"
#include "collector/elf/package.h"

enum {
	COLUMNS_MAX = 16,  /* of the index; versions 2 and 5 know 8 */
	PROBES_MAX = 4096, /* slots looked at for one ID */
	HEADER_SIZE = 16,
	STR_OFFSETS_HEADER = 8, /* from version 5 on */
};

/* Where a section lies in the file. */
struct extent {
	uint64_t offset, size;
};

struct elf_package {
	struct elf_file file; /* owned; without elf */
	struct extent section[ELF_IMAGE_PARTS];
	uint8_t *index; /* owned */
	size_t index_size;
	uint32_t version, n_columns, n_units, n_slots;
	int part[COLUMNS_MAX]; /* what a column is of; -1: of no use */
	char *strings;         /* owned; strings_size bytes and a NUL */
	size_t strings_size;
};

static const char *const names[ELF_IMAGE_PARTS] = {
	[ELF_IMAGE_INFO] = ".debug_info.dwo",
	[ELF_IMAGE_ABBREV] = ".debug_abbrev.dwo",
	[ELF_IMAGE_LINE] = ".debug_line.dwo",
	[ELF_IMAGE_STR] = ".debug_str.dwo",
	[ELF_IMAGE_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[ELF_IMAGE_RNGLISTS] = ".debug_rnglists.dwo",
};

/* ---- open */

/* Column numbers that both versions have; 8 is DW_SECT_MACRO in version 2. */
static int to_part(uint32_t version, uint32_t column)
{
	switch (column) {
	case 1:
		return ELF_IMAGE_INFO;
	case 3:
		return ELF_IMAGE_ABBREV;
	case 4:
		return ELF_IMAGE_LINE;
	case 6:
		return ELF_IMAGE_STR_OFFSETS;
	case 8:
		return version == 5 ? ELF_IMAGE_RNGLISTS : -1;
	default:
		return -1;
	}
}

static int take_section(struct elf_package *p, struct extent *index,
			const GElf_Shdr *shdr, const char *name)
{
	struct extent *to = NULL;

	if (!strcmp(name, ".debug_cu_index"))
		to = index;
	for (int i = 0; i < ELF_IMAGE_PARTS && !to; i++) {
		if (names[i] && !strcmp(name, names[i]))
			to = &p->section[i];
	}
	if (!to || to->size || shdr->sh_type == SHT_NOBITS)
		return 0;
	if (shdr->sh_flags & SHF_COMPRESSED)
		return -ENOTSUP;
	if (shdr->sh_offset > p->file.key.size ||
	    shdr->sh_size > p->file.key.size - shdr->sh_offset)
		return -EPROTO;
	*to = (struct extent){ shdr->sh_offset, shdr->sh_size };
	return 0;
}

static int find_sections(struct elf_package *p, struct extent *index,
			 const struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	size_t strings;
	int rc = elf_debug_section_names(file, &strings);

	while (!rc && (scn = elf_nextscn(file->elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			return -EPROTO;
		name = elf_strptr(file->elf, strings, shdr.sh_name);
		if (name)
			rc = take_section(p, index, &shdr, name);
	}
	return rc ? rc : index->size ? 0 : -ENOENT;
}

/* Returns size bytes of the file and a NUL behind them, the caller's. */
static int read_extent(const struct elf_package *p, const struct extent *from,
		       uint8_t **out)
{
	int rc;

	*out = malloc(from->size + 1);
	if (!*out)
		return -ENOMEM;
	(*out)[from->size] = '\0';
	rc = elf_file_read(&p->file, *out, from->size, from->offset);
	if (!rc)
		return 0;
	free(*out);
	*out = NULL;
	return rc;
}

/* The header: version, columns, units, slots. Slots are IDs, then rows (from
 * 1) as numbers of 4 bytes; then columns, and two tables of units by columns:
 * offsets, sizes. */
static int parse_index(struct elf_package *p)
{
	struct cursor c = { .at = p->index, .end = p->index + p->index_size };
	uint64_t want;

	/* 4 bytes in version 2, 2 and padding in version 5. */
	p->version = (uint32_t)cursor_take(&c, 4) & 0xffff;
	p->n_columns = (uint32_t)cursor_take(&c, 4);
	p->n_units = (uint32_t)cursor_take(&c, 4);
	p->n_slots = (uint32_t)cursor_take(&c, 4);
	if (p->version != 2 && p->version != 5)
		return -ENOTSUP;
	if (p->n_columns > COLUMNS_MAX || !p->n_slots ||
	    p->n_slots & (p->n_slots - 1))
		return -EPROTO;
	want = HEADER_SIZE + (uint64_t)p->n_slots * 12 +
	       4 * (uint64_t)p->n_columns * (1 + 2 * (uint64_t)p->n_units);
	if (c.is_bad || want > p->index_size)
		return -EPROTO;
	(void)cursor_skip(&c, (uint64_t)p->n_slots * 12);
	for (uint32_t i = 0; i < p->n_columns; i++)
		p->part[i] = to_part(p->version, (uint32_t)cursor_take(&c, 4));
	return 0;
}

static int read_file(struct elf_package *p, const struct elf_file *file)
{
	const struct extent *strings = &p->section[ELF_IMAGE_STR];
	struct extent index = { 0 };
	uint8_t *text;
	int rc = find_sections(p, &index, file);

	if (rc)
		return rc;
	if (index.size > ELF_PACKAGE_INDEX_MAX ||
	    strings->size > ELF_PACKAGE_STRINGS_MAX)
		return -EFBIG;
	rc = read_extent(p, &index, &p->index);
	if (rc)
		return rc;
	p->index_size = index.size;
	rc = parse_index(p);
	if (rc)
		return rc;
	rc = read_extent(p, strings, &text);
	if (rc)
		return rc;
	p->strings = (char *)text;
	p->strings_size = strings->size;
	return 0;
}

int elf_package_open(struct elf_package **out, const struct elf_file *file)
{
	struct elf_package *p;
	int rc;

	*out = NULL;
	if (!elf_file_is_native(file) || file->fd < 0)
		return -ENOENT;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->file.key = file->key;
	p->file.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	rc = p->file.fd < 0 ? -errno : read_file(p, file);
	if (rc)
		elf_package_close(p);
	else
		*out = p;
	return rc;
}

void elf_package_close(struct elf_package *p)
{
	if (!p)
		return;
	elf_file_close(&p->file);
	free(p->index);
	free(p->strings);
	free(p);
}

size_t elf_package_bytes(const struct elf_package *p)
{
	return sizeof(*p) + p->index_size + p->strings_size;
}

/* ---- one unit */

/* Number i of the index, from byte at on. */
static uint64_t take(const struct elf_package *p, uint64_t at, uint64_t i,
		     size_t width)
{
	uint64_t value = 0;

	/* parse_index() has seen that all of it is there. */
	memcpy(&value, p->index + at + i * width, width);
	return value;
}

/* The row of an ID, from 0; -1: there is none. Open hashing with a second
 * hash for the steps, as the format has it. */
static int64_t find_row(const struct elf_package *p, uint64_t id)
{
	uint32_t mask = p->n_slots - 1, at = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;
	uint64_t rows = HEADER_SIZE + (uint64_t)p->n_slots * 8;

	for (uint32_t i = 0; i < p->n_slots && i < PROBES_MAX; i++) {
		uint64_t row = take(p, rows, at, 4);

		if (!row)
			return -1;
		if (take(p, HEADER_SIZE, at, 8) == id)
			return row <= p->n_units ? (int64_t)row - 1 : -1;
		at = (at + step) & mask;
	}
	return -1;
}

static int read_part(const struct elf_package *p, int part, uint64_t offset,
		     uint64_t size, uint64_t *left, struct elf_bytes *out)
{
	const struct extent *section = &p->section[part];
	struct extent from = { section->offset + offset, size };
	int rc;

	if (offset > section->size || size > section->size - offset ||
	    out->data)
		return -EPROTO;
	if (size > *left)
		return -EFBIG;
	if (!size)
		return 0;
	rc = read_extent(p, &from, &out->data);
	if (rc)
		return rc;
	out->size = size;
	*left -= size;
	return 0;
}

static int read_parts(const struct elf_package *p, uint64_t row, uint64_t *left,
		      struct elf_package_unit *out)
{
	uint64_t columns = HEADER_SIZE + (uint64_t)p->n_slots * 12;
	uint64_t offsets = columns + 4 * (uint64_t)p->n_columns;
	uint64_t cells = (uint64_t)p->n_columns * p->n_units;
	int rc = 0;

	for (uint32_t i = 0; i < p->n_columns && !rc; i++) {
		uint64_t cell = row * p->n_columns + i;

		if (p->part[i] >= 0)
			rc = read_part(p, p->part[i], take(p, offsets, cell, 4),
				       take(p, offsets, cells + cell, 4), left,
				       &out->part[p->part[i]]);
	}
	return rc;
}

/* How many bytes the strings take that the unit names, or more than max. In
 * the unit, their offsets become those in the copy, if there is one. */
static uint64_t pick_strings(const struct elf_package *p,
			     struct elf_bytes *offsets, uint64_t max,
			     char *copy)
{
	size_t at = p->version == 5 ? STR_OFFSETS_HEADER : 0;
	uint64_t used = 0;

	for (; at + 4 <= offsets->size; at += 4) {
		const char *text = "";
		uint32_t offset;
		size_t size;

		memcpy(&offset, offsets->data + at, sizeof(offset));
		if (offset < p->strings_size)
			text = p->strings + offset;
		size = strlen(text) + 1;
		if (copy) {
			uint32_t new_offset = (uint32_t)used;

			memcpy(copy + used, text, size);
			memcpy(offsets->data + at, &new_offset, 4);
		}
		used += size;
		if (used > max)
			break;
	}
	return used;
}

/* Each unit its own strings: all units the strings of all would be too much.
 * The 64-bit format has larger offsets; no compiler writes it unasked. */
static int copy_strings(const struct elf_package *p, uint64_t *left,
			struct elf_package_unit *unit)
{
	struct elf_bytes *info = &unit->part[ELF_IMAGE_INFO];
	struct elf_bytes *to = &unit->part[ELF_IMAGE_STR];
	struct elf_bytes *offsets = &unit->part[ELF_IMAGE_STR_OFFSETS];
	uint64_t size;

	if (info->size < 4 || !memcmp(info->data, "\xff\xff\xff\xff", 4))
		return -ENOTSUP;
	size = pick_strings(p, offsets, *left, NULL);
	if (size > *left)
		return -EFBIG;
	if (!size)
		return 0;
	to->data = malloc(size);
	if (!to->data)
		return -ENOMEM;
	to->size = size;
	(void)pick_strings(p, offsets, size, (char *)to->data);
	*left -= size;
	return 0;
}

int elf_package_read(const struct elf_package *p, uint64_t id, uint64_t max,
		     struct elf_package_unit *out)
{
	int64_t row = find_row(p, id);
	int rc;

	*out = (struct elf_package_unit){ 0 };
	if (row < 0)
		return -ENOENT;
	rc = read_parts(p, (uint64_t)row, &max, out);
	return rc ? rc : copy_strings(p, &max, out);
}

void elf_package_unit_release(struct elf_package_unit *unit)
{
	for (int i = 0; i < ELF_IMAGE_PARTS; i++)
		free(unit->part[i].data);
	*unit = (struct elf_package_unit){ 0 };
}
