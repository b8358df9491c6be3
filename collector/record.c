/* SPDX-License-Identifier: MIT */
/*
 * The composition root: what a recording is made of, in which order it comes
 * up and goes down, and what happens once per interval. One thread, the
 * loop's, owns all of it; the writer gets whole batches.
 *
 * A switch for tests: with WEFT_MAPPINGS=list in the environment mappings are
 * followed from user space, as on a kernel whose own tree is not known.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/command.h"
#include "collector/discovery.h"
#include "collector/host.h"
#include "collector/mapping_lists.h"
#include "collector/naming.h"
#include "collector/pipeline.h"
#include "collector/privilege.h"
#include "collector/probe.h"
#include "collector/reaper.h"
#include "collector/receiver.h"
#include "collector/record.h"
#include "collector/summary.h"
#include "collector/survey.h"
#include "collector/symbolize_after.h"
#include "collector/target.h"
#include "collector/unwind_tables.h"

enum {
	SIGNALS = 4,
	/* How long to wait for names, or for a file that cannot be written,
	 * after the last sample. */
	DEADLINE_MS = 10000,
	/* When to look at side-band events that were too new to be ordered. */
	SETTLE_MS = 2,
	/* How long samples may wait for what targets have mapped already. */
	WARM_UP_MS = 2000,
	MS_NS = 1000000,
};

/* Kernel memory that the maps may take. */
#define KERNEL_MEMORY_MAX (2ULL << 30)

static const struct store_event events[] = { { "cpu-clock", "ns", 0 } };

enum phase {
	PHASE_SAMPLING,
	PHASE_DRAINING, /* stopped; intervals are still on their way */
	PHASE_NAMING,   /* all is stored but some names */
	PHASE_FLUSHING, /* names that came are written; no more are waited for
			 */
	PHASE_OVER,
};

struct recording {
	const struct record_opts *opts;
	enum phase phase;
	struct weft_err err; /* what ended the recording, if it failed */
	bool aborted;        /* by a second signal */
	struct command command;
	bool command_ended;
	int command_wait; /* its wait status */
	int command_code; /* why it could not be run; 0: it could */
	int cgroup_fd;
	struct cpu_list cpus;
	struct inspect_server server;
	struct otlp_server otlp; /* fd -1: spans are not received */

	/* From here on owned, in order of construction. */
	uv_loop_t loop;
	bool has_loop;
	struct probe *probe;
	struct binaries *binaries;
	struct kernel *kernel;
	struct sideband *sideband;
	struct timers *timers;
	struct inspect *inspect;
	struct procs *procs;
	struct writer *writer;
	struct naming *naming;
	struct jit *jit;
	struct pipeline *pipeline;
	struct discovery *discovery;
	struct receiver *receiver; /* NULL: spans are not received */
	struct unwind_tables *tables;
	bool lists_mappings;
	struct mapping_lists *lists; /* NULL: not needed */
	struct reaper *reaper;
	struct resolver resolver;

	uv_poll_t samples_poll, sideband_poll;
	uv_timer_t interval_timer, duration_timer, deadline_timer, settle_timer;
	uv_signal_t signals[SIGNALS];
	bool has_handles; /* those above */
	bool warned_of_retry;
};

static void advance(struct recording *r);
static void stop(struct recording *r);

/* Something broke that recording cannot go on without. */
static void give_up(struct recording *r)
{
	if (r->phase == PHASE_SAMPLING)
		stop(r);
}

static void on_samples_readable(uv_poll_t *poll, int status, int happened)
{
	struct recording *r = poll->data;

	(void)status;
	(void)happened;
	reaper_consume(r->reaper);
}

static void on_sideband(void *ctx, const struct sideband_event *event)
{
	struct recording *r = ctx;

	procs_event(r->procs, event);
	kernel_event(r->kernel, event);
	if (r->lists)
		mapping_lists_event(r->lists, event);
	else if (event->kind == SIDEBAND_NOTICE &&
		 event->notice.kind == WEFT_NOTICE_TABLE)
		unwind_tables_want_mapped(r->tables, &event->notice.table.file,
					  &event->notice.process,
					  event->notice.table.start,
					  event->notice.table.end);
	if (r->discovery)
		discovery_event(r->discovery, event);
}

static void on_settled(uv_timer_t *timer);

static void drain_sideband(struct recording *r, uint64_t until_ns)
{
	if (sideband_drain(r->sideband, until_ns, on_sideband, r, &r->err))
		give_up(r);
	if (r->lists)
		mapping_lists_push(r->lists);
	if (sideband_is_pending(r->sideband))
		uv_timer_start(&r->settle_timer, on_settled, SETTLE_MS, 0);
}

static void on_settled(uv_timer_t *timer)
{
	drain_sideband(timer->data, 0);
}

static void on_sideband_readable(uv_poll_t *poll, int status, int happened)
{
	(void)status;
	(void)happened;
	drain_sideband(poll->data, 0);
}

/* CPU time of all that recording takes in user space. */
static uint64_t self_cpu_ns(const struct recording *r)
{
	return host_cpu_ns() + inspect_cpu_ns(r->inspect);
}

/* Side-band was lost. */
static void distrust(struct recording *r)
{
	procs_distrust(r->procs);
	kernel_distrust(r->kernel);
	if (r->lists)
		mapping_lists_distrust(r->lists);
}

/* Everything of the interval that ends now. */
static int reap(struct recording *r, struct raw_interval *raw)
{
	int rc = reaper_turn(r->reaper, self_cpu_ns(r), raw, &r->err);

	drain_sideband(r, raw->harvest.end_ns);
	raw->sideband_lost = sideband_take_lost(r->sideband);
	if (raw->sideband_lost)
		distrust(r);
	raw->sideband_lost += procs_take_refused(r->procs);
	raw->table_refused = unwind_tables_take_refused(r->tables);
	if (r->discovery)
		raw->probe_deferred = discovery_take_deferred(r->discovery);
	return rc;
}

/* Forget processes that no interval can name any more. */
static void sweep(struct recording *r)
{
	uint64_t oldest_ns =
		pipeline_oldest_ns(r->pipeline, reaper_interval_ns(r->reaper));
	uint64_t kept_ns = 2 * r->opts->interval_ns;
	uint64_t before_ns = oldest_ns > kept_ns ? oldest_ns - kept_ns : 0;

	procs_sweep(r->procs, before_ns);
	kernel_prune(r->kernel, before_ns);
}

/* End an interval and begin the next. */
static void turn(struct recording *r)
{
	struct raw_interval raw = { 0 };
	int rc = reap(r, &raw);
	uint64_t end_ns = raw.harvest.end_ns;

	if (rc) {
		raw_interval_release(&raw);
	} else if (pipeline_add(r->pipeline, &raw)) {
		rc = weft_fail(&r->err, -ENOMEM,
			       "cannot record: out of memory");
	}
	if (rc)
		give_up(r);
	kernel_refresh(r->kernel, end_ns);
	naming_tick(r->naming);
	unwind_tables_tick(r->tables, probe_epoch(r->probe));
	sweep(r);
	advance(r);
}

static void watch_writer(struct recording *r)
{
	const struct weft_err *error = writer_error(r->writer);

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

static void on_interval(uv_timer_t *timer)
{
	struct recording *r = timer->data;

	watch_writer(r);
	if (r->phase == PHASE_SAMPLING &&
	    (r->opts->n_pids || r->opts->n_tids) && !target_lives(r->opts)) {
		stop(r);
		return;
	}
	if (r->receiver)
		receiver_tick(r->receiver);
	if (r->phase == PHASE_SAMPLING)
		turn(r);
	else if (r->phase == PHASE_NAMING)
		naming_tick(r->naming); /* those that were deferred, again */
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
	uv_stop(&r->loop);
}

/* After the last sample nobody waits for ever: not for names, and not for a
 * file that cannot be written. */
static void on_deadline(uv_timer_t *timer)
{
	struct recording *r = timer->data;
	const struct weft_err *error = writer_error(r->writer);

	if (r->phase == PHASE_DRAINING && error) {
		r->err = *error;
		r->aborted = true;
		finish(r);
	} else if (r->phase == PHASE_DRAINING) {
		if (r->receiver)
			receiver_give_up(r->receiver);
	} else if (r->phase == PHASE_NAMING) {
		naming_give_up(r->naming);
		if (naming_waiting(r->naming))
			weft_log(
				WEFT_WARN,
				"%zu frames stay without a name: their files did not answer",
				naming_waiting(r->naming));
		r->phase = PHASE_FLUSHING;
		naming_tick(r->naming);
		advance(r);
	}
}

/* Go on with whatever can go on: intervals first, then names, then the end. */
static void advance(struct recording *r)
{
	if (r->phase == PHASE_OVER)
		return;
	if (r->phase == PHASE_SAMPLING) {
		pipeline_advance(r->pipeline);
		return;
	}
	pipeline_finish(r->pipeline);
	watch_writer(r);
	if (!pipeline_is_empty(r->pipeline))
		return;
	if (r->phase == PHASE_DRAINING && receiver_is_over(r->receiver) &&
	    !writer_queued(r->writer))
		r->phase = PHASE_NAMING;
	if (r->phase == PHASE_NAMING && !naming_waiting(r->naming)) {
		naming_tick(r->naming);
		r->phase = PHASE_FLUSHING;
	}
	if (r->phase == PHASE_FLUSHING && !writer_queued(r->writer))
		finish(r);
}

static void on_answer(void *ctx)
{
	advance(ctx);
}

static void on_process(void *ctx)
{
	struct recording *r = ctx;

	if (r->lists)
		mapping_lists_push(r->lists);
	advance(r);
}

static void on_stored(void *ctx, const struct batch *b,
		      const struct store_frame_row *rows, size_t n)
{
	struct recording *r = ctx;

	if (r->phase == PHASE_OVER)
		return; /* the inspectors are gone */
	naming_add(r->naming, b, rows, n);
}

/* No more samples; what is on its way is still stored. */
static void stop(struct recording *r)
{
	if (r->phase != PHASE_SAMPLING)
		return;
	timers_disable(r->timers);
	r->phase = PHASE_DRAINING;
	uv_timer_start(&r->deadline_timer, on_deadline, DEADLINE_MS,
		       DEADLINE_MS);
	turn(r);
	if (r->receiver)
		receiver_stop(r->receiver);
	uv_timer_stop(&r->duration_timer);
}

static void on_child(struct recording *r)
{
	if (r->command.pid <= 0 || r->command_ended ||
	    waitpid(r->command.pid, &r->command_wait, WNOHANG) !=
		    r->command.pid)
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
	if (r->command.pid > 0 && !r->command_ended &&
	    (number != SIGINT || !command_shares_terminal()))
		kill(r->command.pid, number);
	stop(r);
}

static int open_sideband(struct recording *r)
{
	struct cpu_list online;
	struct sideband_opts opts = {
		.cpus = &online,
		.notices_fd = probe_notices_fd(r->probe),
		.wakes_at_once = r->lists_mappings,
	};
	int rc = cpu_list_online(&online, &r->err);

	return rc ? rc : sideband_open(&r->sideband, &opts, &r->err);
}

/* Where mappings come from: the kernel's tree, unless it is not as we know
 * it. */
static void choose_mappings(struct recording *r)
{
	const char *wanted = getenv("WEFT_MAPPINGS");
	const char *why = NULL;

	if (wanted && !strcmp(wanted, "list"))
		why = "WEFT_MAPPINGS says so";
	else if (!probe_proves_mappings(r->probe))
		why = "this kernel keeps its own in a way that is not known here";
	if (!why)
		return;
	r->lists_mappings = true;
	probe_list_mappings(r->probe);
	weft_log(
		WEFT_INFO,
		"mappings are followed from user space: %s; the first stacks of each process will be broken (table_pending)",
		why);
}

/* What needs privilege: the kernel's side. */
static int open_kernel_side(struct recording *r)
{
	const struct record_opts *o = r->opts;
	struct probe_opts opts = {
		.filter = !o->all && !o->cgroup,
		.cgroup_fd = r->cgroup_fd,
		.follow_children = o->follow_children && !o->n_tids,
		.user_stacks = o->user_stacks,
		.kernel_stacks = o->kernel_stacks,
		.detail_n = o->detail_n,
		.max_stacks = o->max_stacks,
		.ring_bytes = o->ring_bytes,
		.self_cost = o->self_cost,
	};
	uint64_t memory = probe_memory(&opts);
	int rc;

	if (memory > KERNEL_MEMORY_MAX)
		return weft_fail(
			&r->err, -EINVAL,
			"refused: %" PRIu64
			" MB of kernel memory (the limit is %llu MB); lower --max-stacks or --ring-size",
			memory >> 20, KERNEL_MEMORY_MAX >> 20);
	weft_log(WEFT_INFO,
		 "%" PRIu64 " Hz on %u CPUs, %" PRIu64 " MB of kernel memory",
		 o->hz, r->cpus.n, memory >> 20);
	rc = probe_open(&r->probe, &opts, &r->err);
	if (!rc)
		choose_mappings(r);
	if (!rc)
		rc = binaries_open(&r->binaries, &r->err);
	if (!rc)
		rc = open_sideband(r);
	if (!rc)
		rc = kernel_open(&r->kernel, r->binaries, &r->err);
	if (!rc)
		rc = timers_open(&r->timers, probe_tick(r->probe), &r->cpus,
				 o->hz, &r->err);
	if (!rc)
		rc = probe_attach(r->probe, &r->err);
	if (!rc && kernel_is_hidden(r->kernel))
		weft_log(
			WEFT_WARN,
			"the kernel hides its addresses (kernel.kptr_restrict): kernel frames have no names");
	return rc;
}

static int open_store(struct recording *r, struct store **out)
{
	const struct record_opts *o = r->opts;
	struct store_event event = events[0];
	struct host host;
	struct store_opts opts = {
		.path = o->output,
		.append = o->append,
		.events = &event,
		.n_events = 1,
		.words = {
			.ledger_entry = ledger_names,
			.n_ledger_entry = LEDGER_ENTRIES,
			.context_source = context_source_names,
			.n_context_source = WEFT_SOURCE_COUNT,
			.context_status = context_status_names,
			.n_context_status = WEFT_CTX_COUNT,
			.walk_end = walk_end_names,
			.n_walk_end = WEFT_END_COUNT,
		},
	};

	host_read(&host);
	event.requested_hz = o->hz;
	opts.recording = (struct store_recording){
		.started_ns = clock_unix_ns(),
		.host = host.name,
		.kernel = host.kernel,
		.arch = host.arch,
		.boot_id = host.boot_id,
		.command = o->command ? o->command[0] : NULL,
		.cpus = r->cpus.n,
		.detail_n = o->detail_n,
		.interval_ns = o->interval_ns,
	};
	return store_open(out, &opts, &r->err);
}

static int open_tables(struct recording *r)
{
	struct unwind_tables_opts opts = {
		.loop = &r->loop,
		.probe = r->probe,
		.inspect = r->inspect,
		.max_bytes = r->opts->max_table_bytes,
	};

	return unwind_tables_open(&r->tables, &opts, &r->err);
}

static int open_lists(struct recording *r)
{
	struct mapping_lists_opts opts = {
		.probe = r->probe,
		.procs = r->procs,
		.binaries = r->binaries,
		.tables = r->tables,
	};

	return mapping_lists_open(&r->lists, &opts, &r->err);
}

static int open_receiver(struct recording *r)
{
	struct receiver_opts opts = {
		.loop = &r->loop,
		.server = r->otlp,
		.writer = r->writer,
		.on_end = on_answer,
		.ctx = r,
	};

	r->otlp.fd = -1;
	return receiver_open(&r->receiver, &opts, &r->err);
}

/* What lives on the loop. */
static int open_loop_side(struct recording *r)
{
	struct procs_opts procs = {
		.only_known = !r->opts->all && !r->opts->cgroup,
		.on_answer = on_process,
		.ctx = r,
	};
	struct writer_opts writer = {
		.loop = &r->loop,
		.on_stored = on_stored,
		.on_idle = on_answer,
		.ctx = r,
	};
	int rc = inspect_open(&r->inspect, &r->loop, r->server, NULL, &r->err);

	r->server = (struct inspect_server){ .fd = -1 };
	if (!rc)
		rc = open_store(r, &writer.store);
	if (!rc)
		rc = writer_open(&r->writer, &writer, &r->err);
	procs.inspect = r->inspect;
	procs.binaries = r->binaries;
	if (!rc)
		rc = procs_open(&r->procs, &procs, &r->err);
	if (!rc)
		rc = naming_open(&r->naming, r->inspect, r->writer,
				 !r->opts->no_inline, &r->err);
	if (!rc)
		rc = jit_open(&r->jit, r->inspect, on_answer, r, &r->err);
	if (rc)
		return rc;
	naming_on_answer(r->naming, on_answer, r);
	r->resolver = (struct resolver){
		.procs = r->procs,
		.kernel = r->kernel,
		.binaries = r->binaries,
		.jit = r->jit,
	};
	rc = pipeline_open(&r->pipeline, ARRAY_LEN(events),
			   r->opts->max_wal_bytes, &r->resolver, r->writer,
			   &r->err);
	if (!rc && r->opts->detail_n)
		rc = discovery_open(&r->discovery, &r->loop, r->probe,
				    r->inspect, r->procs, &r->err);
	if (!rc)
		rc = open_tables(r);
	if (!rc && r->lists_mappings)
		rc = open_lists(r);
	if (!rc && r->otlp.fd >= 0)
		rc = open_receiver(r);
	if (rc)
		return rc;
	return reaper_open(&r->reaper, r->probe, r->timers, r->opts->self_cost,
			   &r->err);
}

static void start_handles(struct recording *r)
{
	static const int numbers[SIGNALS] = { SIGINT, SIGTERM, SIGHUP,
					      SIGCHLD };
	uint64_t interval_ms = r->opts->interval_ns / MS_NS;

	uv_poll_init(&r->loop, &r->samples_poll, reaper_fd(r->reaper));
	uv_poll_init(&r->loop, &r->sideband_poll, sideband_fd(r->sideband));
	uv_timer_init(&r->loop, &r->interval_timer);
	uv_timer_init(&r->loop, &r->duration_timer);
	uv_timer_init(&r->loop, &r->deadline_timer);
	uv_timer_init(&r->loop, &r->settle_timer);
	r->samples_poll.data = r->sideband_poll.data = r;
	r->interval_timer.data = r->duration_timer.data = r;
	r->deadline_timer.data = r->settle_timer.data = r;
	uv_poll_start(&r->samples_poll, UV_READABLE, on_samples_readable);
	uv_poll_start(&r->sideband_poll, UV_READABLE, on_sideband_readable);
	uv_timer_start(&r->interval_timer, on_interval, interval_ms,
		       interval_ms);
	if (r->opts->duration_ns)
		uv_timer_start(&r->duration_timer, on_duration,
			       r->opts->duration_ns / MS_NS, 0);
	for (int i = 0; i < SIGNALS; i++) {
		uv_signal_init(&r->loop, &r->signals[i]);
		r->signals[i].data = r;
		uv_signal_start(&r->signals[i], on_signal, numbers[i]);
	}
}

static void on_mapped(void *ctx, const struct weft_mapped *m)
{
	struct recording *r = ctx;

	unwind_tables_want_mapped(r->tables, &m->file, &m->process, m->start,
				  m->end);
}

static void on_warm(uv_timer_t *timer)
{
	(void)timer; /* that the loop wakes up is all */
}

/* Have tables made of what targets have mapped, before they are sampled. */
static void warm_up(struct recording *r)
{
	uint64_t end_ns = clock_boot_ns() + (uint64_t)WARM_UP_MS * MS_NS;
	struct unwind_tables_totals totals;
	uv_timer_t timer;

	if (!survey(probe_mapped_fd(r->probe), WARM_UP_MS, on_mapped, r))
		weft_log(
			WEFT_WARN,
			"not all mappings could be listed in time: the first stacks of some programs will be broken (table_pending)");
	uv_timer_init(&r->loop, &timer);
	uv_timer_start(&timer, on_warm, WARM_UP_MS, WARM_UP_MS / 4);
	while (unwind_tables_waiting(r->tables) && clock_boot_ns() < end_ns)
		uv_run(&r->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&r->loop, UV_RUN_NOWAIT);
	unwind_tables_read(r->tables, &totals);
	weft_log(WEFT_DEBUG,
		 "%" PRIu64 " unwind tables, %" PRIu64
		 " kB, are ready; %u more are being built",
		 totals.built, totals.bytes >> 10,
		 unwind_tables_waiting(r->tables));
}

/* Let samples come, then let the program go. */
static int start(struct recording *r)
{
	int rc;

	reaper_start(r->reaper, self_cpu_ns(r));
	rc = timers_enable(r->timers, &r->err);
	if (!rc && r->opts->command)
		rc = r->command_code =
			command_go(&r->command, r->opts->command, &r->err);
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

/* In reverse order of construction; all parts may be missing. */
static void close_all(struct recording *r)
{
	if (r->timers)
		timers_close(r->timers);
	discovery_close(r->discovery);
	receiver_close(r->receiver);
	inspect_close(r->inspect);
	if (r->has_handles)
		close_handles(r);
	while (writer_is_busy(r->writer))
		uv_run(&r->loop, UV_RUN_ONCE);
	(void)writer_close(r->writer, clock_unix_ns(), r->aborted, &r->err);
	if (r->has_loop) {
		uv_run(&r->loop, UV_RUN_DEFAULT);
		uv_loop_close(&r->loop);
	}
	mapping_lists_close(r->lists);
	unwind_tables_close(r->tables);
	pipeline_close(r->pipeline);
	jit_close(r->jit);
	naming_close(r->naming);
	reaper_close(r->reaper);
	procs_close(r->procs);
	sideband_close(r->sideband);
	kernel_close(r->kernel);
	binaries_close(r->binaries);
	probe_close(r->probe);
	if (r->cgroup_fd >= 0)
		close(r->cgroup_fd);
	if (r->server.fd >= 0)
		close(r->server.fd);
}

/* What must be known, or forked, before anything is loaded. */
static int prepare(struct recording *r)
{
	const struct record_opts *o = r->opts;
	const char *warning;
	int rc = privilege_check(&warning, &r->err);

	if (!rc)
		rc = target_check(o, &r->cgroup_fd, &r->err);
	r->cpus = o->cpus;
	if (!rc && !r->cpus.n)
		rc = cpu_list_online(&r->cpus, &r->err);
	if (!rc && o->command)
		rc = r->command_code =
			command_fork(&r->command, o->command, &r->err);
	if (!rc)
		rc = inspect_fork(&r->server, &r->err);
	if (!rc && o->otlp_listen)
		rc = otlp_server_fork(&r->otlp, o->otlp_listen, &r->err);
	if (!rc && warning)
		weft_log(WEFT_WARN, "%s", warning);
	return rc;
}

static int bring_up(struct recording *r)
{
	int rc = prepare(r);

	if (!rc)
		rc = open_kernel_side(r);
	if (!rc)
		rc = privilege_drop(&r->err);
	if (rc)
		return rc;
	rc = uv_loop_init(&r->loop);
	if (rc)
		return weft_fail(&r->err, rc, "cannot start: %s",
				 strerror(-rc));
	r->has_loop = true;
	rc = open_loop_side(r);
	if (!rc)
		rc = target_add(r->opts,
				r->opts->command ? (uint32_t)r->command.pid : 0,
				r->probe, r->procs, &r->err);
	if (rc)
		return rc;
	/* On lists, files have other keys than the survey finds. */
	if (r->opts->user_stacks && !r->lists)
		warm_up(r);
	start_handles(r);
	r->has_handles = true;
	return start(r);
}

/* The exit status of a recording that came to its end. */
static int wait_for_command(struct recording *r)
{
	if (r->command.pid <= 0)
		return WEFT_EXIT_OK;
	signal(SIGINT, SIG_IGN); /* it is the program's */
	while (!r->command_ended) {
		pid_t pid = waitpid(r->command.pid, &r->command_wait, 0);

		if (pid == r->command.pid || (pid < 0 && errno != EINTR))
			r->command_ended = true;
	}
	return command_status(r->command_wait);
}

static int exit_status(struct recording *r, int rc, bool was_let_go)
{
	if (!r->err.code && !rc)
		return r->aborted ? WEFT_EXIT_FAILED : wait_for_command(r);
	weft_log(WEFT_ERROR, "%s", r->err.msg);
	if (was_let_go && r->opts->command)
		return wait_for_command(r);
	command_cancel(&r->command);
	if (r->command_code)
		return command_exec_status(r->command_code);
	if (r->err.code == -EPERM)
		return WEFT_EXIT_NO_PERMISSION;
	return WEFT_EXIT_FAILED;
}

int record(const struct record_opts *opts)
{
	struct recording r = {
		.opts = opts,
		.cgroup_fd = -1,
		.command = { .pid = -1, .go_fd = -1, .fail_fd = -1 },
		.server = { .fd = -1 },
		.otlp = { .fd = -1 },
	};
	struct weft_err after = { 0 };
	double seconds;
	int rc;

	if (opts->hz > timer_max_hz()) {
		weft_log(
			WEFT_ERROR,
			"-F %" PRIu64 " is above the kernel's limit of %" PRIu64
			" Hz; lower it, or raise /proc/sys/kernel/perf_event_max_sample_rate",
			opts->hz, timer_max_hz());
		return WEFT_EXIT_USAGE;
	}
	/* A file size limit is then an error of the write, told as such. */
	signal(SIGXFSZ, SIG_IGN);
	rc = bring_up(&r);
	if (!rc) {
		uv_run(&r.loop, UV_RUN_DEFAULT);
		seconds = (double)(reaper_interval_ns(r.reaper) -
				   reaper_started_ns(r.reaper)) /
			  1e9;
		summary_log(pipeline_totals(r.pipeline), opts, seconds,
			    r.cpus.n);
		summary_log_tables(r.tables);
		if (r.lists)
			summary_log_lists(r.lists);
		if (r.receiver)
			summary_log_spans(r.receiver);
	}
	close_all(&r);
	if (!rc && !r.err.code && opts->use_debuginfod &&
	    symbolize_after(opts->output, &after))
		weft_log(WEFT_WARN, "%s", after.msg);
	return exit_status(&r, rc, !rc);
}
