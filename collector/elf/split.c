/* SPDX-License-Identifier: MIT */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/split.h"

/* ---- what the program says */

static uint64_t read_offset(Dwarf_Die *die, unsigned int name,
			    unsigned int gnu_name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if ((dwarf_attr(die, name, &attr) ||
	     dwarf_attr(die, gnu_name, &attr)) &&
	    !dwarf_formudata(&attr, &value))
		return value;
	return UINT64_MAX;
}

void elf_skeleton_read(struct elf_skeleton *out, Dwarf_Die *die)
{
	Dwarf_Addr base;

	*out = (struct elf_skeleton){ 0 };
	(void)dwarf_cu_info(die->cu, NULL, NULL, NULL, NULL, &out->id, NULL,
			    NULL);
	if (!dwarf_lowpc(die, &base))
		out->base = base;
	out->addr_base = read_offset(die, DW_AT_addr_base, DW_AT_GNU_addr_base);
	out->ranges_base =
		read_offset(die, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
}

/* ---- what the unit gets of it */

/* Copy a part of a program's section: numbers of 8 bytes. */
static int copy_slice(struct elf_bytes *out, struct elf_bytes section,
		      uint64_t start, uint64_t end, uint64_t *left)
{
	if (start >= section.size)
		return 0;
	if (end > section.size || end < start)
		end = section.size;
	if (end - start > *left)
		return -EFBIG;
	out->data = malloc(end - start + 1);
	if (!out->data)
		return -ENOMEM;
	out->size = end - start;
	memcpy(out->data, section.data + start, out->size);
	*left -= out->size;
	return 0;
}

static uint64_t number_at(const struct elf_bytes *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes->data + at, sizeof(value));
	return value;
}

static void move_number(struct elf_bytes *bytes, size_t at, uint64_t base)
{
	uint64_t value = number_at(bytes, at) - base;

	memcpy(bytes->data + at, &value, sizeof(value));
}

static void move_addresses(struct elf_bytes *addr, uint64_t base)
{
	for (size_t at = 0; at + 8 <= addr->size; at += 8)
		move_number(addr, at, base);
}

/* Ranges are pairs that are relative to the base already; but for pairs that
 * begin with the largest number: those choose another base. */
static void move_bases(struct elf_bytes *ranges, uint64_t base)
{
	for (size_t at = 0; at + 16 <= ranges->size; at += 16) {
		if (number_at(ranges, at) == UINT64_MAX)
			move_number(ranges, at + 8, base);
	}
}

static int add_parts(struct elf_package_unit *unit,
		     const struct elf_image *program,
		     const struct elf_skeleton *skeleton, uint64_t addr_end,
		     uint64_t ranges_end, uint64_t left)
{
	struct elf_bytes *addr = &unit->part[ELF_IMAGE_ADDR];
	struct elf_bytes *ranges = &unit->part[ELF_IMAGE_RANGES];
	int rc = copy_slice(addr, elf_image_part(program, ELF_IMAGE_ADDR),
			    skeleton->addr_base, addr_end, &left);

	if (!rc)
		rc = copy_slice(ranges,
				elf_image_part(program, ELF_IMAGE_RANGES),
				skeleton->ranges_base, ranges_end, &left);
	if (rc)
		return rc;
	move_addresses(addr, skeleton->base);
	move_bases(ranges, skeleton->base);
	return 0;
}

/* ---- open and close */

static int begin(struct elf_split *out, uint64_t id)
{
	Dwarf_CU *cu = NULL;
	uint64_t found;

	out->dwarf = dwarf_begin_elf(out->image.elf, DWARF_C_READ, NULL);
	if (!out->dwarf)
		return -EPROTO;
	/* The slice of the package is one unit, if it is what it should be. */
	if (dwarf_get_units(out->dwarf, NULL, &cu, NULL, NULL, &out->die,
			    NULL) ||
	    dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &found, NULL, NULL) ||
	    found != id)
		return -EPROTO;
	return 0;
}

int elf_split_open(struct elf_split **out, const struct elf_image *program,
		   const struct elf_package *package,
		   const struct elf_skeleton *skeleton, uint64_t addr_end,
		   uint64_t ranges_end, uint64_t max)
{
	struct elf_package_unit unit;
	struct elf_split *split = NULL;
	int rc = elf_package_read(package, skeleton->id, max, &unit);

	*out = NULL;
	if (!rc)
		rc = add_parts(&unit, program, skeleton, addr_end, ranges_end,
			       max);
	if (!rc) {
		split = calloc(1, sizeof(*split));
		rc = split ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = elf_image_join(&split->image, program, unit.part, max);
	elf_package_unit_release(&unit);
	if (!rc)
		rc = begin(split, skeleton->id);
	if (rc)
		elf_split_close(split);
	else
		*out = split;
	return rc;
}

void elf_split_close(struct elf_split *split)
{
	if (!split)
		return;
	dwarf_end(split->dwarf);
	elf_image_release(&split->image);
	free(split);
}
