/* SPDX-License-Identifier: MIT */
/*
 * All code places of a file in memory, with all that is known of each: its
 * functions, inlined ones too, lines and binary; and the stacks that are made
 * of them. For exports and pictures, which show more of a frame than its name
 * (query/stacks.h sums by name).
 *
 * Frames, functions and binaries have dense numbers from 0 on. The first
 * frames are marks, which stand where there is no code: FRAMES_MARK_*.
 * Memory: 16 bytes for each node of the stack tree and for each stack, some 60
 * for each frame, and the names.
 */
#ifndef WEFT_FRAMES_H
#define WEFT_FRAMES_H

#include "query/db.h"

enum {
	/* No recorder stores more: what a file has beyond is cut off, for a
	 * stack has each name as often as it likes. */
	FRAMES_DEPTH_MAX = 4096, /* frames of a stack */
	FRAMES_LEVELS_MAX = 32,  /* functions of a frame */
	FRAMES_NAME_MAX = 16384, /* bytes of a name */
	FRAMES_NONE = -1
};

enum frames_mark {
	FRAMES_MARK_LOST,      /* [stack lost]: counted, but it found no room */
	FRAMES_MARK_NOT_TAKEN, /* [stack not taken] */
	FRAMES_MARK_NO_FRAMES, /* [no frames] */
	FRAMES_MARK_TRUNCATED, /* [truncated]: the callers beyond the limit */
	FRAMES_MARK_BROKEN,    /* [broken]: the callers were not found */
	FRAMES_MARK_UNKNOWN, /* [unknown]: the file lacks the frame (damage) */
	FRAMES_MARKS
};

enum frames_kind {
	FRAMES_ELF,
	FRAMES_KERNEL,
	FRAMES_MODULE,
	FRAMES_VDSO,
	FRAMES_JIT,
	FRAMES_UNKNOWN
};

/* Strings are bytes as stored, not necessarily UTF-8; owned by the frames. */
struct frames_binary {
	int64_t id;
	enum frames_kind kind;
	char *path;
	char *build_id; /* lower-case hex; NULL: has none */
};

struct frames_function {
	int64_t id;         /* 0: made for a frame without a name, or a mark */
	char *name;         /* "[file+0xoffset]" where there is none; without
			       the _[k] of kernel functions */
	char *linkage_name; /* NULL: same as name */
	char *file;         /* NULL: not known */
	uint32_t line;      /* where it starts; 0: not known */
};

/* A function at a frame. Equal places are one function within one binary, in
 * or out of the kernel, whatever the line: what a picture draws as one. */
struct frames_level {
	uint32_t function;
	uint32_t place;
	uint32_t line; /* of the frame in it; 0: not known */
};

struct frames_frame {
	int64_t id;       /* 0: a mark */
	uint64_t address; /* see table frame */
	int32_t binary;   /* FRAMES_NONE: a mark */
	bool in_kernel;
	uint32_t first_level, n_levels; /* at least one; innermost first */
};

/* Read only. */
struct frames {
	struct frames_binary *binaries; /* owned */
	struct frames_function *functions;
	struct frames_frame *frames;
	struct frames_level *levels;
	size_t n_binaries, n_functions, n_frames, n_levels;
	size_t n_places; /* numbers of places are below it */
	struct frames_tree *tree;
};

/* Returns 0 with *out owned by the caller, or as db_step(). */
int frames_load(struct frames **out, struct db *db,
		struct weft_err *err) MUST_CHECK;
void frames_free(struct frames *f);

/*
 * The frames of a stack, leaf first, as indexes into frames; [truncated] or
 * [broken] last where that is so, a mark alone where there is no stack. out
 * has room for FRAMES_DEPTH_MAX + 1. Returns how many, at least 1.
 */
size_t frames_of_stack(const struct frames *f, int64_t stack_id, uint32_t *out);

/*
 * A way from the root of a stack to its leaf, level by level: an inlined
 * function follows what it stands in. Begins with the first two set.
 */
struct frames_way {
	const uint32_t *stack; /* borrowed: frames, leaf first */
	size_t n_frames;       /* that are still to come */
	uint32_t n_levels;     /* of frame, that are still to come */
	const struct frames_frame *frame;
	const struct frames_level *level;
};

/* Go on to the next level, which then is in w. False: that was all. */
bool frames_next(const struct frames *f, struct frames_way *w);

/* How many stacks there are; and the dense number of one, below that, or that
 * number itself where there is no such stack. */
size_t frames_n_stacks(const struct frames *f);
size_t frames_stack_number(const struct frames *f, int64_t stack_id);

#endif
