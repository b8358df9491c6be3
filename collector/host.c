/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/host.h"

/* The inode of the initial pid namespace: fixed, include/linux/proc_ns.h. */
static const ino_t initial_pid_namespace = 0xeffffffc;

void host_read(struct host *out)
{
	struct utsname u;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	*out = (struct host){ 0 };
	if (f) {
		if (fgets(out->boot_id, sizeof(out->boot_id), f))
			out->boot_id[strcspn(out->boot_id, "\n")] = '\0';
		fclose(f);
	}
	if (uname(&u))
		return;
	snprintf(out->name, sizeof(out->name), "%s", u.nodename);
	snprintf(out->kernel, sizeof(out->kernel), "%s", u.release);
	snprintf(out->arch, sizeof(out->arch), "%s", u.machine);
}

bool host_has_all_pids(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ||
	       st.st_ino == initial_pid_namespace;
}

static uint64_t to_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

uint64_t host_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return to_ns(u.ru_utime) + to_ns(u.ru_stime);
}

uint64_t host_rss_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long size, resident = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
