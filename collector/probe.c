/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "collector/map_drain.h"
#include "collector/obi.h"
#include "collector/probe.h"
#include "collector/probe_config.h"
#include "collector/tracefs.h"

/* Elements per batch call: enough to keep calls few. */
enum {
	DRAIN_BATCH = 4096
};

struct probe {
	struct weft_bpf *skel; /* owned */
	int n_possible_cpus;
	int stats_fd;  /* -1: run time is not measured */
	int mapped_fd; /* -1: none */
	const struct trace_probe *trace_probe; /* borrowed */
	int blocks_fd;                         /* -1: none */
	/* Buffers of one batch call, owned. */
	struct weft_stack_key *stack_keys;
	struct weft_stack *stacks;
	struct weft_count_key *count_keys;
	struct weft_count *counts;
	struct weft_ledger *ledgers; /* n_possible_cpus */
	struct weft_recents *recents;
};

__attribute__((format(printf, 2, 0))) static int
on_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	weft_vlog(WEFT_DEBUG, fmt, args);
	return 0;
}

static int fail_load(int rc, struct weft_err *err)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	struct btf *types;

	if (rc == -EPERM || rc == -EACCES)
		return weft_fail(
			err, -EPERM,
			"cannot load the kernel program: %s; it needs CAP_BPF and CAP_PERFMON (or root)",
			strerror(-rc));
	if (access(path, R_OK))
		return weft_fail(
			err, -ENOENT,
			"cannot load the kernel program: this kernel shows no type information at %s (CONFIG_DEBUG_INFO_BTF)",
			path);
	types = btf__parse_raw(path);
	if (!types)
		return weft_fail(
			err, -EPROTO,
			"cannot load the kernel program: the type information at %s is damaged, or newer than libbpf %s understands: use a newer one",
			path, libbpf_version_string());
	btf__free(types);
	return weft_fail(
		err, rc,
		"cannot load the kernel program: %s; `weft record -v` shows what the kernel says",
		strerror(-rc));
}

static int make_buffers(struct probe *p)
{
	p->stack_keys = calloc(DRAIN_BATCH, sizeof(*p->stack_keys));
	p->stacks = calloc(DRAIN_BATCH, sizeof(*p->stacks));
	p->count_keys = calloc(DRAIN_BATCH, sizeof(*p->count_keys));
	p->counts = calloc(DRAIN_BATCH, sizeof(*p->counts));
	p->ledgers = calloc(p->n_possible_cpus, sizeof(*p->ledgers));
	p->recents = calloc(1, sizeof(*p->recents));
	if (!p->stack_keys || !p->stacks || !p->count_keys || !p->counts ||
	    !p->ledgers || !p->recents)
		return -ENOMEM;
	return 0;
}

static int set_cgroup(struct probe *p, int cgroup_fd, struct weft_err *err)
{
	uint32_t zero = 0;
	int rc = bpf_map__update_elem(p->skel->maps.target_cgroup, &zero,
				      sizeof(zero), &cgroup_fd,
				      sizeof(cgroup_fd), BPF_ANY);

	if (rc)
		return weft_fail(err, rc, "cannot filter by cgroup: %s",
				 strerror(-rc));
	return 0;
}

/* Where libbpf's own look at whether arrays can be mapped fails, it takes the
 * kernel for one that cannot, maps no variables, and succeeds. */
static int load(struct weft_bpf *skel)
{
	int rc = weft_bpf__load(skel);

	return rc || (skel->rodata && skel->bss) ? rc : -ENOMEM;
}

int probe_open(struct probe **out, const struct probe_opts *opts,
	       struct weft_err *err)
{
	struct probe *p = calloc(1, sizeof(*p));
	struct weft_config *config;
	int rc = -ENOMEM;

	*out = NULL;
	if (!p)
		return weft_fail(
			err, rc,
			"cannot load the kernel program: out of memory");
	p->stats_fd = -1;
	p->mapped_fd = -1;
	p->trace_probe = opts->trace_probe;
	p->blocks_fd = -1;
	p->n_possible_cpus = libbpf_num_possible_cpus();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(on_libbpf);
	p->skel = weft_bpf__open();
	if (!p->skel) {
		rc = fail_load(-errno, err);
		goto fail;
	}
	config = (struct weft_config *)&p->skel->rodata->config;
	probe_set_config(config, opts);
	if (getrandom(config->hash_key, sizeof(config->hash_key), 0) !=
	    sizeof(config->hash_key)) {
		rc = weft_fail(err, -errno, "cannot get random bytes: %s",
			       strerror(errno));
		goto fail;
	}
	probe_choose_programs(p->skel, opts->triggers);
	rc = probe_size_maps(p->skel, opts, p->n_possible_cpus);
	if (!rc)
		rc = trace_probe_prepare(p->skel, opts->trace_probe);
	if (!rc)
		rc = obi_prepare(p->skel, opts->obi);
	if (!rc)
		rc = make_buffers(p);
	if (!rc)
		rc = load(p->skel);
	if (rc) {
		rc = fail_load(rc, err);
		goto fail;
	}
	if (opts->cgroup_fd >= 0) {
		rc = set_cgroup(p, opts->cgroup_fd, err);
		if (rc)
			goto fail;
	}
	if (opts->self_cost)
		p->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	*out = p;
	return 0;
fail:
	probe_close(p);
	return rc;
}

void probe_close(struct probe *p)
{
	if (!p)
		return;
	weft_bpf__destroy(p->skel);
	if (p->stats_fd >= 0)
		close(p->stats_fd);
	if (p->mapped_fd >= 0)
		close(p->mapped_fd);
	if (p->blocks_fd >= 0)
		close(p->blocks_fd);
	free(p->stack_keys);
	free(p->stacks);
	free(p->count_keys);
	free(p->counts);
	free(p->ledgers);
	free(p->recents);
	free(p);
}

bool probe_reads_contexts(const struct probe *p)
{
	const struct weft_config *c = probe_config(p);

	return c->detail || c->only_requests || c->shape_by || c->examples;
}

struct bpf_object *probe_object(struct probe *p)
{
	return p->skel->obj;
}

const struct weft_config *probe_config(const struct probe *p)
{
	return (const struct weft_config *)&p->skel->rodata->config;
}

static int open_iterator(struct bpf_program *program, struct bpf_link **link,
			 int *fd, const char *what, struct weft_err *err)
{
	*link = bpf_program__attach_iter(program, NULL);
	if (*link)
		*fd = bpf_iter_create(bpf_link__fd(*link));
	if (*fd >= 0)
		return 0;
	return weft_fail(err, -errno, "cannot list %s: %s", what,
			 strerror(errno));
}

int probe_attach(struct probe *p, struct weft_err *err)
{
	struct {
		struct bpf_program *program;
		struct bpf_link **link;
		const char *hook;
	} hooks[] = {
		{ p->skel->progs.on_fork, &p->skel->links.on_fork,
		  "sched_process_fork" },
		{ p->skel->progs.on_exec, &p->skel->links.on_exec,
		  "sched_process_exec" },
		{ p->skel->progs.on_exit, &p->skel->links.on_exit,
		  "sched_process_exit" },
	};
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
		*hooks[i].link = bpf_program__attach(hooks[i].program);
		if (!*hooks[i].link) {
			rc = -errno;
			return weft_fail(err, rc,
					 "cannot attach to tracepoint %s: %s",
					 hooks[i].hook, strerror(-rc));
		}
	}
	/* Any tracepoint of system calls slows down all calls of the machine.
	 * Where there is none, looking again from time to time does. */
	if (probe_reads_contexts(p))
		p->skel->links.on_prctl = tracefs_attach(
			p->skel->progs.on_prctl, "syscalls", "sys_enter_prctl");
	rc = trace_probe_attach(p->skel, p->trace_probe, err);
	if (rc)
		return rc;
	return open_iterator(p->skel->progs.list_mapped,
			     &p->skel->links.list_mapped, &p->mapped_fd,
			     "mappings", err);
}

struct bpf_program *probe_program(struct probe *p, const char *name)
{
	return bpf_object__find_program_by_name(p->skel->obj, name);
}

struct bpf_program *probe_program_of_event(const struct bpf_object *object,
					   const char *kind, uint32_t event)
{
	char name[32];

	snprintf(name, sizeof(name), "on_%s_%u", kind, event);
	return bpf_object__find_program_by_name(object, name);
}

void probe_start(struct probe *p, uint64_t now_ns)
{
	p->skel->bss->started_ns = now_ns;
}

int probe_open_blocks(struct probe *p, struct weft_err *err)
{
	return open_iterator(p->skel->progs.sum_open, &p->skel->links.sum_open,
			     &p->blocks_fd, "threads", err);
}

void probe_stop(struct probe *p, uint64_t now_ns)
{
	char nothing[16];

	p->skel->bss->stopped_ns = now_ns;
	/* Reading runs the program, which prints nothing. */
	while (p->blocks_fd >= 0 &&
	       (read(p->blocks_fd, nothing, sizeof(nothing)) > 0 ||
		errno == EAGAIN))
		errno = 0;
}

static int add_target(struct bpf_map *map, const char *what, uint32_t id,
		      uint64_t start_ticks, struct weft_err *err)
{
	int rc = bpf_map__update_elem(map, &id, sizeof(id), &start_ticks,
				      sizeof(start_ticks), BPF_ANY);

	if (rc)
		return weft_fail(err, rc, "cannot add %s %u as a target: %s",
				 what, id, strerror(-rc));
	return 0;
}

int probe_add_process(struct probe *p, uint32_t pid, uint64_t start_ticks,
		      struct weft_err *err)
{
	return add_target(p->skel->maps.target_processes, "process", pid,
			  start_ticks, err);
}

int probe_add_thread(struct probe *p, uint32_t tid, uint64_t start_ticks,
		     struct weft_err *err)
{
	return add_target(p->skel->maps.target_threads, "thread", tid,
			  start_ticks, err);
}

int probe_samples_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.samples);
}

int probe_notices_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.notices);
}

/* What the program finds at an address of ours. */
static bool find_mapped(struct probe *p, uint64_t address,
			struct weft_proof *out)
{
	uint64_t args[1] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args,
		    .ctx_size_in = sizeof(args));

	p->skel->bss->proof.address = address;
	if (bpf_prog_test_run_opts(
		    bpf_program__fd(p->skel->progs.prove_mapping), &opts))
		return false;
	memcpy(out, (const void *)&p->skel->bss->proof, sizeof(*out));
	return true;
}

bool probe_proves_mappings(struct probe *p)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool is_proven = maps != NULL;
	struct weft_proof found;
	char line[4096 + 128];
	int n = 0;

	while (is_proven && fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset;
		char flags[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64, &start,
			   &end, flags, &offset) != 4 ||
		    flags[2] != 'x' || start >> 63)
			continue; /* vsyscall is no mapping */
		is_proven = find_mapped(p, end - 1, &found) &&
			    found.start == start && found.end == end &&
			    found.file_offset == offset;
		n++;
	}
	if (maps)
		fclose(maps);
	return is_proven && n > 1 &&
	       find_mapped(p, (uint64_t)(uintptr_t)&found, &found) &&
	       !found.end;
}

void probe_list_mappings(struct probe *p)
{
	p->skel->data_shared->shared.mappings_are_listed = 1;
}

int probe_mapping_lists_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.mapping_lists);
}

int probe_tables_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.tables);
}

int probe_table_slots_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.table_slots);
}

void probe_tables_changed(struct probe *p)
{
	p->skel->data_shared->shared.table_changes++;
}

int probe_shape_values_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.shape_values);
}

int probe_mapped_fd(const struct probe *p)
{
	return p->mapped_fd;
}

uint32_t probe_epoch(const struct probe *p)
{
	return p->skel->bss->current_epoch;
}

void probe_set_period(struct probe *p, uint32_t epoch, uint32_t cpu,
		      uint64_t period_ns)
{
	if (cpu < WEFT_MAX_CPUS)
		p->skel->bss->timer_period[epoch % WEFT_EPOCHS][cpu] =
			period_ns;
}

int probe_swap(struct probe *p, uint32_t *old_epoch, struct weft_err *err)
{
	uint32_t old = p->skel->bss->current_epoch;
	uint32_t slot = old % WEFT_EPOCHS;
	int fd = bpf_map__fd(slot ? p->skel->maps.counts_1
				  : p->skel->maps.counts_0);
	int rc;

	p->skel->bss->current_epoch = old + 1;
	/* Putting the same map into its slot changes nothing, but the call
	 * waits until programs that run now have left. */
	rc = bpf_map_update_elem(bpf_map__fd(p->skel->maps.count_epochs), &slot,
				 &fd, BPF_ANY);
	if (rc)
		return weft_fail(err, rc, "cannot swap epochs: %s",
				 strerror(-rc));
	*old_epoch = old;
	return 0;
}

/* What a batch of an epoch's is moved from and to. */
struct draining {
	const struct probe *p;
	struct shape *shape;
};

static int take_stacks(void *ctx, uint32_t n)
{
	const struct draining *d = ctx;

	for (uint32_t i = 0; i < n; i++) {
		int rc = shape_add_stack(d->shape, &d->p->stack_keys[i],
					 &d->p->stacks[i]);

		if (rc)
			return rc;
	}
	return 0;
}

static int take_counts(void *ctx, uint32_t n)
{
	const struct draining *d = ctx;

	for (uint32_t i = 0; i < n; i++) {
		const struct weft_count *c = &d->p->counts[i];
		int rc = shape_add_count(d->shape, &d->p->count_keys[i],
					 c->count, c->value);

		if (rc)
			return rc;
	}
	return 0;
}

/* What CPUs counted beside the table. A key can come here and there, and of
 * several CPUs: the batch adds up. */
static int take_recents(struct probe *p, uint32_t epoch, struct shape *shape)
{
	int fd = bpf_map__fd(p->skel->maps.recent_counts);

	for (int cpu = 0; cpu < p->n_possible_cpus; cpu++) {
		uint32_t slot =
			(uint32_t)cpu * WEFT_EPOCHS + epoch % WEFT_EPOCHS;
		int rc = bpf_map_lookup_elem(fd, &slot, p->recents);

		for (int i = 0; i < WEFT_RECENT_COUNTS && !rc; i++) {
			const struct weft_recent *r = &p->recents->recent[i];

			if (r->count.count)
				rc = shape_add_count(shape, &r->key,
						     r->count.count,
						     r->count.value);
		}
		if (rc)
			return rc;
		memset(p->recents, 0, sizeof(*p->recents));
		rc = bpf_map_update_elem(fd, &slot, p->recents, BPF_ANY);
		if (rc)
			return rc;
	}
	return 0;
}

int probe_drain(struct probe *p, uint32_t epoch, struct shape *shape,
		struct weft_err *err)
{
	bool odd = epoch % WEFT_EPOCHS;
	struct bpf_map *stacks =
		odd ? p->skel->maps.stacks_1 : p->skel->maps.stacks_0;
	struct bpf_map *counts =
		odd ? p->skel->maps.counts_1 : p->skel->maps.counts_0;
	struct draining d = { p, shape };
	int rc = map_drain(bpf_map__fd(counts), p->count_keys, p->counts,
			   DRAIN_BATCH, take_counts, &d);

	if (!rc)
		rc = take_recents(p, epoch, shape);
	if (!rc)
		rc = map_drain(bpf_map__fd(stacks), p->stack_keys, p->stacks,
			       DRAIN_BATCH, take_stacks, &d);
	shape_seal(shape);
	if (rc)
		return weft_fail(err, rc, "cannot read the counts: %s",
				 strerror(-rc));
	return 0;
}

int probe_take_ledger(struct probe *p, uint32_t epoch, uint32_t event,
		      struct weft_ledger *total, uint64_t *fired_by_cpu,
		      struct weft_err *err)
{
	uint32_t slot = (epoch % WEFT_EPOCHS) * WEFT_MAX_EVENTS + event;
	int fd = bpf_map__fd(p->skel->maps.ledgers);
	int rc = bpf_map_lookup_elem(fd, &slot, p->ledgers);

	*total = (struct weft_ledger){ 0 };
	if (rc)
		goto fail;
	for (int cpu = 0; cpu < p->n_possible_cpus; cpu++) {
		const struct weft_ledger *l = &p->ledgers[cpu];

		for (int i = 0; i < WEFT_KERNEL_ENTRIES; i++) {
			total->entry[i].count += l->entry[i].count;
			total->entry[i].value += l->entry[i].value;
		}
		if (cpu < WEFT_MAX_CPUS)
			fired_by_cpu[cpu] = l->entry[WEFT_FIRED].count;
	}
	memset(p->ledgers, 0, p->n_possible_cpus * sizeof(*p->ledgers));
	rc = bpf_map_update_elem(fd, &slot, p->ledgers, BPF_ANY);
	if (!rc)
		return 0;
fail:
	return weft_fail(err, rc, "cannot read the ledger: %s", strerror(-rc));
}

int probe_set_context(struct probe *p, const struct weft_context_entry *e)
{
	return bpf_map__update_elem(p->skel->maps.context_entries,
				    &e->process.pid, sizeof(e->process.pid), e,
				    sizeof(*e), BPF_ANY);
}

void probe_clear_context(struct probe *p, uint32_t pid)
{
	/* Absent already is as good. */
	(void)bpf_map__delete_elem(p->skel->maps.context_entries, &pid,
				   sizeof(pid), 0);
}

int probe_read_context(const struct probe *p, uint32_t pid,
		       struct weft_context_entry *out)
{
	return bpf_map__lookup_elem(p->skel->maps.context_entries, &pid,
				    sizeof(pid), out, sizeof(*out), 0);
}

void probe_ask_again(struct probe *p, const struct weft_identity *who)
{
	(void)bpf_map__delete_elem(p->skel->maps.probes_asked, who,
				   sizeof(*who), 0);
}

bool probe_reads_obi(const struct probe *p)
{
	return p->skel->rodata->config.obi != WEFT_OBI_OFF;
}

bool probe_obi_is_silent(const struct probe *p)
{
	return obi_is_silent(p->skel);
}

uint64_t probe_contexts_refused(const struct probe *p)
{
	return p->skel->bss->probe_contexts_refused;
}

uint64_t probe_misses(int program_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program_fd, &info, &size))
		return 0;
	return info.recursion_misses;
}

void probe_run_cost(const struct probe *p, uint64_t *run_ns, uint64_t *runs)
{
	struct bpf_program *program;

	*run_ns = 0;
	*runs = 0;
	if (p->stats_fd < 0)
		return;
	bpf_object__for_each_program(program, p->skel->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || program == p->skel->progs.on_fork ||
		    program == p->skel->progs.on_exec ||
		    program == p->skel->progs.on_exit ||
		    program == p->skel->progs.on_prctl ||
		    bpf_obj_get_info_by_fd(fd, &info, &size))
			continue;
		*run_ns += info.run_time_ns;
		*runs += info.run_cnt;
	}
}
