/* SPDX-License-Identifier: MIT */
/* How many samples' innermost frames have a name, and what named them. */
#ifndef WEFT_NAMED_H
#define WEFT_NAMED_H

#include "query/json.h"
#include "query/stats.h"

enum {
	NAMED_SOURCES_MAX = 15, /* further ones count as the last, "other" */
	NAMED_WORD_MAX = 24
};

struct named {
	struct tally all; /* that have a name */
	struct {
		char word[NAMED_WORD_MAX];
		struct tally tally;
	} sources[NAMED_SOURCES_MAX];
	size_t n;
};

/* The number of a source, from 1, made if new; 0 for NULL: no name. */
uint8_t named_source(struct named *named, const char *word);

void named_add(struct named *named, uint8_t source, const struct tally *more);

/* "named 99.1 % of samples (symtab 60.2, build-id 38.9)", shares of all. */
void named_print(const struct named *named, const struct tally *all, FILE *to);

/* named_share, and an object named_by of shares by source. */
void named_json(const struct named *named, const struct tally *all,
		struct json *j);

#endif
