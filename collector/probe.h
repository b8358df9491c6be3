/* SPDX-License-Identifier: MIT */
/*
 * The kernel program: loading, configuring, attaching its hooks, swapping
 * epochs and emptying the old one. The timers that fire it are in timer.h.
 */
#ifndef WEFT_PROBE_H
#define WEFT_PROBE_H

#include "bpf/wire.h"
#include "collector/shape.h"
#include "collector/trace_probe.h"
#include "collector/trigger.h"
#include "store/weft.h"

struct probe;

struct probe_opts {
	bool filter;   /* only targets; else everything */
	int cgroup_fd; /* -1: no; else only tasks below it */
	bool follow_children;
	bool user_stacks, kernel_stacks;
	bool shape_by;   /* counts are told apart by an attribute */
	bool attributes; /* with detail samples */
	bool examples;   /* measures take stacks or contexts */
	const struct triggers *triggers; /* borrowed for the call */
	uint64_t min_block_ns;
	uint32_t block_states; /* bits by enum weft_block_state */
	bool only_requests;
	uint64_t detail_n;   /* 0: no detail; else one in N */
	uint32_t max_stacks; /* in an epoch */
	uint32_t ring_bytes; /* of the detail ring; a power of two, in pages */
	struct weft_label_names labels;
	const struct trace_probe *trace_probe; /* borrowed */
	enum weft_obi obi;
	bool self_cost; /* have the kernel time the program */
};

/* Kernel memory that the maps will take, in bytes, by possible CPUs. */
uint64_t probe_memory(const struct probe_opts *opts);

/*
 * Load the program; nothing runs yet. Errors: -EPERM names the missing right,
 * -ENOENT a kernel without BTF; else what the kernel said.
 */
int probe_open(struct probe **out, const struct probe_opts *opts,
	       struct weft_err *err) MUST_CHECK;

struct bpf_object;

/* The loaded object, for others that use its maps; and how it is configured.
 * Both borrowed. */
struct bpf_object *probe_object(struct probe *p);
const struct weft_config *probe_config(const struct probe *p);

/* NULL is fine. */
void probe_close(struct probe *p);

/* Whether the program reads trace contexts, and has to be told where they are:
 * without details, blocks of requests and --shape-by nobody asks. */
bool probe_reads_contexts(const struct probe *p);

/* Attach the process hooks, and the trace probe if there is one. Samples need
 * hooks.h besides. */
int probe_attach(struct probe *p, struct weft_err *err) MUST_CHECK;

/* A program of the kernel's side by its name there; it must be one that the
 * triggers need. Borrowed. */
struct bpf_program *probe_program(struct probe *p, const char *name);

/* One of those of which each event has its own, as "on_raw_3". */
struct bpf_program *probe_program_of_event(const struct bpf_object *object,
					   const char *kind, uint32_t event);

/* Hooks count between these two, of boot time. What has not ended by then is
 * added to the ledger of the epoch under way, if blocks were opened. */
void probe_start(struct probe *p, uint64_t now_ns);
void probe_stop(struct probe *p, uint64_t now_ns);
int probe_open_blocks(struct probe *p, struct weft_err *err) MUST_CHECK;

/* Add a target. start_ticks: field 22 of /proc/PID/stat. */
int probe_add_process(struct probe *p, uint32_t pid, uint64_t start_ticks,
		      struct weft_err *err) MUST_CHECK;
int probe_add_thread(struct probe *p, uint32_t tid, uint64_t start_ticks,
		     struct weft_err *err) MUST_CHECK;

/* File descriptors of the ring maps; borrowed. */
int probe_samples_fd(const struct probe *p);
int probe_notices_fd(const struct probe *p);

/*
 * Whether the program finds in the kernel's own tree what this process has
 * mapped, by its /proc/self/maps: every executable mapping, and nothing where
 * none is. Call before samples come.
 */
bool probe_proves_mappings(struct probe *p);

/* Have mappings looked up in lists by process, from the first sample on. */
void probe_list_mappings(struct probe *p);

/* By struct weft_identity, a struct weft_mapping_list; borrowed. */
int probe_mapping_lists_fd(const struct probe *p);

/* Unwind tables: what is known of files, and the maps by slot; both borrowed.
 * After a change of what is known call probe_tables_changed(). */
int probe_tables_fd(const struct probe *p);
int probe_table_slots_fd(const struct probe *p);
void probe_tables_changed(struct probe *p);

/* The map of what --shape-by tells apart: struct weft_shape_value -> number. */
int probe_shape_values_fd(const struct probe *p);

/* A descriptor from which struct weft_mapped can be read, one for each
 * executable file mapping of the targets; borrowed. Reading takes the locks
 * of their memory, which may take long. */
int probe_mapped_fd(const struct probe *p);

uint32_t probe_epoch(const struct probe *p);

/* The period (ns) of each CPU's timer from the next epoch on. */
void probe_set_period(struct probe *p, uint32_t epoch, uint32_t cpu,
		      uint64_t period_ns);

/*
 * Start the next epoch and wait until no program uses the old one. Returns 0
 * and the old epoch, which may now be drained; blocks for some milliseconds.
 */
int probe_swap(struct probe *p, uint32_t *old_epoch,
	       struct weft_err *err) MUST_CHECK;

/* Move the counts and stacks of a finished epoch into shape (sealed). */
int probe_drain(struct probe *p, uint32_t epoch, struct shape *shape,
		struct weft_err *err) MUST_CHECK;

/* What a finished epoch's ledger says of an event; then set it to 0.
 * fired_by_cpu has room for WEFT_MAX_CPUS. */
int probe_take_ledger(struct probe *p, uint32_t epoch, uint32_t event,
		      struct weft_ledger *total, uint64_t *fired_by_cpu,
		      struct weft_err *err) MUST_CHECK;

/* Tell the program where a process keeps its trace context. -E2BIG: table
 * full. */
int probe_set_context(struct probe *p, const struct weft_context_entry *e);
void probe_clear_context(struct probe *p, uint32_t pid);

/* Read it back, with how often it was used. -ENOENT: there is none. */
int probe_read_context(const struct probe *p, uint32_t pid,
		       struct weft_context_entry *out) MUST_CHECK;

/* Have the next sample of a process ask for its context again. */
void probe_ask_again(struct probe *p, const struct weft_identity *who);

/* Whether processes that have nothing else are looked up in OBI's map; it has
 * then to be known of them. And whether that map is read, but gave nothing. */
bool probe_reads_obi(const struct probe *p);
bool probe_obi_is_silent(const struct probe *p);

/* Contexts that the trace probe was told, and that found no room. */
uint64_t probe_contexts_refused(const struct probe *p);

/* How often, since its load, the kernel left a program out because another
 * ran; 0 where it does not say. */
uint64_t probe_misses(int program_fd);

/* Time and runs of the programs that make samples, since load; 0 without
 * self_cost. */
void probe_run_cost(const struct probe *p, uint64_t *run_ns, uint64_t *runs);

#endif
