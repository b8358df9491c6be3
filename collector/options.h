/* SPDX-License-Identifier: MIT */
/* What the command line of weft-record asks for. */
#ifndef WEFT_OPTIONS_H
#define WEFT_OPTIONS_H

#include "bpf/wire.h"
#include "collector/keep.h"
#include "collector/timer.h"
#include "collector/trace_probe.h"
#include "collector/trigger.h"
#include "store/weft.h"

enum {
	OPTIONS_TARGETS_MAX = 256,
	OPTIONS_MEASURES_MAX = 16
};

struct record_opts {
	bool all; /* -a, or nothing else was asked for */
	uint32_t pids[OPTIONS_TARGETS_MAX];
	size_t n_pids;
	uint32_t tids[OPTIONS_TARGETS_MAX];
	size_t n_tids;
	const char *cgroup;       /* NULL: none */
	char *const *command;     /* argv; NULL: none */
	struct triggers triggers; /* owned; at least one */
	uint64_t hz;
	uint64_t period;       /* of counters that have none of their own */
	uint64_t min_block_ns; /* of off-cpu */
	uint32_t block_states; /* the same: bits by enum weft_block_state */
	bool only_requests;    /* runs, blocks, waits with an active trace */
	struct cpu_list cpus;  /* n 0: all that are online */
	const char *measures[OPTIONS_MEASURES_MAX]; /* as typed */
	size_t n_measures;
	uint64_t max_keys; /* of each measure, in an interval */
	uint64_t examples; /* of each bucket; 0: none */
	bool no_samples;   /* nothing but measures */
	bool user_stacks, kernel_stacks;
	bool follow_children;
	uint64_t detail_n;    /* 0: off */
	bool attributes;      /* with detail samples */
	const char *shape_by; /* key of an attribute; NULL: none */
	const char *output;
	bool append;
	const char *health;   /* file that says how it goes; NULL: none */
	uint64_t duration_ns; /* 0: until stopped */
	uint64_t interval_ns;
	uint64_t max_stacks;
	uint64_t ring_bytes;
	uint64_t max_wal_bytes;
	struct store_keep keep;
	uint64_t max_table_bytes; /* of unwind tables */
	bool no_inline;
	const char *otlp_listen;        /* NULL: spans are not received */
	struct weft_label_names labels; /* names of labels that hold IDs */
	struct trace_probe trace_probe;
	enum weft_obi obi;
	bool self_cost;
	bool use_debuginfod; /* once the recording is closed */
	enum weft_level log_level;
};

enum options_next {
	OPTIONS_RECORD,  /* go on */
	OPTIONS_DONE,    /* help or version was printed: exit 0 */
	OPTIONS_REFUSED, /* what is wrong was printed: exit 2 */
};

/* Parse argv; strings are borrowed from it. Whatever it returns,
 * options_release() frees what out holds. */
enum options_next options_parse(int argc, char **argv, struct record_opts *out);
void options_release(struct record_opts *o);

#endif
