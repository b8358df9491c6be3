/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "collector/option_table.h"

void option_table_print(const struct option_row *rows, size_t n, int width)
{
	for (size_t i = 0; i < n; i++) {
		const struct option_row *r = &rows[i];
		bool has_letter = r->id < OPTION_NO_LETTER;
		const char *line = r->help;
		char left[64];

		snprintf(left, sizeof(left), "%c%c%s--%s%s%s",
			 has_letter ? '-' : ' ', has_letter ? r->id : ' ',
			 has_letter ? ", " : "  ", r->name,
			 r->argument ? " " : "",
			 r->argument ? r->argument : "");
		for (; *line; left[0] = '\0') {
			int length = (int)strcspn(line, "\n");

			printf("  %-*s %.*s\n", width, left, length, line);
			line += length;
			line += *line == '\n';
		}
	}
}

void option_walk_begin(struct option_walk *w, const struct option_row *rows,
		       size_t n, int argc, char **argv, bool operands_end)
{
	size_t at = 0;

	*w = (struct option_walk){ .argc = argc, .argv = argv };
	if (operands_end)
		w->shorts[at++] = '+';
	w->shorts[at++] = ':'; /* tell a missing value from an unknown option */
	for (size_t i = 0; i < n && i < OPTION_ROWS_MAX; i++) {
		w->longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].argument ? required_argument
						    : no_argument,
			.val = rows[i].id,
		};
		if (rows[i].id >= OPTION_NO_LETTER)
			continue;
		w->shorts[at++] = (char)rows[i].id;
		if (rows[i].argument)
			w->shorts[at++] = ':';
	}
	opterr = 0;
}

static void tell_unknown(struct option_walk *w, const char *text)
{
	const char *names[OPTION_ROWS_MAX + 1] = { NULL };
	const char *nearest = NULL;

	for (size_t i = 0; w->longs[i].name; i++)
		names[i] = w->longs[i].name;
	if (!strncmp(text, "--", 2))
		nearest = weft_nearest(text + 2, names);
	snprintf(w->wrong, sizeof(w->wrong), "unknown option '%s'%s%s%s", text,
		 nearest ? "; did you mean '--" : "", nearest ? nearest : "",
		 nearest ? "'?" : "");
}

int option_walk_next(struct option_walk *w)
{
	int id = getopt_long(w->argc, w->argv, w->shorts, w->longs, NULL);

	if (id == '?')
		tell_unknown(w, w->argv[optind - 1]);
	if (id == ':')
		snprintf(w->wrong, sizeof(w->wrong),
			 "option '%s' needs a value", w->argv[optind - 1]);
	return id == ':' ? OPTION_WRONG : id;
}
