/* SPDX-License-Identifier: MIT */
/*
 * Lines for offsets of one file, from its DWARF. What is parsed is kept, as
 * names are, and so is which files have none: most of what is mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/elf/debug.h"
#include "collector/elf/dwarf.h"
#include "collector/inspect/kept.h"
#include "collector/inspect/names.h"
#include "collector/inspect/places.h"
#include "collector/privilege.h"

enum {
	WITHOUT_MAX = 1024, /* files known to have none */
	TEXTS_MAX = 256,
	PATH_SIZE_MAX = 4096
};

_Static_assert((int)ELF_DWARF_LEVELS_MAX == (int)INSPECT_LEVELS_MAX,
	       "an answer has room for all levels");

static struct file_key without[WITHOUT_MAX];
static size_t n_without; /* ever written: the oldest give way */

static size_t bytes(const void *dwarf)
{
	return elf_dwarf_bytes(dwarf);
}

static void release(void *dwarf)
{
	elf_dwarf_close(dwarf);
}

static struct kept_files kept = { .bytes = bytes, .free = release };

void inspect_drop_lines(void)
{
	kept_drop_all(&kept);
}

static bool is_without(const struct file_key *key)
{
	size_t n = n_without < WITHOUT_MAX ? n_without : WITHOUT_MAX;

	for (size_t i = 0; i < n; i++) {
		if (file_key_is_same(&without[i], key))
			return true;
	}
	return false;
}

/* ---- where the DWARF of a file is */

struct search {
	const struct elf_file *file; /* the mapped one */
	const struct request *request;
	struct elf_dwarf *dwarf; /* found */
	int rc;                  /* the last failure other than -ENOENT */
};

/* Whether libdw may open what a file names: nobody else can write to it, and
 * it lies in our own root, for in a container anybody is root; or in a place
 * that we were told. */
static bool is_of_ours(const struct search *s, const struct elf_file *file,
		       const char *path)
{
	struct file_key key;
	struct stat st;
	int root, reference;

	if (fstat(file->fd, &st) ||
	    (st.st_uid && st.st_uid != privilege_user()))
		return false;
	if (s->request->head->n_places)
		return true;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	reference = elf_open_in_root(root, path, &key);
	close(root);
	if (reference < 0)
		return false;
	close(reference);
	return file_key_is_same(&key, &file->key);
}

/* Whether a package with that name, or with the mapped file's, is there. */
static bool try_package(struct search *s, int root, const char *path)
{
	struct elf_package *package;
	struct elf_debug found;
	int rc = elf_debug_find_package(&found, s->file, root, path);

	if (rc)
		return false;
	rc = elf_package_open(&package, &found.file);
	elf_debug_close(&found);
	if (!rc)
		elf_dwarf_set_package(s->dwarf, package);
	return !rc;
}

static void find_package(struct search *s, int root, const char *path)
{
	const char *mapped = s->request->head->n_places
				     ? s->request->places[0].path
				     : s->request->path;

	if (!try_package(s, root, path) && strcmp(path, mapped))
		(void)try_package(s, root, mapped);
}

/* Try one file; path is its own in the root. Without the other half, where
 * dwz took it apart, it is of no use. */
static bool try_file(struct search *s, const struct elf_file *file, int root,
		     const char *path)
{
	struct elf_debug alt;
	int rc = elf_debug_find_alt(&alt, file, s->file, root, path);
	bool has_alt = !rc;

	if (has_alt || rc == -ENODATA)
		rc = elf_dwarf_open(
			&s->dwarf, file, has_alt ? &alt.file : NULL,
			is_of_ours(s, file, path) &&
				(!has_alt ||
				 is_of_ours(s, &alt.file, alt.path)));
	if (has_alt)
		elf_debug_close(&alt);
	if (!rc && elf_dwarf_is_split(s->dwarf))
		find_package(s, root, path);
	if (rc && rc != -ENOENT)
		s->rc = rc;
	return !rc;
}

static bool try_own(void *ctx, int root)
{
	struct search *s = ctx;

	return try_file(s, s->file, root, s->request->path);
}

static bool try_debug(struct search *s, struct elf_debug *debug, int rc,
		      int root)
{
	bool is_found;

	if (rc)
		return false;
	is_found = try_file(s, &debug->file, root, debug->path);
	elf_debug_close(debug);
	return is_found;
}

static bool try_debug_files(void *ctx, int root)
{
	struct search *s = ctx;
	struct elf_debug debug;

	return try_debug(s, &debug, elf_debug_find_id(&debug, s->file, root),
			 root) ||
	       try_debug(s, &debug,
			 elf_debug_find_link(&debug, s->file, root,
					     s->request->path, NULL),
			 root);
}

/* The same in the debug files that the request names. */
static bool try_places(struct search *s)
{
	bool is_found = false;
	struct elf_debug debug;

	for (uint32_t i = 1; i < s->request->head->n_places && !is_found; i++) {
		int root = open(s->request->places[i].root,
				O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (root < 0)
			continue;
		is_found = try_debug(
			s, &debug,
			places_open_debug(&debug, s->request, i, NULL), root);
		close(root);
	}
	return is_found;
}

/* Returns 0, -ENOENT, or why it is not to be had. */
static int find_dwarf(struct search *s)
{
	s->rc = -ENOENT;
	if (inspect_try_roots(s->request, try_own, s) || try_places(s) ||
	    inspect_try_roots(s->request, try_debug_files, s))
		return 0;
	return s->rc;
}

static enum wire_dwarf describe(int rc)
{
	if (rc == -ENOENT)
		return WIRE_DWARF_OK;
	return rc == -EFBIG || rc == -ENOMEM ? WIRE_DWARF_TOO_LARGE
					     : WIRE_DWARF_DAMAGED;
}

/* The DWARF of a file, kept for the next time; NULL: it has none, or none that
 * is read, which *why tells the first time. Borrowed until the next call. */
static void load(struct kept **out, enum wire_dwarf *why,
		 const struct elf_file *file, const struct request *request)
{
	struct search search = { .file = file, .request = request };
	int rc;

	*why = WIRE_DWARF_OK;
	*out = kept_find(&kept, &file->key);
	if (*out || is_without(&file->key))
		return;
	rc = find_dwarf(&search);
	if (rc == -ENOMEM) {
		/* Those that are kept may be what is in the way. */
		inspect_drop_kept();
		rc = find_dwarf(&search);
	}
	if (!rc) {
		*out = kept_add(&kept, &file->key, search.dwarf);
		return;
	}
	*why = describe(rc);
	/* There may be memory for it another time. */
	if (rc != -ENOMEM)
		without[n_without++ % WITHOUT_MAX] = file->key;
}

/* ---- the answer */

/* Texts that are in the reply already: one function is in many levels. */
static struct text {
	const char *text; /* as libdw gave it, which keeps it */
	uint32_t at, linkage_at;
} texts[TEXTS_MAX];

static struct text *find_text(const char *text)
{
	return &texts[((uintptr_t)text >> 2 ^ (uintptr_t)text >> 10) %
		      TEXTS_MAX];
}

static int add_path(struct reply *reply, const struct elf_dwarf_level *level,
		    uint32_t *out)
{
	static char path[PATH_SIZE_MAX];
	struct text *known = find_text(level->file);
	bool is_whole = level->file[0] == '/' || !level->dir;
	int rc, size;

	if (known->text != level->file) {
		size = snprintf(path, sizeof(path), "%s%s%s",
				is_whole ? "" : level->dir, is_whole ? "" : "/",
				level->file);
		rc = size < 0 ? -EPROTO
			      : reply_add_string(reply, path,
						 strnlen(path, sizeof(path)),
						 out);
		if (rc)
			return rc;
		*known = (struct text){ level->file, *out, WIRE_NO_STRING };
	}
	*out = known->at;
	return 0;
}

static int add_name(struct reply *reply, const char *name,
		    struct wire_level *out)
{
	struct text *known = find_text(name);

	if (known->text != name) {
		struct wire_name wire = { 0 };
		int rc = inspect_add_name(reply, name, strlen(name), &wire);

		if (rc)
			return rc;
		*known = (struct text){ name, wire.name, wire.linkage_name };
	}
	out->name = known->at;
	out->linkage_name = known->linkage_at;
	return 0;
}

static int add_level(struct reply *reply, const struct elf_dwarf_level *level,
		     struct wire_level *wire)
{
	const char *name =
		level->linkage_name ? level->linkage_name : level->name;
	int rc = 0;

	wire->name = WIRE_NO_STRING;
	wire->linkage_name = WIRE_NO_STRING;
	wire->file = WIRE_NO_STRING;
	wire->line = level->line;
	wire->function_line = level->function_line;
	if (name)
		rc = add_name(reply, name, wire);
	if (!rc && level->file)
		rc = add_path(reply, level, &wire->file);
	return rc ? rc : reply_add(reply, wire, sizeof(*wire));
}

/* Where a file's code lies. */
struct layout {
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n;
};

/* The address in the file that an offset has may be in a debug file too: it
 * has the same addresses. */
static int add_levels(struct reply *reply, struct elf_dwarf *dwarf,
		      const struct layout *layout, uint32_t at, uint64_t offset)
{
	struct elf_dwarf_level level[ELF_DWARF_LEVELS_MAX];
	uint64_t vaddr;
	size_t n = 0;
	int rc = 0;

	if (elf_offset_to_vaddr(layout->segments, layout->n, offset, &vaddr))
		n = elf_dwarf_find(dwarf, vaddr, level);
	for (size_t i = 0; i < n && !rc; i++) {
		struct wire_level wire = { .at = at };

		if (level[i].start &&
		    !elf_vaddr_to_offset(layout->segments, layout->n,
					 level[i].start, &wire.start))
			wire.start = 0;
		rc = add_level(reply, &level[i], &wire);
	}
	return rc;
}

static int answer(struct reply *reply, struct kept *entry,
		  const struct elf_file *file, const struct request *request)
{
	static struct layout layout;
	int rc = 0;

	layout.n = elf_file_segments(file, layout.segments);
	memset(texts, 0, sizeof(texts));
	for (uint32_t i = 0; i < request->head->n_offsets && !rc; i++) {
		size_t size = reply->items_size;
		uint32_t n = reply->n;

		rc = add_levels(reply, entry->parsed, &layout, i,
				request->offsets[i]);
		if (rc) {
			/* All levels of an offset, or none. */
			reply->items_size = size;
			reply->n = n;
		}
	}
	kept_has_grown(&kept, entry);
	/* As much as there is room for is better than nothing. */
	return rc == -E2BIG ? 0 : rc;
}

enum inspect_status inspect_op_lines(const struct request *request,
				     struct reply *reply)
{
	enum wire_dwarf why;
	struct elf_file file;
	struct kept *entry;
	int rc;

	reply->own_size = sizeof(reply->own.lines);
	/* The vDSO has none. */
	if (!strcmp(request->path, "[vdso]"))
		return INSPECT_OK;
	rc = places_find(&file, request, NULL);
	if (rc)
		return inspect_to_status(rc);
	if (!places_set_offsets(&file, request)) {
		elf_file_close(&file);
		return INSPECT_OK;
	}
	load(&entry, &why, &file, request);
	reply->own.lines.dwarf = (uint32_t)why;
	if (entry)
		rc = answer(reply, entry, &file, request);
	elf_file_close(&file);
	return inspect_to_status(rc);
}
