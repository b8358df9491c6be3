/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/context/elf.h"
#include "collector/context/modules.h"

static struct module *find(struct modules *modules,
			   const struct procfs_mapping *line)
{
	/* From the end: a module's mappings stand together. */
	for (size_t i = modules->n; i--;) {
		struct module *module = &modules->module[i];

		if (module->inode == line->inode &&
		    module->dev_major == line->dev_major &&
		    module->dev_minor == line->dev_minor)
			return module;
	}
	return NULL;
}

static bool ends_with(const char *text, size_t size, const char *end)
{
	size_t length = strlen(end);

	return size >= length && !memcmp(text + size - length, end, length);
}

/* Tell the C library by its loader's name: musl's is also its libc. */
static void learn_libc(struct modules *modules,
		       const struct procfs_mapping *line, size_t at)
{
	const char *slash = strrchr(line->path, '/');
	const char *name = slash ? slash + 1 : line->path;

	if (!strncmp(name, "ld-musl", 7) ||
	    ends_with(line->path, line->path_size, "-linux-musl/libc.so")) {
		modules->libc = LIBC_MUSL;
	} else if (!strncmp(name, "ld-linux", 8) || !strcmp(name, "ld.so") ||
		   !strncmp(name, "ld-2.", 5)) {
		if (modules->libc == LIBC_NONE)
			modules->libc = LIBC_GLIBC;
		modules->loader_at = at;
	} else if (!strcmp(name, "libc.so.6") || !strncmp(name, "libc-2.", 7)) {
		modules->libc_at = at;
	}
}

static void take_line(struct modules *modules,
		      const struct procfs_mapping *line)
{
	struct module *module = find(modules, line);

	if (!module && !line->file_offset && modules->n < CONTEXT_MODULES_MAX) {
		module = &modules->module[modules->n];
		*module = (struct module){ .inode = line->inode,
					   .dev_major = line->dev_major,
					   .dev_minor = line->dev_minor,
					   .start = line->start,
					   .end = line->end,
					   .low = line->start };
		learn_libc(modules, line, modules->n);
		modules->n++;
	}
	if (!module)
		return;
	module->high = line->end;
	module->has_code |= line->is_executable;
}

int modules_read(struct modules *modules, const struct procfs *proc)
{
	static struct procfs_maps maps;
	struct procfs_mapping line;
	int rc = procfs_maps_open(&maps, proc);

	modules->n = 0;
	modules->libc = LIBC_NONE;
	modules->libc_at = CONTEXT_MODULES_MAX;
	modules->loader_at = CONTEXT_MODULES_MAX;
	if (rc)
		return rc;
	while ((rc = procfs_maps_next(&maps, &line)) > 0)
		if (line.inode && !line.is_shared)
			take_line(modules, &line);
	procfs_maps_close(&maps);
	return rc;
}

uint64_t module_bias(const struct module *module, uint64_t first_vaddr)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return module->start - (first_vaddr & ~(page - 1));
}

int module_open_reference(const struct procfs *proc,
			  const struct module *module, struct file_key *key)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64,
		 module->start, module->end);
	return elf_open_reference(proc->dir, name, 0, key);
}

int module_find_object(const struct procfs *proc, const struct module *module,
		       const char *name, uint64_t *addr)
{
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	struct elf_dynamic_symbol symbol;
	struct elf_file file;
	struct file_key key;
	GElf_Ehdr ehdr;
	int fd = module_open_reference(proc, module, &key);
	int rc;

	if (fd < 0)
		return fd;
	rc = elf_file_open(&file, fd, &key);
	close(fd);
	if (rc)
		return rc;
	rc = context_find_dynamic(&file, name, &symbol);
	if (!rc && (!elf_file_segments(&file, segments) ||
		    !gelf_getehdr(file.elf, &ehdr)))
		rc = -EPROTO;
	if (!rc)
		*addr = symbol.value;
	/* An executable may be loaded where it says. */
	if (!rc && ehdr.e_type != ET_EXEC)
		*addr += module_bias(module, segments[0].vaddr);
	elf_file_close(&file);
	return rc;
}
