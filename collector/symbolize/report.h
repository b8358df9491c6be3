/* SPDX-License-Identifier: MIT */
/* What came of naming, on stdout. */
#ifndef WEFT_SYMBOLIZE_REPORT_H
#define WEFT_SYMBOLIZE_REPORT_H

#include "collector/symbolize/list.h"
#include "collector/symbolize/symbolize.h"

struct symbolize_totals {
	size_t frames, named_before, named, renamed;
	size_t others; /* files that are not used, where that matters */
};

struct symbolize_totals symbolize_totals(const struct symbolize_list *list);

void symbolize_print(const struct symbolize_list *list,
		     const struct symbolize_opts *opts);
void symbolize_print_json(const struct symbolize_list *list,
			  const struct symbolize_opts *opts);

#endif
