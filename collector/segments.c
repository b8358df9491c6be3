/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/segments.h"

struct ask {
	struct segments *segments;
	struct ask *next, **link; /* in segments->asks */
	struct binary *binary;    /* borrowed; lives as long as we do */
	int64_t frame_id;
};

struct segments {
	struct inspect *in;         /* borrowed */
	struct ask *asks;           /* owned */
	struct store_segment *rows; /* owned */
	size_t n, room;
};

struct segments *segments_open(struct inspect *in)
{
	struct segments *s = calloc(1, sizeof(*s));

	if (s)
		s->in = in;
	return s;
}

static void ask_free(struct ask *ask)
{
	*ask->link = ask->next;
	if (ask->next)
		ask->next->link = ask->link;
	free(ask);
}

void segments_close(struct segments *s)
{
	if (!s)
		return;
	while (s->asks)
		ask_free(s->asks);
	free(s->rows);
	free(s);
}

static void on_segments(void *ctx, enum inspect_status status,
			const struct inspect_segment *segments, size_t n)
{
	struct ask *ask = ctx;
	struct segments *s = ask->segments;

	if (status == INSPECT_DEFERRED)
		ask->binary->has_segments = false; /* with its next frames */
	for (size_t i = 0; status == INSPECT_OK && i < n; i++) {
		if (GROW(s->rows, s->n + 1, s->room))
			break;
		s->rows[s->n++] = (struct store_segment){
			.frame_id = ask->frame_id,
			.file_offset = segments[i].offset,
			.size = segments[i].size,
			.address = segments[i].address,
		};
	}
	ask_free(ask);
}

void segments_want(struct segments *s, struct binary *binary, int64_t frame_id)
{
	struct ask *ask;

	if (binary->has_segments || binary->kind != STORE_ELF ||
	    !binary->file.build_id_size)
		return;
	ask = malloc(sizeof(*ask));
	if (!ask)
		return;
	*ask = (struct ask){ s, s->asks, &s->asks, binary, frame_id };
	if (s->asks)
		s->asks->link = &ask->next;
	s->asks = ask;
	binary->has_segments = true;
	if (inspect_segments(s->in, &binary->file, on_segments, ask))
		ask_free(ask); /* out of memory */
}

void segments_take(struct segments *s, struct name_list *to)
{
	if (!s->n ||
	    GROW(to->segments, to->n_segments + s->n, to->segments_room))
		return;
	memcpy(to->segments + to->n_segments, s->rows, s->n * sizeof(*s->rows));
	to->n_segments += s->n;
	s->n = 0;
}
