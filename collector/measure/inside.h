/* SPDX-License-Identifier: MIT */
/* The measures of a recording as measures.c, attach.c and drain.c have them:
 * what is asked for, its kernel programs, what these counted. */
#ifndef WEFT_MEASURE_INSIDE_H
#define WEFT_MEASURE_INSIDE_H

#include "collector/measure/measures.h"
#include "collector/measure/symbol.h"

enum {
	CALLS_MAX = 16384, /* that have not returned, of a measure */
	LINKS_MAX = 2
};

struct bpf_link;
struct bpf_program;
struct measure_bpf;

struct one {
	struct measure_ready ready;
	struct measure_place place; /* of a function; fd -1: none */
	struct measure_bpf *skel;   /* owned */
	struct bpf_link *link[LINKS_MAX];
	uint64_t missed; /* by the kernel's count, so far */
	/* Calls that wait for their return; how many did when those of threads
	 * that have ended were last taken away. */
	int64_t waiting, left_waiting;
};

struct measures {
	struct one one[MEASURES_MAX];
	size_t n;
	uint32_t max_keys;
	int n_cpus;              /* possible */
	struct cgroups *cgroups; /* owned */
	/* Buffers of a batch, owned. */
	void *keys, *values;
	struct measure_ledger *ledgers; /* n_cpus */
};

/* How many keys a measure has room for in an interval. */
uint32_t measure_room(const struct measures *m, const struct one *one);

/* Which programs a hook takes; returns how many. The first is attached first,
 * so that no call is seen to begin whose end would not be. */
size_t measure_programs(const struct one *one,
			struct bpf_program *program[LINKS_MAX]);

/* Undo what measures_attach() did for one, as far as it came. */
void measure_detach(struct one *one);

/* Events that the kernel left out since this was asked last. */
uint64_t measure_take_missed(struct one *one);

/* Make the buffers that measures_drain() takes. */
int measure_buffers(struct measures *m, struct weft_err *err) MUST_CHECK;

#endif
