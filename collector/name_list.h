/* SPDX-License-Identifier: MIT */
/* Names on their way to the store: rows, and the text that they refer to. */
#ifndef WEFT_NAME_LIST_H
#define WEFT_NAME_LIST_H

#include "store/store.h"

/* Zero is empty. */
struct name_list {
	struct store_name *rows; /* owned */
	size_t n, room;
	char *text; /* owned; text[0] is NUL */
	size_t n_text, text_room;
	struct store_segment *segments; /* owned; of the binaries */
	size_t n_segments, segments_room;
};

/* A struct store_name with its texts; NULL or "": absent. */
struct frame_name {
	int64_t frame_id;
	uint32_t inline_depth, line, function_line;
	const char *name, *linkage_name, *file, *source;
};

/* Add a name; its texts are copied. Returns 0 or -ENOMEM. */
int name_list_add(struct name_list *l,
		  const struct frame_name *name) MUST_CHECK;
void name_list_release(struct name_list *l);

#endif
