/* SPDX-License-Identifier: MIT */
/*
 * What was parsed of files, kept for the next time: the loop sends the
 * questions about one file to the inspector that answered the last. Those not
 * used for longest give way.
 */
#ifndef WEFT_INSPECT_KEPT_H
#define WEFT_INSPECT_KEPT_H

#include "collector/elf/file.h"

enum {
	KEPT_MAX = 16 /* files */
};

struct kept {
	struct file_key key;
	void *parsed;   /* owned; NULL: empty */
	unsigned stage; /* its user's, of what was looked into; 0 at first */
	uint64_t used;
};

struct kept_files {
	size_t (*bytes)(const void *parsed); /* memory that it takes */
	void (*free)(void *parsed);
	struct kept file[KEPT_MAX];
	uint64_t clock;
};

/* NULL: it is not there. Borrowed, as from kept_add(), until the next. */
struct kept *kept_find(struct kept_files *k, const struct file_key *key);

/* parsed is k's from then on. */
struct kept *kept_add(struct kept_files *k, const struct file_key *key,
		      void *parsed);

/* What is kept of a file has grown: make others give way. */
void kept_has_grown(struct kept_files *k, const struct kept *file);

void kept_drop_all(struct kept_files *k);

#endif
