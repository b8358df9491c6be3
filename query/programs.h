/* SPDX-License-Identifier: MIT */
/*
 * How whole the stacks of programs are: what is known of the samples of
 * processes, merged where they bear the same name.
 */
#ifndef WEFT_PROGRAMS_H
#define WEFT_PROGRAMS_H

#include "query/ends.h"
#include "store/weft.h"

struct program {
	char *name;         /* owned: bytes as stored; empty: not known */
	int64_t process_id; /* of its last process */
	uint64_t processes;
	struct ends ends;
};

/* Zeroed is empty. */
struct programs {
	struct program *rows; /* owned */
	size_t n;
	struct ends all; /* those without a user stack too */
};

/* Add samples of a process; those of one come one after the other. name (NULL:
 * not known) is copied. Returns 0 or -ENOMEM. */
int programs_add(struct programs *p, int64_t process_id, const char *name,
		 enum ends_status status, unsigned reason,
		 const struct tally *more) MUST_CHECK;

/* Leave out who has no user stack, make one row of those of a name, and sort:
 * most samples first. */
void programs_merge(struct programs *p);

void programs_release(struct programs *p);

#endif
