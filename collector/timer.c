/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/throttle.h"
#include "collector/timer.h"

struct timer {
	uint32_t cpu;
	int fd;                /* the link's, once there is one; else -1 */
	struct bpf_link *link; /* owned */
	struct throttle throttle;
	uint64_t period, next_period;
	uint64_t counted; /* what the event had counted at the last take */
	uint64_t carry;   /* counted, but less than a period */
	bool is_off;      /* the CPU is offline */
	bool is_still;    /* nothing was counted between the last two takes */
};

struct timers {
	uint32_t event;
	bool is_timer, is_enabled;
	uint64_t nominal;
	struct perf_event_attr attr;
	const char *name;            /* borrowed */
	struct bpf_program *program; /* borrowed */
	uint32_t n;
	struct timer timer[];
};

int cpu_list_parse(const char *text, struct cpu_list *out)
{
	const char *p = text;

	*out = (struct cpu_list){ 0 };
	do {
		char *end;
		unsigned long first, last;

		if (*p < '0' || *p > '9')
			return -EINVAL;
		first = last = strtoul(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (*p < '0' || *p > '9')
				return -EINVAL;
			last = strtoul(p, &end, 10);
		}
		if (last >= WEFT_MAX_CPUS)
			return -ERANGE;
		if (first > last || (out->n && first <= out->cpu[out->n - 1]))
			return -EINVAL;
		while (first <= last)
			out->cpu[out->n++] = first++;
		p = end;
	} while (*p++ == ',');
	return p[-1] == '\0' || p[-1] == '\n' ? 0 : -EINVAL;
}

/* First line of a small file of the kernel's; 0 or negative errno. */
static int read_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	int rc = 0;

	if (!f)
		return -errno;
	if (!fgets(out, size, f))
		rc = -EIO;
	fclose(f);
	return rc;
}

int cpu_list_online(struct cpu_list *out, struct weft_err *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	char line[4096];
	int rc = read_line(path, line, sizeof(line));

	if (!rc)
		rc = cpu_list_parse(line, out);
	if (rc)
		return weft_fail(err, rc, "cannot read the CPUs from '%s': %s",
				 path, strerror(-rc));
	return 0;
}

uint64_t timer_max_hz(void)
{
	char line[64];
	uint64_t hz;

	if (read_line("/proc/sys/kernel/perf_event_max_sample_rate", line,
		      sizeof(line)))
		return 100000; /* the kernel's own default */
	line[strcspn(line, "\n")] = '\0';
	if (weft_parse_u64(line, 1, UINT32_MAX, &hz))
		return 100000;
	return hz;
}

static int open_event(const struct timers *t, const struct timer *timer)
{
	struct perf_event_attr attr = t->attr;
	int fd;

	attr.sample_period = timer->period;
	fd = syscall(SYS_perf_event_open, &attr, -1, (int)timer->cpu, -1,
		     PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int fail_open(const struct timers_opts *opts, uint32_t cpu, int rc,
		     struct weft_err *err)
{
	if (rc == -EACCES || rc == -EPERM)
		return weft_fail(
			err, -EPERM,
			"cannot open %s of CPU %u: %s; it needs CAP_PERFMON (or root)",
			opts->name, cpu, strerror(-rc));
	if (opts->type != PERF_TYPE_SOFTWARE &&
	    (rc == -ENOENT || rc == -ENODEV || rc == -EOPNOTSUPP))
		return weft_fail(
			err, -ENODEV,
			"this machine has no hardware counter for '%s' (many virtual machines have none at all); -e cpu-clock samples by time instead",
			opts->name);
	return weft_fail(err, rc, "cannot open %s of CPU %u: %s", opts->name,
			 cpu, strerror(-rc));
}

/* fd is consumed. */
static int attach(struct timers *t, struct timer *timer, int fd,
		  struct weft_err *err)
{
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = t->event);

	/* Attaching would enable the event at once: the caller says when. */
	timer->link =
		bpf_program__attach_perf_event_opts(t->program, fd, &opts);
	if (!timer->link) {
		int rc = -errno;

		close(fd);
		return weft_fail(err, rc, "cannot attach to %s of CPU %u: %s",
				 t->name, timer->cpu, strerror(-rc));
	}
	timer->fd = fd; /* the link now owns it */
	throttle_open(&timer->throttle, fd);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	return 0;
}

static int open_timer(struct timers *t, struct timer *timer,
		      const struct timers_opts *opts, struct weft_err *err)
{
	int fd = open_event(t, timer);

	if (fd < 0)
		return fail_open(opts, timer->cpu, fd, err);
	return attach(t, timer, fd, err);
}

int timers_open(struct timers **out, const struct timers_opts *opts,
		struct weft_err *err)
{
	const struct cpu_list *cpus = opts->cpus;
	struct timers *t =
		calloc(1, sizeof(*t) + cpus->n * sizeof(t->timer[0]));
	int rc = 0;

	*out = NULL;
	if (!t)
		return weft_fail(err, -ENOMEM,
				 "cannot open timers: out of memory");
	t->event = opts->event;
	t->is_timer = opts->is_timer;
	t->nominal = opts->period;
	t->attr = (struct perf_event_attr){
		.size = sizeof(t->attr),
		.type = opts->type,
		.config = opts->config,
		.sample_period = opts->period,
		.disabled = 1,
	};
	t->name = opts->name;
	t->program = opts->program;
	t->n = cpus->n;
	for (uint32_t i = 0; i < t->n; i++) {
		t->timer[i].cpu = cpus->cpu[i];
		t->timer[i].fd = -1;
	}
	timers_draw(t);
	for (uint32_t i = 0; i < t->n && !rc; i++) {
		t->timer[i].period = t->timer[i].next_period;
		rc = open_timer(t, &t->timer[i], opts, err);
	}
	if (rc) {
		timers_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

void timers_close(struct timers *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n; i++) {
		throttle_close(&t->timer[i].throttle);
		bpf_link__destroy(t->timer[i].link);
	}
	free(t);
}

static uint32_t random_u32(void)
{
	uint32_t r = 0;

	/* Below 256 bytes getrandom() neither fails nor is cut short. */
	(void)!getrandom(&r, sizeof(r), 0);
	return r;
}

uint32_t timers_event(const struct timers *t)
{
	return t->event;
}

bool timers_are_timers(const struct timers *t)
{
	return t->is_timer;
}

static void wait_for_phase(const struct timers *t)
{
	uint64_t most_ns = t->nominal < 1000000 ? t->nominal : 1000000;
	struct timespec phase = {
		.tv_nsec = (long)((uint64_t)random_u32() * most_ns >> 32),
	};

	nanosleep(&phase, NULL);
}

int timers_enable(struct timers *t, struct weft_err *err)
{
	t->is_enabled = true;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->is_timer)
			wait_for_phase(t);
		if (ioctl(t->timer[i].fd, PERF_EVENT_IOC_ENABLE, 0)) {
			int rc = -errno;

			return weft_fail(err, rc,
					 "cannot start the timer of CPU %u: %s",
					 t->timer[i].cpu, strerror(-rc));
		}
	}
	return 0;
}

void timers_disable(struct timers *t)
{
	t->is_enabled = false;
	for (uint32_t i = 0; i < t->n; i++)
		ioctl(t->timer[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void timers_draw(struct timers *t)
{
	/* 5 % to either side */
	uint64_t spread = t->is_timer ? t->nominal / 10 : 0;

	for (uint32_t i = 0; i < t->n; i++)
		t->timer[i].next_period =
			t->nominal - spread / 2 +
			((uint64_t)random_u32() * (spread + 1) >> 32);
}

uint64_t timers_next_period(const struct timers *t, uint32_t i)
{
	return t->timer[i].next_period;
}

uint32_t timers_cpu(const struct timers *t, uint32_t i)
{
	return t->timer[i].cpu;
}

int timers_apply(struct timers *t, struct weft_err *err)
{
	if (!t->is_timer)
		return 0; /* their period stays */
	for (uint32_t i = 0; i < t->n; i++) {
		struct timer *timer = &t->timer[i];

		timer->period = timer->next_period;
		if (ioctl(timer->fd, PERF_EVENT_IOC_PERIOD, &timer->period)) {
			int rc = -errno;

			return weft_fail(err, rc,
					 "cannot set the period of CPU %u: %s",
					 timer->cpu, strerror(-rc));
		}
	}
	return 0;
}

uint32_t timers_count(const struct timers *t)
{
	return t->n;
}

/* What it has counted since the last time is carried. */
static int take_counted(struct timer *timer, struct weft_err *err)
{
	uint64_t counted;
	ssize_t n = read(timer->fd, &counted, sizeof(counted));

	if (n != sizeof(counted)) {
		int rc = n < 0 ? -errno : -EIO;

		return weft_fail(err, rc, "cannot read the timer of CPU %u: %s",
				 timer->cpu, strerror(-rc));
	}
	timer->is_still = counted && counted == timer->counted;
	timer->carry += counted - timer->counted;
	timer->counted = counted;
	return 0;
}

int timers_take_due(struct timers *t, uint32_t i, struct timer_due *out,
		    struct weft_err *err)
{
	struct timer *timer = &t->timer[i];
	int rc = take_counted(timer, err);

	if (rc)
		return rc;
	*out = (struct timer_due){
		.cpu = timer->cpu,
		.period = timer->period,
		.due = timer->carry / timer->period,
		.throttled = throttle_take(&timer->throttle),
		.has_throttled = throttle_is_measured(&timer->throttle),
		.is_off = timer->is_off,
	};
	timer->carry %= timer->period;
	return 0;
}

static struct timer *find(const struct timers *t, uint32_t cpu)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->timer[i].cpu == cpu)
			return (struct timer *)&t->timer[i];
	}
	return NULL;
}

const struct perf_event_attr *timers_attr(const struct timers *t)
{
	return &t->attr;
}

void timers_set_off(struct timers *t, uint32_t cpu, bool is_off)
{
	struct timer *timer = find(t, cpu);

	if (timer)
		timer->is_off = is_off;
}

bool timers_stood_still(const struct timers *t, uint32_t cpu)
{
	const struct timer *timer = t->is_timer ? find(t, cpu) : NULL;

	return timer && timer->is_still;
}

int timers_replace(struct timers *t, uint32_t cpu, int fd, struct weft_err *err)
{
	struct timer *timer = find(t, cpu);
	struct timer fresh;
	int rc;

	if (!timer) {
		close(fd);
		return weft_fail(err, -ENOENT, "no event of CPU %u", cpu);
	}
	rc = take_counted(timer, err);
	fresh = *timer;
	if (!rc)
		rc = attach(t, &fresh, fd, err);
	else
		close(fd);
	if (rc)
		return rc;
	throttle_close(&timer->throttle);
	bpf_link__destroy(timer->link);
	fresh.counted = 0;
	fresh.is_off = fresh.is_still = false;
	*timer = fresh;
	if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &timer->period) ||
	    (t->is_enabled && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		rc = -errno;
		return weft_fail(err, rc,
				 "cannot start the timer of CPU %u: %s", cpu,
				 strerror(-rc));
	}
	return 0;
}
