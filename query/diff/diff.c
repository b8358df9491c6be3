/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff/diff.h"

void diff_release(struct diff *d)
{
	compare_release(&d->compare);
	diff_items_free(d->items);
	for (size_t i = 0; i < d->n_reports; i++)
		report_close(&d->reports[i]);
	free(d->ranks);
}

int diff_no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for what is compared");
}

bool diff_is_of_requests(const struct diff *d)
{
	return d->mode != DIFF_TWO_FILES && d->mode != DIFF_CUT;
}

struct tally diff_weighed(const struct diff *d, struct tally tally)
{
	if (d->is_by_value)
		tally_by_value(&tally);
	return tally;
}

int diff_add(struct diff *d, enum compare_side side, size_t file,
	     int64_t stack_id, const struct tally *tally)
{
	size_t n;
	const uint32_t *items = diff_items_of(d->items, file, stack_id, &n);

	compare_add_all(&d->compare, side, tally);
	return items ? compare_add(&d->compare, side, items, n, tally)
		     : -ENOMEM;
}

int diff_load(struct diff *d, const struct cli_common *common,
	      struct weft_err *err)
{
	bool of_requests = diff_is_of_requests(d);
	int rc;

	d->items = diff_items_new(d->by_stack);
	if (!d->items)
		return diff_no_memory(err);
	d->compare.least_clusters =
		of_requests ? COMPARE_FEW_REQUESTS : COMPARE_FEW_BLOCKS;
	rc = of_requests ? diff_load_requests(d, common, err)
			 : diff_load_blocks(d, common, err);
	if (!rc && compare_finish(&d->compare))
		rc = diff_no_memory(err);
	return rc;
}
