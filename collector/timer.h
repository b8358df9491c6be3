/* SPDX-License-Identifier: MIT */
/*
 * The timers that fire samples: one cpu-clock event per CPU, with a fixed
 * period that starts at a random phase and is drawn anew each interval,
 * against lockstep with the workload (a bias that no interval shows).
 */
#ifndef WEFT_TIMER_H
#define WEFT_TIMER_H

#include "bpf/wire.h"
#include "store/weft.h"

struct timers;
struct bpf_program;

/* CPUs by number, ascending. */
struct cpu_list {
	uint32_t cpu[WEFT_MAX_CPUS];
	uint32_t n;
};

/* Parse "0,2-5". Returns 0 or -EINVAL, -ERANGE (above WEFT_MAX_CPUS). */
int cpu_list_parse(const char *text, struct cpu_list *out) MUST_CHECK;

/* The CPUs that are online now. */
int cpu_list_online(struct cpu_list *out, struct weft_err *err) MUST_CHECK;

/* The kernel's limit, /proc/sys/kernel/perf_event_max_sample_rate; a rate
 * above it is refused by us, since the kernel checks only frequencies. */
uint64_t timer_max_hz(void);

/* Open a disabled timer per CPU that runs program (borrowed while open). */
int timers_open(struct timers **out, struct bpf_program *program,
		const struct cpu_list *cpus, uint64_t hz,
		struct weft_err *err) MUST_CHECK;
void timers_close(struct timers *t); /* NULL is fine */

/* Start them, each at a random phase. */
int timers_enable(struct timers *t, struct weft_err *err) MUST_CHECK;
void timers_disable(struct timers *t);

/*
 * Draw the next interval's period for each CPU: uniform within 5 % of the
 * asked one. timers_period() tells it; timers_apply() sets it in the kernel,
 * just after the epoch swap.
 */
void timers_draw(struct timers *t);
uint64_t timers_next_period(const struct timers *t, uint32_t i);
uint32_t timers_cpu(const struct timers *t, uint32_t i);
int timers_apply(struct timers *t, struct weft_err *err) MUST_CHECK;

/* What timer i (of timers_count()) was to do in the interval that ends now:
 * its CPU, its period, and how often it was due since the last call. */
struct timer_due {
	uint32_t cpu;
	uint64_t period_ns;
	uint64_t due;
};
uint32_t timers_count(const struct timers *t);
int timers_take_due(struct timers *t, uint32_t i, struct timer_due *out,
		    struct weft_err *err) MUST_CHECK;

#endif
