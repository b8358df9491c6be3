/* SPDX-License-Identifier: MIT */
/* Paths of cgroups (version 2) by the ids that the kernel gives them. */
#ifndef WEFT_CGROUP_H
#define WEFT_CGROUP_H

#include <stdint.h>

struct cgroups;

struct cgroups *cgroups_new(void);    /* NULL: out of memory */
void cgroups_free(struct cgroups *c); /* NULL is fine */

/*
 * The path below the mount of the tree, as /proc/PID/cgroup has it ("/" for the
 * root); borrowed until the next call. An id that is not known is looked for in
 * the tree, at most once a second, and known from then on, also when its cgroup
 * is gone. NULL: it was never seen there, or there is no such tree.
 */
const char *cgroups_path(struct cgroups *c, uint64_t id);

#endif
