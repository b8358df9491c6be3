/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/symbolize/report.h"

/* Words for --json, in the order of enum symbolize_state. */
static const char *const state_words[] = {
	[STATE_ABSENT] = "absent",   [STATE_REFUSED] = "refused",
	[STATE_STUCK] = "stuck",     [STATE_SILENT] = "silent",
	[STATE_VOUCHED] = "vouched", [STATE_PROVEN] = "proven",
};

enum {
	OTHERS_TOLD_MAX = 64 /* in a report for people; the rest are counted */
};

/* Where nothing better is to be had, what was passed over does not matter. */
static bool tells_others(const struct symbolize_binary *b)
{
	return !symbolize_is_settled(b);
}

struct symbolize_totals symbolize_totals(const struct symbolize_list *list)
{
	struct symbolize_totals t = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		const struct symbolize_binary *b = &list->binaries[i];

		t.frames += b->frames;
		t.named_before += b->named_before;
		t.named += b->named;
		t.renamed += b->renamed;
		t.others += tells_others(b) ? b->n_others : 0;
	}
	return t;
}

/* Foreign text, made safe for a terminal. */
static const char *safe(const char *text)
{
	static char out[8192];

	weft_sanitize(out, sizeof(out), text ? text : "",
		      strlen(text ? text : ""));
	return out;
}

/* Why a binary's frames are not named, or on whose word they are. */
static void print_note(const struct symbolize_binary *b)
{
	switch (b->state) {
	case STATE_ABSENT:
		printf("%s", b->was_fetched ? ": not found, nor by debuginfod"
					    : ": not found");
		break;
	case STATE_REFUSED:
		printf(": not it, or not readable: %s", safe(b->refused));
		break;
	case STATE_STUCK:
		printf(": took too long, or too much: %s", safe(b->refused));
		break;
	case STATE_SILENT:
		printf(": only a debug file was found, and it does not tell file offsets; the program is needed too");
		break;
	case STATE_VOUCHED:
		printf(": has no build ID; --symfs vouches for it");
		break;
	case STATE_PROVEN:
		break;
	}
}

static void print_sources(const struct symbolize_binary *b)
{
	char text[256] = "-";
	size_t at = 0;

	for (size_t i = 0; i < SYMBOLIZE_SOURCES_MAX && b->sources[i].word; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %zu",
				       at ? ", " : "", b->sources[i].word,
				       b->sources[i].frames);
	printf("  %-24s  ", text);
}

/* Why a file is not used, as what follows its path; until the next call. */
static const char *say_why_not(const struct symbolize_binary *b,
			       const struct symbolize_other *other)
{
	static char text[160];

	switch (-other->error) {
	case ESTALE:
		if (other->is_linked)
			return "is another file: its build ID, or else its CRC, is not what was linked";
		if (!b->build_id)
			return "is another file: its inode is not what was recorded, and there was no build ID";
		snprintf(text, sizeof(text), "is another file: %s%s, not %.64s",
			 *other->build_id ? "its build ID is "
					  : "it has no build ID",
			 other->build_id, safe(b->build_id));
		return text;
	case EINVAL:
		return "is no regular file";
	case ELOOP:
		return "leads through too many symbolic links";
	case ENOEXEC:
		return "is empty, or no ELF file";
	case EFBIG:
		return "is larger than is read to check its CRC";
	case EACCES:
	case EPERM:
		return "may not be read";
	default:
		return strerror(-other->error);
	}
}

/* What was there and is not used, where names are missing or could be better:
 * at most so many more. Returns how many. */
static size_t print_others(const struct symbolize_binary *b, size_t most)
{
	size_t n = b->n_others < most ? b->n_others : most;

	if (!tells_others(b))
		return 0;
	for (size_t i = 0; i < n; i++) {
		printf("%52s%s ", "", safe(b->others[i].path));
		printf("%s\n", say_why_not(b, &b->others[i]));
	}
	return n;
}

static void print_next(const struct symbolize_totals *t, size_t told)
{
	if (t->others > told)
		printf("\n%zu more files were not used; --json lists them\n",
		       t->others - told);
	if (t->others)
		printf("\nWhat is used is a regular file in ELF that this user may read, with the build\n"
		       "ID that was recorded: put it in its place, or --symfs, --debug-dir and\n"
		       "--debuginfod look elsewhere.\n");
}

void symbolize_print(const struct symbolize_list *list,
		     const struct symbolize_opts *opts)
{
	struct symbolize_totals t = symbolize_totals(list);
	bool has_title = false;
	size_t told = 0;

	printf("%zu of %zu frames in files were named, %zu are now",
	       t.named_before, t.frames, t.named_before + t.named);
	if (opts->again)
		printf("; %zu got a better name", t.renamed);
	putchar('\n');
	for (size_t i = 0; i < list->n; i++) {
		const struct symbolize_binary *b = &list->binaries[i];

		if (!b->n_wanted)
			continue;
		if (!has_title)
			printf("\n  FRAMES  BEFORE     NOW  %-24s  FILE\n",
			       "NAMED BY");
		has_title = true;
		printf("%8zu%8zu%8zu", b->frames, b->named_before,
		       b->named_before + b->named);
		print_sources(b);
		printf("%s", safe(b->path));
		print_note(b);
		putchar('\n');
		told += print_others(b, OTHERS_TOLD_MAX - told);
	}
	print_next(&t, told);
}

/*
 * A JSON string, always valid UTF-8: a byte that is not safe on a terminal
 * becomes the four characters \xNN, and a backslash before an x \x5c, as in
 * the reports of weft.
 */
static void json_text(const char *text)
{
	static char plain[16384], out[4 * sizeof(plain)];
	size_t n = 0;

	if (!text) {
		printf("null");
		return;
	}
	for (; *text && n + 5 < sizeof(plain); text++) {
		plain[n++] = *text;
		if (text[0] == '\\' && text[1] == 'x') {
			memcpy(plain + n, "x5c", 3);
			n += 3;
		}
	}
	weft_sanitize(out, sizeof(out), plain, n);
	putchar('"');
	for (const char *at = out; *at; at++) {
		if (*at == '"' || *at == '\\')
			putchar('\\');
		putchar(*at);
	}
	putchar('"');
}

static void json_binary(const struct symbolize_binary *b)
{
	printf("{\"path\": ");
	json_text(b->path);
	printf(", \"build_id\": ");
	json_text(b->build_id);
	printf(", \"frames\": %zu, \"named_before\": %zu, \"named_now\": %zu, \"renamed\": %zu, \"state\": \"%s\"",
	       b->frames, b->named_before, b->named_before + b->named,
	       b->renamed, b->n_wanted ? state_words[b->state] : "named");
	printf(", \"refused\": ");
	json_text(b->refused);
	printf(", \"others\": [");
	for (size_t i = 0; i < b->n_others; i++) {
		printf("%s{\"path\": ", i ? ", " : "");
		json_text(b->others[i].path);
		printf(", \"build_id\": ");
		json_text(*b->others[i].build_id ? b->others[i].build_id
						 : NULL);
		printf(", \"why\": ");
		json_text(say_why_not(b, &b->others[i]));
		putchar('}');
	}
	printf("], \"sources\": {");
	for (size_t i = 0; i < SYMBOLIZE_SOURCES_MAX && b->sources[i].word; i++)
		printf("%s\"%s\": %zu", i ? ", " : "", b->sources[i].word,
		       b->sources[i].frames);
	printf("}}");
}

void symbolize_print_json(const struct symbolize_list *list,
			  const struct symbolize_opts *opts)
{
	struct symbolize_totals t = symbolize_totals(list);

	printf("{\"report\": \"symbolize\", \"weft_version\": \"%s\", \"file\": ",
	       WEFT_VERSION);
	json_text(opts->file);
	printf(", \"frames\": %zu, \"named_before\": %zu, \"named_now\": %zu, \"renamed\": %zu, \"binaries\": [",
	       t.frames, t.named_before, t.named_before + t.named, t.renamed);
	for (size_t i = 0; i < list->n; i++) {
		if (i)
			printf(", ");
		json_binary(&list->binaries[i]);
	}
	printf("]}\n");
}
