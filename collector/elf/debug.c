/* SPDX-License-Identifier: MIT */
/*
 * libdwfl would find and open these files too, but by open(2) in our own root,
 * which a FIFO stops, and unpacks without a limit. So only the formats are
 * left to libraries: liblzma, zlib's CRC, libelf.
 */
#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/elf/debug.h"

enum {
	NAMES_SIZE_MAX = 1 << 20, /* of all sections */
	LINK_SIZE_MAX = 512,
	ALT_LINK_SIZE_MAX = 2048,
	CHUNK = 65536
};

/* Read by pread, a part at a time: never two at once. */
static uint8_t chunk[CHUNK];

int elf_debug_section_names(const struct elf_file *file, size_t *index)
{
	GElf_Shdr shdr;
	Elf_Scn *names;

	/* libelf reads all names at once, and would unpack them. */
	if (elf_getshdrstrndx(file->elf, index))
		return -ENOENT;
	names = elf_getscn(file->elf, *index);
	if (!names || !gelf_getshdr(names, &shdr) ||
	    shdr.sh_type != SHT_STRTAB || shdr.sh_size > NAMES_SIZE_MAX ||
	    shdr.sh_flags & SHF_COMPRESSED)
		return -ENOENT;
	return 0;
}

/* A section by name, with bytes in the file, as they are. */
static int find_section(const struct elf_file *file, const char *name,
			GElf_Shdr *out)
{
	Elf_Scn *scn = NULL;
	size_t index;

	if (elf_debug_section_names(file, &index))
		return -ENOENT;
	while ((scn = elf_nextscn(file->elf, scn))) {
		const char *found;

		if (!gelf_getshdr(scn, out) || out->sh_type != SHT_PROGBITS ||
		    out->sh_flags & SHF_COMPRESSED)
			continue;
		found = elf_strptr(file->elf, index, out->sh_name);
		if (found && !strcmp(found, name))
			return 0;
	}
	return -ENOENT;
}

/* ---- .gnu_debugdata */

struct unpacked {
	uint8_t *bytes; /* owned */
	size_t room;
};

static int make_room(struct unpacked *out, lzma_stream *stream)
{
	size_t room = out->room ? out->room * 2 : CHUNK;
	size_t used = out->room;
	uint8_t *bigger;

	if (room > ELF_DEBUG_UNPACKED_MAX)
		return -EFBIG;
	bigger = realloc(out->bytes, room);
	if (!bigger)
		return -ENOMEM;
	*out = (struct unpacked){ .bytes = bigger, .room = room };
	stream->next_out = bigger + used;
	stream->avail_out = room - used;
	return 0;
}

static int to_errno(lzma_ret ret)
{
	switch (ret) {
	case LZMA_OK:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EPROTO;
	}
}

static int unpack(lzma_stream *stream, struct unpacked *out,
		  const struct elf_file *file, const GElf_Shdr *shdr)
{
	uint64_t at = 0;

	for (;;) {
		lzma_ret ret;
		int rc = 0;

		if (!stream->avail_in && at < shdr->sh_size) {
			uint64_t left = shdr->sh_size - at;
			size_t step = left < CHUNK ? left : CHUNK;

			rc = elf_file_read(file, chunk, step,
					   shdr->sh_offset + at);
			at += step;
			stream->next_in = chunk;
			stream->avail_in = step;
		}
		if (!rc && !stream->avail_out)
			rc = make_room(out, stream);
		if (rc)
			return rc;
		/* Where it makes no way, the second such call says so. */
		ret = lzma_code(stream, LZMA_RUN);
		if (ret == LZMA_STREAM_END)
			return 0;
		rc = to_errno(ret);
		if (rc)
			return rc;
	}
}

int elf_debug_unpack(struct elf_debug *out, const struct elf_file *file)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	struct unpacked unpacked = { 0 };
	GElf_Shdr shdr;
	int rc = find_section(file, ".gnu_debugdata", &shdr);

	*out = (struct elf_debug){ .file.fd = -1 };
	if (rc)
		return rc;
	if (shdr.sh_size > ELF_DEBUG_PACKED_MAX)
		return -EFBIG;
	rc = to_errno(lzma_stream_decoder(&stream, ELF_DEBUG_UNPACK_MEMORY, 0));
	if (!rc)
		rc = unpack(&stream, &unpacked, file, &shdr);
	if (!rc)
		rc = elf_file_open_memory(&out->file, unpacked.bytes,
					  stream.total_out);
	lzma_end(&stream);
	if (rc)
		free(unpacked.bytes);
	else
		out->image = unpacked.bytes;
	return rc;
}

/* ---- debug files */

/*
 * Whether a file may be read for the owner of the mapped one. We may read
 * more, and links in a target's directories lead where it likes.
 */
static bool is_readable_to_owner(int reference, const struct elf_file *file)
{
	struct stat debug, mapped;

	return !fstat(reference, &debug) && !fstat(file->fd, &mapped) &&
	       (debug.st_mode & S_IROTH || debug.st_uid == mapped.st_uid ||
		!mapped.st_uid);
}

static int open_in_root(struct elf_debug *out, const struct elf_file *file,
			int root, const char *path)
{
	struct file_key key;
	int reference = elf_open_in_root(root, path, &key);
	int rc = -EACCES;

	*out = (struct elf_debug){ .file.fd = -1 };
	if (reference < 0)
		return reference;
	if (is_readable_to_owner(reference, file))
		rc = elf_file_open(&out->file, reference, &key);
	close(reference);
	if (rc)
		return rc;
	out->path = strdup(path);
	if (!out->path)
		elf_debug_close(out);
	return out->path ? 0 : -ENOMEM;
}

/* Whether the two have build IDs: 0 if they are the same, -ESTALE if not,
 * -ENOENT if one has none. */
static int compare_ids(const struct elf_file *debug,
		       const struct elf_file *file)
{
	uint8_t mine[INSPECT_BUILD_ID_MAX], its[INSPECT_BUILD_ID_MAX];
	uint8_t size = elf_file_build_id(file, mine);
	uint8_t its_size = elf_file_build_id_section(debug, its);

	if (!size || !its_size)
		return -ENOENT;
	return size == its_size && !memcmp(mine, its, size) ? 0 : -ESTALE;
}

/* Open the file in a root's tree for this build ID, unproven. */
static int open_by_id(struct elf_debug *out, const struct elf_file *file,
		      int root, const uint8_t *id, size_t size)
{
	char path[48 + 2 * INSPECT_BUILD_ID_MAX] = "usr/lib/debug/.build-id/";
	size_t at = strlen(path);

	if (size < 2 || size > INSPECT_BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < size; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x%s",
				       id[i], i ? "" : "/");
	snprintf(path + at, sizeof(path) - at, ".debug");
	return open_in_root(out, file, root, path);
}

int elf_debug_find_id(struct elf_debug *out, const struct elf_file *file,
		      int root)
{
	uint8_t id[INSPECT_BUILD_ID_MAX];
	uint8_t size = elf_file_build_id(file, id);
	int rc;

	*out = (struct elf_debug){ .file.fd = -1 };
	rc = open_by_id(out, file, root, id, size);
	if (rc)
		return rc;
	rc = compare_ids(&out->file, file);
	if (rc)
		elf_debug_close(out);
	return rc ? -ESTALE : 0;
}

static int compare_crc(const struct elf_file *debug, uint32_t want)
{
	uint64_t size = debug->key.size;
	uLong crc = crc32(0, NULL, 0);

	if (size > ELF_DEBUG_CRC_MAX)
		return -EFBIG;
	for (uint64_t at = 0; at < size; at += CHUNK) {
		size_t step = size - at < CHUNK ? size - at : CHUNK;
		int rc = elf_file_read(debug, chunk, step, at);

		if (rc)
			return rc;
		crc = crc32(crc, chunk, (uInt)step);
	}
	return crc == want ? 0 : -ESTALE;
}

struct link {
	char name[LINK_SIZE_MAX + 1]; /* of a file, without directory */
	uint32_t crc;
};

static int read_link(const struct elf_file *file, struct link *out)
{
	GElf_Shdr shdr;
	size_t at;
	int rc = find_section(file, ".gnu_debuglink", &shdr);

	if (rc)
		return rc;
	if (shdr.sh_size > LINK_SIZE_MAX)
		return -EFBIG;
	rc = elf_file_read(file, out->name, shdr.sh_size, shdr.sh_offset);
	if (rc)
		return rc;
	/* The name, its NUL, padding to 4, the CRC. */
	out->name[shdr.sh_size] = '\0';
	at = (strlen(out->name) + 1 + 3) & ~(size_t)3;
	if (at + sizeof(out->crc) > shdr.sh_size || !out->name[0] ||
	    strchr(out->name, '/'))
		return -EPROTO;
	memcpy(&out->crc, out->name + at, sizeof(out->crc));
	return 0;
}

static int try_link(struct elf_debug *out, const struct elf_file *file,
		    int root, const char *path, const struct link *link)
{
	int rc = open_in_root(out, file, root, path);

	if (rc)
		return rc;
	rc = compare_ids(&out->file, file);
	if (rc == -ENOENT)
		rc = compare_crc(&out->file, link->crc);
	if (rc)
		elf_debug_close(out);
	return rc;
}

int elf_debug_find_link(struct elf_debug *out, const struct elf_file *file,
			int root, const char *path, char **passed)
{
	static const char *const places[][2] = { { "", "" },
						 { "", "/.debug" },
						 { "/usr/lib/debug", "" } };
	static char name[WIRE_PATH_MAX + LINK_SIZE_MAX + 64];
	const char *end = strrchr(path, '/');
	struct link link;
	int rc;

	*out = (struct elf_debug){ .file.fd = -1 };
	if (passed)
		*passed = NULL;
	if (!end)
		return -ENOENT;
	rc = read_link(file, &link);
	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int tried;

		snprintf(name, sizeof(name), "%s%.*s%s/%s", places[i][0],
			 (int)(end - path), path, places[i][1], link.name);
		tried = try_link(out, file, root, name, &link);
		if (!tried)
			break;
		if (tried == -ENOENT || rc != -ENOENT)
			continue;
		rc = tried;
		if (passed)
			*passed = strdup(name);
	}
	if (out->file.elf && passed) {
		free(*passed);
		*passed = NULL;
	}
	return out->file.elf ? 0 : rc;
}

/* ---- .gnu_debugaltlink: what dwz moved out of several files */

struct alt_link {
	char name[ALT_LINK_SIZE_MAX + 1];
	const uint8_t *id; /* in name, behind its NUL */
	size_t id_size;
};

static int read_alt_link(const struct elf_file *file, struct alt_link *out)
{
	GElf_Shdr shdr;
	size_t length;
	int rc = find_section(file, ".gnu_debugaltlink", &shdr);

	if (rc)
		return -ENODATA;
	if (shdr.sh_size > ALT_LINK_SIZE_MAX)
		return -EFBIG;
	rc = elf_file_read(file, out->name, shdr.sh_size, shdr.sh_offset);
	if (rc)
		return rc;
	out->name[shdr.sh_size] = '\0';
	length = strlen(out->name);
	if (!length || length + 1 >= shdr.sh_size)
		return -EPROTO;
	out->id = (const uint8_t *)out->name + length + 1;
	out->id_size = shdr.sh_size - length - 1;
	return 0;
}

/* Keep out if it is what the link means. */
static int prove_alt(struct elf_debug *out, const struct alt_link *link)
{
	uint8_t id[INSPECT_BUILD_ID_MAX];
	size_t size = elf_file_build_id_section(&out->file, id);

	if (size == link->id_size && !memcmp(id, link->id, size))
		return 0;
	elf_debug_close(out);
	return -ESTALE;
}

int elf_debug_find_alt(struct elf_debug *out, const struct elf_file *file,
		       const struct elf_file *mapped, int root,
		       const char *path)
{
	static char name[WIRE_PATH_MAX + ALT_LINK_SIZE_MAX + 2];
	static struct alt_link link;
	const char *end = strrchr(path, '/');
	int rc = read_alt_link(file, &link);

	*out = (struct elf_debug){ .file.fd = -1 };
	if (rc)
		return rc;
	rc = open_by_id(out, mapped, root, link.id, link.id_size);
	if (!rc)
		rc = prove_alt(out, &link);
	if (!rc)
		return 0;
	/* As written, or beside the file that links. */
	if (link.name[0] == '/')
		snprintf(name, sizeof(name), "%s", link.name);
	else
		snprintf(name, sizeof(name), "%.*s/%s",
			 end ? (int)(end - path) : 0, path, link.name);
	rc = open_in_root(out, mapped, root, name);
	return rc ? rc : prove_alt(out, &link);
}

int elf_debug_find_package(struct elf_debug *out, const struct elf_file *mapped,
			   int root, const char *path)
{
	static char name[WIRE_PATH_MAX + 8];

	snprintf(name, sizeof(name), "%s.dwp", path);
	return open_in_root(out, mapped, root, name);
}

void elf_debug_close(struct elf_debug *debug)
{
	elf_file_close(&debug->file);
	free(debug->image);
	free(debug->path);
	debug->image = NULL;
	debug->path = NULL;
}
