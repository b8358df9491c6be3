/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "query/table.h"

enum {
	GAP = 2,
	TITLE_BYTES = 1024,
	CUT_LEAST = 12
};

struct cell {
	size_t at;    /* in text */
	size_t width; /* characters */
};

struct table {
	const struct table_column *columns; /* borrowed */
	size_t n_columns;
	char *text; /* owned: all cells, each NUL-terminated */
	size_t used, room;
	struct cell *cells; /* owned */
	size_t n_cells, cells_room;
	bool failed;
};

static size_t count_characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* The byte at which character n of text starts. */
static size_t offset_of(const char *text, size_t n)
{
	size_t at = 0;

	while (text[at] && n > 0) {
		at++;
		while (((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
		n--;
	}
	return at;
}

struct table *table_new(const struct table_column *columns, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));

	assert(n > 0 && n <= TABLE_COLUMNS_MAX);
	if (!t)
		return NULL;
	t->columns = columns;
	t->n_columns = n;
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	free(t->text);
	free(t->cells);
	free(t);
}

static bool reserve(struct table *t, size_t bytes)
{
	size_t room = t->room ? t->room : 4096;
	void *grown;

	while (room - t->used < bytes)
		room *= 2;
	if (room != t->room) {
		grown = realloc(t->text, room);
		if (!grown)
			return false;
		t->text = grown;
		t->room = room;
	}
	if (t->n_cells == t->cells_room) {
		room = t->cells_room ? 2 * t->cells_room : 256;
		grown = reallocarray(t->cells, room, sizeof(*t->cells));
		if (!grown)
			return false;
		t->cells = grown;
		t->cells_room = room;
	}
	return true;
}

void table_bytes(struct table *t, const char *text, size_t size)
{
	size_t most = 4 * size + 1; /* every byte as \xNN */
	struct cell *cell;
	size_t length;

	if (most > 4 * TABLE_NAME_MAX)
		most = 4 * TABLE_NAME_MAX;
	if (t->failed || !reserve(t, most)) {
		t->failed = true;
		return;
	}
	cell = &t->cells[t->n_cells++];
	cell->at = t->used;
	length = weft_sanitize(t->text + t->used, most, text, size);
	cell->width = count_characters(t->text + t->used);
	t->used += length + 1;
}

void table_text(struct table *t, const char *text)
{
	table_bytes(t, text ? text : "", text ? strlen(text) : 0);
}

size_t table_rows(const struct table *t)
{
	return t->n_cells / t->n_columns;
}

static bool may_cut(const struct table *t, size_t column)
{
	return t->columns[column].fit >= TABLE_CUT_END;
}

/* Take what is too wide from the widest columns that may be cut. */
static void fit(const struct table *t, size_t *widths, size_t width)
{
	size_t total = GAP * (t->n_columns - 1);
	size_t i, widest;

	for (i = 0; i < t->n_columns; i++)
		total += widths[i];
	while (total > width) {
		widest = t->n_columns;
		for (i = 0; i < t->n_columns; i++)
			if (may_cut(t, i) && widths[i] > CUT_LEAST &&
			    (widest == t->n_columns ||
			     widths[i] > widths[widest]))
				widest = i;
		if (widest == t->n_columns)
			return;
		widths[widest]--;
		total--;
	}
}

/* Print a cell after the blanks that are due, of which it leaves more to the
 * next cell: so no line ends in blanks. */
static void print_cell(const char *text, size_t shown, size_t width,
		       enum table_fit how, size_t *blanks, FILE *to)
{
	size_t pad = shown < width ? width - shown : 0;

	if (how == TABLE_RIGHT)
		*blanks += pad;
	if (*text) {
		fprintf(to, "%*s", (int)*blanks, "");
		*blanks = 0;
	}
	if (shown <= width || how < TABLE_CUT_END) {
		fputs(text, to);
	} else if (how == TABLE_CUT_START) {
		fprintf(to, "..%s", text + offset_of(text, shown - width + 2));
	} else {
		fwrite(text, 1, offset_of(text, width - 2), to);
		fputs("..", to);
	}
	if (how != TABLE_RIGHT)
		*blanks += pad;
	*blanks += GAP;
}

/* Titles may be the file's names, too: safe on a terminal. */
static const char *safe_title(const struct table *t, size_t column,
			      char out[TITLE_BYTES])
{
	const char *title = t->columns[column].title;

	weft_sanitize(out, TITLE_BYTES, title, strlen(title));
	return out;
}

static void measure(const struct table *t, size_t *widths)
{
	char title[TITLE_BYTES];
	size_t i;

	for (i = 0; i < t->n_columns; i++)
		widths[i] = count_characters(safe_title(t, i, title));
	for (i = 0; i < t->n_cells; i++)
		if (t->cells[i].width > widths[i % t->n_columns])
			widths[i % t->n_columns] = t->cells[i].width;
}

int table_print(const struct table *t, FILE *to, unsigned width, bool bold)
{
	size_t widths[TABLE_COLUMNS_MAX];
	size_t i, column, blanks = 0;
	char title[TITLE_BYTES];

	if (t->failed)
		return -ENOMEM;
	measure(t, widths);
	if (width)
		fit(t, widths, width);
	fputs(bold ? "\033[1m" : "", to);
	for (i = 0; i < t->n_columns; i++) {
		safe_title(t, i, title);
		print_cell(title, count_characters(title), widths[i],
			   t->columns[i].fit, &blanks, to);
	}
	fputs(bold ? "\033[0m\n" : "\n", to);
	for (i = 0; i < t->n_cells; i++) {
		column = i % t->n_columns;
		blanks = column ? blanks : 0;
		print_cell(t->text + t->cells[i].at, t->cells[i].width,
			   widths[column], t->columns[column].fit, &blanks, to);
		if (column + 1 == t->n_columns)
			putc('\n', to);
	}
	return 0;
}

unsigned table_width(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t columns;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (text && !weft_parse_u64(text, 20, 10000, &columns))
		return (unsigned)columns;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

bool table_may_colour(void)
{
	const char *no_colour = getenv("NO_COLOR");

	return weft_is_terminal(STDOUT_FILENO) && !(no_colour && *no_colour);
}
