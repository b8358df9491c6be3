/* SPDX-License-Identifier: MIT */
/*
 * The places are the user's own choice, made for what lies there: so links
 * may not lead out of them, but a file need not be readable to others, as a
 * debug file has to be that a process's own root leads to.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/inspect/places.h"

static int open_place(struct elf_file *file, const struct inspect_place *place)
{
	struct file_key key;
	int root, reference, rc;

	*file = (struct elf_file){ .fd = -1 };
	root = open(place->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	reference = elf_open_in_root(root, place->path, &key);
	close(root);
	if (reference < 0)
		return reference == -ENOTDIR ? -ENOENT : reference;
	rc = elf_file_open(file, reference, &key);
	close(reference);
	return rc;
}

/* Whether a file has the request's build ID; if not, other says what it has
 * (NULL: it does not matter). */
static bool has_build_id(const struct elf_file *file,
			 const struct wire_request *head, bool is_debug,
			 struct wire_other *other)
{
	struct wire_other found = { 0 };

	found.build_id_size =
		is_debug ? elf_file_build_id_section(file, found.build_id)
			 : elf_file_build_id(file, found.build_id);
	if (found.build_id_size && found.build_id_size == head->build_id_size &&
	    !memcmp(found.build_id, head->build_id, found.build_id_size))
		return true;
	if (other)
		*other = found;
	return false;
}

/* Whether its segments are still those of the program: elfutils leaves them
 * alone; binutils and LLVM have them say that the file holds nothing of the
 * code. */
static bool has_offsets(const struct elf_file *file)
{
	bool has_code = false;
	GElf_Phdr phdr;

	for (int i = 0; gelf_getphdr(file->elf, i, &phdr); i++) {
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X))
			continue;
		if (!phdr.p_filesz || phdr.p_filesz != phdr.p_memsz)
			return false;
		has_code = true;
	}
	return has_code;
}

bool places_set_offsets(struct elf_file *file, const struct request *request)
{
	static struct elf_segment told[INSPECT_SEGMENTS_MAX];

	if (!request->head->is_debug || has_offsets(file))
		return true;
	for (uint32_t i = 0; i < request->head->n_segments; i++)
		told[i] = (struct elf_segment){
			.offset = request->segments[i].offset,
			.file_size = request->segments[i].size,
			.vaddr = request->segments[i].address,
			.flags = PF_X,
		};
	file->told = told;
	file->n_told = request->head->n_segments;
	return file->n_told > 0;
}

static bool is_proven(const struct elf_file *file,
		      const struct wire_request *head, struct wire_other *other)
{
	if (head->build_id_size)
		return has_build_id(file, head, head->is_debug, other);
	return head->is_vouched ||
	       (head->inode && file->key.inode == head->inode &&
		file->key.dev == makedev(head->dev_major, head->dev_minor));
}

/* Say why what lies at a place is not used; others may be NULL. */
static void pass_over(struct wire_other *others, uint32_t i, int rc)
{
	if (others && rc != -ENOENT && rc != -ENOMEM)
		others[i].error = rc;
}

int places_find(struct elf_file *file, const struct request *request,
		struct wire_other *others)
{
	int rc;

	if (!request->head->n_places)
		return elf_file_find(file, request->head, request->path);
	rc = open_place(file, &request->places[0]);
	if (!rc && !is_proven(file, request->head, others)) {
		elf_file_close(file);
		rc = -ESTALE;
	}
	if (rc)
		pass_over(others, 0, rc);
	return rc;
}

int places_open_debug(struct elf_debug *debug, const struct request *request,
		      uint32_t i, struct wire_other *others)
{
	int rc;

	*debug = (struct elf_debug){ .file.fd = -1 };
	rc = open_place(&debug->file, &request->places[i]);
	if (!rc && !has_build_id(&debug->file, request->head, true,
				 others ? &others[i] : NULL))
		rc = -ESTALE;
	if (!rc) {
		debug->path = strdup(request->places[i].path);
		if (debug->path)
			return 0;
		rc = -ENOMEM;
	}
	pass_over(others, i, rc);
	elf_debug_close(debug);
	return rc;
}
