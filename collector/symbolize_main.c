/* SPDX-License-Identifier: MIT */
/* weft-symbolize: names for a recording, after the fact. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/option_table.h"
#include "collector/symbolize/symbolize.h"

enum {
	OPT_SYMFS = OPTION_NO_LETTER,
	OPT_DEBUG_DIR,
	OPT_DEBUGINFOD,
	OPT_AGAIN,
	OPT_JSON,
	OPT_VERSION,
};

static const struct option_row rows[] = {
	{ 'i', "input", "FILE",
	  "the recording (default $WEFT_DB, else weft.db)" },
	{ OPT_SYMFS, "symfs", "DIR",
	  "look in DIR first: DIR/PATH, DIR/.build-id/xx/yyyy[.debug]; a file\n"
	  "that had no build ID is taken for what it was on your word" },
	{ OPT_DEBUG_DIR, "debug-dir", "DIR",
	  "where debug files are by build ID (default /usr/lib/debug)" },
	{ OPT_DEBUGINFOD, "debuginfod", NULL,
	  "fetch what is missing from the servers in $DEBUGINFOD_URLS" },
	{ OPT_AGAIN, "again", NULL,
	  "name again what has names, where they get better" },
	{ OPT_JSON, "json", NULL, "print one JSON object" },
	{ 'q', "quiet", NULL, "say nothing but errors beside the report" },
	{ 'h', "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};

static void print_help(void)
{
	printf("usage: weft symbolize [options] [FILE]\n\n"
	       "Name the frames of a recording that have no name yet, here or on another\n"
	       "machine. A file with a build ID is used only if it has that build ID, one\n"
	       "without only if it is the same inode. Kernel and JIT code is left as it is.\n"
	       "A name is never lost, and replaced (--again) only by one of a better source\n"
	       "(symtab, build-id and debuglink over dwarf over minidebug over dynsym) that has\n"
	       "no fewer inlined functions. Nothing is fetched without --debuginfod.\n\n"
	       "options:\n");
	option_table_print(rows, ARRAY_LEN(rows), 21);
	printf("\nexit status: 0 done, 1 failed, 2 usage, 3 no permission, 4 nothing could be\n"
	       "named (or all has names)\n");
}

/* Say what is wrong, and how to go on. */
__attribute__((format(printf, 1, 2))) static int refuse(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	weft_vlog(WEFT_ERROR, fmt, ap);
	va_end(ap);
	fprintf(stderr,
		"usage: weft symbolize [options] [FILE]   (--help lists them)\n");
	return WEFT_EXIT_USAGE;
}

static int take(int id, const char *value, struct symbolize_opts *o)
{
	switch (id) {
	case 'i':
		if (o->file)
			return refuse("two files are named: '%s' and '%s'",
				      o->file, value);
		o->file = value;
		return 0;
	case OPT_SYMFS:
		o->symfs = value;
		return 0;
	case OPT_DEBUG_DIR:
		o->debug_dir = value;
		return 0;
	case OPT_DEBUGINFOD:
		o->use_debuginfod = true;
		return 0;
	case OPT_AGAIN:
		o->again = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	default: /* 'q' */
		o->log_level = WEFT_ERROR;
		return 0;
	}
}

/* What options must be to make sense, and the defaults of the rest. */
static int check(struct symbolize_opts *o)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	const char *file = getenv("WEFT_DB");
	struct stat st;

	if (o->symfs && (stat(o->symfs, &st) || !S_ISDIR(st.st_mode)))
		return refuse("--symfs takes a directory, not '%s'", o->symfs);
	if (o->debug_dir && (stat(o->debug_dir, &st) || !S_ISDIR(st.st_mode)))
		return refuse("--debug-dir takes a directory, not '%s'",
			      o->debug_dir);
	if (o->use_debuginfod && (!urls || !*urls))
		return refuse(
			"--debuginfod asks the servers in $DEBUGINFOD_URLS, which is not set");
	if (!o->debug_dir)
		o->debug_dir = "/usr/lib/debug";
	if (!o->file)
		o->file = file && *file ? file : "weft.db";
	return 0;
}

/* Returns -1 to go on, or the exit status. */
static int parse(int argc, char **argv, struct symbolize_opts *o)
{
	struct option_walk walk;
	int id, rc = 0;

	option_walk_begin(&walk, rows, ARRAY_LEN(rows), argc, argv, false);
	while (!rc && (id = option_walk_next(&walk)) != -1) {
		switch (id) {
		case 'h':
			print_help();
			return WEFT_EXIT_OK;
		case OPT_VERSION:
			printf("weft-symbolize %s\n", WEFT_VERSION);
			return WEFT_EXIT_OK;
		case OPTION_WRONG:
			return refuse("%s", walk.wrong);
		default:
			rc = take(id, optarg, o);
		}
	}
	for (; !rc && optind < argc; optind++)
		rc = take('i', argv[optind], o);
	if (!rc)
		rc = check(o);
	return rc ? rc : -1;
}

int main(int argc, char **argv)
{
	struct symbolize_opts opts = { .log_level = WEFT_INFO };
	int rc;

	weft_log_init("weft symbolize", WEFT_INFO);
	rc = parse(argc, argv, &opts);
	if (rc >= 0)
		return rc;
	weft_log_init("weft symbolize", opts.log_level);
	return symbolize(&opts);
}
