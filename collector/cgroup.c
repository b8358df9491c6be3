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

enum {
	CGROUPS_MAX = 65536, /* that are looked at */
	LOOK_NS = 1000000000
};

struct cgroup {
	uint64_t id; /* the inode of its directory */
	char *path;  /* owned */
};

struct cgroups {
	struct cgroup *list; /* owned */
	size_t n, room;
	char *root;         /* owned; "": there is no tree */
	uint64_t looked_ns; /* boot; 0: never */
};

static void forget(struct cgroups *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].path);
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

static void add(struct cgroups *c, uint64_t id, const char *path)
{
	char *copy = strdup(*path ? path : "/");

	if (!copy || GROW(c->list, c->n + 1, c->room)) {
		free(copy);
		return; /* it goes by its number */
	}
	c->list[c->n++] = (struct cgroup){ id, copy };
}

/* Read the whole tree: it is the kernel's, and small. */
static void look(struct cgroups *c)
{
	char *roots[] = { c->root, NULL };
	size_t length = strlen(c->root);
	FTS *tree = *c->root ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL)
			     : NULL;
	FTSENT *at;

	forget(c);
	while (tree && c->n < CGROUPS_MAX && (at = fts_read(tree)))
		if (at->fts_info == FTS_D)
			add(c, at->fts_statp->st_ino, at->fts_path + length);
	if (tree)
		fts_close(tree);
}

static const char *find(const struct cgroups *c, uint64_t id)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].id == id)
			return c->list[i].path;
	return NULL;
}

const char *cgroups_path(struct cgroups *c, uint64_t id)
{
	const char *path = find(c, id);
	uint64_t now_ns = clock_boot_ns();

	if (path || (c->looked_ns && now_ns - c->looked_ns < LOOK_NS))
		return path;
	c->looked_ns = now_ns;
	look(c);
	return find(c, id);
}
