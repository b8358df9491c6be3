/* SPDX-License-Identifier: MIT */
/* What /proc says of a process. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/elf/file.h"
#include "collector/inspect/ops.h"

enum {
	BUILD_IDS_MAX = 512
};

/* Build IDs of files that were read before: most processes of a machine map
 * the same few. The least recently used entry makes room. */
struct build_id {
	struct file_key key;
	uint64_t used; /* 0: empty */
	bool is_elf;
	uint8_t size;
	uint8_t bytes[INSPECT_BUILD_ID_MAX];
};

static struct build_id build_ids[BUILD_IDS_MAX];
static uint64_t build_ids_clock;

static void read_build_id(struct build_id *entry, int reference)
{
	struct elf_file file;

	entry->is_elf = false;
	entry->size = 0;
	if (elf_file_open(&file, reference, &entry->key))
		return;
	entry->is_elf = true;
	entry->size = elf_file_build_id(&file, entry->bytes);
	elf_file_close(&file);
}

/* The mapped file's build ID, or NULL where the file cannot be had. */
static const struct build_id *find_build_id(const struct procfs *proc,
					    const struct procfs_mapping *line)
{
	struct build_id *oldest = &build_ids[0];
	struct file_key key;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64,
		 line->start, line->end);
	fd = elf_open_reference(proc->dir, name, 0, &key);
	if (fd < 0)
		return NULL;
	for (size_t i = 0; i < BUILD_IDS_MAX; i++) {
		struct build_id *entry = &build_ids[i];

		if (entry->used && file_key_is_same(&entry->key, &key)) {
			entry->used = ++build_ids_clock;
			close(fd);
			return entry;
		}
		if (entry->used < oldest->used)
			oldest = entry;
	}
	oldest->key = key;
	oldest->used = ++build_ids_clock;
	read_build_id(oldest, fd);
	close(fd);
	return oldest;
}

/* Names of memory that the kernel keeps in files nobody can open by path:
 * code there that is not ELF was written by a JIT. */
static bool is_memory_file(const char *path)
{
	return !strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5) ||
	       !strcmp(path, "/dev/zero");
}

static int add_mapping(struct reply *reply, const struct procfs *proc,
		       const struct procfs_mapping *line)
{
	struct wire_mapping wire = {
		.start = line->start,
		.end = line->end,
		.file_offset = line->file_offset,
		.inode = line->inode,
		.dev_major = line->dev_major,
		.dev_minor = line->dev_minor,
	};
	char path[WIRE_PATH_MAX] = "";
	const struct build_id *build_id = NULL;
	size_t size = 0;
	int rc;

	if (!strcmp(line->path, "[vdso]")) {
		wire.flags = WIRE_MAPPING_VDSO;
		size = (size_t)snprintf(path, sizeof(path), "[vdso]");
	} else if (!line->inode) {
		wire.flags = WIRE_MAPPING_ANONYMOUS;
	} else {
		size = line->path_size < sizeof(path) ? line->path_size
						      : sizeof(path) - 1;
		memcpy(path, line->path, size);
		path[size] = '\0';
		size = procfs_strip_deleted(path, size);
		build_id = find_build_id(proc, line);
	}
	if (build_id) {
		wire.build_id_size = build_id->size;
		memcpy(wire.build_id, build_id->bytes, build_id->size);
	}
	if (line->inode && is_memory_file(path) &&
	    !(build_id && build_id->is_elf)) {
		wire.flags = WIRE_MAPPING_ANONYMOUS;
		size = 0;
	}
	rc = reply_add_string(reply, path, size, &wire.path);
	return rc ? rc : reply_add(reply, &wire, sizeof(wire));
}

/* Returns 0 or a negative errno; -E2BIG: there are more. */
static int add_mappings(struct reply *reply, const struct procfs *proc)
{
	static struct procfs_maps maps;
	struct procfs_mapping line;
	int rc = procfs_maps_open(&maps, proc), told = 0;
	uint64_t last_end = 0;

	if (rc)
		return rc;
	while (!rc && (told = procfs_maps_next(&maps, &line)) > 0) {
		/* The page of old system calls is the kernel's. A list that
		 * changes while it is read may step back. */
		if (!line.is_executable || line.start < last_end ||
		    !strcmp(line.path, "[vsyscall]"))
			continue;
		rc = reply->n < INSPECT_MAPPINGS_MAX
			     ? add_mapping(reply, proc, &line)
			     : -E2BIG;
		last_end = line.end;
	}
	procfs_maps_close(&maps);
	return rc ? rc : told;
}

static void read_status(struct wire_process *own, const struct procfs *proc)
{
	char text[4096];

	/* Name: comes first and cannot hold a newline. */
	if (procfs_read(proc, "status", text, sizeof(text)) < 0)
		return;
	own->parent_pid = procfs_find_number(text, "\nPPid:\t");
	own->inner_pid = procfs_find_number(text, "\nNSpid:\t");
}

/* The path of the unified hierarchy, else of the first other. */
static const char *find_cgroup(char *text)
{
	char *unified = strstr(text, "0::");
	char *line = text;

	while (unified && unified != text && unified[-1] != '\n')
		unified = strstr(unified + 1, "0::");
	if (unified)
		line = unified;
	line[strcspn(line, "\n")] = '\0';
	/* hierarchy:controllers:path */
	line = strchr(line, ':');
	line = line ? strchr(line + 1, ':') : NULL;
	return line ? line + 1 : "";
}

static int add_texts(struct reply *reply, struct wire_process *own,
		     const struct procfs *proc)
{
	char text[8192];
	const char *cgroup = "";
	size_t size = 0;
	ssize_t got;
	int rc;

	if (procfs_read(proc, "comm", text, sizeof(text)) > 0)
		size = strcspn(text, "\n");
	rc = reply_add_string(reply, text, size, &own->comm);
	if (rc)
		return rc;
	got = procfs_read_link(proc, "exe", text, WIRE_PATH_MAX);
	size = got > 0 ? procfs_strip_deleted(text, (size_t)got) : 0;
	rc = reply_add_string(reply, text, size, &own->exe);
	if (rc)
		return rc;
	if (procfs_read(proc, "cgroup", text, sizeof(text)) > 0)
		cgroup = find_cgroup(text);
	return reply_add_string(reply, cgroup, strlen(cgroup), &own->cgroup);
}

enum inspect_status inspect_op_process(const struct request *request,
				       struct reply *reply)
{
	struct wire_process *own = &reply->own.process;
	struct procfs proc;
	int rc = procfs_open(&proc, &request->head->process);

	if (rc)
		return inspect_to_status(rc);
	reply->own_size = sizeof(*own);
	read_status(own, &proc);
	rc = add_texts(reply, own, &proc);
	if (!rc)
		rc = add_mappings(reply, &proc);
	own->mappings_cut = rc == -E2BIG;
	if (rc == -E2BIG)
		rc = 0;
	if (!rc)
		rc = procfs_check(&proc, request->head->process.start_ns);
	procfs_close(&proc);
	return inspect_to_status(rc);
}
