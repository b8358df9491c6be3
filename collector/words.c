/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/words.h"

int words_add(struct words *w, const char *prefix, const char *name)
{
	char *text;

	if (GROW(w->word, w->n + 2, w->room) ||
	    asprintf(&text, "%s%s%s", prefix ? prefix : "", prefix ? ":" : "",
		     name) < 0)
		return -ENOMEM;
	w->word[w->n++] = text;
	w->word[w->n] = NULL;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void words_sort(struct words *w)
{
	if (w->n)
		qsort(w->word, w->n, sizeof(*w->word), compare);
}

const char *words_nearest(const struct words *w, const char *text)
{
	return w->n ? weft_nearest(text, (const char *const *)w->word) : NULL;
}

void words_release(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct words){ 0 };
}
