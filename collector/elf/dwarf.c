/* SPDX-License-Identifier: MIT */
/*
 * dwarf_getscopes() would do, but walks all of a unit for each address, and
 * finds units by .debug_aranges, which clang leaves out. So there is an index
 * of units, made when the file is opened, and one of the functions of each
 * unit that is asked about; only the DIE of one function is walked then.
 *
 * A DIE's children and siblings lie behind it (libdw checks that), so a walk
 * ends; but a crafted tree may lead to one DIE by many ways, hence the limits
 * on steps. References between DIEs may form rings; they are followed for a
 * few steps only.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/dwarf.h"
#include "collector/elf/image.h"
#include "collector/elf/spans.h"
#include "collector/elf/split.h"

enum {
	DEPTH_MAX = 64,               /* of DIEs in each other */
	REFERENCES_MAX = 16,          /* from a DIE to where its name is */
	UNIT_RANGES_MAX = 1 << 20,    /* of one unit or function */
	INDEX_STEPS_MAX = 64 << 20,   /* DIEs looked at, of all units */
	FUNCTION_STEPS_MAX = 1 << 20, /* and for one address */
	LINE_BYTES = 64,              /* what libdw keeps for a line, about */
	UNIT_BYTES = 512,             /* and for a unit */
	SPLIT_BYTES = 8192,           /* and for one of a package */
};

struct unit {
	Dwarf_Die die;  /* has the lines */
	Dwarf_Die code; /* has the functions; addr NULL: none to be had */
	uint64_t bias;  /* of the addresses in code */
	struct spans functions;  /* by address, without bias */
	struct elf_split *split; /* owned; of a package; else NULL */
	/* Where the sections of a skeleton begin; UINT64_MAX: nowhere. */
	uint64_t addr_base, ranges_base;
	bool is_skeleton, is_indexed, has_lines;
};

struct elf_dwarf {
	struct elf_image image, alt_image;
	Dwarf *dwarf, *alt; /* owned */
	struct unit *units; /* owned */
	size_t n_units;
	struct spans by_address;     /* units */
	struct elf_package *package; /* owned; NULL: none */
	bool follow_split;           /* to files that the program names */
	size_t n_ranges, index_steps, n_lines;
	size_t split_bytes; /* of what was read of the package */
};

/* ---- the index */

/* Where linkers put what they have left out. */
static bool is_left_out(uint64_t start, uint64_t end)
{
	return start <= 1 || start >= UINT64_MAX - 1 || end <= start;
}

/* Add the ranges of a DIE, without its unit's bias. A list that is not
 * well-formed ends there. */
static int add_ranges(struct elf_dwarf *d, struct spans *spans, Dwarf_Die *die,
		      uint64_t bias, void *what)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	for (int i = 0; i < UNIT_RANGES_MAX; i++) {
		int rc;

		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			break;
		start += bias;
		end += bias;
		if (is_left_out(start, end))
			continue;
		if (d->n_ranges++ >= ELF_DWARF_RANGES_MAX)
			return -EFBIG;
		rc = spans_add(spans, start, end, what);
		if (rc)
			return rc;
	}
	return 0;
}

static int count_units(struct elf_dwarf *d)
{
	Dwarf_CU *cu = NULL;
	size_t n = 0;

	while (!dwarf_get_units(d->dwarf, cu, &cu, NULL, NULL, NULL, NULL)) {
		if (++n > ELF_DWARF_UNITS_MAX)
			return -EFBIG;
	}
	if (!n)
		return -ENOENT;
	d->units = calloc(n, sizeof(*d->units));
	d->n_units = d->units ? n : 0;
	return d->units ? 0 : -ENOMEM;
}

static int index_units(struct elf_dwarf *d)
{
	Dwarf_CU *cu = NULL;
	int rc = count_units(d);

	for (size_t i = 0; i < d->n_units && !rc; i++) {
		struct unit *unit = &d->units[i];
		uint8_t type = 0;

		unit->addr_base = UINT64_MAX;
		unit->ranges_base = UINT64_MAX;
		if (dwarf_get_units(d->dwarf, cu, &cu, NULL, &type, &unit->die,
				    NULL))
			break;
		if (type == DW_UT_compile)
			unit->code = unit->die;
		else if (type == DW_UT_skeleton)
			unit->is_skeleton = true;
		else
			continue;
		rc = add_ranges(d, &d->by_address, &unit->die, 0, unit);
	}
	spans_sort(&d->by_address);
	return rc;
}

/* ---- units that are elsewhere */

/* The sections of each skeleton end where those of another begin. */
static void find_ends(const struct elf_dwarf *d,
		      const struct elf_skeleton *skeleton, uint64_t *addr_end,
		      uint64_t *ranges_end)
{
	*addr_end = UINT64_MAX;
	*ranges_end = UINT64_MAX;
	for (size_t i = 0; i < d->n_units; i++) {
		const struct unit *unit = &d->units[i];

		if (unit->addr_base > skeleton->addr_base &&
		    unit->addr_base < *addr_end)
			*addr_end = unit->addr_base;
		if (unit->ranges_base > skeleton->ranges_base &&
		    unit->ranges_base < *ranges_end)
			*ranges_end = unit->ranges_base;
	}
}

static void follow_to_package(struct elf_dwarf *d, struct unit *unit)
{
	struct elf_skeleton skeleton;
	uint64_t addr_end, ranges_end, used = d->image.size + d->split_bytes;

	elf_skeleton_read(&skeleton, &unit->die);
	find_ends(d, &skeleton, &addr_end, &ranges_end);
	if (used >= ELF_DWARF_BYTES_MAX ||
	    elf_split_open(&unit->split, &d->image, d->package, &skeleton,
			   addr_end, ranges_end, ELF_DWARF_BYTES_MAX - used))
		return;
	d->split_bytes += unit->split->image.size + SPLIT_BYTES;
	unit->code = unit->split->die;
	unit->bias = skeleton.base;
}

/* libdw searches for a .dwo file only where subdie is asked for. */
static void follow(struct elf_dwarf *d, struct unit *unit)
{
	if (d->package)
		follow_to_package(d, unit);
	if (!unit->code.addr && d->follow_split)
		(void)dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, &unit->code,
				    NULL, NULL, NULL);
}

/* ---- the functions of a unit */

/* Whether functions may be among the children of a DIE. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static int index_children(struct elf_dwarf *d, struct unit *unit,
			  Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int rc = 0;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (++d->index_steps > INDEX_STEPS_MAX)
			return -EFBIG;
		if (tag == DW_TAG_subprogram)
			rc = add_ranges(d, &unit->functions, &die, unit->bias,
					die.addr);
		if (!rc && may_hold_functions(tag))
			rc = index_children(d, unit, &die, depth + 1);
	} while (!rc && !dwarf_siblingof(&die, &die));
	return rc;
}

/* A unit beyond a limit has no functions, nor has any after it. */
static void index_functions(struct elf_dwarf *d, struct unit *unit)
{
	unit->is_indexed = true;
	if (unit->is_skeleton)
		follow(d, unit);
	if (!unit->code.addr)
		return;
	if (index_children(d, unit, &unit->code, 0))
		spans_release(&unit->functions);
	spans_sort(&unit->functions);
}

/* ---- one address */

/* Functions that cover an address, outermost first. */
struct chain {
	Dwarf_Die die[ELF_DWARF_LEVELS_MAX];
	size_t n;
	size_t steps;
};

/* Whether the children of a DIE are to be looked at for an address: its
 * ranges cover it, or it is a block that has none. */
static bool may_cover(Dwarf_Die *die, int tag, uint64_t address)
{
	if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
	    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
		return false;
	if (dwarf_haspc(die, address) > 0)
		return true;
	return tag == DW_TAG_lexical_block &&
	       !dwarf_hasattr(die, DW_AT_ranges) &&
	       !dwarf_hasattr(die, DW_AT_low_pc);
}

/* Add the inlined functions below a DIE. Returns whether there were any. */
static bool descend(struct chain *chain, Dwarf_Die *parent, uint64_t address,
		    int depth)
{
	Dwarf_Die die;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (++chain->steps > FUNCTION_STEPS_MAX)
			return false;
		if (!may_cover(&die, tag, address))
			continue;
		if (tag != DW_TAG_inlined_subroutine) {
			if (descend(chain, &die, address, depth + 1))
				return true;
			continue;
		}
		if (chain->n == ELF_DWARF_LEVELS_MAX)
			return true;
		chain->die[chain->n++] = die;
		(void)descend(chain, &die, address, depth + 1);
		return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static uint32_t read_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) ||
	    value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* The file that an attribute of a DIE names by its number in the table of
 * the DIE's unit, or, where that has none, of its skeleton. */
static const char *read_file(struct unit *unit, Dwarf_Die *die,
			     unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word index;
	Dwarf_Die its_unit;
	size_t n;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &index) ||
	    !dwarf_diecu(die, &its_unit, NULL, NULL) ||
	    (dwarf_getsrcfiles(&its_unit, &files, &n) &&
	     (!unit->is_skeleton ||
	      dwarf_getsrcfiles(&unit->die, &files, &n))) ||
	    index >= n)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static const char *read_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

/* What a function is called is often said where it was declared. The line of
 * its declaration says nothing where that is in another file. */
static void read_names(struct unit *unit, Dwarf_Die *function,
		       struct elf_dwarf_level *out)
{
	Dwarf_Die die = *function, next;
	const char *file = NULL;

	for (int i = 0; i < REFERENCES_MAX; i++) {
		Dwarf_Attribute attr;

		if (!out->linkage_name)
			out->linkage_name =
				read_string(&die, DW_AT_linkage_name);
		if (!out->linkage_name)
			out->linkage_name =
				read_string(&die, DW_AT_MIPS_linkage_name);
		if (!out->name)
			out->name = read_string(&die, DW_AT_name);
		if (!out->function_line)
			out->function_line = read_number(&die, DW_AT_decl_line);
		if (!file)
			file = read_file(unit, &die, DW_AT_decl_file);
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attr) &&
		    !dwarf_attr(&die, DW_AT_specification, &attr))
			break;
		if (!dwarf_formref_die(&attr, &next))
			break;
		die = next;
	}
	if (file && out->file && strcmp(file, out->file))
		out->function_line = 0;
}

static void read_line(struct elf_dwarf *d, struct unit *unit, uint64_t address,
		      struct elf_dwarf_level *out)
{
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	int number;
	size_t n;

	if (dwarf_getsrclines(&unit->die, &lines, &n))
		return;
	if (!unit->has_lines)
		d->n_lines += n;
	unit->has_lines = true;
	line = dwarf_getsrc_die(&unit->die, address);
	if (!line)
		return;
	out->file = dwarf_linesrc(line, NULL, NULL);
	out->dir = read_string(&unit->die, DW_AT_comp_dir);
	if (!dwarf_lineno(line, &number) && number > 0)
		out->line = (uint32_t)number;
}

/* The innermost unit with a function at an address, else with lines. */
static struct unit *find_unit(struct elf_dwarf *d, uint64_t address,
			      const struct span **function)
{
	const struct span *span;
	struct unit *first = NULL;
	size_t cursor = 0;

	*function = NULL;
	while ((span = spans_next(&d->by_address, address, &cursor))) {
		struct unit *unit = span->what;
		size_t inner = 0;

		if (!unit->is_indexed)
			index_functions(d, unit);
		*function = spans_next(&unit->functions, address, &inner);
		if (*function)
			return unit;
		if (!first)
			first = unit;
	}
	return first;
}

static void find_chain(struct chain *chain, const struct unit *unit,
		       const struct span *function, uint64_t address)
{
	chain->die[0] =
		(Dwarf_Die){ .addr = function->what, .cu = unit->code.cu };
	chain->n = 1;
	chain->steps = 0;
	(void)descend(chain, &chain->die[0], address - unit->bias, 0);
}

size_t elf_dwarf_find(struct elf_dwarf *d, uint64_t address,
		      struct elf_dwarf_level out[ELF_DWARF_LEVELS_MAX])
{
	const struct span *function;
	struct unit *unit = find_unit(d, address, &function);
	struct chain chain;
	Dwarf_Addr entry;

	if (!unit)
		return 0;
	out[0] = (struct elf_dwarf_level){ 0 };
	read_line(d, unit, address, &out[0]);
	if (!function)
		return out[0].file || out[0].line ? 1 : 0;
	find_chain(&chain, unit, function, address);
	for (size_t i = 0; i < chain.n; i++) {
		Dwarf_Die *die = &chain.die[chain.n - 1 - i];

		read_names(unit, die, &out[i]);
		if (i + 1 == chain.n)
			break;
		/* Where it was inlined is the place in its caller. */
		out[i + 1] = (struct elf_dwarf_level){
			.dir = read_string(&unit->die, DW_AT_comp_dir),
			.file = read_file(unit, die, DW_AT_call_file),
			.line = read_number(die, DW_AT_call_line),
		};
	}
	out[chain.n - 1].start = dwarf_entrypc(&chain.die[0], &entry)
					 ? function->start
					 : entry + unit->bias;
	return chain.n;
}

/* ---- open and close */

static int begin(Dwarf **out, struct elf_image *image,
		 const struct elf_file *file, uint64_t max)
{
	int rc = elf_image_make(image, file, max);

	if (rc)
		return rc;
	*out = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	return *out ? 0 : -EPROTO;
}

int elf_dwarf_open(struct elf_dwarf **out, const struct elf_file *file,
		   const struct elf_file *alt, bool follow_split)
{
	struct elf_dwarf *d = calloc(1, sizeof(*d));
	int rc;

	*out = NULL;
	if (!d)
		return -ENOMEM;
	rc = begin(&d->dwarf, &d->image, file, ELF_DWARF_BYTES_MAX);
	if (!rc && alt) {
		rc = begin(&d->alt, &d->alt_image, alt,
			   ELF_DWARF_BYTES_MAX - d->image.size);
		if (!rc)
			dwarf_setalt(d->dwarf, d->alt);
	}
	d->follow_split = follow_split;
	if (!rc)
		rc = index_units(d);
	if (rc) {
		elf_dwarf_close(d);
		return rc;
	}
	*out = d;
	return 0;
}

bool elf_dwarf_is_split(const struct elf_dwarf *d)
{
	for (size_t i = 0; i < d->n_units; i++) {
		if (d->units[i].is_skeleton)
			return true;
	}
	return false;
}

void elf_dwarf_set_package(struct elf_dwarf *d, struct elf_package *package)
{
	d->package = package;
	for (size_t i = 0; i < d->n_units; i++) {
		struct unit *unit = &d->units[i];
		struct elf_skeleton skeleton;

		if (!unit->is_skeleton)
			continue;
		elf_skeleton_read(&skeleton, &unit->die);
		unit->addr_base = skeleton.addr_base;
		unit->ranges_base = skeleton.ranges_base;
	}
}

void elf_dwarf_close(struct elf_dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_units; i++) {
		spans_release(&d->units[i].functions);
		elf_split_close(d->units[i].split);
	}
	elf_package_close(d->package);
	spans_release(&d->by_address);
	free(d->units);
	/* An alt that was set is not ended with what it was set for. */
	dwarf_end(d->dwarf);
	dwarf_end(d->alt);
	elf_image_release(&d->image);
	elf_image_release(&d->alt_image);
	free(d);
}

size_t elf_dwarf_bytes(const struct elf_dwarf *d)
{
	return d->image.size + d->alt_image.size + d->split_bytes +
	       (d->package ? elf_package_bytes(d->package) : 0) +
	       d->n_units * (sizeof(*d->units) + UNIT_BYTES) +
	       d->n_ranges * sizeof(struct span) + d->n_lines * LINE_BYTES;
}
