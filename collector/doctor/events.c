/* SPDX-License-Identifier: MIT */
/* What weft record can sample by besides the timer, and measure: of that this
 * kernel or machine may have none, and a default recording needs none. */
#include <string.h>
#include <unistd.h>

#include "collector/doctor/doctor.h"
#include "collector/tracefs.h"

static bool has_source(const char *path)
{
	return !access(path, F_OK);
}

static void check_tracepoints(struct doctor_report *r, bool may_open)
{
	int fd = may_open ? tracefs_open("events/sched/sched_switch/id") : -1;

	if (!may_open)
		doctor_add(r, "tracepoints", DOCTOR_SKIPPED, NULL, NULL,
			   "not tried: no rights");
	else if (fd < 0)
		doctor_add(
			r, "tracepoints", DOCTOR_WARN,
			"-e and --measure cannot have them by name; the timer, off-cpu and run-queue do without",
			"mount -t tracefs none /sys/kernel/tracing; a kernel with CONFIG_EVENT_TRACING",
			"tracefs cannot be read: %s", strerror(-fd));
	else
		doctor_add(r, "tracepoints", DOCTOR_OK, NULL, NULL,
			   "`weft list tracepoints` has them");
	if (fd >= 0)
		close(fd);
}

static void check_probes(struct doctor_report *r)
{
	bool user = has_source("/sys/bus/event_source/devices/uprobe");
	bool kernel = has_source("/sys/bus/event_source/devices/kprobe");

	if (user && kernel)
		doctor_add(r, "probes", DOCTOR_OK, NULL, NULL,
			   "of programs' functions and of the kernel's");
	else if (user)
		doctor_add(r, "probes", DOCTOR_WARN,
			   "-e and --measure cannot have kprobe:",
			   "a tracepoint may do; a kernel with "
			   "CONFIG_KPROBE_EVENTS",
			   "of programs' functions only: this kernel has "
			   "no kprobes");
	else
		doctor_add(r, "probes", DOCTOR_WARN,
			   "-e and --measure cannot have uprobe: and usdt:, "
			   "and there is no --trace-probe",
			   "a kernel with CONFIG_UPROBE_EVENTS",
			   "this kernel has none of programs' functions");
}

static void check_counters(struct doctor_report *r)
{
	if (has_source("/sys/bus/event_source/devices/cpu"))
		doctor_add(r, "CPU counters", DOCTOR_OK, NULL, NULL,
			   "`weft list events` has them");
	else
		doctor_add(
			r, "CPU counters", DOCTOR_WARN,
			"-e cannot have cycles, cache-misses and the like; the timer does without",
			"in a virtual machine: have its host give it a PMU",
			"this machine has none");
}

void doctor_events(struct doctor_report *report, bool may_open)
{
	check_tracepoints(report, may_open);
	check_probes(report);
	check_counters(report);
}
