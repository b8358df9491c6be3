/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "collector/elf/debug.h"
#include "collector/elf/image.h"

enum {
	CHUNK = 65536,
	DEFLATE_RATIO = 1032,
	ZDEBUG_HEADER = 12 /* "ZLIB", and the size as 8 bytes, high first */
};

/* Those for functions, lines, their names and their ranges. */
static const char *const wanted[ELF_IMAGE_PARTS] = {
	[ELF_IMAGE_INFO] = ".debug_info",
	[ELF_IMAGE_ABBREV] = ".debug_abbrev",
	[ELF_IMAGE_LINE] = ".debug_line",
	[ELF_IMAGE_LINE_STR] = ".debug_line_str",
	[ELF_IMAGE_STR] = ".debug_str",
	[ELF_IMAGE_STR_OFFSETS] = ".debug_str_offsets",
	[ELF_IMAGE_ADDR] = ".debug_addr",
	[ELF_IMAGE_RANGES] = ".debug_ranges",
	[ELF_IMAGE_RNGLISTS] = ".debug_rnglists",
};

enum {
	WANTED = ELF_IMAGE_PARTS
};

/* A section as it lies in the file, and where it goes in the image. */
struct source {
	uint64_t offset, packed_size; /* in the file; packed_size 0: none */
	uint64_t size;                /* unpacked */
	bool is_packed;
};

static uint8_t chunk[CHUNK];

/* Which section a name is, or -1; old compilers pack .debug_x as .zdebug_x. */
static int find_wanted(const char *name, bool *is_z)
{
	*is_z = !strncmp(name, ".z", 2);
	for (int i = 0; i < WANTED; i++) {
		if (!strcmp(name + 1 + *is_z, wanted[i] + 1))
			return i;
	}
	return -1;
}

/* How large it is unpacked, which its header says. */
static int read_packed_size(struct source *source, const struct elf_file *file,
			    bool is_z)
{
	uint8_t head[ZDEBUG_HEADER];
	Elf64_Chdr chdr;
	size_t skip = is_z ? sizeof(head) : sizeof(chdr);
	int rc;

	if (source->packed_size <= skip)
		return -EPROTO;
	rc = elf_file_read(file, is_z ? (void *)head : (void *)&chdr, skip,
			   source->offset);
	if (rc)
		return rc;
	if (is_z) {
		if (memcmp(head, "ZLIB", 4))
			return -EPROTO;
		source->size = 0;
		for (int i = 4; i < ZDEBUG_HEADER; i++)
			source->size = source->size << 8 | head[i];
	} else {
		if (chdr.ch_type != ELFCOMPRESS_ZLIB)
			return -ENOTSUP;
		source->size = chdr.ch_size;
	}
	source->is_packed = true;
	source->offset += skip;
	source->packed_size -= skip;
	/* Deflate does no better. */
	return source->size / DEFLATE_RATIO > source->packed_size ? -EPROTO : 0;
}

static int take_section(struct source *sources, const struct elf_file *file,
			const GElf_Shdr *shdr, const char *name)
{
	struct source *source;
	bool is_z;
	int i = find_wanted(name, &is_z);

	/* The first of a name counts, as for libdw. */
	if (i < 0 || sources[i].packed_size || shdr->sh_type == SHT_NOBITS ||
	    !shdr->sh_size)
		return 0;
	source = &sources[i];
	source->offset = shdr->sh_offset;
	source->packed_size = shdr->sh_size;
	source->size = shdr->sh_size;
	/* What is claimed must be there before memory is taken for it. */
	if (source->offset > file->key.size ||
	    source->packed_size > file->key.size - source->offset)
		return -EPROTO;
	if (is_z || shdr->sh_flags & SHF_COMPRESSED)
		return read_packed_size(source, file, is_z);
	return 0;
}

static int find_sections(struct source sources[WANTED],
			 const struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	size_t names;
	int rc = elf_debug_section_names(file, &names);

	while (!rc && (scn = elf_nextscn(file->elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			return -EPROTO;
		name = elf_strptr(file->elf, names, shdr.sh_name);
		if (name && name[0] == '.')
			rc = take_section(sources, file, &shdr, name);
	}
	return rc ? rc : sources[ELF_IMAGE_INFO].packed_size ? 0 : -ENOENT;
}

static int unpack(uint8_t *out, const struct source *source,
		  const struct elf_file *file)
{
	z_stream stream = { .next_out = out };
	uint64_t read = 0, room = source->size;
	int status = Z_OK, rc = 0;

	if (inflateInit(&stream) != Z_OK)
		return -ENOMEM;
	while (!rc && status == Z_OK) {
		uint64_t left = source->packed_size - read;
		uInt most = room < CHUNK ? (uInt)room : CHUNK;

		if (!stream.avail_in && left) {
			size_t step = left < CHUNK ? left : CHUNK;

			rc = elf_file_read(file, chunk, step,
					   source->offset + read);
			read += step;
			stream.next_in = chunk;
			stream.avail_in = (uInt)step;
		}
		stream.avail_out = most;
		/* Where it makes no way it says Z_BUF_ERROR, and we end. */
		if (!rc)
			status = inflate(&stream, Z_NO_FLUSH);
		room -= most - stream.avail_out;
	}
	inflateEnd(&stream);
	return rc ? rc : room || status != Z_STREAM_END ? -EPROTO : 0;
}

/* Header, section headers (none, wanted, names), names, sections. */
struct plan {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr[WANTED + 2];
	char names[256];
};

static uint64_t align(uint64_t size)
{
	return (size + 15) & ~(uint64_t)15;
}

/* Give each section its place; those of no bytes are not there. Returns 0 or
 * -EFBIG. */
static int plan_image(struct plan *plan, const uint64_t bytes[WANTED],
		      uint64_t max, uint64_t *size)
{
	Elf64_Shdr *names = &plan->shdr[WANTED + 1];
	uint64_t at = align(sizeof(*plan)), total = 0;
	uint32_t name = 1;

	for (int i = 0; i < WANTED; i++) {
		if (bytes[i] > max - total)
			return -EFBIG;
		total += bytes[i];
		memcpy(plan->names + name, wanted[i], strlen(wanted[i]));
		plan->shdr[i + 1] = (Elf64_Shdr){
			.sh_name = name,
			.sh_type = bytes[i] ? SHT_PROGBITS : SHT_NOBITS,
			.sh_offset = at,
			.sh_size = bytes[i],
			.sh_addralign = 1,
		};
		name += (uint32_t)strlen(wanted[i]) + 1;
		at = align(at + bytes[i]);
	}
	*names = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct plan, names),
		.sh_size = sizeof(plan->names),
		.sh_addralign = 1,
	};
	*size = at;
	return 0;
}

static void make_header(struct plan *plan, const Elf64_Ehdr *its)
{
	plan->ehdr = (Elf64_Ehdr){
		.e_type = ET_EXEC,
		.e_machine = its->e_machine,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct plan, shdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = WANTED + 2,
		.e_shstrndx = WANTED + 1,
	};
	memcpy(plan->ehdr.e_ident, its->e_ident, EI_NIDENT);
}

/* Take the memory, and write the headers there. */
static int begin(struct elf_image *out, const Elf64_Ehdr *its,
		 const uint64_t bytes[WANTED], uint64_t max)
{
	struct plan plan = { 0 };
	uint64_t size;
	int rc = plan_image(&plan, bytes, max, &size);

	if (rc)
		return rc;
	make_header(&plan, its);
	out->bytes = malloc(size);
	if (!out->bytes)
		return -ENOMEM;
	out->size = size;
	memcpy(out->bytes, &plan, sizeof(plan));
	return 0;
}

static int end(struct elf_image *out)
{
	elf_version(EV_CURRENT);
	out->elf = elf_memory((char *)out->bytes, out->size);
	return out->elf ? 0 : -ENOMEM;
}

struct elf_bytes elf_image_part(const struct elf_image *image,
				enum elf_image_part part)
{
	const struct plan *plan = (const void *)image->bytes;
	const Elf64_Shdr *shdr = &plan->shdr[part + 1];

	if (shdr->sh_type == SHT_NOBITS)
		return (struct elf_bytes){ 0 };
	return (struct elf_bytes){ image->bytes + shdr->sh_offset,
				   shdr->sh_size };
}

static int fill(const struct elf_image *image,
		const struct source sources[WANTED],
		const struct elf_file *file)
{
	int rc = 0;

	for (int i = 0; i < WANTED && !rc; i++) {
		const struct source *source = &sources[i];
		struct elf_bytes to =
			elf_image_part(image, (enum elf_image_part)i);

		if (to.size && source->is_packed)
			rc = unpack(to.data, source, file);
		else if (to.size)
			rc = elf_file_read(file, to.data, to.size,
					   source->offset);
	}
	return rc;
}

int elf_image_make(struct elf_image *out, const struct elf_file *file,
		   uint64_t max)
{
	struct source sources[WANTED] = { 0 };
	uint64_t bytes[WANTED];
	Elf64_Ehdr ehdr; /* GElf_Ehdr is the same */
	int rc;

	*out = (struct elf_image){ 0 };
	if (!elf_file_is_native(file) || !gelf_getehdr(file->elf, &ehdr))
		return -ENOEXEC;
	rc = find_sections(sources, file);
	if (rc)
		return rc;
	for (int i = 0; i < WANTED; i++)
		bytes[i] = sources[i].packed_size ? sources[i].size : 0;
	rc = begin(out, &ehdr, bytes, max);
	if (!rc)
		rc = fill(out, sources, file);
	if (!rc)
		rc = end(out);
	if (rc)
		elf_image_release(out);
	return rc;
}

int elf_image_join(struct elf_image *out, const struct elf_image *like,
		   const struct elf_bytes part[ELF_IMAGE_PARTS], uint64_t max)
{
	const struct plan *its = (const void *)like->bytes;
	uint64_t bytes[WANTED];
	int rc;

	*out = (struct elf_image){ 0 };
	if (!part[ELF_IMAGE_INFO].size)
		return -ENOENT;
	for (int i = 0; i < WANTED; i++)
		bytes[i] = part[i].size;
	rc = begin(out, &its->ehdr, bytes, max);
	for (int i = 0; i < WANTED && !rc; i++) {
		struct elf_bytes to =
			elf_image_part(out, (enum elf_image_part)i);

		if (to.size)
			memcpy(to.data, part[i].data, to.size);
	}
	if (!rc)
		rc = end(out);
	if (rc)
		elf_image_release(out);
	return rc;
}

void elf_image_release(struct elf_image *image)
{
	if (image->elf)
		elf_end(image->elf);
	free(image->bytes);
	*image = (struct elf_image){ 0 };
}
