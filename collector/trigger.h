/* SPDX-License-Identifier: MIT */
/*
 * What makes samples: the words of `-e`, and what they mean. Nothing is opened
 * or looked up here; hooks.h does that.
 */
#ifndef WEFT_TRIGGER_H
#define WEFT_TRIGGER_H

#include "bpf/wire.h"
#include "store/weft.h"

enum trigger_kind {
	TRIGGER_TIMER,   /* cpu-clock: each so many ns of a CPU's time */
	TRIGGER_COUNTER, /* a perf event: each so many of what it counts */
	TRIGGER_OFF_CPU,
	TRIGGER_RUN_QUEUE,
	TRIGGER_ON_CPU,
	TRIGGER_TRACEPOINT, /* from here on: calls */
	TRIGGER_UPROBE,
	TRIGGER_URETPROBE,
	TRIGGER_USDT,
	TRIGGER_KPROBE,
	TRIGGER_KRETPROBE,
};

struct trigger {
	enum trigger_kind kind;
	char *name; /* owned: the event's name in the file */

	/* COUNTER: of struct perf_event_attr. */
	uint32_t perf_type;
	uint64_t perf_config;
	uint64_t period; /* 0: not said */

	/* Calls. Owned; NULL where the kind has none. */
	char *path;      /* of the file */
	char *scope;     /* a tracepoint's category, a USDT probe's provider */
	char *symbol;    /* its function, or the probe's name */
	uint64_t offset; /* from the symbol */
	uint64_t stacks_n; /* one call in N has its stack taken */

	uint64_t tau_ns; /* blocks and waits; TRIGGER_TAU_DEFAULT: not said */
};

#define TRIGGER_TAU_DEFAULT UINT64_MAX

struct triggers {
	struct trigger trigger[WEFT_MAX_EVENTS];
	uint32_t n;
};

/*
 * Add what one `-e` asks for: NAME[,OPTION=VALUE...]; `wall` adds four. What
 * is there already is not added again. Returns 0, or -EINVAL with err saying
 * what is wrong and what may have been meant; -ENOMEM.
 */
int triggers_add(struct triggers *t, const char *text,
		 struct weft_err *err) MUST_CHECK;

/* Zeroed again. */
void triggers_release(struct triggers *t);

/* The number of the first trigger of a kind, or WEFT_NO_EVENT. */
uint32_t triggers_find(const struct triggers *t, enum trigger_kind kind);

/* Whether one of them is such as is() says. */
bool triggers_any(const struct triggers *t,
		  bool (*is)(const struct trigger *trigger));

bool trigger_is_perf_event(const struct trigger *t); /* timer or counter */
bool trigger_is_call(const struct trigger *t);

/* Blocks, waits and runs: chosen for detail by their length. */
bool trigger_is_by_size(const struct trigger *t);

/* "ns", "calls" or "events". */
const char *trigger_unit(const struct trigger *t);

/* Perf events by name, NULL-terminated; needs_pmu: those of the CPU, else
 * those of the kernel. For lists. */
const char *const *trigger_counter_names(bool needs_pmu);

/* Parse the letters of --state: R S D T I X, as ps has them, with commas or
 * without. Returns 0 or -EINVAL. */
int trigger_parse_states(const char *text, uint32_t *out) MUST_CHECK;

#endif
