/* SPDX-License-Identifier: MIT */
/*
 * Many stacks as one tree, with several sets of samples on it (layers): what a
 * flame graph is drawn from. Below the root stand process names, below these
 * the frames, outermost first. Frames are the same if they have the name, the
 * binary's file name (so that two builds meet) and the kind in common.
 *
 * Make, add layers and stacks, finish; then read.
 */
#ifndef WEFT_FLAME_H
#define WEFT_FLAME_H

#include <stddef.h>
#include <stdint.h>

#include "query/stats.h"
#include "store/weft.h"

/* The page knows these numbers. */
enum flame_kind {
	FLAME_USER,
	FLAME_KERNEL,
	FLAME_INLINED, /* into the frame above it, its caller */
	FLAME_JIT,
	FLAME_MARK, /* no frame: [broken], [stack lost] */
	FLAME_PROCESS
};

#define FLAME_NONE UINT32_MAX

struct flame_frame {
	char *name, *binary; /* owned; the binary's path is the first seen */
	enum flame_kind kind;
};

struct flame_node {
	uint32_t parent; /* of the root: itself */
	uint32_t frame;
	uint32_t depth; /* of the root 0 */
};

/* What one node has of a layer, without its children. */
struct flame_self {
	uint32_t node;
	struct tally tally;
};

struct flame_layer {
	struct flame_self *rows; /* owned; after flame_finish() by node, each
				    once */
	size_t n, room;
	struct tally all;
};

struct flame {
	struct flame_frame *frames; /* owned */
	size_t n_frames;
	struct flame_node *nodes; /* owned; after flame_finish() each before
				     its children, the larger children first */
	size_t n_nodes;
	struct flame_layer *layers; /* owned */
	size_t n_layers;
	size_t n_folded; /* nodes that are part of a [smaller frames] */

	/* Its own, until flame_finish(). */
	struct flame_index *frame_index, *node_index;
};

/* NULL: out of memory. */
struct flame *flame_new(void);
void flame_free(struct flame *f);

/* A new layer's number, or -ENOMEM. */
int flame_add_layer(struct flame *f) MUST_CHECK;

/* The number of a frame, made if it is new; strings are copied. FLAME_NONE: out
 * of memory. */
uint32_t flame_frame(struct flame *f, const char *name, const char *binary,
		     enum flame_kind kind);

/* Add a tally to a stack: the numbers of its n frames, the process first, then
 * root first. Returns 0 or -ENOMEM. */
int flame_add(struct flame *f, size_t layer, const uint32_t *frames, size_t n,
	      const struct tally *more) MUST_CHECK;

/* Put a layer's rows in the order of their nodes, each once. */
void flame_merge(struct flame_layer *layer);

/*
 * Put nodes and layers in order. Where there are more than most nodes, those
 * that are smallest in the layers 0 to n_main - 1 are folded into one node
 * [smaller frames] beside their siblings, so that sums stay. Returns 0 or
 * -ENOMEM.
 */
int flame_finish(struct flame *f, size_t n_main, size_t most) MUST_CHECK;

#endif
