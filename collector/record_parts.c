/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/host.h"
#include "collector/measure/rows.h"
#include "collector/privilege.h"
#include "collector/record_parts.h"
#include "collector/survey.h"
#include "collector/target.h"
#include "collector/workers.h"

enum {
	/* How long samples may wait for what targets have mapped already. */
	WARM_UP_MS = 2000,
	/* Targets without names that are named: anybody can make many. */
	TROUBLES_MAX = 16,
	/* Open files: maps, programs, links; and of each CPU. */
	FILES_LEAST = 100,
	FILES_OF_CPU = 4,
	MS_NS = 1000000,
};

/* Kernel memory that the maps may take. */
#define KERNEL_MEMORY_MAX (2ULL << 30)

static int plan_measures(struct record_parts *p, struct weft_err *err)
{
	struct measures_opts opts = {
		.text = p->opts->measures,
		.n = p->opts->n_measures,
		.max_keys = (uint32_t)p->opts->max_keys,
		.examples = (uint32_t)p->opts->examples,
	};

	int rc = measures_plan(&p->measures, &opts, err);
	const char *attribute = measures_attribute(p->measures);

	if (!rc && attribute && p->opts->shape_by &&
	    strcmp(attribute, p->opts->shape_by))
		rc = weft_fail(
			err, -EINVAL,
			"attr.%s beside --shape-by %s: one attribute in a recording can be a key",
			attribute, p->opts->shape_by);
	return rc;
}

/* The CPUs that -C names, if they are online; else all that are. */
static int choose_cpus(struct record_parts *p, struct weft_err *err)
{
	const struct cpu_list *wanted = &p->opts->cpus;
	int rc = cpu_list_online(&p->cpus, err);

	if (rc || !wanted->n)
		return rc;
	for (uint32_t i = 0, at = 0; i < wanted->n; i++) {
		while (at < p->cpus.n && p->cpus.cpu[at] < wanted->cpu[i])
			at++;
		if (at == p->cpus.n || p->cpus.cpu[at] != wanted->cpu[i])
			return weft_fail(
				err, -ENODEV,
				"-C: CPU %u is not online; /sys/devices/system/cpu/online lists those that are",
				wanted->cpu[i]);
	}
	p->cpus = *wanted;
	return 0;
}

int record_parts_prepare(struct record_parts *p, struct weft_err *err)
{
	const struct record_opts *o = p->opts;
	char warning[PRIVILEGE_WARNING_SIZE];
	int rc = privilege_check(warning, err);

	if (!rc)
		rc = target_check(o, &p->cgroup_fd, err);
	if (!rc && o->n_measures)
		rc = plan_measures(p, err);
	if (!rc)
		rc = choose_cpus(p, err);
	if (!rc && o->command)
		rc = p->command_code =
			command_fork(&p->command, o->command, err);
	if (!rc)
		rc = inspect_fork(&p->server, err);
	if (!rc && o->otlp_listen)
		rc = otlp_server_fork(&p->otlp, o->otlp_listen, err);
	if (!rc)
		rc = privilege_raise_files(
			FILES_LEAST + FILES_OF_CPU * p->cpus.n, err);
	if (!rc && warning[0])
		weft_log(WEFT_WARN, "%s", warning);
	return rc;
}

static int open_sideband(struct record_parts *p, struct weft_err *err)
{
	struct cpu_list online;
	struct sideband_opts opts = {
		.cpus = &online,
		.notices_fd = probe_notices_fd(p->probe),
		.wakes_at_once = p->lists_mappings,
	};
	int rc = cpu_list_online(&online, err);

	return rc ? rc : sideband_open(&p->sideband, &opts, err);
}

/* Where mappings come from: the kernel's tree, unless it is not as we know
 * it. */
static void choose_mappings(struct record_parts *p)
{
	const char *wanted = getenv("WEFT_MAPPINGS");
	const char *why = NULL;

	if (wanted && !strcmp(wanted, "list"))
		why = "WEFT_MAPPINGS says so";
	else if (!probe_proves_mappings(p->probe))
		why = "this kernel keeps its own in a way that is not known here";
	if (!why)
		return;
	p->lists_mappings = true;
	probe_list_mappings(p->probe);
	weft_log(
		WEFT_INFO,
		"mappings are followed from user space: %s; the first stacks of each process will be broken (table_pending)",
		why);
}

static void tell_start(const struct record_parts *p, uint64_t memory)
{
	const struct triggers *t = &p->opts->triggers;
	char hz[64] = "";
	char names[256] = "";
	size_t at = 0;

	if (p->opts->no_samples)
		snprintf(hz, sizeof(hz), "%zu measures, no samples, ",
			 p->opts->n_measures);
	else if (triggers_find(t, TRIGGER_TIMER) != WEFT_NO_EVENT)
		snprintf(hz, sizeof(hz), "%" PRIu64 " Hz ", p->opts->hz);
	for (uint32_t i = 0; i < t->n && t->n + !*hz > 1; i++)
		at += (size_t)snprintf(
			names + at, at < sizeof(names) ? sizeof(names) - at : 0,
			"%s%s", i ? ", " : "; events: ", t->trigger[i].name);
	weft_log(WEFT_INFO, "%son %u CPUs, %" PRIu64 " MB of kernel memory%s",
		 hz, p->cpus.n, memory >> 20, names);
}

/* What needs privilege: the kernel's side. */
static int open_kernel_side(struct record_parts *p, struct weft_err *err)
{
	const struct record_opts *o = p->opts;
	struct probe_opts opts = {
		.filter = !o->all && !o->cgroup,
		.cgroup_fd = p->cgroup_fd,
		.follow_children = o->follow_children && !o->n_tids,
		.user_stacks = o->user_stacks,
		.kernel_stacks = o->kernel_stacks,
		.triggers = &o->triggers,
		.min_block_ns = o->min_block_ns,
		.block_states = o->block_states,
		.only_requests = o->only_requests,
		.detail_n = o->detail_n,
		.attributes = o->attributes,
		.examples = measures_take_threads(p->measures),
		.shape_by = o->shape_by != NULL,
		.max_stacks = o->max_stacks,
		.ring_bytes = o->ring_bytes,
		.labels = o->labels,
		.trace_probe = &o->trace_probe,
		.obi = o->obi,
		.self_cost = o->self_cost,
	};
	struct hooks_opts hooks = {
		.triggers = &o->triggers,
		.cpus = &p->cpus,
		.hz = o->hz,
	};
	uint64_t memory = probe_memory(&opts) + measures_memory(p->measures);
	int rc;

	if (memory > KERNEL_MEMORY_MAX)
		return weft_fail(
			err, -EINVAL,
			"refused: %" PRIu64
			" MB of kernel memory (the limit is %llu MB); lower --max-stacks%s or --ring-size",
			memory >> 20, KERNEL_MEMORY_MAX >> 20,
			p->measures ? ", --max-keys" : "");
	tell_start(p, memory);
	rc = probe_open(&p->probe, &opts, err);
	hooks.probe = p->probe;
	if (!rc)
		choose_mappings(p);
	if (!rc)
		rc = binaries_open(&p->binaries, err);
	if (!rc)
		rc = open_sideband(p, err);
	if (!rc)
		rc = kernel_open(&p->kernel, p->binaries, err);
	if (!rc)
		rc = hooks_open(&p->kernel_hooks, &hooks, err);
	if (!rc)
		rc = probe_attach(p->probe, err);
	if (!rc && p->measures)
		rc = measures_attach(p->measures, p->probe, err);
	if (!rc && kernel_is_hidden(p->kernel))
		weft_log(
			WEFT_WARN,
			"the kernel hides its addresses (kernel.kptr_restrict): kernel frames have no names");
	return rc;
}

static int open_hotplug(struct record_parts *p, struct weft_err *err)
{
	struct hotplug_opts opts = {
		.hooks = p->kernel_hooks,
		.sideband = p->sideband,
		.cpus = &p->cpus,
		.all = !p->opts->cpus.n,
	};

	return hotplug_open(&p->hotplug, &opts, err);
}

static int open_store(struct record_parts *p, struct store **out,
		      struct weft_err *err)
{
	const struct record_opts *o = p->opts;
	struct store_event events[WEFT_MAX_EVENTS];
	struct store_metric metrics[MEASURES_MAX];
	struct host host;
	struct store_opts opts = {
		.path = o->output,
		.append = o->append,
		.events = events,
		.n_events = o->triggers.n,
		.metrics = metrics,
		.n_metrics = measure_rows_describe(p->measures, metrics),
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
	for (uint32_t i = 0; i < o->triggers.n; i++) {
		const struct trigger *t = &o->triggers.trigger[i];

		events[i] = (struct store_event){
			.name = t->name,
			.unit = trigger_unit(t),
			.requested_hz =
				t->kind == TRIGGER_TIMER && !o->no_samples
					? o->hz
					: 0,
			.is_by_size = trigger_is_by_size(t),
			.tau_ns = t->tau_ns,
		};
	}
	opts.recording = (struct store_recording){
		.started_ns = clock_unix_ns(),
		.host = host.name,
		.kernel = host.kernel,
		.arch = host.arch,
		.boot_id = host.boot_id,
		.command = o->command ? o->command[0] : NULL,
		.cpus = p->cpus.n,
		.detail_n = o->detail_n,
		.interval_ns = o->interval_ns,
	};
	return store_open(out, &opts, err);
}

static int open_tables(struct record_parts *p, struct weft_err *err)
{
	struct unwind_tables_opts opts = {
		.loop = &p->loop,
		.probe = p->probe,
		.inspect = p->inspect,
		.max_bytes = p->opts->max_table_bytes,
	};

	return unwind_tables_open(&p->tables, &opts, err);
}

static int open_lists(struct record_parts *p, struct weft_err *err)
{
	struct mapping_lists_opts opts = {
		.probe = p->probe,
		.procs = p->procs,
		.binaries = p->binaries,
		.tables = p->tables,
	};

	return mapping_lists_open(&p->lists, &opts, err);
}

static int open_receiver(struct record_parts *p, struct weft_err *err)
{
	struct receiver_opts opts = {
		.loop = &p->loop,
		.server = p->otlp,
		.writer = p->writer,
		.on_end = p->hooks.on_answer,
		.ctx = p->hooks.ctx,
	};

	p->otlp.fd = -1;
	return receiver_open(&p->receiver, &opts, err);
}

static void on_trouble(void *ctx, enum inspect_trouble kind,
		       const char *sentence)
{
	struct record_parts *p = ctx;

	(void)kind;
	weft_log(p->troubles < TROUBLES_MAX ? WEFT_WARN : WEFT_DEBUG, "%s",
		 sentence);
	if (++p->troubles == TROUBLES_MAX)
		weft_log(WEFT_WARN,
			 "more such files and processes are named with -v");
}

/* What lives on the loop. */
static int open_loop_side(struct record_parts *p, struct weft_err *err)
{
	struct procs_opts procs = {
		.only_known = !p->opts->all && !p->opts->cgroup,
		.on_answer = p->hooks.on_process,
		.ctx = p->hooks.ctx,
	};
	struct writer_opts writer = {
		.loop = &p->loop,
		.on_stored = p->hooks.on_stored,
		.on_idle = p->hooks.on_answer,
		.ctx = p->hooks.ctx,
		.keep = p->opts->keep,
		.max_wal_bytes = p->opts->max_wal_bytes,
	};
	int rc = inspect_open(&p->inspect, &p->loop, p->server, NULL, err);

	p->server = (struct inspect_server){ .fd = -1 };
	if (!rc)
		inspect_on_trouble(p->inspect, on_trouble, p);
	if (!rc)
		rc = open_store(p, &writer.store, err);
	if (!rc)
		rc = writer_open(&p->writer, &writer, err);
	procs.inspect = p->inspect;
	procs.binaries = p->binaries;
	if (!rc)
		rc = procs_open(&p->procs, &procs, err);
	if (!rc)
		rc = naming_open(&p->naming, p->inspect, p->writer,
				 !p->opts->no_inline, err);
	if (!rc)
		rc = jit_open(&p->jit, p->inspect, p->hooks.on_answer,
			      p->hooks.ctx, err);
	if (rc)
		return rc;
	naming_on_answer(p->naming, p->hooks.on_answer, p->hooks.ctx);
	p->resolver = (struct resolver){
		.procs = p->procs,
		.kernel = p->kernel,
		.binaries = p->binaries,
		.jit = p->jit,
		.shape_by = p->opts->shape_by,
		.measures = p->measures,
	};
	for (uint32_t i = 0; i < p->opts->triggers.n; i++)
		p->resolver.is_hook[i] =
			!trigger_is_perf_event(&p->opts->triggers.trigger[i]);
	rc = pipeline_open(&p->pipeline, p->opts->triggers.n,
			   p->opts->max_wal_bytes, &p->resolver, p->writer,
			   err);
	if (!rc && probe_reads_contexts(p->probe))
		rc = discovery_open(
			&p->discovery, &p->loop, p->probe, p->inspect, p->procs,
			p->opts->shape_by ? p->opts->shape_by
					  : measures_attribute(p->measures),
			err);
	p->resolver.discovery = p->discovery;
	if (!rc)
		rc = open_tables(p, err);
	if (!rc && p->lists_mappings)
		rc = open_lists(p, err);
	if (!rc && p->otlp.fd >= 0)
		rc = open_receiver(p, err);
	if (!rc && p->opts->health)
		rc = health_open(&p->health, &p->loop, p->opts, p->pipeline,
				 err);
	p->health_now.started_ns = clock_unix_ns();
	if (rc)
		return rc;
	return reaper_open(&p->reaper, p->probe, p->kernel_hooks, p->measures,
			   p->opts->triggers.n, p->opts->self_cost, err);
}

int record_parts_open(struct record_parts *p, struct weft_err *err)
{
	int rc = open_kernel_side(p, err);

	if (!rc)
		rc = open_hotplug(p, err);
	if (!rc)
		rc = privilege_drop(err);
	if (rc)
		return rc;
	rc = uv_loop_init(&p->loop);
	if (rc)
		return weft_fail(err, rc, "cannot start: %s", strerror(-rc));
	p->has_loop = true;
	rc = workers_start(&p->loop, err);
	if (!rc)
		rc = open_loop_side(p, err);
	if (rc)
		return rc;
	return target_add(p->opts,
			  p->opts->command ? (uint32_t)p->command.pid : 0,
			  p->probe, p->procs, err);
}

static void on_mapped(void *ctx, const struct weft_mapped *m)
{
	struct record_parts *p = ctx;

	unwind_tables_want_mapped(p->tables, &m->file, &m->process, m->start,
				  m->end);
}

static void on_warm(uv_timer_t *timer)
{
	(void)timer; /* that the loop wakes up is all */
}

void record_parts_warm_up(struct record_parts *p)
{
	uint64_t end_ns = clock_boot_ns() + (uint64_t)WARM_UP_MS * MS_NS;
	struct unwind_tables_totals totals;
	uv_timer_t timer;

	if (!survey(probe_mapped_fd(p->probe), WARM_UP_MS, on_mapped, p))
		weft_log(
			WEFT_WARN,
			"not all mappings could be listed in time: the first stacks of some programs will be broken (table_pending)");
	uv_timer_init(&p->loop, &timer);
	uv_timer_start(&timer, on_warm, WARM_UP_MS, WARM_UP_MS / 4);
	while (unwind_tables_waiting(p->tables) && clock_boot_ns() < end_ns)
		uv_run(&p->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&p->loop, UV_RUN_NOWAIT);
	unwind_tables_read(p->tables, &totals);
	weft_log(WEFT_DEBUG,
		 "%" PRIu64 " unwind tables, %" PRIu64
		 " kB, are ready; %u more are being built",
		 totals.built, totals.bytes >> 10,
		 unwind_tables_waiting(p->tables));
}

static void on_stuck(uv_timer_t *limit)
{
	const struct record_parts *p = limit->data;

	weft_log(
		WEFT_ERROR,
		"'%s' is still being written: left as it is, whole but without what waits; if that lasts, look at its disk",
		p->opts->output);
	_exit(WEFT_EXIT_FAILED);
}

/* What is being written cannot be taken back, and the file not be closed before
 * it is done. Left so, it is as a crash leaves it. */
static void wait_for_writer(struct record_parts *p, bool is_aborted)
{
	uv_timer_t limit;

	if (!writer_is_busy(p->writer))
		return;
	uv_timer_init(&p->loop, &limit);
	limit.data = p;
	uv_timer_start(&limit, on_stuck,
		       is_aborted ? RECORD_HURRY_MS : RECORD_STUCK_MS, 0);
	while (writer_is_busy(p->writer))
		uv_run(&p->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&limit, NULL);
	uv_run(&p->loop, UV_RUN_NOWAIT);
}

/* In reverse order of construction. */
void record_parts_close(struct record_parts *p, bool is_aborted,
			struct weft_err *err)
{
	int rc;

	hotplug_close(p->hotplug);
	hooks_close(p->kernel_hooks);
	discovery_close(p->discovery);
	receiver_close(p->receiver);
	inspect_close(p->inspect);
	wait_for_writer(p, is_aborted);
	(void)writer_close(p->writer, clock_unix_ns(), is_aborted, err);
	if (p->has_loop) {
		uv_run(&p->loop, UV_RUN_DEFAULT);
		rc = uv_loop_close(&p->loop);
		if (rc)
			weft_log(WEFT_WARN,
				 "something of the recorder was left open: %s",
				 uv_strerror(rc));
	}
	p->health_now.writer_jobs = 0;
	if (!is_aborted)
		p->health_now.log_bytes = 0;
	health_close(p->health, &p->health_now);
	mapping_lists_close(p->lists);
	unwind_tables_close(p->tables);
	pipeline_close(p->pipeline);
	jit_close(p->jit);
	naming_close(p->naming);
	reaper_close(p->reaper);
	procs_close(p->procs);
	sideband_close(p->sideband);
	kernel_close(p->kernel);
	binaries_close(p->binaries);
	measures_close(p->measures);
	probe_close(p->probe);
	if (p->cgroup_fd >= 0)
		close(p->cgroup_fd);
	if (p->server.fd >= 0)
		close(p->server.fd);
}
