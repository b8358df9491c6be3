/* SPDX-License-Identifier: MIT */
/*
 * The perf events that fire samples, one per CPU and event: timers and
 * counters. A timer has a fixed period that starts at a random phase and is
 * drawn anew each interval, against lockstep with the workload (a bias that no
 * interval shows).
 */
#ifndef WEFT_TIMER_H
#define WEFT_TIMER_H

#include "bpf/wire.h"
#include "store/weft.h"

struct timers;
struct bpf_program;
struct perf_event_attr;

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

struct timers_opts {
	const char *name; /* of the event, for messages; borrowed while open */
	uint32_t event;   /* its number: the program's cookie */
	uint32_t type;    /* of struct perf_event_attr */
	uint64_t config;
	uint64_t period; /* ns, or what is counted; of a timer nominal */
	bool is_timer;
	struct bpf_program *program; /* borrowed while open */
	const struct cpu_list *cpus; /* borrowed for the call */
};

/*
 * Open a disabled perf event per CPU that runs the program. -ENODEV: the
 * machine has no such event, which err says, and what to take instead; -EPERM:
 * it may not be used.
 */
int timers_open(struct timers **out, const struct timers_opts *opts,
		struct weft_err *err) MUST_CHECK;
void timers_close(struct timers *t); /* NULL is fine */

/* How each of them is opened. Borrowed. */
const struct perf_event_attr *timers_attr(const struct timers *t);

/*
 * Take the place of a CPU's event, which the kernel has turned off for good: fd
 * (consumed) is a new one, opened by timers_attr(), which starts at once where
 * they are started. What the old one counted is not lost. -ENOENT: they have no
 * such CPU.
 */
int timers_replace(struct timers *t, uint32_t cpu, int fd,
		   struct weft_err *err) MUST_CHECK;

/* A CPU went offline (is_off), or is back. */
void timers_set_off(struct timers *t, uint32_t cpu, bool is_off);

/* Timers: a CPU's did not run at all in the last interval, as where the CPU was
 * off for part of it. Of counters nobody knows. */
bool timers_stood_still(const struct timers *t, uint32_t cpu);

uint32_t timers_event(const struct timers *t);
bool timers_are_timers(const struct timers *t); /* else counters */

/* Start them; timers each at a random phase. */
int timers_enable(struct timers *t, struct weft_err *err) MUST_CHECK;
void timers_disable(struct timers *t);

/*
 * Draw the next interval's period for each CPU: uniform within 5 % of the
 * asked one; of counters always that. timers_next_period() tells it;
 * timers_apply() sets it in the kernel, just after the epoch swap.
 */
void timers_draw(struct timers *t);
uint64_t timers_next_period(const struct timers *t, uint32_t i);
uint32_t timers_cpu(const struct timers *t, uint32_t i);
int timers_apply(struct timers *t, struct weft_err *err) MUST_CHECK;

/* What timer i (of timers_count()) was to do in the interval that ends now:
 * its CPU, its period, and how often it was due since the last call; is_off: it
 * was not, for the CPU was offline. */
struct timer_due {
	uint32_t cpu;
	uint64_t period;
	uint64_t due;
	uint64_t throttled; /* times that the kernel held it back */
	bool has_throttled; /* that is measured */
	bool is_off;
};
uint32_t timers_count(const struct timers *t);
int timers_take_due(struct timers *t, uint32_t i, struct timer_due *out,
		    struct weft_err *err) MUST_CHECK;

#endif
