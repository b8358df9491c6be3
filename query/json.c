/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "query/json.h"
#include "store/weft.h"

static void put_escaped(FILE *to, const unsigned char *s, size_t size)
{
	uint32_t point = 0;
	size_t i, n;

	for (i = 0; i < size; i += n) {
		n = weft_decode(s + i, size - i, &point);
		if (n == 0) {
			fprintf(to, "\\\\x%02x", s[i]);
			n = 1;
		} else if (weft_is_unsafe(point)) {
			/* all of them are below U+10000 */
			fprintf(to, "\\u%04x", (unsigned)point);
		} else if (n > 1) {
			fwrite(s + i, 1, n, to);
		} else if (s[i] == '\\' && i + 1 < size && s[i + 1] == 'x') {
			fputs("\\\\x5c", to);
		} else if (s[i] == '"' || s[i] == '\\') {
			fprintf(to, "\\%c", s[i]);
		} else {
			putc(s[i], to);
		}
	}
}

/* The comma, line and key in front of a value. */
static void begin(struct json *j, const char *key)
{
	if (j->in_use[j->depth])
		putc(',', j->to);
	if (j->depth > 0)
		fprintf(j->to, "\n%*s", 2 * j->depth, "");
	j->in_use[j->depth] = true;
	if (key) {
		putc('"', j->to);
		put_escaped(j->to, (const unsigned char *)key, strlen(key));
		fputs("\": ", j->to);
	}
}

static void descend(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	putc(bracket, j->to);
	assert(j->depth + 1 < (int)ARRAY_LEN(j->in_use));
	j->in_use[++j->depth] = false;
}

static void ascend(struct json *j, char bracket)
{
	bool any = j->in_use[j->depth--];

	assert(j->depth >= 0);
	if (any)
		fprintf(j->to, "\n%*s", 2 * j->depth, "");
	putc(bracket, j->to);
	if (j->depth == 0)
		putc('\n', j->to);
}

void json_object(struct json *j, const char *key)
{
	descend(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	descend(j, key, '[');
}

void json_end_object(struct json *j)
{
	ascend(j, '}');
}

void json_end_array(struct json *j)
{
	ascend(j, ']');
}

void json_text(struct json *j, const char *key, const char *text)
{
	if (text)
		json_bytes(j, key, text, strlen(text));
	else
		json_null(j, key);
}

void json_bytes(struct json *j, const char *key, const char *text, size_t size)
{
	begin(j, key);
	putc('"', j->to);
	put_escaped(j->to, (const unsigned char *)text, size);
	putc('"', j->to);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	const int64_t exact = INT64_C(1) << 53;
	const char *quote = value > exact || value < -exact ? "\"" : "";

	begin(j, key);
	fprintf(j->to, "%s%" PRId64 "%s", quote, value, quote);
}

void json_real(struct json *j, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(j, key);
		return;
	}
	begin(j, key);
	fprintf(j->to, "%.15g", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->to);
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->to);
}

void json_interval(struct json *j, const char *key, struct stats_interval in)
{
	char name[96];

	snprintf(name, sizeof(name), "%s_lo", key);
	json_real(j, name, in.lo);
	snprintf(name, sizeof(name), "%s_hi", key);
	json_real(j, name, in.hi);
}
