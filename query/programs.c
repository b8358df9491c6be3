/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/programs.h"

static struct program *append(struct programs *p, const char *name)
{
	struct program *grown = p->rows;

	if ((p->n & (p->n - 1)) == 0) /* a power of two: full */
		grown = reallocarray(p->rows, p->n ? 2 * p->n : 1,
				     sizeof(*grown));
	if (!grown)
		return NULL;
	p->rows = grown;
	grown[p->n] = (struct program){ .name = strdup(name ? name : "") };
	return grown[p->n].name ? &grown[p->n++] : NULL;
}

int programs_add(struct programs *p, int64_t process_id, const char *name,
		 enum ends_status status, unsigned reason,
		 const struct tally *more)
{
	struct program *row = p->n ? &p->rows[p->n - 1] : NULL;

	if (!row || row->process_id != process_id) {
		row = append(p, name);
		if (!row)
			return -ENOMEM;
		row->process_id = process_id;
		row->processes = 1;
	}
	ends_add(&row->ends, status, reason, more);
	ends_add(&p->all, status, reason, more);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_samples(const void *a, const void *b)
{
	uint64_t x = ends_all(&((const struct program *)a)->ends).count;
	uint64_t y = ends_all(&((const struct program *)b)->ends).count;

	return x == y ? compare_names(a, b) : x < y ? 1 : -1;
}

static void drop_without_user_stack(struct programs *p)
{
	size_t i, kept = 0;

	for (i = 0; i < p->n; i++)
		if (ends_all(&p->rows[i].ends).count)
			p->rows[kept++] = p->rows[i];
		else
			free(p->rows[i].name);
	p->n = kept;
}

void programs_merge(struct programs *p)
{
	size_t i, last = 0;

	drop_without_user_stack(p);
	if (!p->n)
		return;
	qsort(p->rows, p->n, sizeof(*p->rows), compare_names);
	for (i = 1; i < p->n; i++) {
		if (compare_names(&p->rows[last], &p->rows[i])) {
			p->rows[++last] = p->rows[i];
			continue;
		}
		p->rows[last].processes += p->rows[i].processes;
		ends_merge(&p->rows[last].ends, &p->rows[i].ends);
		free(p->rows[i].name);
	}
	p->n = last + 1;
	qsort(p->rows, p->n, sizeof(*p->rows), compare_samples);
}

void programs_release(struct programs *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->rows[i].name);
	free(p->rows);
	*p = (struct programs){ 0 };
}
