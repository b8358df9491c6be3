/* SPDX-License-Identifier: MIT */
/*
 * What a flame graph shows of a recording: all its samples, those of another
 * recording beside them, and those of some requests one by one, as layers of
 * one tree.
 */
#ifndef WEFT_FLAME_LOAD_H
#define WEFT_FLAME_LOAD_H

#include "query/flame/flame.h"
#include "query/traces.h"

enum {
	/* A page has at most so many entries of requests' stacks; what is
	 * beyond is counted, not shown. */
	FLAME_ENTRIES_MAX = 400000
};

/* Zero, then set the inputs. */
struct flame_load {
	/* Inputs. */
	int64_t pid;         /* 0: all */
	const char *against; /* another file, or NULL */
	const char *trace;   /* the request to begin with, or NULL */
	const char *where;   /* only requests that are so, and all of them as
				one to begin with; or NULL */
	size_t max_traces, max_nodes;

	struct traces traces; /* its report is the graph's */
	struct report other;  /* of the other file; db NULL: none */
	struct flame *flame;  /* owned; layer 0: all */
	bool is_by_value;     /* shares are of values: of blocks */
	bool has_traces;      /* samples of the file carry trace IDs */
	struct ends ends;     /* of layer 0 */
	size_t *shown; /* owned: rows of traces that have a layer, in order */
	size_t n_shown;
	size_t entries;     /* that their layers have */
	size_t first_layer; /* of the first of them */
	int64_t chosen;     /* of these the one to begin with, or -1 */
	int64_t pool_layer; /* of all requests that where means, or -1 */
};

/* Open the file, load it all. Release on every path. -ENODATA: no sample. */
int flame_load(struct flame_load *l, const struct cli_common *common,
	       const char *file, struct weft_err *err) MUST_CHECK;
void flame_load_release(struct flame_load *l);

#endif
