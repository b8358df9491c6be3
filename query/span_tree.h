/* SPDX-License-Identifier: MIT */
/*
 * The spans of one request as a tree, with the samples that were taken in
 * each. A sample belongs to the span whose ID it carries; where that span was
 * not sent, or the sample carries none, to the innermost span of its trace
 * that was open at its time.
 */
#ifndef WEFT_SPAN_TREE_H
#define WEFT_SPAN_TREE_H

#include "query/report.h"
#include "query/stacks.h"

struct span_node {
	uint8_t id[8], parent_id[8];
	bool has_parent;
	char service[64], name[128], kind[16], status[16];
	int64_t start_ns, end_ns; /* Unix; 0: not known */
	size_t parent;            /* index; SIZE_MAX: none that was sent */
	size_t depth;
	struct tally self, total; /* samples in it; in it and below */
	int64_t hot_stack;        /* on which most of self are; -1: none */
};

struct span_tree {
	struct span_node *nodes; /* owned; a parent before its children, these
				    by start */
	size_t n;
	struct tally outside; /* samples of the trace in none of them */
	bool is_cut;          /* there are more spans than are loaded */
};

/* Load those of a trace, of the report's range. On success
 * span_tree_release() frees what t holds; n 0: it has no spans. */
int span_tree_load(struct span_tree *t, struct report *r, int64_t trace,
		   struct weft_err *err) MUST_CHECK;
void span_tree_release(struct span_tree *t);

/* Print as a table; stacks name what was hot in a span. */
int span_tree_print(const struct span_tree *t, const struct report *r,
		    const struct stacks *stacks,
		    struct weft_err *err) MUST_CHECK;

/* An array `spans` in the object that is open. */
void span_tree_json(const struct span_tree *t, const struct report *r,
		    struct json *j);

#endif
