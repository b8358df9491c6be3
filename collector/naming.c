/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/level_names.h"
#include "collector/naming.h"
#include "collector/segments.h"

/* Names collected before they are written. */
enum {
	FLUSH_NAMES = 4096
};

/* Frames of one binary that are asked for together. */
struct group {
	struct naming *naming;
	struct group *all_next, **all_link; /* in naming->all */
	struct group *next;                 /* among those to be asked again */
	struct binary *binary;  /* borrowed; lives as long as we do */
	struct name_list names; /* by symbols, while lines are asked for */
	bool has_names;         /* so it is about lines */
	bool is_written;        /* it is too late for lines */
	size_t n;
	int64_t frame_id[INSPECT_NAMES_MAX];
	uint64_t address[INSPECT_NAMES_MAX];
};

struct naming {
	struct inspect *inspect; /* borrowed */
	struct writer *writer;   /* borrowed */
	bool with_lines;
	struct name_list names;
	struct group *all; /* owned */
	struct group *deferred;
	struct segments *segments; /* owned */
	size_t waiting;
	void (*on_answer)(void *ctx);
	void *ctx;
};

/* A new frame, for sorting by binary. */
struct new_frame {
	struct binary *binary;
	int64_t id;
	uint64_t address;
};

static struct group *group_new(struct naming *n)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->naming = n;
	g->all_next = n->all;
	g->all_link = &n->all;
	if (n->all)
		n->all->all_link = &g->all_next;
	n->all = g;
	return g;
}

static void group_free(struct group *g)
{
	*g->all_link = g->all_next;
	if (g->all_next)
		g->all_next->all_link = g->all_link;
	name_list_release(&g->names);
	free(g);
}

int naming_open(struct naming **out, struct inspect *inspect,
		struct writer *writer, bool with_lines, struct weft_err *err)
{
	struct naming *n = calloc(1, sizeof(*n));

	*out = NULL;
	if (n)
		n->segments = segments_open(inspect);
	if (!n || !n->segments) {
		free(n);
		return weft_fail(err, -ENOMEM,
				 "cannot name code: out of memory");
	}
	n->inspect = inspect;
	n->writer = writer;
	n->with_lines = with_lines;
	*out = n;
	return 0;
}

void naming_close(struct naming *n)
{
	if (!n)
		return;
	while (n->all)
		group_free(n->all);
	segments_close(n->segments);
	name_list_release(&n->names);
	free(n);
}

void naming_on_answer(struct naming *n, void (*fn)(void *ctx), void *ctx)
{
	n->on_answer = fn;
	n->ctx = ctx;
}

/* ---- symbols and DWARF together */

static const char *text_at(const struct name_list *l, store_text at)
{
	return at ? l->text + at : NULL;
}

/* What symbols told of a frame, without depth and line. Rows ascend as the
 * group's frames do; *row is where to go on. */
static struct frame_name take_symbol(const struct group *g, size_t i,
				     size_t *row)
{
	struct frame_name name = { .frame_id = g->frame_id[i] };
	const struct store_name *found = &g->names.rows[*row];

	if (*row >= g->names.n || found->frame_id != name.frame_id)
		return name;
	++*row;
	name.name = text_at(&g->names, found->name);
	name.linkage_name = text_at(&g->names, found->linkage_name);
	name.source = text_at(&g->names, found->source);
	return name;
}

/* Add a frame's n levels, innermost first; the last is what symbol is of. */
static int add_levels(struct name_list *names, const struct frame_name *symbol,
		      const struct inspect_level *levels, size_t n)
{
	struct frame_name name[INSPECT_LEVELS_MAX];
	size_t n_names = level_names(name, symbol, levels, n);
	int rc = 0;

	for (size_t i = 0; i < n_names && !rc; i++)
		rc = name_list_add(names, &name[i]);
	return rc;
}

/* Hand over, once, what is known of a group's frames; n levels of all of
 * them. */
static void add_frames(struct group *g, const struct inspect_level *levels,
		       size_t n)
{
	struct name_list *names = &g->naming->names;
	size_t row = 0, at = 0;
	int rc = 0;

	if (g->is_written)
		return;
	for (size_t i = 0; i < g->n && !rc; i++) {
		struct frame_name symbol = take_symbol(g, i, &row);
		size_t first = at;

		while (at < n && levels[at].at == i)
			at++;
		if (at > first)
			rc = add_levels(names, &symbol, levels + first,
					at - first);
		else if (symbol.name)
			rc = name_list_add(names, &symbol);
	}
	/* Out of memory: the rest stays unnamed. */
	g->naming->waiting -= g->n;
	g->is_written = true;
}

/* ---- asking */

static void ask(struct naming *n, struct group *g);

static void defer(struct group *g)
{
	g->next = g->naming->deferred;
	g->naming->deferred = g;
}

static void end(struct group *g)
{
	struct naming *naming = g->naming;

	group_free(g);
	if (naming->names.n >= FLUSH_NAMES)
		writer_names(naming->writer, &naming->names);
	if (naming->on_answer)
		naming->on_answer(naming->ctx);
}

static void on_lines(void *ctx, enum inspect_status status,
		     const struct inspect_level *levels, size_t n)
{
	struct group *g = ctx;

	if (status == INSPECT_DEFERRED && !g->is_written) {
		defer(g);
		return;
	}
	add_frames(g, levels, status == INSPECT_OK ? n : 0);
	end(g);
}

static void on_names(void *ctx, enum inspect_status status,
		     const struct inspect_name *names, size_t n)
{
	struct group *g = ctx;

	if (status == INSPECT_DEFERRED) {
		defer(g);
		return;
	}
	for (size_t i = 0; status == INSPECT_OK && i < n && i < g->n; i++) {
		struct frame_name name = { .frame_id = g->frame_id[i],
					   .name = names[i].name,
					   .linkage_name =
						   names[i].linkage_name,
					   .source = names[i].source };

		if (name.name && name_list_add(&g->names, &name))
			break; /* out of memory: the frames stay unnamed */
	}
	g->has_names = true;
	if (g->naming->with_lines && g->binary->kind == STORE_ELF &&
	    status == INSPECT_OK) {
		ask(g->naming, g);
		return;
	}
	add_frames(g, NULL, 0);
	end(g);
}

static int request(struct naming *n, struct group *g)
{
	const struct inspect_file *file = &g->binary->file;

	if (g->has_names)
		return inspect_lines(n->inspect, file, g->address, g->n,
				     on_lines, g);
	return inspect_names(n->inspect, file, g->address, g->n, on_names, g);
}

static void ask(struct naming *n, struct group *g)
{
	if (!request(n, g))
		return;
	/* Out of memory: what is not known by now is never. */
	add_frames(g, NULL, 0);
	group_free(g);
}

static int by_binary(const void *a, const void *b)
{
	const struct new_frame *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Can this binary's code be named by looking into it? */
static bool is_nameable(const struct binary *b)
{
	return b->kind == STORE_ELF || b->kind == STORE_VDSO;
}

static void ask_for(struct naming *n, const struct new_frame *frames,
		    size_t n_frames)
{
	for (size_t i = 0; i < n_frames;) {
		struct group *g = group_new(n);

		if (!g)
			return; /* they stay unnamed */
		g->binary = frames[i].binary;
		while (i < n_frames && g->n < INSPECT_NAMES_MAX &&
		       frames[i].binary == g->binary) {
			g->frame_id[g->n] = frames[i].id;
			g->address[g->n++] = frames[i++].address;
		}
		n->waiting += g->n;
		segments_want(n->segments, g->binary, g->frame_id[0]);
		ask(n, g);
	}
}

void naming_add(struct naming *n, const struct batch *b,
		const struct store_frame_row *rows, size_t n_rows)
{
	struct new_frame *frames = calloc(n_rows + 1, sizeof(*frames));
	size_t n_new = 0;

	if (!frames)
		return; /* they stay unnamed */
	for (size_t i = 0; i < n_rows; i++) {
		struct batch_code code;

		if (!rows[i].is_new)
			continue;
		batch_frame_code(b, i, &code);
		if (code.name) {
			struct frame_name name = {
				.frame_id = rows[i].id,
				.name = code.name,
				.linkage_name = code.linkage_name,
				.source = code.source,
			};

			if (name_list_add(&n->names, &name))
				break;
			continue;
		}
		if (is_nameable(code.binary))
			frames[n_new++] = (struct new_frame){
				.binary = code.binary,
				.id = rows[i].id,
				.address = code.address,
			};
	}
	if (n_new)
		qsort(frames, n_new, sizeof(*frames), by_binary);
	ask_for(n, frames, n_new);
	free(frames);
}

void naming_tick(struct naming *n)
{
	struct group *again = n->deferred;

	n->deferred = NULL;
	while (again) {
		struct group *g = again;

		again = g->next;
		ask(n, g);
	}
	segments_take(n->segments, &n->names);
	writer_names(n->writer, &n->names);
}

void naming_give_up(struct naming *n)
{
	for (struct group *g = n->all; g; g = g->all_next) {
		if (g->has_names)
			add_frames(g, NULL, 0);
	}
}

size_t naming_waiting(const struct naming *n)
{
	return n->waiting;
}
