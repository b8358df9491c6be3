/* SPDX-License-Identifier: MIT */
/*
 * Lines that read the same are one, and all are sorted by their bytes. Their
 * text can be a hundred times the size of the stacks, so they are kept as a
 * tree of names: a node is found by its parent and name, and printed in the
 * order of its name with what follows it in a line. That is `;` or, where a
 * line ends, nothing; so a name that a line ends with is a node of its own.
 * Memory: 40 bytes for each node, and the distinct names.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/export/export.h"
#include "query/folded.h"
#include "query/strings.h"

struct node {
	double count;         /* of the line that ends here */
	uint32_t parent;      /* index; 0 is the root's */
	uint32_t name;        /* in strings */
	uint32_t child, next; /* 0: none */
	bool ends;            /* a line, here */
};

struct folded {
	const struct export *x;
	struct strings names;
	struct node *nodes; /* owned; [0] is the root */
	size_t n, room;
	uint32_t *slots;       /* owned: hash of parent, name, ends; 0 free */
	size_t n_slots;        /* a power of two */
	uint32_t *of_place[2]; /* owned: 1 + name of a place; as a line's end */
	int64_t process_id;    /* whose comm is first */
	uint32_t first;
};

static size_t hash(uint32_t parent, uint32_t name, bool ends)
{
	uint64_t h = ((uint64_t)parent << 32 | name) * 2 + ends;

	h *= 0x9e3779b97f4a7c15;
	return (size_t)(h ^ h >> 32);
}

static int grow(struct folded *f)
{
	size_t room = f->room ? 2 * f->room : 1024, n = 2 * room, i, at;
	struct node *nodes;
	uint32_t *slots;

	if (f->n < f->room)
		return 0;
	if (room >= UINT32_MAX / 2)
		return -ENOMEM;
	nodes = reallocarray(f->nodes, room, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	f->nodes = nodes;
	f->room = room;
	if (f->n == 0)
		nodes[f->n++] = (struct node){ 0 };
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 1; i < f->n; i++) {
		at = hash(nodes[i].parent, nodes[i].name, nodes[i].ends) &
		     (n - 1);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i;
	}
	free(f->slots);
	f->slots = slots;
	f->n_slots = n;
	return 0;
}

/* The node of a name below a parent, made if new; 0: out of memory. */
static uint32_t below(struct folded *f, uint32_t parent, uint32_t name,
		      bool ends)
{
	struct node *node;
	size_t at;

	if (grow(f))
		return 0;
	at = hash(parent, name, ends) & (f->n_slots - 1);
	for (; f->slots[at]; at = (at + 1) & (f->n_slots - 1)) {
		node = &f->nodes[f->slots[at]];
		if (node->parent == parent && node->name == name &&
		    node->ends == ends)
			return f->slots[at];
	}
	f->nodes[f->n] = (struct node){
		.parent = parent,
		.name = name,
		.next = f->nodes[parent].child,
		.ends = ends,
	};
	f->nodes[parent].child = (uint32_t)f->n;
	f->slots[at] = (uint32_t)f->n;
	return (uint32_t)f->n++;
}

static int intern(struct folded *f, const char *name, const char *suffix,
		  enum folded_place place, uint32_t *out)
{
	char *text = folded_name(name, suffix, place);
	int rc = text ? strings_intern(&f->names, text, out) : -ENOMEM;

	free(text);
	return rc;
}

/* The name of a level of a frame, where a line goes on or ends. */
static int name_of(struct folded *f, const struct frames_frame *frame,
		   const struct frames_level *level, bool end, uint32_t *out)
{
	uint32_t *known = &f->of_place[end][level->place];
	int rc;

	if (!*known) {
		rc = intern(f, f->x->frames->functions[level->function].name,
			    frame->in_kernel ? "_[k]" : "",
			    end ? FOLDED_LAST : FOLDED_WITHIN, out);
		if (rc)
			return rc;
		*known = *out + 1;
	}
	*out = *known - 1;
	return 0;
}

static int add(void *ctx, const struct profile_sample *s, struct weft_err *err)
{
	struct frames_way way = { .stack = s->frames, .n_frames = s->n_frames };
	struct folded *f = ctx;
	uint32_t at, name;
	bool end;

	if (!f->n || s->process.id != f->process_id) {
		f->process_id = s->process.id;
		if (intern(f, s->process.comm, "", FOLDED_FIRST, &f->first))
			return export_no_memory(f->x, err);
	}
	at = below(f, 0, f->first, false);
	while (at && frames_next(f->x->frames, &way)) {
		end = !way.n_frames && !way.n_levels;
		if (name_of(f, way.frame, way.level, end, &name))
			return export_no_memory(f->x, err);
		at = below(f, at, name, end);
	}
	if (!at)
		return export_no_memory(f->x, err);
	f->nodes[at].count += export_count(s);
	return 0;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct folded *f = ctx;
	const struct node *x = &f->nodes[*(const uint32_t *)a];
	const struct node *y = &f->nodes[*(const uint32_t *)b];
	const char *p = f->names.rows[x->name];
	const char *q = f->names.rows[y->name];
	int c, d;

	for (; *p && *p == *q; p++, q++)
		;
	c = *p ? (unsigned char)*p : x->ends ? 0 : ';';
	d = *q ? (unsigned char)*q : y->ends ? 0 : ';';
	return c - d;
}

static int compare_counts(const void *a, const void *b, void *ctx)
{
	const struct folded *f = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (f->nodes[x].count != f->nodes[y].count)
		return f->nodes[x].count > f->nodes[y].count ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Take the counts of all lines but the largest; they become the line [other].
 */
static int fold_small(struct folded *f, uint64_t most)
{
	uint32_t *lines = calloc(f->n, sizeof(*lines)), name, at;
	double others = 0;
	size_t n = 0;
	int rc = lines ? 0 : -ENOMEM;

	for (size_t i = 1; i < f->n && !rc; i++)
		if (f->nodes[i].ends)
			lines[n++] = (uint32_t)i;
	if (rc || n <= most) {
		free(lines);
		return rc;
	}
	qsort_r(lines, n, sizeof(*lines), compare_counts, f);
	for (size_t i = most; i < n; i++) {
		others += f->nodes[lines[i]].count;
		f->nodes[lines[i]].count = 0;
	}
	free(lines);
	rc = intern(f, "[other]", "", FOLDED_LAST, &name);
	if (rc)
		return rc;
	at = below(f, 0, name, true);
	if (!at)
		return -ENOMEM;
	f->nodes[at].count += others;
	return 0;
}

/* Put a node's children in order. */
static int sort_children(struct folded *f, uint32_t parent)
{
	uint32_t *list, i;
	size_t n = 0;

	for (i = f->nodes[parent].child; i; i = f->nodes[i].next)
		n++;
	if (n < 2)
		return 0;
	list = malloc(n * sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = 0;
	for (i = f->nodes[parent].child; i; i = f->nodes[i].next)
		list[n++] = i;
	qsort_r(list, n, sizeof(*list), compare, f);
	f->nodes[parent].child = list[0];
	for (i = 0; i < n; i++)
		f->nodes[list[i]].next = i + 1 < n ? list[i + 1] : 0;
	free(list);
	return 0;
}

/* The text of the nodes on the way down, each with its `;`. */
struct line {
	char *text; /* owned */
	size_t size, room;
};

static int push(struct line *l, const char *name)
{
	size_t size = strlen(name), room = 2 * (l->size + size + 2);
	char *grown;

	if (l->size + size + 2 > l->room) {
		grown = realloc(l->text, room);
		if (!grown)
			return -ENOMEM;
		l->text = grown;
		l->room = room;
	}
	memcpy(l->text + l->size, name, size);
	l->size += size;
	l->text[l->size++] = ';';
	return 0;
}

static void pop(struct line *l, const char *name)
{
	l->size -= strlen(name) + 1;
}

/* Counts of detail are estimates: a line's is rounded once. */
static void print(const struct folded *f, const struct node *node,
		  const struct line *l, double *carry)
{
	int64_t whole = export_whole(node->count, carry);

	if (whole < 1)
		return;
	fwrite(l->text, 1, l->size, f->x->to);
	fprintf(f->x->to, "%s %" PRId64 "\n", f->names.rows[node->name], whole);
}

/* All nodes in order; the links of the tree are the way back. */
static int print_all(struct folded *f)
{
	struct line line = { 0 };
	const struct node *node;
	double carry = 0;
	uint32_t at = 0;
	int rc = sort_children(f, 0);

	at = f->nodes[0].child;
	while (!rc && at) {
		node = &f->nodes[at];
		if (node->ends) {
			print(f, node, &line, &carry);
		} else {
			rc = push(&line, f->names.rows[node->name]);
			if (!rc)
				rc = sort_children(f, at);
			if (!rc) {
				at = f->nodes[at].child;
				continue;
			}
		}
		while (at && !f->nodes[at].next) {
			at = f->nodes[at].parent;
			if (at)
				pop(&line, f->names.rows[f->nodes[at].name]);
		}
		at = f->nodes[at].next;
	}
	free(line.text);
	return rc;
}

int export_folded(const struct export *x, struct weft_err *err)
{
	struct folded f = { .x = x };
	int rc = 0, i;

	for (i = 0; i < 2; i++) {
		f.of_place[i] = calloc(x->frames->n_places, sizeof(uint32_t));
		if (!f.of_place[i])
			rc = export_no_memory(x, err);
	}
	if (!rc)
		rc = export_walk(x, PROFILE_BY_STACK, add, &f, err);
	if (!rc && f.n && x->max_stacks && fold_small(&f, x->max_stacks))
		rc = export_no_memory(x, err);
	if (!rc && f.n && print_all(&f))
		rc = export_no_memory(x, err);
	strings_release(&f.names);
	free(f.nodes);
	free(f.slots);
	free(f.of_place[0]);
	free(f.of_place[1]);
	return rc;
}
