/* SPDX-License-Identifier: MIT */
/* When a process started, as /proc shows it: field 22 of stat. */
#ifndef WEFT_TESTS_START_NS_H
#define WEFT_TESTS_START_NS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline uint64_t start_ns(pid_t pid)
{
	unsigned long long ticks = 0;
	char path[64], text[1024];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	assert_int_equal(sscanf(strrchr(text, ')') + 1,
				" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
				"%*u %*u %*d %*d %*d %*d %*d %*d %llu",
				&ticks),
			 1);
	return ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

#endif
