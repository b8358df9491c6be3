/* SPDX-License-Identifier: MIT */
/* What weft record needs of a machine. Where something can be tried it is
 * tried: what a version or a configuration promises is not what counts. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/doctor/doctor.h"
#include "collector/host.h"
#include "collector/obi.h"
#include "collector/privilege.h"
#include "collector/probe.h"
#include "collector/trace_probe.h"
#include "collector/trigger.h"

enum {
	TRIED_STACKS = 1024,
	TRIED_RING_BYTES = 65536,
	DEFAULT_HZ = 997 /* of weft record */
};

/* The first line of a file, "" if not readable. */
static void read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(line, size, f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
}

static bool check_rights(struct doctor_report *r)
{
	struct weft_err err = { 0 };
	struct privilege_lack lacks[PRIVILEGE_WANTED];
	char warning[PRIVILEGE_WARNING_SIZE];
	size_t n;

	if (privilege_check(warning, &err)) {
		r->is_not_allowed = true;
		doctor_add(
			r, "rights", DOCTOR_FAIL,
			"nothing can be recorded; reading recordings needs no rights",
			"sudo weft record, or give it CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG and CAP_CHECKPOINT_RESTORE",
			"%s", err.msg);
		return false;
	}
	n = privilege_lacks(lacks);
	for (size_t i = 0; i < n; i++)
		doctor_add(
			r, "rights", DOCTOR_WARN, lacks[i].cost,
			"run it as root, in a container with this capability added; or give it to the program by setcap",
			"%s is missing", lacks[i].name);
	if (!n)
		doctor_add(r, "rights", DOCTOR_OK, NULL, NULL,
			   "all that weft record needs");
	return true;
}

/* Load what a recording without options would load. */
static int try_program(bool *has_mappings, struct weft_err *err)
{
	static const struct trace_probe none;
	struct triggers triggers = { 0 };
	const struct probe_opts opts = { .cgroup_fd = -1,
					 .user_stacks = true,
					 .kernel_stacks = true,
					 .triggers = &triggers,
					 .trace_probe = &none,
					 .detail_n = 10,
					 .max_stacks = TRIED_STACKS,
					 .ring_bytes = TRIED_RING_BYTES };
	struct probe *probe = NULL;
	int rc = triggers_add(&triggers, "cpu-clock", err);

	if (!rc)
		rc = probe_open(&probe, &opts, err);
	if (!rc)
		*has_mappings = probe_proves_mappings(probe);
	probe_close(probe);
	triggers_release(&triggers);
	return rc;
}

static void check_program(struct doctor_report *r, bool may_load)
{
	struct weft_err err = { 0 };
	bool has_mappings = false;

	if (!may_load)
		doctor_add(r, "kernel program", DOCTOR_SKIPPED, NULL, NULL,
			   "not tried: no rights");
	else if (try_program(&has_mappings, &err))
		doctor_add(
			r, "kernel program", DOCTOR_FAIL,
			"nothing can be recorded",
			"a kernel with CONFIG_BPF_SYSCALL, CONFIG_PERF_EVENTS and CONFIG_DEBUG_INFO_BTF, as Debian's, 5.15 or newer",
			"%s", err.msg);
	else if (!has_mappings)
		doctor_add(
			r, "kernel program", DOCTOR_WARN,
			"mappings are followed from user space: the first milliseconds of stacks of each process are broken",
			NULL,
			"loads, but this kernel keeps mappings in a way that is not known");
	else
		doctor_add(r, "kernel program", DOCTOR_OK, NULL, NULL,
			   "loads, and finds mappings by itself");
}

/* The event that weft samples by. */
static void check_timer(struct doctor_report *r, bool may_open)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = 1000000,
					.disabled = 1 };
	char line[32];
	uint64_t rate;
	long fd = -1;

	if (may_open)
		fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1,
			     PERF_FLAG_FD_CLOEXEC);
	if (may_open && fd < 0) {
		doctor_add(r, "timer", DOCTOR_FAIL, "nothing can be recorded",
			   "in a container or sandbox: allow perf_event_open",
			   "cannot open cpu-clock on CPU 0: %s",
			   strerror(errno));
		return;
	}
	if (fd >= 0)
		close((int)fd);
	read_line("/proc/sys/kernel/perf_event_max_sample_rate", line,
		  sizeof(line));
	if (!weft_parse_u64(line, 0, UINT64_MAX, &rate) && rate < DEFAULT_HZ)
		doctor_add(
			r, "timer", DOCTOR_WARN,
			"weft record refuses its default rate; the kernel lowers this by itself where samples took it too long",
			"sysctl kernel.perf_event_max_sample_rate=100000, or weft record -F with less",
			"kernel.perf_event_max_sample_rate is %s, the default rate %d",
			line, DEFAULT_HZ);
	else
		doctor_add(r, "timer", may_open ? DOCTOR_OK : DOCTOR_SKIPPED,
			   NULL, NULL,
			   may_open ? "cpu-clock, up to %s Hz"
				    : "not tried: no rights; up to %s Hz",
			   line);
}

static void check_settings(struct doctor_report *r)
{
	char line[128];

	read_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line));
	if (!strcmp(line, "0"))
		doctor_add(
			r, "BPF JIT", DOCTOR_WARN,
			"the kernel program is interpreted: each sample costs several times as much",
			"sysctl net.core.bpf_jit_enable=1",
			"net.core.bpf_jit_enable is 0");
	else
		doctor_add(r, "BPF JIT", DOCTOR_OK, NULL, NULL, "on");

	read_line("/proc/sys/kernel/kptr_restrict", line, sizeof(line));
	if (!strcmp(line, "2"))
		doctor_add(r, "kernel names", DOCTOR_WARN,
			   "kernel functions have no names",
			   "sysctl kernel.kptr_restrict=1",
			   "kernel.kptr_restrict is 2");
	else
		doctor_add(r, "kernel names", DOCTOR_OK, NULL, NULL,
			   "kernel.kptr_restrict is %s",
			   *line ? line : "not there");

	read_line("/proc/sys/kernel/yama/ptrace_scope", line, sizeof(line));
	if (!strcmp(line, "3"))
		doctor_add(
			r, "memory reads", DOCTOR_WARN,
			"processes that publish trace context are not found: no trace IDs",
			"boot without kernel.yama.ptrace_scope=3: it cannot be lowered",
			"kernel.yama.ptrace_scope is 3");
	else
		doctor_add(r, "memory reads", DOCTOR_OK, NULL, NULL,
			   "kernel.yama.ptrace_scope is %s",
			   *line ? line : "not there");

	read_line("/sys/kernel/security/lockdown", line, sizeof(line));
	if (strstr(line, "[confidentiality]"))
		doctor_add(r, "lockdown", DOCTOR_FAIL,
			   "kernel programs may not read memory: no stacks",
			   "boot with lockdown=integrity or none",
			   "the kernel is locked down for confidentiality");
	else
		doctor_add(r, "lockdown", DOCTOR_OK, NULL, NULL, "%s",
			   *line ? line : "none");
}

static void check_namespace(struct doctor_report *r)
{
	if (!host_has_all_pids())
		doctor_add(
			r, "pid namespace", DOCTOR_WARN,
			"pids of samples are the host's: names and trace IDs of processes are not found by them",
			"run it on the host, or the container with --pid=host",
			"not the host's");
	else
		doctor_add(r, "pid namespace", DOCTOR_OK, NULL, NULL,
			   "the host's");
}

static bool is_beside(const char *name)
{
	char path[4096];

	return weft_find_beside(name, path, sizeof(path)) &&
	       !access(path, X_OK);
}

static void check_programs(struct doctor_report *r)
{
	static const char *const programs[] = { "weft",           "weft-record",
						"weft-symbolize", "weft-import",
						"weft-list",      "weft-gc" };

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (is_beside(programs[i]))
			continue;
		doctor_add(r, "programs", DOCTOR_WARN,
			   "commands of weft that need it fail",
			   "make install puts all of them into one directory",
			   "%s does not lie beside weft-doctor", programs[i]);
		return;
	}
	doctor_add(r, "programs", DOCTOR_OK, NULL, NULL,
		   "all of weft's lie beside each other");
}

static void check_debug_files(struct doctor_report *r)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!access("/usr/lib/debug/.build-id", R_OK))
		doctor_add(r, "debug files", DOCTOR_OK, NULL, NULL,
			   "/usr/lib/debug has some");
	else if (urls && *urls)
		doctor_add(r, "debug files", DOCTOR_OK, NULL, NULL,
			   "none here; weft record --debuginfod fetches them");
	else
		doctor_add(
			r, "debug files", DOCTOR_WARN,
			"stripped programs have few names, and no inlined functions or lines",
			"install -dbgsym packages, or set $DEBUGINFOD_URLS (on Debian https://debuginfod.debian.net) and use weft record --debuginfod",
			"none in /usr/lib/debug, and no $DEBUGINFOD_URLS");
}

static void check_obi(struct doctor_report *r, bool may_open)
{
	struct obi_pin pin;

	if (!may_open) {
		doctor_add(r, "OBI's map", DOCTOR_SKIPPED, NULL, NULL,
			   "not tried: no rights");
		return;
	}
	obi_open(&pin);
	if (pin.state == OBI_EMPTY)
		doctor_add(
			r, "OBI's map", DOCTOR_WARN,
			"no trace IDs come from OBI",
			"run OBI with OTEL_EBPF_BPF_POPULATE_TRACE_CONTEXT=true, and ask again under load",
			"pinned at %s, but empty just now", OBI_PIN);
	else if (pin.state == OBI_DIFFERENT)
		doctor_add(r, "OBI's map", DOCTOR_WARN,
			   "no trace IDs come from OBI", "update weft or OBI",
			   "what is pinned at %s is not as OBI's: %s", OBI_PIN,
			   pin.found);
	else if (pin.state == OBI_DENIED)
		doctor_add(r, "OBI's map", DOCTOR_WARN,
			   "no trace IDs come from OBI", "run it as root",
			   "cannot open %s: %s", OBI_PIN, pin.found);
	else
		doctor_add(r, "OBI's map", DOCTOR_OK, NULL, NULL,
			   pin.state == OBI_READY ? "pinned at %s, and in use"
						  : "OBI pins no map at %s",
			   OBI_PIN);
	obi_close(&pin);
}

void doctor_machine(struct doctor_report *report)
{
	bool may_load = check_rights(report);

	check_program(report, may_load);
	check_obi(report, may_load);
	check_timer(report, may_load);
	doctor_events(report, may_load);
	check_settings(report);
	check_namespace(report);
	check_programs(report);
	check_debug_files(report);
}
