/* SPDX-License-Identifier: MIT */
#include "route.h"

#include <string.h>

const struct route routes[] = {
	{ "search", search_run },     { "report", report_run },
	{ "checkout", checkout_run }, { "compress", compress_run },
	{ "sign", sign_run },         { NULL, NULL },
};

const struct route *route_find(const char *name, size_t length)
{
	for (const struct route *r = routes; r->name; r++) {
		if (strlen(r->name) == length &&
		    memcmp(r->name, name, length) == 0)
			return r;
	}
	return NULL;
}

int route_init(void)
{
	return sign_init();
}

void route_release(void)
{
	sign_release();
}
