/* SPDX-License-Identifier: MIT */
/* weft-gc: what is old in a recording goes; what is pinned stays. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/clock.h"
#include "collector/keep.h"
#include "collector/option_table.h"

enum {
	OPT_KEEP_DETAIL = OPTION_NO_LETTER,
	OPT_KEEP_SHAPE,
	OPT_MAX_SIZE,
	OPT_DRY_RUN,
	OPT_PIN,
	OPT_UNPIN,
	OPT_PINS,
	OPT_VERSION
};

static const struct option_row rows[] = {
	{ 'i', "input", "FILE",
	  "the recording (default $WEFT_DB, else weft.db)" },
	{ OPT_KEEP_DETAIL, "keep-detail", "TIME", KEEP_DETAIL_HELP },
	{ OPT_KEEP_SHAPE, "keep-shape", "TIME[,TIME[,TIME]]", KEEP_SHAPE_HELP },
	{ OPT_MAX_SIZE, "max-size", "SIZE", KEEP_MAX_SIZE_HELP },
	{ OPT_DRY_RUN, "dry-run", NULL,
	  "only say what would go; the file stays as it is" },
	{ OPT_PIN, "pin", "ID",
	  "keep this request's samples and spans, however old" },
	{ OPT_UNPIN, "unpin", "ID", "do not keep it any more" },
	{ OPT_PINS, "pins", NULL, "list what is pinned" },
	{ 'q', "quiet", NULL, "say nothing but errors" },
	{ 'h', "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};

struct gc {
	const char *file, *pin, *unpin;
	struct store_keep keep;
	bool is_dry, lists_pins;
	enum weft_level log_level;
};

static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
	(void)number;
	is_interrupted = 1;
}

static void print_help(void)
{
	printf("usage: weft gc [options] [FILE]\n"
	       "\n"
	       "Let go what is old in a recording. Detail goes first, then counts roll up exactly\n"
	       "(from intervals as recorded to minutes to hours), then what nothing refers to goes,\n"
	       "and the file gets smaller. Without a rule only the last two happen: nothing is\n"
	       "lost. What has gone is counted (`weft loss`: expired). A file that is being\n"
	       "recorded is left alone: weft record has the same options.\n"
	       "\n"
	       "options:\n");
	option_table_print(rows, ARRAY_LEN(rows), 34);
	printf("\nTIME: 90s, 90m, 24h, 7d, or all. SIZE takes k, M or G. ID: a trace ID, or 8 or\n"
	       "more of its first digits.\n"
	       "exit status: 0 done, 1 failed, 2 usage, 3 no permission, 4 no such trace\n");
}

/* Returns NULL, or what is wrong with the value. */
static const char *take(int id, const char *value, struct gc *to)
{
	switch (id) {
	case 'i':
		to->file = value;
		return NULL;
	case OPT_KEEP_DETAIL:
		return keep_take_detail(value, &to->keep);
	case OPT_KEEP_SHAPE:
		return keep_take_shape(value, &to->keep);
	case OPT_MAX_SIZE:
		return weft_parse_size(value, 1, 1ULL << 50,
				       &to->keep.max_bytes)
			       ? "--max-size takes a size, as 2G"
			       : NULL;
	case OPT_DRY_RUN:
		to->is_dry = true;
		return NULL;
	case OPT_PIN:
		to->pin = value;
		return NULL;
	case OPT_UNPIN:
		to->unpin = value;
		return NULL;
	case OPT_PINS:
		to->lists_pins = true;
		return NULL;
	default: /* 'q' */
		to->log_level = WEFT_ERROR;
		return NULL;
	}
}

/* Returns -1 to go on, or the exit status. */
static int parse(int argc, char **argv, struct gc *to)
{
	const char *env = getenv("WEFT_DB"), *wrong;
	struct option_walk walk;
	int id;

	to->file = env && *env ? env : "weft.db";
	keep_init(&to->keep);
	option_walk_begin(&walk, rows, ARRAY_LEN(rows), argc, argv, false);
	while ((id = option_walk_next(&walk)) != -1) {
		switch (id) {
		case 'h':
			print_help();
			return WEFT_EXIT_OK;
		case OPT_VERSION:
			printf("weft %s\n", WEFT_VERSION);
			return WEFT_EXIT_OK;
		case OPTION_WRONG:
			weft_log(WEFT_ERROR, "%s", walk.wrong);
			return WEFT_EXIT_USAGE;
		}
		wrong = take(id, optarg, to);
		if (wrong) {
			weft_log(WEFT_ERROR, "%s; not '%s'", wrong, optarg);
			return WEFT_EXIT_USAGE;
		}
	}
	if (optind < argc)
		to->file = argv[optind++];
	if (optind < argc) {
		weft_log(WEFT_ERROR, "one file at a time: what is '%s'?",
			 argv[optind]);
		return WEFT_EXIT_USAGE;
	}
	keep_add_defaults(&to->keep);
	if ((to->pin || to->unpin || to->lists_pins) &&
	    (keep_is_asked(&to->keep) || to->is_dry)) {
		weft_log(WEFT_ERROR,
			 "--pin, --unpin and --pins go without rules: first "
			 "pin, then let go");
		return WEFT_EXIT_USAGE;
	}
	return -1;
}

/* ---- pins */

static void print_pin(void *ctx, const struct store_pinned *pin)
{
	time_t seconds = (time_t)(pin->pinned_ns / 1000000000);
	struct tm tm;
	char when[32] = "";

	(void)ctx;
	if (gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%s  pinned %s  %" PRIu64 " samples, %" PRIu64 " spans\n",
	       pin->hex, when, pin->samples, pin->spans);
}

static int change_pins(struct store *st, const struct gc *gc,
		       struct weft_err *err)
{
	char hex[STORE_HEX_SIZE];
	int rc = 0;

	if (gc->pin)
		rc = store_pin(st, gc->pin, true, clock_unix_ns(), hex, err);
	if (gc->pin && !rc)
		weft_log(WEFT_INFO, "%s is pinned", hex);
	if (gc->unpin && !rc) {
		rc = store_pin(st, gc->unpin, false, 0, hex, err);
		if (!rc)
			weft_log(WEFT_INFO, "%s is not pinned", hex);
	}
	if (gc->lists_pins && !rc)
		rc = store_each_pin(st, print_pin, NULL, err);
	return rc;
}

/* ---- letting go */

struct amount {
	uint64_t n;
	const char *what;
};

static void tell_amounts(const char *verb, const struct amount *a, size_t n)
{
	char line[256];
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		if (a[i].n && used < sizeof(line))
			used += (size_t)snprintf(
				line + used, sizeof(line) - used,
				"%s%" PRIu64 " %s", used ? ", " : "", a[i].n,
				a[i].what);
	if (used)
		weft_log(WEFT_INFO, "%s: %s", verb, line);
}

static void tell(const struct gc *gc, const struct store_gone *g,
		 uint64_t before, uint64_t after)
{
	const struct amount detail[] = {
		{ g->samples, "samples" },
		{ g->exemplars, "examples" },
		{ g->traces, "traces" },
		{ g->spans, "spans" },
	};
	const struct amount unused[] = {
		{ g->stacks, "stacks" },       { g->frames, "frames" },
		{ g->functions, "functions" }, { g->binaries, "binaries" },
		{ g->threads, "threads" },     { g->processes, "processes" },
	};
	const struct amount shape[] = {
		{ g->merged, "intervals merged into others" },
		{ g->counts, "counted samples expired" },
	};

	tell_amounts(gc->is_dry ? "detail that would go" : "detail gone",
		     detail, ARRAY_LEN(detail));
	tell_amounts("shape", shape, ARRAY_LEN(shape));
	tell_amounts("used by nothing", unused, ARRAY_LEN(unused));
	if (g->unmerged)
		weft_log(WEFT_WARN,
			 "%" PRIu64 " groups of intervals stay as they are: "
			 "64 bits do not hold their sums",
			 g->unmerged);
	if (g->is_too_big)
		weft_log(WEFT_WARN,
			 "'%s' is still larger than --max-size: what is left "
			 "is pinned, or what everything refers to",
			 gc->file);
	weft_log(WEFT_INFO, "'%s' %s %" PRIu64 " bytes, was %" PRIu64, gc->file,
		 gc->is_dry ? "would have" : "has", after, before);
}

/* Returns 1 where a signal ended it. */
static int let_go(struct store *st, const struct gc *gc, uint64_t now_ns,
		  struct store_gone *gone, struct weft_err *err)
{
	bool more = true;
	int rc = gc->is_dry ? store_try_only(st, err) : 0;

	while (!rc && more && !is_interrupted)
		rc = store_tend(st, &gc->keep, now_ns, gone, &more, err);
	return rc ? rc : more;
}

static int collect(struct store *st, const struct gc *gc, struct weft_err *err)
{
	struct store_gone gone = { 0 };
	uint64_t before = store_file_bytes(st), after;
	bool is_anew = false;
	int rc, rc_close;

	rc = let_go(st, gc, clock_unix_ns(), &gone, err);
	if (rc >= 0 && store_used_bytes(st, &after, err))
		rc = err->code;
	if (!rc)
		rc = store_compact_if_needed(st, &is_anew, err);
	if (!rc && is_anew && !gc->is_dry)
		weft_log(WEFT_INFO,
			 "'%s' is of a weft that could not give back room: "
			 "writing it anew",
			 gc->file);
	rc_close = store_close(st, 0, rc < 0 ? NULL : err);
	if (rc >= 0 && rc_close)
		rc = rc_close;
	if (rc >= 0)
		tell(gc, &gone, before, after);
	if (rc == 1)
		rc = weft_fail(err, -EINTR,
			       "stopped by a signal: what is said to have gone "
			       "has gone; run it again for the rest");
	return rc;
}

static int gc(const struct gc *gc)
{
	struct weft_err err = { 0 };
	struct store *st;
	int rc = store_open_to_amend(&st, gc->file, &err), rc_close;

	if (rc == -EBUSY) {
		weft_log(WEFT_ERROR,
			 "%s; weft record itself lets go what is old: "
			 "--keep-detail, --max-size",
			 err.msg);
		return WEFT_EXIT_FAILED;
	}
	if (!rc && (gc->pin || gc->unpin || gc->lists_pins)) {
		rc = change_pins(st, gc, &err);
		rc_close = store_close(st, 0, rc ? NULL : &err);
		rc = rc ? rc : rc_close;
	} else if (!rc) {
		rc = collect(st, gc, &err);
	}
	if (!rc)
		return WEFT_EXIT_OK;
	weft_log(WEFT_ERROR, "%s", err.msg);
	if (rc == -ENODATA)
		return WEFT_EXIT_NOTHING_MATCHED;
	return weft_exit_for(rc);
}

int main(int argc, char **argv)
{
	const struct sigaction stop = { .sa_handler = on_signal };
	struct gc to = { .log_level = WEFT_INFO };
	int status;

	weft_log_init("weft gc", WEFT_INFO);
	status = parse(argc, argv, &to);
	if (status >= 0)
		return status;
	weft_log_init("weft gc", to.log_level);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGHUP, &stop, NULL);
	return gc(&to);
}
