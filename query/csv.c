/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "query/csv.h"
#include "store/weft.h"

enum {
	PART = 256, /* bytes of text at a time */
};

static void begin(struct csv *c)
{
	if (c->begun)
		putc(',', c->to);
	c->begun = true;
}

/* Where text may be cut: not within a character. */
static size_t cut(const char *text, size_t size)
{
	size_t n = PART;

	if (size <= PART)
		return size;
	while (n > PART - 4 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* Some readers cut blanks off, and take what is empty for NULL. */
static bool needs_quotes(const char *text, size_t size)
{
	return size == 0 || text[0] == ' ' || text[size - 1] == ' ' ||
	       memchr(text, ',', size) || memchr(text, '"', size);
}

void csv_text(struct csv *c, const char *text, size_t size)
{
	bool quoted = needs_quotes(text, size);
	char clean[4 * PART + 1];
	size_t n, length, i;

	begin(c);
	if (quoted)
		putc('"', c->to);
	for (; size > 0; text += n, size -= n) {
		n = cut(text, size);
		length = weft_sanitize(clean, sizeof(clean), text, n);
		for (i = 0; i < length; i++) {
			if (clean[i] == '"')
				putc('"', c->to);
			putc(clean[i], c->to);
		}
	}
	if (quoted)
		putc('"', c->to);
}

void csv_int(struct csv *c, int64_t value)
{
	begin(c);
	fprintf(c->to, "%" PRId64, value);
}

void csv_real(struct csv *c, double value)
{
	begin(c);
	if (isfinite(value))
		fprintf(c->to, "%.15g", value);
}

void csv_null(struct csv *c)
{
	begin(c);
}

void csv_end(struct csv *c)
{
	fputs("\r\n", c->to);
	c->begun = false;
}
