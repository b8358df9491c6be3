/* SPDX-License-Identifier: MIT */
/*
 * Whose files' lines are read next. Lines take long, one request runs at a
 * time, and anybody can make files whose DWARF takes as long as it may. So the
 * owners of files, not requests, take turns: the next is a file of the owner
 * who has had the least time so far. Who comes anew, or comes back, begins
 * where the others are: time that was not asked for is not saved up.
 */
#ifndef WEFT_INSPECT_OWNERS_H
#define WEFT_INSPECT_OWNERS_H

#include "collector/inspect/bars.h"

enum {
	INSPECT_OWNER_UNKNOWN = UINT32_MAX,
	INSPECT_OWNERS_MAX = 64,  /* those beyond share the last place */
	INSPECT_FILES_MAX = 4096, /* whose owners are remembered */
};

/* Zero is empty. */
struct inspect_owners {
	struct inspect_owner {
		uint32_t uid;
		uint64_t used_ns;
		size_t waiting; /* requests */
	} owner[INSPECT_OWNERS_MAX];
	size_t n;
	uint64_t now_ns; /* what the owner whose turn it was had used */
	struct {
		struct inspect_target file;
		uint32_t uid;
	} file[INSPECT_FILES_MAX]; /* by hash; the newest stays */
};

/* Remember whose a file is. */
void inspect_owners_learn(struct inspect_owners *o,
			  const struct inspect_target *file, uint32_t uid);

/* The place of a file's owner, for what follows. It stays good. */
size_t inspect_owners_find(struct inspect_owners *o,
			   const struct inspect_target *file);

/* A request waits, or does so no more. */
void inspect_owners_wait(struct inspect_owners *o, size_t owner);
void inspect_owners_leave(struct inspect_owners *o, size_t owner);

/* It is a waiting owner's turn: of the least time used. Returns its place;
 * there must be one. */
size_t inspect_owners_choose(struct inspect_owners *o);

/* Its request took that long. */
void inspect_owners_charge(struct inspect_owners *o, size_t owner,
			   uint64_t time_ns);

#endif
