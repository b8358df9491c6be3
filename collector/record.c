/* SPDX-License-Identifier: MIT */
/*
 * A recording from its start to its end: what happens once per interval, on
 * signals, and after the last sample. One thread, the loop's, owns all of it;
 * the writer gets whole batches.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/host.h"
#include "collector/notify.h"
#include "collector/privilege.h"
#include "collector/record.h"
#include "collector/record_parts.h"
#include "collector/summary.h"
#include "collector/survey.h"
#include "collector/symbolize/after.h"
#include "collector/target.h"

enum {
	SIGNALS = 4,
	/* How long to wait for names after the last sample, in units of
	 * RECORD_HURRY_MS, as the next. */
	NAMES_TICKS = 5,
	STUCK_TICKS = RECORD_STUCK_MS / RECORD_HURRY_MS,
	/* When to look at side-band events that were too new to be ordered. */
	SETTLE_MS = 2,
	MS_NS = 1000000,
	/* In so many periods, and so long, a timer that works has fired; at the
	 * end of a short recording less long. */
	PROOF_PERIODS = 3,
	PROOF_MS = 1000,
	PROOF_AT_END_MS = 200,
};

enum phase {
	PHASE_SAMPLING,
	PHASE_DRAINING, /* stopped; intervals are still on their way */
	PHASE_NAMING,   /* all is stored but some names */
	PHASE_FLUSHING, /* names that came are written; no more are waited for
			 */
	PHASE_OVER,
};

struct recording {
	struct record_parts parts;
	enum phase phase;
	struct weft_err err; /* what ended the recording, if it failed */
	bool aborted;        /* by a second signal */
	bool command_ended;
	int command_wait; /* its wait status */

	uv_poll_t samples_poll, sideband_poll;
	uv_timer_t interval_timer, duration_timer, deadline_timer, settle_timer;
	uv_signal_t signals[SIGNALS];
	bool has_handles; /* those above */
	bool warned_of_retry, warned_of_size, warned_of_tending;
	bool timer_is_proven;
	int ticks;      /* of the deadline, that are over */
	int stuck;      /* those in which the writer got no further */
	uint64_t steps; /* of it, at the last one */
};

static void advance(struct recording *r);
static void stop(struct recording *r);

/* Something broke that recording cannot go on without. */
static void give_up(struct recording *r)
{
	if (r->phase == PHASE_SAMPLING)
		stop(r);
}

/* libuv has stopped the watch. */
static void log_unwatched(const char *ring, int status)
{
	if (status < 0)
		weft_log(
			WEFT_WARN,
			"cannot watch the ring of %s any more: %s; it is emptied when an interval ends",
			ring, uv_strerror(status));
}

static void on_samples_readable(uv_poll_t *poll, int status, int happened)
{
	struct recording *r = poll->data;

	(void)happened;
	log_unwatched("details", status);
	reaper_consume(r->parts.reaper);
}

static void on_sideband(void *ctx, const struct sideband_event *event)
{
	struct recording *r = ctx;

	procs_event(r->parts.procs, event);
	kernel_event(r->parts.kernel, event);
	if (r->parts.lists)
		mapping_lists_event(r->parts.lists, event);
	else if (event->kind == SIDEBAND_NOTICE &&
		 event->notice.kind == WEFT_NOTICE_TABLE)
		unwind_tables_want_mapped(
			r->parts.tables, &event->notice.table.file,
			&event->notice.process, event->notice.table.start,
			event->notice.table.end);
	if (r->parts.discovery)
		discovery_event(r->parts.discovery, event);
}

static void on_settled(uv_timer_t *timer);

static void drain_sideband(struct recording *r, uint64_t until_ns)
{
	if (sideband_drain(r->parts.sideband, until_ns, on_sideband, r,
			   &r->err))
		give_up(r);
	if (r->parts.lists)
		mapping_lists_push(r->parts.lists);
	if (sideband_is_pending(r->parts.sideband))
		uv_timer_start(&r->settle_timer, on_settled, SETTLE_MS, 0);
}

static void on_settled(uv_timer_t *timer)
{
	drain_sideband(timer->data, 0);
}

static void on_sideband_readable(uv_poll_t *poll, int status, int happened)
{
	(void)happened;
	log_unwatched("processes", status);
	drain_sideband(poll->data, 0);
}

/* CPU time of all that recording takes in user space. */
static uint64_t self_cpu_ns(const struct recording *r)
{
	return host_cpu_ns() + inspect_cpu_ns(r->parts.inspect);
}

/* Side-band was lost. */
static void distrust(struct recording *r)
{
	procs_distrust(r->parts.procs);
	kernel_distrust(r->parts.kernel);
	if (r->parts.lists)
		mapping_lists_distrust(r->parts.lists);
}

/* Everything of the interval that ends now. */
static int reap(struct recording *r, struct raw_interval *raw)
{
	int rc = reaper_turn(r->parts.reaper, self_cpu_ns(r), raw, &r->err);

	drain_sideband(r, raw->harvest.end_ns);
	raw->sideband_lost = sideband_take_lost(r->parts.sideband);
	if (raw->sideband_lost)
		distrust(r);
	raw->sideband_lost += procs_take_refused(r->parts.procs);
	raw->table_refused = unwind_tables_take_refused(r->parts.tables);
	if (r->parts.discovery) {
		raw->probe_deferred =
			discovery_take_deferred(r->parts.discovery);
		raw->context_failing =
			discovery_take_failing(r->parts.discovery);
	}
	return rc;
}

/* Forget processes that no interval can name any more. */
static void sweep(struct recording *r)
{
	uint64_t oldest_ns = pipeline_oldest_ns(
		r->parts.pipeline, reaper_interval_ns(r->parts.reaper));
	uint64_t kept_ns = 2 * r->parts.opts->interval_ns;
	uint64_t before_ns = oldest_ns > kept_ns ? oldest_ns - kept_ns : 0;

	procs_sweep(r->parts.procs, before_ns);
	kernel_prune(r->parts.kernel, before_ns);
}

/* Say how it goes. */
static void tell_health(struct recording *r)
{
	const struct weft_err *error;

	if (!r->parts.health)
		return;
	r->parts.health_now.self_cpu_ns = self_cpu_ns(r);
	r->parts.health_now.writer_jobs = writer_queued(r->parts.writer);
	r->parts.health_now.log_bytes = writer_wal_bytes(r->parts.writer);
	r->parts.health_now.is_failing = writer_error(r->parts.writer) != NULL;
	health_write(r->parts.health, &r->parts.health_now);
	error = health_take_error(r->parts.health);
	if (error)
		weft_log(WEFT_WARN, "%s", error->msg);
}

/* There are kernels whose CPU timer never fires, on any CPU, busy or idle. That
 * nothing was seen would then look as if nothing had run. */
static int check_timer(struct recording *r, const struct raw_interval *raw)
{
	const struct record_opts *o = r->parts.opts;
	uint32_t event = triggers_find(&o->triggers, TRIGGER_TIMER);
	uint64_t silent_ns =
		raw->harvest.end_ns - reaper_started_ns(r->parts.reaper);
	uint64_t enough_ns =
		r->phase == PHASE_SAMPLING ? PROOF_MS : PROOF_AT_END_MS;

	if (event == WEFT_NO_EVENT || o->no_samples || r->timer_is_proven)
		return 0;
	for (size_t i = 0; i < raw->n_cpus && !r->timer_is_proven; i++)
		r->timer_is_proven =
			raw->cpus[i].event == event && raw->cpus[i].fired > 0;
	enough_ns = enough_ns * MS_NS + PROOF_PERIODS * (1000 * MS_NS / o->hz);
	if (r->timer_is_proven || silent_ns < enough_ns)
		return 0;
	return weft_fail(
		&r->err, -EIO,
		"the kernel's CPU timer (cpu-clock) has not fired once in %.1f s, so there are no samples: that is a fault of some kernels (Linux 6.16 and 6.17 are known for it); take another kernel, or -e cycles where the CPU counts them",
		(double)silent_ns / 1e9);
}

/* End an interval and begin the next. */
static void turn(struct recording *r)
{
	struct raw_interval raw = { 0 };
	int rc = reap(r, &raw);
	uint64_t end_ns = raw.harvest.end_ns;
	bool is_mute = !rc && check_timer(r, &raw);

	if (rc) {
		raw_interval_release(&raw);
	} else if (pipeline_add(r->parts.pipeline, &raw)) {
		rc = weft_fail(&r->err, -ENOMEM,
			       "cannot record: out of memory");
	}
	if (rc || is_mute)
		give_up(r);
	kernel_refresh(r->parts.kernel, end_ns);
	naming_tick(r->parts.naming);
	unwind_tables_tick(r->parts.tables, probe_epoch(r->parts.probe));
	sweep(r);
	advance(r);
	tell_health(r);
}

static void watch_writer(struct recording *r)
{
	const struct weft_err *error = writer_error(r->parts.writer);

	if (!error) {
		if (r->warned_of_retry)
			weft_log(WEFT_WARN, "writing again");
		r->warned_of_retry = false;
		return;
	}
	if (error->code == -EPROTO || error->code == -EINVAL ||
	    error->code == -ENOMEM) {
		r->err = *error;
		give_up(r);
	} else if (!r->warned_of_retry) {
		weft_log(
			WEFT_WARN,
			"%s; trying again each second, intervals merge meanwhile",
			error->msg);
		r->warned_of_retry = true;
	}
}

/* That something old stays is no reason to stop. */
static void watch_tending(struct recording *r)
{
	const struct writer_tended *t = writer_tended(r->parts.writer);

	if (t->err.code && !r->warned_of_tending)
		weft_log(WEFT_WARN,
			 "%s; what is old stays meanwhile, recording goes on",
			 t->err.msg);
	r->warned_of_tending = t->err.code != 0;
	if (t->too_big && !r->warned_of_size)
		weft_log(
			WEFT_WARN,
			"the file is larger than --max-size, and all that may go has gone; recording goes on");
	r->warned_of_size |= t->too_big != 0;
}

static void on_interval(uv_timer_t *timer)
{
	struct recording *r = timer->data;

	watch_writer(r);
	watch_tending(r);
	if (r->phase == PHASE_SAMPLING)
		hotplug_watch(r->parts.hotplug);
	if (r->phase == PHASE_SAMPLING &&
	    (r->parts.opts->n_pids || r->parts.opts->n_tids) &&
	    !target_lives(r->parts.opts)) {
		stop(r);
		return;
	}
	if (r->parts.receiver)
		receiver_tick(r->parts.receiver);
	if (r->phase == PHASE_SAMPLING)
		turn(r);
	else if (r->phase == PHASE_NAMING)
		naming_tick(
			r->parts.naming); /* those that were deferred, again */
	else if (r->phase == PHASE_DRAINING)
		advance(r); /* answers may not come: it knows how long to wait
			     */
}

static void on_duration(uv_timer_t *timer)
{
	stop(timer->data);
}

static void finish(struct recording *r)
{
	r->phase = PHASE_OVER;
	uv_stop(&r->parts.loop);
}

/* The disk does not answer: nothing went on for too long. */
static bool is_stuck(struct recording *r)
{
	uint64_t steps = writer_steps(r->parts.writer);

	if (!writer_is_busy(r->parts.writer) || steps != r->steps)
		r->stuck = 0;
	else
		r->stuck++;
	r->steps = steps;
	return r->stuck >= STUCK_TICKS;
}

/* After the last sample nobody waits for ever: not for names, and not for a
 * file that cannot be written. */
static void on_deadline(uv_timer_t *timer)
{
	struct recording *r = timer->data;
	const struct weft_err *error = writer_error(r->parts.writer);

	if (error) {
		r->err = *error;
		r->aborted = true;
		finish(r);
		return;
	}
	if (is_stuck(r)) {
		r->aborted = true;
		finish(r);
		return;
	}
	if (++r->ticks % NAMES_TICKS)
		return;
	if (r->phase == PHASE_DRAINING) {
		if (r->parts.receiver)
			receiver_give_up(r->parts.receiver);
		advance(r);
	} else if (r->phase == PHASE_NAMING) {
		naming_give_up(r->parts.naming);
		if (naming_waiting(r->parts.naming))
			weft_log(
				WEFT_WARN,
				"%zu frames stay without a name: their files did not answer",
				naming_waiting(r->parts.naming));
		r->phase = PHASE_FLUSHING;
		naming_tick(r->parts.naming);
		advance(r);
	}
}

/* Go on with whatever can go on: intervals first, then names, then the end. */
static void advance(struct recording *r)
{
	if (r->phase == PHASE_OVER)
		return;
	if (r->phase == PHASE_SAMPLING) {
		pipeline_advance(r->parts.pipeline);
		return;
	}
	pipeline_finish(r->parts.pipeline);
	watch_writer(r);
	if (!pipeline_is_empty(r->parts.pipeline))
		return;
	if (r->phase == PHASE_DRAINING && receiver_is_over(r->parts.receiver) &&
	    !writer_queued(r->parts.writer))
		r->phase = PHASE_NAMING;
	if (r->phase == PHASE_NAMING && !naming_waiting(r->parts.naming)) {
		naming_tick(r->parts.naming);
		r->phase = PHASE_FLUSHING;
	}
	if (r->phase == PHASE_FLUSHING && !writer_queued(r->parts.writer))
		finish(r);
}

static void on_answer(void *ctx)
{
	advance(ctx);
}

static void on_process(void *ctx)
{
	struct recording *r = ctx;

	if (r->parts.lists)
		mapping_lists_push(r->parts.lists);
	advance(r);
}

static uint64_t end_unix_ns(const struct batch *b)
{
	struct store_batch view;

	batch_view(b, &view);
	return view.interval.end_ns + (uint64_t)view.interval.clock_offset_ns;
}

static void on_stored(void *ctx, const struct batch *b,
		      const struct store_frame_row *rows, size_t n)
{
	struct recording *r = ctx;

	if (r->parts.health)
		health_stored(r->parts.health, end_unix_ns(b));
	if (r->phase == PHASE_OVER)
		return; /* the inspectors are gone */
	naming_add(r->parts.naming, b, rows, n);
}

/* No more samples; what is on its way is still stored. */
static void stop(struct recording *r)
{
	if (r->phase != PHASE_SAMPLING)
		return;
	hooks_stop(r->parts.kernel_hooks);
	notify_state("STOPPING=1");
	r->phase = PHASE_DRAINING;
	writer_stop_tending(r->parts.writer);
	uv_timer_start(&r->deadline_timer, on_deadline, RECORD_HURRY_MS,
		       RECORD_HURRY_MS);
	turn(r);
	if (r->parts.receiver)
		receiver_stop(r->parts.receiver);
	uv_timer_stop(&r->duration_timer);
}

static void on_child(struct recording *r)
{
	if (r->parts.command.pid <= 0 || r->command_ended ||
	    waitpid(r->parts.command.pid, &r->command_wait, WNOHANG) !=
		    r->parts.command.pid)
		return;
	r->command_ended = true;
	stop(r);
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct recording *r = signal->data;

	if (number == SIGCHLD) {
		on_child(r);
		return;
	}
	if (r->phase != PHASE_SAMPLING) {
		r->aborted = true;
		finish(r);
		return;
	}
	/* ^C reaches the program by itself; what was sent to us does not. */
	if (r->parts.command.pid > 0 && !r->command_ended &&
	    (number != SIGINT || !command_shares_terminal()))
		kill(r->parts.command.pid, number);
	stop(r);
}

static void start_handles(struct recording *r)
{
	static const int numbers[SIGNALS] = { SIGINT, SIGTERM, SIGHUP,
					      SIGCHLD };
	uint64_t interval_ms = r->parts.opts->interval_ns / MS_NS;

	uv_poll_init(&r->parts.loop, &r->samples_poll,
		     reaper_fd(r->parts.reaper));
	uv_poll_init(&r->parts.loop, &r->sideband_poll,
		     sideband_fd(r->parts.sideband));
	uv_timer_init(&r->parts.loop, &r->interval_timer);
	uv_timer_init(&r->parts.loop, &r->duration_timer);
	uv_timer_init(&r->parts.loop, &r->deadline_timer);
	uv_timer_init(&r->parts.loop, &r->settle_timer);
	r->samples_poll.data = r->sideband_poll.data = r;
	r->interval_timer.data = r->duration_timer.data = r;
	r->deadline_timer.data = r->settle_timer.data = r;
	uv_poll_start(&r->samples_poll, UV_READABLE, on_samples_readable);
	uv_poll_start(&r->sideband_poll, UV_READABLE, on_sideband_readable);
	uv_timer_start(&r->interval_timer, on_interval, interval_ms,
		       interval_ms);
	if (r->parts.opts->duration_ns)
		uv_timer_start(&r->duration_timer, on_duration,
			       r->parts.opts->duration_ns / MS_NS, 0);
	for (int i = 0; i < SIGNALS; i++) {
		uv_signal_init(&r->parts.loop, &r->signals[i]);
		r->signals[i].data = r;
		uv_signal_start(&r->signals[i], on_signal, numbers[i]);
	}
}

/* Let samples come, then let the program go. */
static int start(struct recording *r)
{
	int rc;

	reaper_start(r->parts.reaper, self_cpu_ns(r));
	rc = r->parts.opts->no_samples
		     ? 0
		     : hooks_start(r->parts.kernel_hooks, &r->err);
	if (!rc)
		measures_start(r->parts.measures, probe_epoch(r->parts.probe));
	if (!rc && r->parts.opts->command)
		rc = r->parts.command_code = command_go(
			&r->parts.command, r->parts.opts->command, &r->err);
	if (!rc)
		notify_state("READY=1");
	return rc;
}

static void close_handles(struct recording *r)
{
	uv_handle_t *handles[] = {
		(uv_handle_t *)&r->samples_poll,
		(uv_handle_t *)&r->sideband_poll,
		(uv_handle_t *)&r->interval_timer,
		(uv_handle_t *)&r->duration_timer,
		(uv_handle_t *)&r->deadline_timer,
		(uv_handle_t *)&r->settle_timer,
	};

	for (size_t i = 0; i < ARRAY_LEN(handles); i++)
		uv_close(handles[i], NULL);
	for (int i = 0; i < SIGNALS; i++)
		uv_close((uv_handle_t *)&r->signals[i], NULL);
}

static int bring_up(struct recording *r)
{
	int rc = record_parts_prepare(&r->parts, &r->err);

	if (!rc)
		rc = record_parts_open(&r->parts, &r->err);
	if (rc)
		return rc;
	/* On lists, files have other keys than the survey finds. */
	if (r->parts.opts->user_stacks &&
	    (!r->parts.opts->no_samples ||
	     measures_take_threads(r->parts.measures)) &&
	    !r->parts.lists)
		record_parts_warm_up(&r->parts);
	start_handles(r);
	r->has_handles = true;
	return start(r);
}

/* The exit status of a recording that came to its end. */
static int wait_for_command(struct recording *r)
{
	if (r->parts.command.pid <= 0)
		return WEFT_EXIT_OK;
	signal(SIGINT, SIG_IGN); /* it is the program's */
	while (!r->command_ended) {
		pid_t pid = waitpid(r->parts.command.pid, &r->command_wait, 0);

		if (pid == r->parts.command.pid || (pid < 0 && errno != EINTR))
			r->command_ended = true;
	}
	return command_status(r->command_wait);
}

static int exit_status(struct recording *r, int rc, bool was_let_go)
{
	if (!r->err.code && !rc)
		return r->aborted ? WEFT_EXIT_FAILED : wait_for_command(r);
	weft_log(WEFT_ERROR, "%s", r->err.msg);
	if (was_let_go && r->parts.opts->command)
		return wait_for_command(r);
	command_cancel(&r->parts.command);
	if (r->parts.command_code)
		return command_exec_status(r->parts.command_code);
	if (r->err.code == -EPERM)
		return WEFT_EXIT_NO_PERMISSION;
	return WEFT_EXIT_FAILED;
}

int record(const struct record_opts *opts)
{
	struct recording r = { .parts = RECORD_NO_PARTS };
	struct weft_err after = { 0 };
	double seconds;
	int rc;

	if (triggers_find(&opts->triggers, TRIGGER_TIMER) != WEFT_NO_EVENT &&
	    opts->hz > timer_max_hz()) {
		weft_log(
			WEFT_ERROR,
			"-F %" PRIu64 " is above the kernel's limit of %" PRIu64
			" Hz; lower it, or raise /proc/sys/kernel/perf_event_max_sample_rate",
			opts->hz, timer_max_hz());
		return WEFT_EXIT_USAGE;
	}
	r.parts.opts = opts;
	r.parts.hooks =
		(struct record_hooks){ on_answer, on_process, on_stored, &r };
	/* A file size limit is then an error of the write, told as such. */
	signal(SIGXFSZ, SIG_IGN);
	rc = bring_up(&r);
	if (!rc) {
		uv_run(&r.parts.loop, UV_RUN_DEFAULT);
		seconds = (double)(reaper_interval_ns(r.parts.reaper) -
				   reaper_started_ns(r.parts.reaper)) /
			  1e9;
		summary_log(pipeline_totals(r.parts.pipeline), opts, seconds,
			    r.parts.cpus.n);
		if (keep_is_asked(&opts->keep))
			summary_log_gone(writer_tended(r.parts.writer));
		summary_log_tables(r.parts.tables);
		summary_log_inspectors(r.parts.inspect);
		summary_log_context(r.parts.probe);
		if (r.parts.lists)
			summary_log_lists(r.parts.lists);
		if (r.parts.receiver)
			summary_log_spans(r.parts.receiver);
	}
	if (r.has_handles)
		close_handles(&r);
	record_parts_close(&r.parts, r.aborted, &r.err);
	if (!rc && !r.err.code && opts->use_debuginfod &&
	    symbolize_after(opts->output, &after))
		weft_log(WEFT_WARN, "%s", after.msg);
	return exit_status(&r, rc, !rc);
}
