/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "collector/context/glibc.h"

enum {
	SLOTINFO_NODES_MAX = 64,
	LINK_MAPS_MAX = 4096,
	FIELD_OFFSET_MAX = 65536,
};

/* The start of struct link_map, <link.h>. */
struct link_map_head {
	uint64_t l_addr, l_name, l_ld, l_next, l_prev;
};

/* The start of struct r_debug, <link.h>. */
struct debug_head {
	int32_t version, pad;
	uint64_t map;
};

/* Of a module that may not be there. */
static int find_object(const struct procfs *proc, const struct modules *modules,
		       size_t at, const char *name, uint64_t *addr)
{
	return at < modules->n ? module_find_object(proc, &modules->module[at],
						    name, addr)
			       : -ENOENT;
}

/* Where a field is in its structure, by the object that says so. */
static int find_field(const struct procfs *proc, const struct modules *modules,
		      const char *name, uint32_t *offset)
{
	uint32_t layout[3]; /* bits, count, offset */
	uint64_t at;
	int rc = find_object(proc, modules, modules->libc_at, name, &at);

	if (!rc)
		rc = procfs_read_memory(proc, at, layout, sizeof(layout));
	if (!rc && layout[2] > FIELD_OFFSET_MAX)
		rc = -EPROTO;
	if (!rc)
		*offset = layout[2];
	return rc;
}

static int find_link_map(const struct procfs *proc,
			 const struct modules *modules, uint64_t bias,
			 uint64_t *out)
{
	struct debug_head debug;
	struct link_map_head map;
	uint64_t at;
	int rc =
		find_object(proc, modules, modules->loader_at, "_r_debug", &at);

	if (!rc)
		rc = procfs_read_memory(proc, at, &debug, sizeof(debug));
	if (rc)
		return rc;
	at = debug.map;
	for (int i = 0; i < LINK_MAPS_MAX && at; i++) {
		rc = procfs_read_memory(proc, at, &map, sizeof(map));
		if (rc)
			return rc;
		if (map.l_addr == bias) {
			*out = at;
			return 0;
		}
		at = map.l_next;
	}
	return -ENOENT;
}

int glibc_find_block(const struct procfs *proc, const struct modules *modules,
		     uint64_t bias, struct glibc_block *out)
{
	uint32_t module_at, offset_at;
	uint64_t map = 0;
	int64_t offset;
	int rc = find_field(proc, modules, "_thread_db_link_map_l_tls_modid",
			    &module_at);

	if (!rc)
		rc = find_field(proc, modules,
				"_thread_db_link_map_l_tls_offset", &offset_at);
	if (!rc)
		rc = find_link_map(proc, modules, bias, &map);
	if (!rc)
		rc = procfs_read_memory(proc, map + module_at, &out->module,
					sizeof(out->module));
	if (!rc)
		rc = procfs_read_memory(proc, map + offset_at, &offset,
					sizeof(offset));
	if (rc)
		return rc;
	/* 0: not placed yet; -1: never to be in the static area. */
	out->is_static = offset > 0;
	out->offset = out->is_static ? (uint64_t)offset : 0;
	return 0;
}

/*
 * In _rtld_global there is a list of blocks {length, next,
 * {generation, map}[length]}, indexed by module ID through all of them.
 */
int glibc_find_generation(const struct procfs *proc,
			  const struct modules *modules, uint64_t module,
			  uint32_t *out)
{
	uint64_t at = 0, head[2], entry[2];
	uint32_t list_at;
	int rc = find_field(proc, modules,
			    "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list",
			    &list_at);

	if (!rc)
		rc = find_object(proc, modules, modules->loader_at,
				 "_rtld_global", &at);
	if (!rc)
		rc = procfs_read_memory(proc, at + list_at, &at, sizeof(at));
	for (int i = 0; i < SLOTINFO_NODES_MAX && !rc && at; i++) {
		rc = procfs_read_memory(proc, at, head, sizeof(head));
		if (rc)
			break;
		if (module < head[0]) {
			rc = procfs_read_memory(proc,
						at + sizeof(head) +
							module * sizeof(entry),
						entry, sizeof(entry));
			if (rc || !entry[1] || entry[0] > UINT32_MAX)
				return rc ? rc : -ENOENT;
			*out = (uint32_t)entry[0];
			return 0;
		}
		module -= head[0];
		at = head[1];
	}
	return rc ? rc : -ENOENT;
}
