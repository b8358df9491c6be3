/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/cpu_time.h"

uint64_t cpu_time_ns(int pid, int parent)
{
	static const uint64_t ns_per_s = 1000000000;
	char path[64], text[1024];
	unsigned long long user, system, child_user, child_system;
	const char *rest;
	int ppid;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (!rest ||
	    sscanf(rest + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &ppid, &user, &system, &child_user, &child_system) != 5 ||
	    ppid != parent)
		return 0;
	return (user + system + child_user + child_system) *
	       (ns_per_s / (uint64_t)sysconf(_SC_CLK_TCK));
}
