/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/health.h"
#include "collector/host.h"

#define SECOND 1e9

struct health {
	const struct record_opts *opts; /* borrowed, as the next */
	const struct pipeline *pipeline;
	char path[PATH_MAX], next[PATH_MAX]; /* it, and what becomes it */
	uint64_t stored_unix_ns;      /* end of the last interval in the file */
	uint64_t counted, counted_ns; /* last time; boot clock */
	uv_work_t work;
	bool is_busy, is_over;
	bool has_told; /* of err */
	struct weft_err err;

	/* The worker's while is_busy. */
	char *text; /* owned */
	size_t text_size;
	struct weft_err work_err;
};

/* ---- the text */

static void put_head(FILE *to, const char *name, const char *type,
		     const char *help)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put(FILE *to, const char *name, const char *type, const char *help,
		double value)
{
	put_head(to, name, type, help);
	fprintf(to, "%s %.17g\n", name, value);
}

/* Names of events are what the user typed: quotes and backslashes are escaped,
 * and no line can end in one. */
static void put_label(FILE *to, const char *text)
{
	char clean[256];

	weft_sanitize(clean, sizeof(clean), text, strlen(text));
	for (const char *c = clean; *c; c++)
		fprintf(to, *c == '\\' || *c == '"' ? "\\%c" : "%c", *c);
}

static void put_ledger(FILE *to, const struct record_opts *o,
		       const struct pipeline_totals *totals)
{
	static const char name[] = "weft_ledger_total";

	put_head(to, name, "counter",
		 "Firings, samples and losses by where they ended.");
	for (uint32_t e = 0; e < o->triggers.n; e++)
		for (uint32_t i = 0; i < LEDGER_ENTRIES; i++) {
			fprintf(to, "%s{event=\"", name);
			put_label(to, o->triggers.trigger[e].name);
			fprintf(to, "\",entry=\"%s\"} %" PRIu64 "\n",
				ledger_names[i], totals->ledger[e][i].count);
		}
}

/* Of all events, since it was last asked for. */
static double counted_per_second(struct health *h,
				 const struct pipeline_totals *totals)
{
	uint64_t now_ns = clock_boot_ns(), counted = 0;
	double rate = 0;

	for (uint32_t e = 0; e < h->opts->triggers.n; e++)
		counted += totals->ledger[e][WEFT_COUNTED].count;
	if (h->counted_ns && now_ns > h->counted_ns)
		rate = (double)(counted - h->counted) * SECOND /
		       (double)(now_ns - h->counted_ns);
	h->counted = counted;
	h->counted_ns = now_ns;
	return rate;
}

static void put_recording(struct health *h, const struct health_now *now,
			  FILE *to)
{
	uint64_t unix_ns = clock_unix_ns();
	/* Before the first interval: since the beginning. */
	uint64_t stored_ns =
		h->stored_unix_ns ? h->stored_unix_ns : now->started_ns;

	put(to, "weft_recording_started_seconds", "gauge",
	    "When the recording began, Unix time.",
	    (double)now->started_ns / SECOND);
	put(to, "weft_recording_open", "gauge",
	    "1 while the recording has not ended.", !h->is_over);
	put(to, "weft_interval_seconds", "gauge",
	    "How often the recorder stores what it has.",
	    (double)h->opts->interval_ns / SECOND);
	put(to, "weft_last_interval_seconds", "gauge",
	    "When the last stored interval ended, Unix time.",
	    (double)stored_ns / SECOND);
	put(to, "weft_lag_seconds", "gauge", "How long ago that is.",
	    unix_ns > stored_ns ? (double)(unix_ns - stored_ns) / SECOND : 0);
	put(to, "weft_health_written_seconds", "gauge",
	    "When this was written, Unix time.", (double)unix_ns / SECOND);
	put(to, "weft_self_cpu_seconds_total", "counter",
	    "CPU time of the recorder and its helpers.",
	    (double)now->self_cpu_ns / SECOND);
	put(to, "weft_self_resident_bytes", "gauge",
	    "Memory of the recorder, in the last interval.",
	    (double)host_rss_bytes());
}

static void put_way(struct health *h, const struct health_now *now, FILE *to)
{
	struct pipeline_totals *totals = malloc(sizeof(*totals));

	put(to, "weft_writer_jobs", "gauge",
	    "Intervals and names that wait to be written.",
	    (double)now->writer_jobs);
	put(to, "weft_writer_failing", "gauge",
	    "1 while the file cannot be written: intervals merge in memory.",
	    now->is_failing);
	put(to, "weft_log_bytes", "gauge",
	    "Size of the write-ahead log beside it.", (double)now->log_bytes);
	if (!totals)
		return;
	pipeline_totals_now(h->pipeline, totals);
	put(to, "weft_intervals_total", "counter", "Intervals stored.",
	    (double)totals->intervals);
	put(to, "weft_intervals_wrong_total", "counter",
	    "Intervals in which the ledger does not add up; anything but 0 is "
	    "a fault of the recorder.",
	    (double)totals->wrong_intervals);
	put(to, "weft_counted_per_second", "gauge",
	    "Samples counted per second of all events, since this was last "
	    "written.",
	    counted_per_second(h, totals));
	put_ledger(to, h->opts, totals);
	free(totals);
}

/* ---- the file; not on the loop */

static double open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	/* Less itself, "." and "..". */
	return n > 3 ? n - 3 : 0;
}

/* What may have to wait for a disk. */
static void put_sizes(FILE *to, const char *recording)
{
	struct stat st;

	put(to, "weft_self_descriptors", "gauge",
	    "Files that the recorder has open.", open_descriptors());
	if (!stat(recording, &st))
		put(to, "weft_file_bytes", "gauge", "Size of the file.",
		    (double)st.st_size);
}

static int replace(struct health *h, const char *text, size_t size,
		   struct weft_err *err)
{
	FILE *to;
	int rc = 0, fd;

	/* Not through a link that somebody has put there. */
	(void)unlink(h->next);
	fd = open(h->next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	to = fd < 0 ? NULL : fdopen(fd, "w");
	if (!to) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return weft_fail(err, rc,
				 "cannot write '%s': %s; --health needs a "
				 "place where files can be made and renamed",
				 h->next, strerror(-rc));
	}
	(void)fchmod(fd, 0644); /* whatever the umask */
	fwrite(text, 1, size, to);
	if (size)
		put_sizes(to, h->opts->output);
	if (ferror(to))
		rc = -EIO;
	if (fclose(to))
		rc = -errno;
	if (!rc && rename(h->next, h->path))
		rc = -errno;
	if (rc)
		(void)unlink(h->next);
	return rc ? weft_fail(err, rc,
			      "cannot write '%s': %s; it stays as it was",
			      h->path, strerror(-rc))
		  : 0;
}

static void do_write(uv_work_t *work)
{
	struct health *h = work->data;

	h->work_err = (struct weft_err){ 0 };
	(void)!replace(h, h->text, h->text_size, &h->work_err);
}

static void after_write(uv_work_t *work, int status)
{
	struct health *h = work->data;

	(void)status;
	h->is_busy = false;
	free(h->text);
	h->text = NULL;
	h->err = h->work_err;
	if (!h->err.code)
		h->has_told = false;
}

/* ---- what the loop calls */

int health_open(struct health **out, uv_loop_t *loop,
		const struct record_opts *opts, const struct pipeline *pipeline,
		struct weft_err *err)
{
	struct health *h = calloc(1, sizeof(*h));
	int rc;

	*out = NULL;
	if (!h)
		return weft_fail(err, -ENOMEM, "cannot record: out of memory");
	h->opts = opts;
	h->pipeline = pipeline;
	h->work.data = h;
	h->work.loop = loop;
	snprintf(h->path, sizeof(h->path), "%s", opts->health);
	if (snprintf(h->next, sizeof(h->next), "%s.tmp", opts->health) >=
	    (int)sizeof(h->next))
		rc = weft_fail(err, -ENAMETOOLONG,
			       "--health: the name is too long");
	else
		rc = replace(h, "", 0, err);
	if (rc) {
		free(h);
		return rc;
	}
	*out = h;
	return 0;
}

void health_stored(struct health *h, uint64_t end_unix_ns)
{
	h->stored_unix_ns = end_unix_ns;
}

/* Returns whether there was memory for it. */
static bool make_text(struct health *h, const struct health_now *now)
{
	FILE *to = open_memstream(&h->text, &h->text_size);

	if (!to)
		return false;
	put_recording(h, now, to);
	put_way(h, now, to);
	if (!fclose(to) && h->text)
		return true;
	free(h->text);
	h->text = NULL;
	return false;
}

void health_write(struct health *h, const struct health_now *now)
{
	if (!h->is_busy && make_text(h, now))
		h->is_busy = !uv_queue_work(h->work.loop, &h->work, do_write,
					    after_write);
}

const struct weft_err *health_take_error(struct health *h)
{
	if (!h->err.code || h->has_told)
		return NULL;
	h->has_told = true;
	return &h->err;
}

void health_close(struct health *h, const struct health_now *now)
{
	if (!h)
		return;
	h->is_over = true;
	if (make_text(h, now))
		do_write(&h->work);
	free(h->text);
	free(h);
}
