/* SPDX-License-Identifier: MIT */
/*
 * Frames and nodes are found by two hashes of the same make: of a frame by its
 * text, of a node by its parent and frame. A node is always made after its
 * parent, so one pass backwards over the nodes sums subtrees.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/flame/flame.h"
#include "query/strings.h"

struct flame_index {
	uint32_t *slots; /* owned; FLAME_NONE where free */
	uint64_t *keys;  /* owned; of each row that is in it */
	size_t n_slots;  /* a power of two */
	size_t n;
};

/* Make room for another row, so that half of the slots stay free. */
static int index_grow(struct flame_index *x)
{
	size_t n = x->n_slots ? 2 * x->n_slots : 1024, i, at;
	uint64_t *keys;
	uint32_t *slots;

	if (2 * (x->n + 1) <= x->n_slots)
		return 0;
	keys = reallocarray(x->keys, n, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	x->keys = keys;
	slots = malloc(n * sizeof(*slots));
	if (!slots || n >= FLAME_NONE) {
		free(slots);
		return -ENOMEM;
	}
	memset(slots, 0xff, n * sizeof(*slots));
	for (i = 0; i < x->n; i++) {
		for (at = keys[i] & (n - 1); slots[at] != FLAME_NONE;)
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i;
	}
	free(x->slots);
	x->slots = slots;
	x->n_slots = n;
	return 0;
}

static void index_free(struct flame_index *x)
{
	if (!x)
		return;
	free(x->slots);
	free(x->keys);
	free(x);
}

struct flame *flame_new(void)
{
	struct flame *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->frame_index = calloc(1, sizeof(*f->frame_index));
	f->node_index = calloc(1, sizeof(*f->node_index));
	f->nodes = calloc(1, sizeof(*f->nodes));
	f->n_nodes = 1;
	if (f->frame_index && f->node_index && f->nodes &&
	    flame_frame(f, "all", "", FLAME_MARK) != FLAME_NONE &&
	    !index_grow(f->node_index)) {
		/* The root is found by no key, but has its place. */
		f->node_index->keys[f->node_index->n++] = 0;
		return f;
	}
	flame_free(f);
	return NULL;
}

void flame_free(struct flame *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; f->frames && i < f->n_frames; i++) {
		free(f->frames[i].name);
		free(f->frames[i].binary);
	}
	for (i = 0; i < f->n_layers; i++)
		free(f->layers[i].rows);
	free(f->layers);
	free(f->frames);
	free(f->nodes);
	index_free(f->frame_index);
	index_free(f->node_index);
	free(f);
}

int flame_add_layer(struct flame *f)
{
	struct flame_layer *grown = f->layers;

	if ((f->n_layers & (f->n_layers - 1)) == 0)
		grown = reallocarray(f->layers,
				     f->n_layers ? 2 * f->n_layers : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	f->layers = grown;
	grown[f->n_layers] = (struct flame_layer){ 0 };
	return (int)f->n_layers++;
}

static uint64_t hash_end(uint64_t h)
{
	h ^= h >> 29;
	h *= 0x9e3779b97f4a7c15;
	return h ^ h >> 32;
}

static int new_frame(struct flame *f, const char *name, const char *binary,
		     enum flame_kind kind)
{
	struct flame_frame *grown = f->frames, *frame;

	if ((f->n_frames & (f->n_frames - 1)) == 0)
		grown = reallocarray(f->frames,
				     f->n_frames ? 2 * f->n_frames : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	f->frames = grown;
	frame = &grown[f->n_frames];
	*frame = (struct flame_frame){ strdup(name), strdup(binary), kind };
	if (!frame->name || !frame->binary) {
		free(frame->name);
		free(frame->binary);
		return -ENOMEM;
	}
	f->n_frames++;
	return 0;
}

uint32_t flame_frame(struct flame *f, const char *name, const char *binary,
		     enum flame_kind kind)
{
	struct flame_index *x = f->frame_index;
	const struct flame_frame *is;
	uint64_t key = STRINGS_HASH ^ kind;
	size_t at;

	key = strings_hash(key, name);
	key = hash_end(strings_hash(key, weft_base_name(binary)));
	if (index_grow(x))
		return FLAME_NONE;
	for (at = key & (x->n_slots - 1); x->slots[at] != FLAME_NONE;
	     at = (at + 1) & (x->n_slots - 1)) {
		is = &f->frames[x->slots[at]];
		if (x->keys[x->slots[at]] == key && is->kind == kind &&
		    !strcmp(is->name, name) &&
		    !strcmp(weft_base_name(is->binary), weft_base_name(binary)))
			return x->slots[at];
	}
	if (new_frame(f, name, binary, kind))
		return FLAME_NONE;
	x->keys[x->n] = key;
	return x->slots[at] = (uint32_t)x->n++;
}

/* The same of a node below another. */
static uint32_t find_node(struct flame *f, uint32_t parent, uint32_t frame)
{
	struct flame_index *x = f->node_index;
	uint64_t key = hash_end((uint64_t)parent << 32 | frame);
	struct flame_node *grown = f->nodes;
	size_t at;

	if (index_grow(x))
		return FLAME_NONE;
	for (at = key & (x->n_slots - 1); x->slots[at] != FLAME_NONE;
	     at = (at + 1) & (x->n_slots - 1)) {
		const struct flame_node *is = &f->nodes[x->slots[at]];

		if (x->slots[at] && is->parent == parent && is->frame == frame)
			return x->slots[at];
	}
	if ((f->n_nodes & (f->n_nodes - 1)) == 0)
		grown = reallocarray(f->nodes, 2 * f->n_nodes, sizeof(*grown));
	if (!grown)
		return FLAME_NONE;
	f->nodes = grown;
	grown[f->n_nodes++] =
		(struct flame_node){ parent, frame, grown[parent].depth + 1 };
	x->keys[x->n] = key;
	return x->slots[at] = (uint32_t)x->n++;
}

static int by_node(const void *a, const void *b)
{
	const struct flame_self *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

void flame_merge(struct flame_layer *l)
{
	size_t i, kept = 0;

	if (!l->n)
		return;
	qsort(l->rows, l->n, sizeof(*l->rows), by_node);
	for (i = 1; i < l->n; i++) {
		if (l->rows[kept].node == l->rows[i].node)
			tally_add(&l->rows[kept].tally, &l->rows[i].tally);
		else
			l->rows[++kept] = l->rows[i];
	}
	l->n = kept + 1;
}

static int add_self(struct flame_layer *layer, uint32_t node,
		    const struct tally *more)
{
	struct flame_self *grown;
	size_t room = layer->room ? 2 * layer->room : 16;

	if (layer->n == layer->room) {
		grown = reallocarray(layer->rows, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		layer->rows = grown;
		layer->room = room;
	}
	layer->rows[layer->n++] = (struct flame_self){ node, *more };
	tally_add(&layer->all, more);
	return 0;
}

int flame_add(struct flame *f, size_t layer, const uint32_t *frames, size_t n,
	      const struct tally *more)
{
	uint32_t node = 0;
	size_t i;

	for (i = 0; node != FLAME_NONE && i < n; i++)
		node = find_node(f, node, frames[i]);
	if (node == FLAME_NONE)
		return -ENOMEM;
	return add_self(&f->layers[layer], node, more);
}
