/* SPDX-License-Identifier: MIT */
/*
 * Spans of requests, beside their samples: what a request was (its root span),
 * and which requests are meant by words on the command line.
 */
#ifndef WEFT_SPANS_H
#define WEFT_SPANS_H

#include "query/db.h"

struct spans_root {
	char service[64], name[128]; /* "" where not known; cut */
	char status[16];
	int64_t start_ns;    /* Unix; 0: not known */
	int64_t duration_ns; /* -1: not known */
};

enum spans_op {
	SPANS_ANY, /* nothing is asked */
	SPANS_EQUALS,
	SPANS_DIFFERS, /* it is there, and nowhere that value */
	SPANS_LIKE     /* a GLOB pattern */
};

/*
 * A question to a request: KEY is service.name, name, kind or status of a span,
 * else an attribute of a span, or of a sample; one span or sample that has it
 * is enough.
 */
struct spans_where {
	enum spans_op op;
	char key[128];
	const char *value;
};

/* Which requests. Zero: all. Strings are borrowed. */
struct spans_filter {
	const char *service, *name; /* of the root span, whole */
	int64_t min_duration_ns;
	struct spans_where where;
};

/* 1: the file has spans; 0: it has none; else a negative errno. */
int spans_any(struct db *db, struct weft_err *err) MUST_CHECK;

/* Parse `KEY = VALUE`, `KEY != VALUE` or `KEY ~ PATTERN`; text is borrowed.
 * Returns 0, or -E2BIG with err filled. */
int spans_parse_where(struct spans_where *where, const char *text,
		      struct weft_err *err) MUST_CHECK;

/* Parse a duration: digits with ns, us, ms or s ("1.5ms"). Returns 0 or
 * -EINVAL. */
int spans_parse_duration(const char *text, int64_t *out_ns) MUST_CHECK;

/* Does the filter ask for anything? */
bool spans_is_filter(const struct spans_filter *f);

/* The root span of a trace. 1: found; 0: it has no spans, *out is empty; else
 * a negative errno. */
int spans_find_root(struct db *db, int64_t trace, struct spans_root *out,
		    struct weft_err *err) MUST_CHECK;

/* 1: the trace, whose root is given, is meant; 0: it is not. */
int spans_match(struct db *db, const struct spans_filter *f, int64_t trace,
		const struct spans_root *root, struct weft_err *err) MUST_CHECK;

#endif
