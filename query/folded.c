/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/folded.h"
#include "store/weft.h"

static void put_name(FILE *to, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t size = strlen(name), i, n;
	uint32_t point;

	if (size == 0)
		fputs("[unknown]", to);
	for (i = 0; i < size; i += n) {
		n = weft_decode(s + i, size - i, &point);
		if (n == 0) {
			fputs("\xef\xbf\xbd", to);
			n = 1;
		} else if (weft_is_unsafe(point)) {
			putc('?', to);
		} else if (s[i] == ';') {
			putc(':', to);
		} else {
			fwrite(s + i, 1, n, to);
		}
	}
}

/* "worker 12" as "worker_12": readers take a number at the end for a count. */
static void join_number(char *text)
{
	char *blank = strrchr(text, ' ');
	size_t digits;

	if (!blank)
		return;
	digits = strspn(blank + 1, "0123456789.");
	if (digits > 0 && blank[1 + digits] == '\0')
		*blank = '_';
}

char *folded_name(const char *name, const char *suffix, enum folded_place place)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (place == FOLDED_FIRST && name[0] == '#')
		putc('_', to);
	put_name(to, name);
	fputs(suffix, to);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	if (place == FOLDED_FIRST && text[0] == ' ')
		text[0] = '_';
	if (place == FOLDED_LAST)
		join_number(text);
	return text;
}
