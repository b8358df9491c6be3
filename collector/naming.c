/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/naming.h"

/* Names collected before they are written. */
enum {
	FLUSH_NAMES = 4096
};

/* Frames of one binary that are asked for together. */
struct group {
	struct naming *naming;
	struct group *next;    /* among those to be asked again */
	struct binary *binary; /* borrowed; lives as long as we do */
	size_t n;
	int64_t frame_id[INSPECT_NAMES_MAX];
	uint64_t address[INSPECT_NAMES_MAX];
};

struct naming {
	struct inspect *inspect; /* borrowed */
	struct writer *writer;   /* borrowed */
	struct name_list names;
	struct group *deferred; /* owned */
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

int naming_open(struct naming **out, struct inspect *inspect,
		struct writer *writer, struct weft_err *err)
{
	struct naming *n = calloc(1, sizeof(*n));

	*out = NULL;
	if (!n)
		return weft_fail(err, -ENOMEM,
				 "cannot name code: out of memory");
	n->inspect = inspect;
	n->writer = writer;
	*out = n;
	return 0;
}

void naming_close(struct naming *n)
{
	if (!n)
		return;
	while (n->deferred) {
		struct group *g = n->deferred;

		n->deferred = g->next;
		free(g);
	}
	name_list_release(&n->names);
	free(n);
}

void naming_on_answer(struct naming *n, void (*fn)(void *ctx), void *ctx)
{
	n->on_answer = fn;
	n->ctx = ctx;
}

static void on_names(void *ctx, enum inspect_status status,
		     const struct inspect_name *names, size_t n)
{
	struct group *g = ctx;
	struct naming *naming = g->naming;

	if (status == INSPECT_DEFERRED) {
		g->next = naming->deferred;
		naming->deferred = g;
		return;
	}
	for (size_t i = 0; status == INSPECT_OK && i < n && i < g->n; i++)
		if (names[i].name &&
		    name_list_add(&naming->names, g->frame_id[i], names[i].name,
				  names[i].linkage_name, names[i].source))
			break; /* out of memory: the frames stay unnamed */
	naming->waiting -= g->n;
	free(g);
	if (naming->names.n >= FLUSH_NAMES)
		writer_names(naming->writer, &naming->names);
	if (naming->on_answer)
		naming->on_answer(naming->ctx);
}

static void ask(struct naming *n, struct group *g)
{
	const struct binary *b = g->binary;
	struct weft_identity who = {
		.pid = b->file.pid,
		.start_ns = b->file.start_ns,
		.exec_seq = b->exec_seq,
	};

	int rc = b->kind == STORE_JIT
			 ? inspect_perf_map(n->inspect, &who, 0, g->address,
					    g->n, on_names, g)
			 : inspect_names(n->inspect, &b->file, g->address, g->n,
					 on_names, g);

	if (rc) {
		/* Out of memory: they stay unnamed. */
		n->waiting -= g->n;
		free(g);
	}
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
	return b->kind == STORE_ELF || b->kind == STORE_VDSO ||
	       b->kind == STORE_JIT;
}

static void ask_for(struct naming *n, const struct new_frame *frames,
		    size_t n_frames)
{
	for (size_t i = 0; i < n_frames;) {
		struct group *g = malloc(sizeof(*g));

		if (!g)
			return; /* they stay unnamed */
		g->naming = n;
		g->binary = frames[i].binary;
		g->n = 0;
		while (i < n_frames && g->n < INSPECT_NAMES_MAX &&
		       frames[i].binary == g->binary) {
			g->frame_id[g->n] = frames[i].id;
			g->address[g->n++] = frames[i++].address;
		}
		n->waiting += g->n;
		ask(n, g);
	}
}

void naming_add(struct naming *n, const struct batch *b,
		const struct store_frame_row *rows, size_t n_rows)
{
	struct new_frame *frames = calloc(n_rows + 1, sizeof(*frames));
	struct store_batch view;
	size_t n_new = 0;

	if (!frames)
		return; /* they stay unnamed */
	batch_view(b, &view);
	for (size_t i = 0; i < n_rows; i++) {
		const char *name;
		struct binary *binary = batch_frame_binary(b, i, &name);

		if (!rows[i].is_new)
			continue;
		if (name) {
			if (name_list_add(&n->names, rows[i].id, name, NULL,
					  "kallsyms"))
				break;
			continue;
		}
		if (is_nameable(binary))
			frames[n_new++] = (struct new_frame){
				.binary = binary,
				.id = rows[i].id,
				.address = view.frames[i].address,
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
	if (n->names.n)
		writer_names(n->writer, &n->names);
}

size_t naming_waiting(const struct naming *n)
{
	return n->waiting;
}
