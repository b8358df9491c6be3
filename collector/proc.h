/* SPDX-License-Identifier: MIT */
/*
 * Processes, each program run by its identity: who was born of whom, what it
 * is called, what code it has mapped. Kept up to date by the side-band; what
 * was there before is read once, by an inspector.
 */
#ifndef WEFT_PROC_H
#define WEFT_PROC_H

#include "collector/inspect/inspect.h"
#include "collector/maps.h"
#include "collector/sideband.h"

/* Program runs remembered; more are counted as sideband_lost and have no
 * names. The dead go two intervals after their end. */
enum {
	PROCS_MAX = 131072
};

struct attributes;

enum proc_maps {
	PROC_MAPS_COMPLETE, /* known from its start */
	PROC_MAPS_UNKNOWN,  /* it was there before us: to be read */
	PROC_MAPS_ASKED,    /* an inspector is reading */
	PROC_MAPS_FAILED,   /* could not be read: gone, or barred */
};

struct proc {
	struct weft_identity who; /* start_ns 0: not known yet */
	uint32_t refs;
	uint32_t parent_pid, inner_pid; /* 0: not known */
	char comm[WEFT_COMM_LEN];
	char *exe, *cgroup, *service;  /* owned; NULL: not known */
	struct attributes *attributes; /* owned; NULL: it publishes none */
	uint64_t context_ns; /* boot; when what it publishes was read */
	struct maps maps;
	enum proc_maps maps_state;
	struct proc *inherit; /* owned reference: whose mappings as of
				 inherit_ns it was born with; NULL: none */
	uint64_t inherit_ns;
	uint32_t inherit_depth; /* how many it inherits from in turn */
	uint64_t born_ns;       /* boot; when this run began, or we saw it */
	uint64_t dead_ns;       /* 0: alive */
	uint64_t used_ns;       /* last interval in which it had samples */
	bool details_asked;     /* exe, cgroup and the like were asked for */
	bool changed;           /* since it was last stored */
};

struct procs;

struct procs_opts {
	struct inspect *inspect;   /* borrowed */
	struct binaries *binaries; /* borrowed */
	bool only_known; /* side-band of pids never announced is ignored */
	/* Called when an inspector's answer arrives: work that waited for
	 * mappings may go on. */
	void (*on_answer)(void *ctx);
	void *ctx;
};

int procs_open(struct procs **out, const struct procs_opts *opts,
	       struct weft_err *err) MUST_CHECK;
void procs_close(struct procs *p); /* NULL is fine */

/* Apply one side-band event, in order of time. A sideband_fn, with the procs
 * as ctx. */
void procs_event(void *procs, const struct sideband_event *event);

/* A process that exists before recording starts and is a target: its
 * identity is learnt from its first sample. */
void procs_announce(struct procs *p, uint32_t pid);

/* The run that a sample belongs to, made if it was not known. NULL: no room.
 * Borrowed until procs_sweep(). */
struct proc *procs_get(struct procs *p, const struct weft_identity *who);

/* Ask for mappings that are not known. Returns true if they are under way:
 * on_answer will be called. */
bool procs_want_maps(struct procs *p, struct proc *proc);

/* Ask, once, for what only /proc tells (exe, cgroup) of a run that has lived
 * for a while. Nobody waits for it. */
void procs_want_details(struct procs *p, struct proc *proc, uint64_t now_ns);

/* Requests of procs_want_maps() not answered yet. */
uint32_t procs_waiting(const struct procs *p);

/* What lies at a user address of a run in an interval; as maps_find(), with
 * what it inherited. */
enum maps_answer procs_find(const struct proc *proc, uint64_t addr,
			    uint64_t start_ns, uint64_t end_ns,
			    const struct mapping **out);

/*
 * What a run has mapped now, with what it inherited, into an empty list that
 * the caller releases. What was unmapped since stays in it until something
 * else is mapped there. -ENOMEM, -E2BIG (MAPS_MAX): *out is cut.
 */
int procs_list(const struct proc *proc, struct maps *out) MUST_CHECK;

/* Side-band was lost: read the mappings of the living again when needed. */
void procs_distrust(struct procs *p);

/* Forget the dead that had neither life nor samples after before_ns. */
void procs_sweep(struct procs *p, uint64_t before_ns);

/* How often the table was full since the last call. */
uint64_t procs_take_refused(struct procs *p);

#endif
