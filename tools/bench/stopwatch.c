/* SPDX-License-Identifier: MIT */
/*
 * Run a command several times, its output thrown away. Prints, by tabs: least,
 * median and greatest time from start to end, and the median CPU time of it
 * and of the children it waited for; all in ms.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/weft.h"

enum {
	RUNS_MAX = 1000
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double to_ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

/* Returns 0, or the exit status that was not. */
static int run(char **command, double *wall_ms, double *cpu_ms)
{
	double start = now_ms();
	struct rusage used;
	pid_t pid = fork();
	int status, fd;

	if (pid == 0) {
		fd = open("/dev/null", O_WRONLY);
		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
			_exit(127);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0) {
		perror("stopwatch");
		return 1;
	}
	*wall_ms = now_ms() - start;
	*cpu_ms = to_ms(used.ru_utime) + to_ms(used.ru_stime);
	if (!WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	double wall_ms[RUNS_MAX], cpu_ms[RUNS_MAX];
	uint64_t runs, i;
	int status;

	if (argc < 3 || weft_parse_u64(argv[1], 1, RUNS_MAX, &runs)) {
		fprintf(stderr, "usage: stopwatch RUNS COMMAND...\n");
		return 2;
	}
	for (i = 0; i < runs; i++) {
		status = run(argv + 2, &wall_ms[i], &cpu_ms[i]);
		if (status) {
			fprintf(stderr, "stopwatch: %s: exit status %d\n",
				argv[2], status);
			return status;
		}
	}
	qsort(wall_ms, runs, sizeof(*wall_ms), compare);
	qsort(cpu_ms, runs, sizeof(*cpu_ms), compare);
	printf("%.1f\t%.1f\t%.1f\t%.1f\n", wall_ms[0], wall_ms[runs / 2],
	       wall_ms[runs - 1], cpu_ms[runs / 2]);
	return 0;
}
