/* SPDX-License-Identifier: MIT */
/* What options say of how long a file keeps things; see store/retention.h. */
#ifndef WEFT_KEEP_H
#define WEFT_KEEP_H

#include "store/retention.h"

/* What the options say of themselves. */
#define KEEP_DETAIL_HELP \
	"samples, spans and examples older than TIME go, as in 90m, 24h or 7d"
#define KEEP_SHAPE_HELP                                                                             \
	"counts stay as recorded for TIME, then by the minute up to the second TIME, then by the\n" \
	"hour; with a third they go then (default 24h,30d with --keep-detail, else all)"
#define KEEP_MAX_SIZE_HELP \
	"above SIZE the oldest goes, whatever its age: detail first, then counts roll up, then go"

/* Before any option: everything stays. */
void keep_init(struct store_keep *keep);

/* Take the value of --keep-detail: a time with s, m, h or d, or "all". Returns
 * NULL, or what is wrong with it. */
const char *keep_take_detail(const char *value, struct store_keep *keep);

/* The same of --keep-shape: TIME[,TIME[,TIME]], none less than the one before.
 */
const char *keep_take_shape(const char *value, struct store_keep *keep);

/* What was not asked for, from what was. */
void keep_add_defaults(struct store_keep *keep);

/* Is there anything that may go? */
bool keep_is_asked(const struct store_keep *keep);

#endif
