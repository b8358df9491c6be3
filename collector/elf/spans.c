/* SPDX-License-Identifier: MIT */
#include "collector/elf/spans.h"
#include "collector/grow.h"

enum {
	LOOK_BACK = 256 /* ranges looked at for one address */
};

int spans_add(struct spans *spans, uint64_t start, uint64_t end, void *what)
{
	if (GROW(spans->at, spans->n + 1, spans->room))
		return -ENOMEM;
	spans->at[spans->n++] =
		(struct span){ .start = start, .end = end, .what = what };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* The shortest last, for it is found first. */
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

void spans_sort(struct spans *spans)
{
	uint64_t reach = 0;

	if (!spans->n)
		return;
	qsort(spans->at, spans->n, sizeof(*spans->at), by_start);
	for (size_t i = 0; i < spans->n; i++) {
		if (spans->at[i].end > reach)
			reach = spans->at[i].end;
		spans->at[i].reach = reach;
	}
}

/* How many start at or before an address. */
static size_t count_before(const struct spans *spans, uint64_t address)
{
	size_t low = 0, high = spans->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct span *spans_next(const struct spans *spans, uint64_t address,
			      size_t *cursor)
{
	size_t before = count_before(spans, address);

	while (*cursor < before && *cursor < LOOK_BACK) {
		const struct span *span = &spans->at[before - ++*cursor];

		if (span->reach <= address)
			return NULL;
		if (span->end > address)
			return span;
	}
	return NULL;
}

void spans_release(struct spans *spans)
{
	free(spans->at);
	*spans = (struct spans){ 0 };
}
