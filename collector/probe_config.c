/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>

#include "collector/probe_config.h"

static bool any_call(const struct triggers *t)
{
	return triggers_any(t, trigger_is_call);
}

static bool any_block(const struct triggers *t)
{
	return triggers_any(t, trigger_is_by_size);
}

static bool has(const struct triggers *t, enum trigger_kind kind)
{
	return triggers_find(t, kind) != WEFT_NO_EVENT;
}

/* Programs that claim their scratch. */
static bool any_claim(const struct probe_opts *opts)
{
	return any_call(opts->triggers) || opts->examples;
}

/* How many scratches the programs have in all. */
static uint32_t n_scratches(const struct probe_opts *opts, uint32_t cpus)
{
	return cpus * (1 + any_block(opts->triggers) +
		       any_claim(opts) * WEFT_CALL_SLOTS);
}

uint64_t probe_memory(const struct probe_opts *opts)
{
	/* Of an element of a hash: its header, as the kernel rounds it up. */
	enum {
		ELEMENT = 48
	};
	uint32_t cpus = (uint32_t)libbpf_num_possible_cpus();
	uint64_t stack = ELEMENT + sizeof(struct weft_stack_key) +
			 sizeof(struct weft_stack);
	uint64_t count = ELEMENT + sizeof(struct weft_count_key) +
			 sizeof(struct weft_count);

	return WEFT_EPOCHS * ((uint64_t)opts->max_stacks * (stack + 2 * count) +
			      cpus * sizeof(struct weft_recents)) +
	       opts->ring_bytes +
	       (uint64_t)n_scratches(opts, cpus) * WEFT_SCRATCH_BYTES;
}

static double q32(double x)
{
	return x * (double)(1ULL << 32);
}

/* The least number, of 32 random bits, that one in n lies above. */
static uint32_t chance(uint64_t n)
{
	return (uint32_t)((1ULL << 32) / n - 1);
}

/* 1 / probability, of the chance as rounded. */
static double weight(uint64_t n)
{
	return q32(1) / ((double)chance(n) + 1);
}

static void set_event(struct weft_event_config *c, const struct trigger *t,
		      uint64_t detail_n)
{
	c->period = t->period;
	c->stack_chance = chance(t->stacks_n);
	if (detail_n)
		c->weight_q32 =
			(uint64_t)q32(weight(t->stacks_n) * weight(detail_n));
	if (trigger_is_by_size(t))
		c->tau_ns = t->tau_ns;
}

void probe_set_config(struct weft_config *c, const struct probe_opts *opts)
{
	const struct triggers *t = opts->triggers;

	c->timer_event = triggers_find(t, TRIGGER_TIMER);
	c->off_cpu_event = triggers_find(t, TRIGGER_OFF_CPU);
	c->run_queue_event = triggers_find(t, TRIGGER_RUN_QUEUE);
	c->on_cpu_event = triggers_find(t, TRIGGER_ON_CPU);
	for (uint32_t i = 0; i < t->n; i++)
		set_event(&c->event[i], &t->trigger[i], opts->detail_n);
	c->max_stacks = (uint32_t)opts->max_stacks;
	c->min_block_ns = opts->min_block_ns;
	c->block_states = opts->block_states;
	c->only_requests = opts->only_requests;
	c->filter = opts->filter;
	c->filter_cgroup = opts->cgroup_fd >= 0;
	c->follow_children = opts->follow_children;
	c->user_stacks = opts->user_stacks;
	c->kernel_stacks = opts->kernel_stacks;
	c->detail = opts->detail_n > 0;
	if (opts->detail_n)
		c->detail_chance = chance(opts->detail_n);
	c->ring_wake_bytes = opts->ring_bytes / 4;
	c->labels = opts->labels;
	c->attributes = opts->attributes;
	c->shape_by = opts->shape_by;
	c->examples = opts->examples;
	c->trace_probe = opts->trace_probe->map;
}

static void load_for_event(struct weft_bpf *skel, const char *kind,
			   uint32_t event)
{
	bpf_program__set_autoload(
		probe_program_of_event(skel->obj, kind, event), true);
}

/* Have the programs loaded that the triggers need. */
void probe_choose_programs(struct weft_bpf *skel, const struct triggers *t)
{
	bool has_queue = has(t, TRIGGER_RUN_QUEUE);

	for (uint32_t i = 0; i < t->n; i++) {
		enum trigger_kind kind = t->trigger[i].kind;

		if (kind == TRIGGER_TRACEPOINT) {
			load_for_event(skel, "raw", i);
			load_for_event(skel, "tracepoint", i);
		}
		if (kind == TRIGGER_KPROBE || kind == TRIGGER_KRETPROBE)
			load_for_event(skel, "kprobe", i);
	}
	bpf_program__set_autoload(skel->progs.on_tick, has(t, TRIGGER_TIMER));
	bpf_program__set_autoload(skel->progs.on_counter,
				  has(t, TRIGGER_COUNTER));
	bpf_program__set_autoload(skel->progs.on_uprobe,
				  has(t, TRIGGER_UPROBE) ||
					  has(t, TRIGGER_URETPROBE) ||
					  has(t, TRIGGER_USDT));
	bpf_program__set_autoload(skel->progs.on_switch, any_block(t));
	bpf_program__set_autoload(skel->progs.sum_open, any_block(t));
	bpf_program__set_autoload(skel->progs.on_wakeup, has_queue);
	bpf_program__set_autoload(skel->progs.on_wakeup_new, has_queue);
}

int probe_size_maps(struct weft_bpf *skel, const struct probe_opts *opts,
		    uint32_t cpus)
{
	uint32_t slots = any_claim(opts) ? WEFT_CALL_SLOTS * cpus : 1;
	struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{ skel->maps.stacks_0, opts->max_stacks },
		{ skel->maps.stacks_1, opts->max_stacks },
		{ skel->maps.counts_0, 2 * opts->max_stacks },
		{ skel->maps.counts_1, 2 * opts->max_stacks },
		{ skel->maps.samples, opts->ring_bytes },
		{ skel->maps.tick_scratch, cpus },
		{ skel->maps.shape_scratches, opts->shape_by ? cpus : 1 },
		{ skel->maps.switch_scratch,
		  any_block(opts->triggers) ? cpus : 1 },
		{ skel->maps.run_cpus,
		  has(opts->triggers, TRIGGER_ON_CPU) ? cpus : 1 },
		{ skel->maps.call_scratch, slots },
		{ skel->maps.recent_counts, WEFT_EPOCHS * cpus },
	};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		int rc = bpf_map__set_max_entries(sizes[i].map,
						  sizes[i].entries);

		if (rc)
			return rc;
	}
	return 0;
}
