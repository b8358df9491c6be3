/* SPDX-License-Identifier: MIT */
/* A process of its own for one look at a file that may be crafted: it can read
 * files and answer, and nothing else (syscall_filter.h); its memory has a
 * limit, its answer a deadline. */
#ifndef WEFT_CONFINED_H
#define WEFT_CONFINED_H

#include "store/weft.h"

struct confined {
	/* In that process: give up what rights are not needed
	 * (privilege_keep()), look, and write the answer, of answer_bytes. */
	void (*run)(const void *question, int to);
	const void *question;
	size_t answer_bytes;
	int deadline_ms; /* of the answer */
	bool goes_on;    /* after its answer, until it ends by itself; for so
			    long it is waited for */
};

/* Call while single-threaded. Returns 0; -ETIMEDOUT; -EPROTO: it ended without
 * a whole answer; or why there is no process. */
int confined_ask(const struct confined *c, void *answer) MUST_CHECK;

#endif
