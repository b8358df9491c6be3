/* SPDX-License-Identifier: MIT */
/* What an answer says is wrong with whom it is about, for people to read. */
#ifndef WEFT_INSPECT_TROUBLE_H
#define WEFT_INSPECT_TROUBLE_H

#include "collector/inspect/jobs.h"

enum {
	TROUBLE_MAX = 512 /* bytes of a sentence; a long path is cut */
};

/* What is, so that names are missing; a sentence of it goes to out. */
enum inspect_trouble trouble_describe(char out[TROUBLE_MAX],
				      const struct job *job,
				      const struct inspect_answer *answer);

#endif
