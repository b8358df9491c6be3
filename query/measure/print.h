/* SPDX-License-Identifier: MIT */
/* Measures as people, and as programs, read them. */
#ifndef WEFT_MEASURE_PRINT_H
#define WEFT_MEASURE_PRINT_H

#include "query/figure.h"
#include "query/json.h"
#include "query/measure/measure.h"

struct measure_look {
	uint64_t rows;    /* keys at most; 0: all */
	uint64_t div;     /* divide what is printed by this; at least 1 */
	const char *unit; /* of values: NULL: the measure's own */
	bool is_open;     /* the recording has not ended, or was cut short */
};

/* A value in its unit; numbers without one are exact. Returns the buffer. */
const char *measure_value_text(struct figure *to, int64_t v, const char *unit);

/* To stdout. -ENOMEM. */
int measure_print(const struct measure *m, const struct measure_look *look,
		  struct weft_err *err) MUST_CHECK;

/* As an element of an array. Nothing is divided or left out. */
void measure_json(const struct measure *m, struct json *j);

#endif
