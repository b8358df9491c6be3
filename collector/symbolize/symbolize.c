/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/symbolize/ask.h"
#include "collector/symbolize/fetch.h"
#include "collector/symbolize/report.h"
#include "collector/symbolize/symbolize.h"

/* Set by a signal: what is known by then is written. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void set_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		(void)sigaction(numbers[i], &action, NULL);
	/* A reader of ours that goes away, and a limit on the file's size,
	 * are errors of the write. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
}

static int find_names(struct symbolize_list *list,
		      const struct symbolize_opts *opts, struct weft_err *err)
{
	int rc = symbolize_ask(list, opts, false, &stop, err);

	if (rc || !opts->use_debuginfod || stop)
		return rc;
	rc = symbolize_fetch(list, &stop, err);
	return rc ? rc : symbolize_ask(list, opts, true, &stop, err);
}

static bool has_work(const struct symbolize_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->binaries[i].n_wanted)
			return true;
	return false;
}

static int run(struct symbolize_list *list, const struct symbolize_opts *opts,
	       struct weft_err *err)
{
	struct store *store;
	int rc = store_open_to_amend(&store, opts->file, err);
	int rc_close;

	if (rc)
		return rc;
	rc = symbolize_list_load(list, store, opts->again, err);
	if (!rc && has_work(list))
		rc = find_names(list, opts, err);
	if (!rc)
		rc = symbolize_list_write(list, store, err);
	rc_close = store_close(store, 0, rc ? NULL : err);
	return rc ? rc : rc_close;
}

/* Why nothing was named. */
static void say_why(const struct symbolize_list *list,
		    const struct symbolize_totals *totals)
{
	static const char next[] =
		"--symfs, --debug-dir and --debuginfod look elsewhere";

	if (!has_work(list))
		weft_log(WEFT_INFO,
			 "nothing to do: every frame in a file has a name");
	else if (!totals->others)
		weft_log(WEFT_INFO,
			 "nothing more could be named from what is here; %s",
			 next);
	else
		weft_log(
			WEFT_WARN,
			"nothing more could be named from what is here: %zu %s there and not used, the report says why; %s",
			totals->others,
			totals->others == 1 ? "file is" : "files are", next);
}

int symbolize(const struct symbolize_opts *opts)
{
	struct symbolize_list list = { 0 };
	struct symbolize_totals totals;
	struct weft_err err = { 0 };
	bool is_idle;
	int rc;

	set_signals();
	rc = run(&list, opts, &err);
	totals = symbolize_totals(&list);
	is_idle = !totals.named && !totals.renamed;
	if (rc)
		weft_log(WEFT_ERROR, "%s", err.msg);
	else if (opts->json)
		symbolize_print_json(&list, opts);
	else
		symbolize_print(&list, opts);
	if (!rc && fflush(stdout) && errno != EPIPE) {
		rc = -errno;
		weft_log(WEFT_ERROR, "cannot write the report: %s",
			 strerror(errno));
	}
	if (!rc && is_idle)
		say_why(&list, &totals);
	symbolize_list_release(&list);
	if (rc)
		return weft_exit_for(rc);
	return is_idle ? WEFT_EXIT_NOTHING_MATCHED : WEFT_EXIT_OK;
}
