/* SPDX-License-Identifier: MIT */
#include <fts.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/cgroup.h"
#include "collector/clock.h"
#include "collector/grow.h"
#include "collector/table.h"

enum {
	CGROUPS_MAX = 65536, /* that are remembered */
	LOOK_NS = 1000000000
};

struct cgroup {
	uint64_t id; /* the inode of its directory; none is given twice */
	char path[];
};

struct cgroups {
	struct cgroup **list; /* owned, each too */
	size_t n, room;
	struct table by_id;
	char *root;         /* owned; "": there is no tree */
	uint64_t looked_ns; /* boot; 0: never */
};

static void forget(struct cgroups *c)
{
	table_release(&c->by_id);
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i]);
	c->n = 0;
}

/* Where the tree of version 2 is mounted. */
static char *find_root(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	char *root = NULL;

	while (mounts && !root && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "cgroup2"))
			root = strdup(m->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return root ? root : strdup("");
}

struct cgroups *cgroups_new(void)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (c)
		c->root = find_root();
	if (c && !c->root) {
		cgroups_free(c);
		return NULL;
	}
	return c;
}

void cgroups_free(struct cgroups *c)
{
	if (!c)
		return;
	forget(c);
	free(c->list);
	free(c->root);
	free(c);
}

static bool is_id(const void *entry, const void *wanted)
{
	return ((const struct cgroup *)entry)->id == *(const uint64_t *)wanted;
}

static struct cgroup *find(const struct cgroups *c, uint64_t id)
{
	return table_find(&c->by_id, table_hash(&id, sizeof(id), 0), is_id,
			  &id);
}

/* Without memory it goes by its number. */
static void add(struct cgroups *c, uint64_t id, const char *path)
{
	size_t size = strlen(path) + 1;
	struct cgroup *g;

	if (GROW(c->list, c->n + 1, c->room))
		return;
	g = malloc(sizeof(*g) + size);
	if (!g)
		return;
	g->id = id;
	memcpy(g->path, path, size);
	if (table_add(&c->by_id, table_hash(&id, sizeof(id), 0), g))
		free(g);
	else
		c->list[c->n++] = g;
}

/* Read the whole tree: it is the kernel's, and small. Those that were there
 * before are kept: what they had may come only now. */
static void look(struct cgroups *c)
{
	char *roots[] = { c->root, NULL };
	size_t length = strlen(c->root);
	FTS *tree = *c->root ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL)
			     : NULL;
	FTSENT *at;

	if (c->n >= CGROUPS_MAX)
		forget(c);
	while (tree && c->n < CGROUPS_MAX && (at = fts_read(tree))) {
		const char *path = at->fts_path + length;

		if (at->fts_info == FTS_D && !find(c, at->fts_statp->st_ino))
			add(c, at->fts_statp->st_ino, *path ? path : "/");
	}
	if (tree)
		fts_close(tree);
}

const char *cgroups_path(struct cgroups *c, uint64_t id)
{
	const struct cgroup *g = find(c, id);
	uint64_t now_ns = clock_boot_ns();

	if (!g && (!c->looked_ns || now_ns - c->looked_ns >= LOOK_NS)) {
		c->looked_ns = now_ns;
		look(c);
		g = find(c, id);
	}
	return g ? g->path : NULL;
}
