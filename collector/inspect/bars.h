/* SPDX-License-Identifier: MIT */
/* Targets that made an inspector hang or die, for a while. Bounded: at the
 * ceiling the oldest bar is lifted early. */
#ifndef WEFT_INSPECT_BARS_H
#define WEFT_INSPECT_BARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	INSPECT_BARS_MAX = 1024
};

/* What a request is about: a process, a file, or a file's lines. All zero:
 * nothing. */
struct inspect_target {
	uint64_t a, b;
	bool is_file;
	bool is_lines; /* barred apart from the file's names */
	/* What was told of it, enum inspect_trouble: each is told apart. Else
	 * 0. */
	uint8_t trouble;
};

struct inspect_bars {
	struct {
		struct inspect_target target;
		uint64_t until_ns;
	} bar[INSPECT_BARS_MAX];
	size_t n;    /* used, at most INSPECT_BARS_MAX */
	size_t next; /* to be written */
};

bool inspect_target_is_same(const struct inspect_target *x,
			    const struct inspect_target *y);
void inspect_bars_add(struct inspect_bars *bars,
		      const struct inspect_target *target, uint64_t until_ns);
bool inspect_bars_has(const struct inspect_bars *bars,
		      const struct inspect_target *target, uint64_t now_ns);

#endif
