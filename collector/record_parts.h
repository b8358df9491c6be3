/* SPDX-License-Identifier: MIT */
/*
 * The parts of a recording: made in an order in which each has what it needs,
 * the kernel's side while there is privilege, the loop's after it was given
 * up; closed in reverse.
 *
 * A switch for tests: with WEFT_MAPPINGS=list in the environment mappings are
 * followed from user space, as on a kernel whose own tree is not known.
 */
#ifndef WEFT_RECORD_PARTS_H
#define WEFT_RECORD_PARTS_H

#include "collector/command.h"
#include "collector/discovery.h"
#include "collector/health.h"
#include "collector/hooks.h"
#include "collector/hotplug.h"
#include "collector/jit.h"
#include "collector/mapping_lists.h"
#include "collector/measure/measures.h"
#include "collector/naming.h"
#include "collector/options.h"
#include "collector/otlp/receiver.h"
#include "collector/pipeline.h"
#include "collector/probe.h"
#include "collector/reaper.h"
#include "collector/sideband.h"
#include "collector/unwind_tables.h"
#include "collector/writer.h"

/* How long the end of a recording waits, in ms, for a file that cannot be
 * written, or after a second signal; and for a write that does not come back. A
 * slow disk needs long to seal many samples in one. */
enum {
	RECORD_HURRY_MS = 2000,
	RECORD_STUCK_MS = 120000,
};

/* What parts call back, from the loop. */
struct record_hooks {
	void (*on_answer)(void *ctx);  /* something that was waited for came */
	void (*on_process)(void *ctx); /* the same, of a process */
	writer_stored_fn *on_stored;
	void *ctx;
};

/* Zeroed but for opts and hooks, and descriptors -1. All owned. */
struct record_parts {
	const struct record_opts *opts; /* borrowed */
	struct record_hooks hooks;

	/* By record_parts_prepare(). */
	struct command command;
	int command_code; /* why it could not be run; 0: it could */
	int cgroup_fd;
	struct cpu_list cpus; /* those that are sampled */
	struct inspect_server server;
	struct otlp_server otlp;   /* fd -1: spans are not received */
	struct measures *measures; /* NULL: none */

	/* By record_parts_open(), in that order. */
	uv_loop_t loop;
	bool has_loop;
	struct probe *probe;
	struct binaries *binaries;
	struct kernel *kernel;
	struct sideband *sideband;
	struct hooks *kernel_hooks;
	struct hotplug *hotplug;
	struct inspect *inspect;
	uint64_t troubles; /* that it told of */
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
	struct health *health; /* NULL: not asked for */
	struct health_now health_now;
	struct resolver resolver;
};

#define RECORD_NO_PARTS                                               \
	{                                                             \
		.cgroup_fd = -1,                                      \
		.command = { .pid = -1, .go_fd = -1, .fail_fd = -1 }, \
		.server = { .fd = -1 }, .otlp = { .fd = -1 },         \
	}

/* What must be known, or forked, before anything is loaded. */
int record_parts_prepare(struct record_parts *p,
			 struct weft_err *err) MUST_CHECK;

/* Make the rest; gives up privilege on the way. */
int record_parts_open(struct record_parts *p, struct weft_err *err) MUST_CHECK;

/* Have tables made of what targets have mapped, before they are sampled. */
void record_parts_warm_up(struct record_parts *p);

/* Parts may be missing. is_aborted: leave the file without an end. err says
 * what could not be finished. Ends the process, with status 1 and a message,
 * where a write does not come back in time (above). */
void record_parts_close(struct record_parts *p, bool is_aborted,
			struct weft_err *err);

#endif
