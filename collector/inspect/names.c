/* SPDX-License-Identifier: MIT */
/* Names for offsets of one file. Parsed files are kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/demangle.h"
#include "collector/elf/debug.h"
#include "collector/elf/symbols.h"
#include "collector/inspect/kept.h"
#include "collector/inspect/names.h"
#include "collector/inspect/places.h"

enum {
	VDSO_SIZE_MAX = 65536
};

/* What has been looked into for a file's symbols. Each only where those
 * before it did not have the answer. */
enum stage {
	STAGE_OWN,
	STAGE_MINIDEBUG,
	STAGE_DEBUG_FILE
};

static size_t bytes(const void *symbols)
{
	return symbols_bytes(symbols);
}

static void release(void *symbols)
{
	symbols_free(symbols);
}

static struct kept_files kept = { .bytes = bytes, .free = release };

void inspect_drop_kept(void)
{
	kept_drop_all(&kept);
	inspect_drop_lines();
}

/* The symbols of a file, kept for the next time. Borrowed until the next
 * call. Returns as symbols_load(). */
static int load_symbols(const struct elf_file *file, struct kept **out)
{
	struct symbols *symbols;
	int rc;

	*out = kept_find(&kept, &file->key);
	if (*out)
		return 0;
	rc = symbols_load(&symbols, file);
	if (rc == -ENOMEM) {
		/* Those that are kept may be what is in the way. */
		inspect_drop_kept();
		rc = symbols_load(&symbols, file);
	}
	if (!rc)
		*out = kept_add(&kept, &file->key, symbols);
	return rc;
}

/* Add what was found, if rc says so, and close it. Returns whether it names
 * anything. Why not does not matter: there are no names from there. */
static bool add_from(struct symbols *symbols, struct elf_debug *debug, int rc,
		     enum wire_source source)
{
	if (rc)
		return false;
	rc = symbols_add(symbols, &debug->file, source);
	elf_debug_close(debug);
	return !rc;
}

static int open_root(const struct request *request, enum inspect_root which)
{
	static const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	struct procfs proc;
	int root;

	if (request->head->n_places)
		return which == INSPECT_ROOT_OURS
			       ? open(request->places[0].root, flags)
			       : -1;
	if (which == INSPECT_ROOT_OURS)
		return open("/", flags);
	if (procfs_open(&proc, &request->head->process))
		return -1;
	root = openat(proc.dir, "root", flags);
	procfs_close(&proc);
	return root;
}

bool inspect_try_roots(const struct request *request, inspect_root_fn *fn,
		       void *ctx)
{
	bool is_done = false;

	for (int i = 0; i < INSPECT_ROOTS && !is_done; i++) {
		int root = open_root(request, (enum inspect_root)i);

		if (root < 0)
			continue;
		is_done = fn(ctx, root);
		close(root);
	}
	return is_done;
}

/* Whom a debug file is looked for. */
struct search {
	struct symbols *symbols;
	const struct elf_file *file;
	const char *path;
	struct reply *reply; /* NULL: what is passed over does not matter */
};

/* Say why what a debug link names is not used. Consumes passed. */
static void tell_linked(struct reply *reply, int rc, char *passed)
{
	struct wire_names *own = &reply->own.names;

	if (passed && own->linked == WIRE_NO_STRING &&
	    !reply_add_string(reply, passed, strlen(passed), &own->linked))
		own->linked_error = rc;
	free(passed);
}

static bool add_from_root(void *ctx, int root)
{
	const struct search *s = ctx;
	char *passed = NULL;
	struct elf_debug debug;
	int rc;

	if (add_from(s->symbols, &debug,
		     elf_debug_find_id(&debug, s->file, root),
		     WIRE_SOURCE_BUILD_ID))
		return true;
	rc = elf_debug_find_link(&debug, s->file, root, s->path,
				 s->reply ? &passed : NULL);
	if (rc && s->reply)
		tell_linked(s->reply, rc, passed);
	return add_from(s->symbols, &debug, rc, WIRE_SOURCE_DEBUGLINK);
}

static void add_debug_file(struct symbols *symbols, const struct elf_file *file,
			   const struct request *request, struct reply *reply)
{
	struct search search = { symbols, file, request->path,
				 request->head->n_places ? reply : NULL };
	struct elf_debug debug;

	for (uint32_t i = 1; i < request->head->n_places; i++) {
		if (add_from(symbols, &debug,
			     places_open_debug(&debug, request, i,
					       reply->own.names.other),
			     WIRE_SOURCE_BUILD_ID))
			return;
	}
	(void)inspect_try_roots(request, add_from_root, &search);
}

/* The reply is told what is passed over. */
static bool find(struct kept *entry, const struct elf_file *file,
		 const struct request *request, uint64_t offset,
		 struct reply *reply, struct symbol_name *out)
{
	struct symbols *symbols = entry->parsed;
	struct elf_debug debug;

	while (!symbols_find(symbols, offset, out)) {
		switch ((enum stage)entry->stage) {
		case STAGE_OWN:
			entry->stage = STAGE_MINIDEBUG;
			(void)add_from(symbols, &debug,
				       elf_debug_unpack(&debug, file),
				       WIRE_SOURCE_MINIDEBUG);
			break;
		case STAGE_MINIDEBUG:
			entry->stage = STAGE_DEBUG_FILE;
			/* The vDSO has none. */
			if (file->fd >= 0)
				add_debug_file(symbols, file, request, reply);
			break;
		case STAGE_DEBUG_FILE:
			return false;
		}
		kept_has_grown(&kept, entry);
	}
	return true;
}

/* Copy our own vDSO. Its size is told nowhere but in our maps. */
static int copy_vdso(char out[VDSO_SIZE_MAX], size_t *size)
{
	static struct procfs_maps maps;
	struct procfs self = { .dir = open("/proc/self", O_PATH | O_CLOEXEC) };
	struct procfs_mapping line;
	int rc;

	if (self.dir < 0)
		return -errno;
	rc = procfs_maps_open(&maps, &self);
	procfs_close(&self);
	if (rc)
		return rc;
	do {
		rc = procfs_maps_next(&maps, &line);
	} while (rc > 0 && strcmp(line.path, "[vdso]"));
	procfs_maps_close(&maps);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	*size = line.end - line.start;
	if (*size > VDSO_SIZE_MAX)
		return -EFBIG;
	memcpy(out, (const void *)(uintptr_t)line.start, *size);
	return 0;
}

int inspect_open_vdso(struct elf_file *out)
{
	static char image[VDSO_SIZE_MAX];
	static size_t size;
	int rc = size ? 0 : copy_vdso(image, &size);

	return rc ? rc : elf_file_open_memory(out, image, size);
}

int inspect_add_name(struct reply *reply, const char *name, size_t size,
		     struct wire_name *wire)
{
	static char linkage[DEMANGLE_INPUT_MAX + 1];
	static char nice[DEMANGLE_OUTPUT_MAX];
	size_t nice_size;
	int rc;

	if (size >= sizeof(linkage))
		size = sizeof(linkage) - 1;
	memcpy(linkage, name, size);
	linkage[size] = '\0';
	nice_size = demangle(linkage, nice);
	wire->linkage_name = WIRE_NO_STRING;
	if (!nice_size)
		return reply_add_string(reply, linkage, size, &wire->name);
	rc = reply_add_string(reply, nice, nice_size, &wire->name);
	if (rc)
		return rc;
	return reply_add_string(reply, linkage, size, &wire->linkage_name);
}

static int add(struct reply *reply, const struct symbol_name *found,
	       bool is_vdso)
{
	struct wire_name wire = { .name = WIRE_NO_STRING,
				  .linkage_name = WIRE_NO_STRING };
	int rc = 0;

	if (found) {
		wire.start = found->start;
		wire.source = is_vdso ? WIRE_SOURCE_VDSO : found->source;
		rc = inspect_add_name(reply, found->name, found->name_size,
				      &wire);
	}
	return rc ? rc : reply_add(reply, &wire, sizeof(wire));
}

static void tell_loss(struct wire_names *own, const struct symbols *symbols)
{
	struct symbols_loss loss = symbols_loss(symbols);

	own->loss = loss.what;
	own->source = loss.source;
	own->skipped = loss.skipped;
}

enum inspect_status inspect_op_names(const struct request *request,
				     struct reply *reply)
{
	bool is_vdso = !strcmp(request->path, "[vdso]");
	struct wire_names *own = &reply->own.names;
	struct elf_file file;
	struct kept *entry;
	bool has_offsets;
	struct stat st;
	int rc;

	reply->own_size = sizeof(*own);
	own->linked = WIRE_NO_STRING;
	/* The vDSO's key has inode 0, as no file has. */
	rc = is_vdso ? inspect_open_vdso(&file)
		     : places_find(&file, request, own->other);
	if (rc)
		return inspect_to_status(rc);
	if (file.fd >= 0 && !fstat(file.fd, &st))
		reply->owner = st.st_uid;
	has_offsets = places_set_offsets(&file, request);
	rc = load_symbols(&file, &entry);
	for (uint32_t i = 0; i < request->head->n_offsets && !rc; i++) {
		struct symbol_name name;
		bool is_found =
			has_offsets && find(entry, &file, request,
					    request->offsets[i], reply, &name);

		/* What a debug file itself has is what it was asked for. */
		if (is_found && request->head->is_debug &&
		    name.source == WIRE_SOURCE_SYMTAB)
			name.source = WIRE_SOURCE_BUILD_ID;
		rc = add(reply, is_found ? &name : NULL, is_vdso);
	}
	if (!rc)
		tell_loss(own, entry->parsed);
	else
		own->linked = WIRE_NO_STRING; /* strings go */
	elf_file_close(&file);
	return inspect_to_status(rc);
}
