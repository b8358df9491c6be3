/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "query/progress.h"
#include "store/weft.h"

enum {
	STEPS = 100000, /* of SQLite's machine, a few ms */
};

static const double silent_s = 1, again_s = 0.2;

static double read_clock_s(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double now_s(void)
{
	return read_clock_s(CLOCK_MONOTONIC);
}

static int on_steps(void *ctx)
{
	struct progress *p = ctx;
	double now = now_s();
	char name[256];

	p->gave_up = read_clock_s(CLOCK_PROCESS_CPUTIME_ID) > p->cpu_limit_s;
	if (p->gave_up)
		return 1;
	if (!p->has_terminal || now - p->began_s < silent_s ||
	    now - p->shown_s < again_s)
		return 0;
	weft_sanitize(name, sizeof(name), p->path, strlen(p->path));
	fprintf(stderr, "\rreading '%s': %.0f s\033[K", name, now - p->began_s);
	p->shown_s = now;
	p->is_shown = true;
	return 0;
}

void progress_begin(struct progress *p, sqlite3 *db, const char *path,
		    double cpu_s)
{
	*p = (struct progress){
		.path = path,
		.has_terminal = weft_is_terminal(STDERR_FILENO),
		.began_s = now_s(),
		.cpu_limit_s = read_clock_s(CLOCK_PROCESS_CPUTIME_ID) + cpu_s,
	};
	sqlite3_progress_handler(db, STEPS, on_steps, p);
}

void progress_end(struct progress *p, sqlite3 *db)
{
	if (db)
		sqlite3_progress_handler(db, 0, NULL, NULL);
	if (p->is_shown)
		fputs("\r\033[K", stderr);
	p->is_shown = false;
}
