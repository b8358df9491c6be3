/* SPDX-License-Identifier: MIT */
/*
 * Four arrays in the order of their ids (nodes, stacks, frames, inlined
 * functions) that refer to each other by index, and labels: the distinct
 * names, found by a hash when a frame is loaded. Sums take one walk over the
 * tree, in which each node passes the tally of its subtree to its parent, and
 * to each of its labels that does not stand further out on the same path:
 * so recursion counts once.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/stacks_inside.h"
#include "query/strings.h"

void stacks_free(struct stacks *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->labels.n; i++)
		free(labels(s)[i].name);
	free(s->labels.rows);
	free(s->inlined.rows);
	free(s->frames.rows);
	free(s->nodes.rows);
	free(s->stacks.rows);
	free(s->slots);
	free(s->node_slots.at);
	free(s->stack_slots.at);
	free(s->frame_slots.at);
	free(s->sums);
	free(s->rows);
	free(s);
}

static const struct frame *frame_of(const struct stacks *s, uint32_t node)
{
	uint32_t frame = node == NONE ? NONE : nodes(s)[node].frame;

	return frame == NONE ? NULL : &frames(s)[frame];
}

void stacks_add(struct stacks *s, int64_t stack_id, const struct tally *more)
{
	struct stack *k = stack_find(s, stack_id);
	const struct frame *leaf;

	tally_add(&s->quality.all, more);
	if (!k)
		return;
	tally_add(&k->tally, more);
	leaf = frame_of(s, k->node);
	if (leaf)
		named_add(&s->quality.named, leaf->source, more);
	if (k->status == ENDS_COMPLETE || k->status == ENDS_NO_USER)
		tally_add(&s->quality.complete, more);
	ends_add(&s->quality.ends, k->status, k->reason, more);
}

uint32_t stacks_label_at(const struct stacks *s, const struct frame *f,
			 uint32_t i, enum stacks_by by)
{
	const uint32_t *inlined = s->inlined.rows;

	if (by == STACKS_BY_BINARY)
		return i == 0 ? labels(s)[f->label].binary : NONE;
	if (i == 0)
		return f->label;
	return i <= f->n_inlined ? inlined[f->inlined + i - 1] : NONE;
}

static void enter(struct stacks *s, uint32_t node, enum stacks_by by)
{
	const struct frame *f = frame_of(s, node);
	uint32_t i, label;

	for (i = 0; f && (label = stacks_label_at(s, f, i, by)) != NONE; i++)
		labels(s)[label].on_path++;
}

static void leave(struct stacks *s, uint32_t node, enum stacks_by by)
{
	const struct frame *f = frame_of(s, node);
	uint32_t parent = nodes(s)[node].parent;
	uint32_t i, label;

	for (i = 0; f && (label = stacks_label_at(s, f, i, by)) != NONE; i++)
		if (--labels(s)[label].on_path == 0)
			tally_add(&s->rows[label].total, &s->sums[node]);
	if (parent != NONE)
		tally_add(&s->sums[parent], &s->sums[node]);
}

/* Visit the nodes below root, each before and after its children. The links
 * of the tree serve as the way back, so that depth costs no memory. */
static void walk(struct stacks *s, uint32_t root, enum stacks_by by)
{
	const struct node *all = nodes(s);
	uint32_t at = root;

	enter(s, at, by);
	for (;;) {
		if (all[at].first_child != NONE) {
			at = all[at].first_child;
			enter(s, at, by);
			continue;
		}
		leave(s, at, by);
		while (at != root && all[at].next_sibling == NONE) {
			at = all[at].parent;
			leave(s, at, by);
		}
		if (at == root)
			return;
		at = all[at].next_sibling;
		enter(s, at, by);
	}
}

/* What stands for a stack that has no frames. */
static uint32_t label_of_none(const struct stacks *s, const struct stack *k)
{
	if (k->status == ENDS_LOST)
		return s->words[WORD_LOST];
	if (k->status == ENDS_NOT_TAKEN)
		return s->words[WORD_NOT_TAKEN];
	return s->words[k->node == NONE ? WORD_NO_FRAMES : WORD_UNKNOWN];
}

static void add_self(struct stacks *s, const struct stack *k, enum stacks_by by)
{
	const struct frame *leaf = frame_of(s, k->node);
	uint32_t label = label_of_none(s, k);

	if (leaf)
		label = stacks_label_at(s, leaf, 0, by);
	else
		tally_add(&s->rows[label].total, &k->tally);
	tally_add(&s->rows[label].self, &k->tally);
	if (k->node != NONE)
		tally_add(&s->sums[k->node], &k->tally);
}

void stacks_sum(struct stacks *s, enum stacks_by by, struct stacks_row **rows,
		size_t *n)
{
	const struct stack *k = s->stacks.rows;
	const struct label *label;
	size_t i;

	memset(s->sums, 0, s->nodes.n * sizeof(*s->sums));
	for (i = 0; i < s->labels.n; i++) {
		label = &labels(s)[i];
		s->rows[i] = (struct stacks_row){
			.name = label->name,
			.binary = label->binary == NONE
					  ? label->name
					  : labels(s)[label->binary].name,
		};
	}
	for (i = 0; i < s->stacks.n; i++)
		if (k[i].tally.count)
			add_self(s, &k[i], by);
	for (i = 0; i < s->nodes.n; i++)
		if (nodes(s)[i].parent == NONE)
			walk(s, (uint32_t)i, by);
	*rows = s->rows;
	*n = s->labels.n;
}

const struct stacks_quality *stacks_quality(const struct stacks *s)
{
	return &s->quality;
}

size_t stacks_next(const struct stacks *s, size_t at, int64_t *stack_id,
		   const struct tally **tally)
{
	const struct stack *k = s->stacks.rows;

	while (at < s->stacks.n && k[at].tally.count == 0)
		at++;
	if (at >= s->stacks.n)
		return 0;
	*stack_id = k[at].id;
	*tally = &k[at].tally;
	return at + 1;
}

size_t stacks_labels(const struct stacks *s, int64_t stack_id, uint32_t *to)
{
	const struct stack *k = stack_find(s, stack_id);
	const struct frame *f;
	uint32_t at, i, label, depth;
	size_t n = 0;

	if (!k)
		return 0;
	if (k->status == ENDS_LOST || k->node == NONE) {
		to[0] = label_of_none(s, k);
		return 1;
	}
	for (at = k->node, depth = k->depth; at != NONE && depth > 0; depth--) {
		f = frame_of(s, at);
		if (!f && n + 1 < STACKS_FRAMES_MAX)
			to[n++] = s->words[WORD_UNKNOWN];
		for (i = 0; f && n + 1 < STACKS_FRAMES_MAX; i++) {
			label = stacks_label_at(s, f, i, STACKS_BY_FUNCTION);
			if (label == NONE)
				break;
			to[n++] = label;
		}
		at = nodes(s)[at].parent;
	}
	if (k->status == ENDS_TRUNCATED)
		to[n++] = s->words[WORD_TRUNCATED];
	else if (k->status == ENDS_BROKEN)
		to[n++] = s->words[WORD_BROKEN];
	return n;
}

size_t stacks_names(const struct stacks *s, int64_t stack_id,
		    const char **names)
{
	uint32_t of[STACKS_FRAMES_MAX];
	size_t n = stacks_labels(s, stack_id, of);

	for (size_t i = 0; i < n; i++)
		names[i] = labels(s)[of[n - 1 - i]].name;
	return n;
}

const char *stacks_leaf(const struct stacks *s, int64_t stack_id)
{
	uint32_t of[STACKS_FRAMES_MAX];

	if (!stacks_labels(s, stack_id, of))
		return "[unknown]";
	return labels(s)[of[0]].name;
}

char *stacks_fold(const struct stacks *s, int64_t stack_id)
{
	const char *names[STACKS_FRAMES_MAX] = { "[unknown]" };
	size_t n = stacks_names(s, stack_id, names), size = 0;
	char *folded, *at, *next;

	if (n == 0)
		n = 1;
	for (size_t i = 0; i < n; i++)
		size += strlen(names[i]) + 1;
	at = folded = malloc(size);
	if (!folded)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		next = stpcpy(at, names[i]);
		while ((at = strpbrk(at, ";\n")))
			*at = *at == ';' ? ':' : '?';
		at = next;
		*at++ = ';';
	}
	at[-1] = '\0';
	return folded;
}

size_t stacks_rows(const struct stacks *s, int64_t stack_id, enum stacks_by by,
		   uint32_t *rows)
{
	const struct stack *k = stack_find(s, stack_id);
	uint32_t at = k ? k->node : NONE, depth = k ? k->depth : 0, label, i;
	size_t n = 0, known;

	/* Nodes of a file that was made to mislead can go in circles. */
	for (; at != NONE && depth > 0; depth--, at = nodes(s)[at].parent) {
		const struct frame *f = frame_of(s, at);

		for (i = 0; f && (label = stacks_label_at(s, f, i, by)) != NONE;
		     i++) {
			for (known = 0; known < n && rows[known] != label;)
				known++;
			if (known == n && n < STACKS_FRAMES_MAX)
				rows[n++] = label;
		}
	}
	if (k && !n)
		rows[n++] = label_of_none(s, k);
	return n;
}

uint64_t stacks_text_key(const struct stacks *s, int64_t stack_id)
{
	uint32_t of[STACKS_FRAMES_MAX];
	size_t n = stacks_labels(s, stack_id, of);
	uint64_t key = STRINGS_HASH;

	for (size_t i = 0; i < n; i++)
		key = stacks_key_add(key, &labels(s)[of[i]]);
	return key;
}

static bool is_called(const char *label, const char *name)
{
	size_t size = strlen(name);

	return !strncmp(label, name, size) &&
	       (!label[size] || !strcmp(label + size, "_[k]"));
}

bool stacks_has(const struct stacks *s, int64_t stack_id, const char *name)
{
	const char *names[STACKS_FRAMES_MAX];
	size_t n = stacks_names(s, stack_id, names);

	while (n-- > 0)
		if (is_called(names[n], name))
			return true;
	return false;
}
