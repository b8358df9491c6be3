/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "collector/keep.h"

static const uint64_t HOUR_NS = 3600000000000;

/* Not told yet: told from "all". */
#define NOT_TOLD (STORE_KEEP_ALL - 1)

void keep_init(struct store_keep *keep)
{
	*keep = (struct store_keep){
		.detail_ns = STORE_KEEP_ALL,
		.seconds_ns = NOT_TOLD,
		.minutes_ns = STORE_KEEP_ALL,
		.counts_ns = STORE_KEEP_ALL,
	};
}

static int parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t length = strlen(text);
	char number[16];

	if (!strcmp(text, "all")) {
		*ns = STORE_KEEP_ALL;
		return 0;
	}
	if (length < 2 || length > sizeof(number))
		return -EINVAL;
	memcpy(number, text, length - 1);
	number[length - 1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		/* A hundred years are for ever. */
		if (text[length - 1] != units[i].letter ||
		    weft_parse_u64(number, 0, 3153600000 / units[i].seconds,
				   ns))
			continue;
		*ns *= units[i].seconds * 1000000000;
		return 0;
	}
	return -EINVAL;
}

const char *keep_take_detail(const char *value, struct store_keep *keep)
{
	return parse_time(value, &keep->detail_ns)
		       ? "--keep-detail takes a time, as 24h"
		       : NULL;
}

static int parse_shape(const char *text, struct store_keep *keep)
{
	uint64_t *to[] = { &keep->seconds_ns, &keep->minutes_ns,
			   &keep->counts_ns };
	uint64_t before = 0;
	char one[16];

	keep->minutes_ns = keep->counts_ns = STORE_KEEP_ALL;
	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		size_t length = strcspn(text, ",");

		if (length >= sizeof(one))
			return -EINVAL;
		memcpy(one, text, length);
		one[length] = '\0';
		if (parse_time(one, to[i]) || *to[i] < before)
			return -EINVAL;
		before = *to[i];
		text += length;
		if (!*text++)
			return 0;
	}
	return -EINVAL;
}

const char *keep_take_shape(const char *value, struct store_keep *keep)
{
	return parse_shape(value, keep)
		       ? "--keep-shape takes up to three times in ascending order, as 24h,30d"
		       : NULL;
}

void keep_add_defaults(struct store_keep *keep)
{
	if (keep->seconds_ns != NOT_TOLD)
		return;
	keep->seconds_ns = STORE_KEEP_ALL;
	if (keep->detail_ns == STORE_KEEP_ALL)
		return;
	keep->seconds_ns = 24 * HOUR_NS;
	keep->minutes_ns = 30 * 24 * HOUR_NS;
}

bool keep_is_asked(const struct store_keep *keep)
{
	return keep->max_bytes || keep->detail_ns != STORE_KEEP_ALL ||
	       keep->seconds_ns < NOT_TOLD ||
	       keep->minutes_ns != STORE_KEEP_ALL ||
	       keep->counts_ns != STORE_KEEP_ALL;
}
