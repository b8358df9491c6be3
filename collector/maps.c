/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/maps.h"

/* Index of the first current mapping that ends above addr. */
static size_t first_above(const struct maps *m, uint64_t addr)
{
	size_t low = 0, high = m->n_now;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (m->now[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int insert(struct maps *m, size_t at, const struct mapping *new)
{
	if (m->n_now >= MAPS_MAX)
		return -E2BIG;
	if (GROW(m->now, m->n_now + 1, m->now_room))
		return -ENOMEM;
	memmove(m->now + at + 1, m->now + at,
		(m->n_now - at) * sizeof(*m->now));
	m->now[at] = *new;
	m->n_now++;
	return 0;
}

/* The part of a mapping between two addresses. */
static struct mapping part(const struct mapping *m, uint64_t start,
			   uint64_t end)
{
	struct mapping p = *m;

	p.file_offset += start - m->start;
	p.start = start;
	p.end = end;
	return p;
}

/* End the current mapping `at` where new covers it; keep its uncovered ends.
 * Afterwards nothing current overlaps new in its place. */
static int displace(struct maps *m, size_t at, const struct mapping *new)
{
	struct mapping old = m->now[at];
	struct mapping covered =
		part(&old, old.start > new->start ? old.start : new->start,
		     old.end < new->end ? old.end : new->end);
	int rc = 0;

	if (m->n_past >= MAPS_MAX)
		return -E2BIG;
	if (GROW(m->past, m->n_past + 1, m->past_room))
		return -ENOMEM;
	covered.to_ns = new->from_ns;
	m->past[m->n_past++] = covered;

	memmove(m->now + at, m->now + at + 1,
		(m->n_now - at - 1) * sizeof(*m->now));
	m->n_now--;
	if (old.end > new->end) {
		struct mapping rest = part(&old, new->end, old.end);

		rc = insert(m, at, &rest);
	}
	if (!rc && old.start < new->start) {
		struct mapping rest = part(&old, old.start, new->start);

		rc = insert(m, at, &rest);
	}
	return rc;
}

int maps_add(struct maps *m, const struct mapping *new)
{
	int rc = 0;

	if (new->start >= new->end)
		return 0;
	while (!rc) {
		size_t at = first_above(m, new->start);

		if (at == m->n_now || m->now[at].start >= new->end)
			return insert(m, at, new);
		rc = displace(m, at, new);
	}
	return rc;
}

int maps_remove(struct maps *m, uint64_t start, uint64_t end, uint64_t now_ns)
{
	struct mapping hole = { .start = start, .end = end, .from_ns = now_ns };
	int rc = 0;

	while (!rc) {
		size_t at = first_above(m, start);

		if (at == m->n_now || m->now[at].start >= end)
			return 0;
		rc = displace(m, at, &hole);
	}
	return rc;
}

int maps_fill(struct maps *m, const struct mapping *old)
{
	uint64_t from = old->start;

	while (from < old->end) {
		size_t at = first_above(m, from);
		uint64_t to = old->end;

		if (at < m->n_now && m->now[at].start < to)
			to = m->now[at].start;
		if (from < to) {
			struct mapping gap = part(old, from, to);
			int rc = insert(m, at, &gap);

			if (rc)
				return rc;
			at++;
		}
		if (at >= m->n_now || m->now[at].start >= old->end)
			break;
		from = m->now[at].end;
	}
	return 0;
}

static bool is_same_place(const struct mapping *a, const struct mapping *b)
{
	return a->binary == b->binary &&
	       a->start - a->file_offset == b->start - b->file_offset;
}

enum maps_answer maps_find(const struct maps *m, uint64_t addr,
			   uint64_t start_ns, uint64_t end_ns,
			   const struct mapping **out)
{
	size_t at = first_above(m, addr);
	const struct mapping *found = NULL;

	if (at < m->n_now && m->now[at].start <= addr &&
	    m->now[at].from_ns < end_ns)
		found = &m->now[at];
	for (size_t i = 0; i < m->n_past; i++) {
		const struct mapping *p = &m->past[i];

		if (addr < p->start || addr >= p->end || p->from_ns >= end_ns ||
		    p->to_ns <= start_ns)
			continue;
		if (found && !is_same_place(found, p))
			return MAPS_AMBIGUOUS;
		found = p;
	}
	*out = found;
	return found ? MAPS_FOUND : MAPS_NONE;
}

void maps_prune(struct maps *m, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n_past; i++)
		if (m->past[i].to_ns >= before_ns)
			m->past[kept++] = m->past[i];
	m->n_past = kept;
}

void maps_release(struct maps *m)
{
	free(m->now);
	free(m->past);
	*m = (struct maps){ 0 };
}
