/* SPDX-License-Identifier: MIT */
/* The child of a process that has one. */
#ifndef TESTS_ONLY_CHILD_H
#define TESTS_ONLY_CHILD_H

#include <stdio.h>
#include <sys/types.h>

/* 0: there is none. */
static inline pid_t only_child(pid_t parent)
{
	char path[64];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent,
		 parent);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid;
}

#endif
