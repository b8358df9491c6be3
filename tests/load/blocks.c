/* SPDX-License-Identifier: MIT */
/*
 * A thread that blocks in known ways: asleep, on a futex, on a pipe, reading
 * from a disk, and asleep while it is moved to another CPU. Prints, for each
 * function in which it blocked, how often, and for how many ns it was not on a
 * CPU, at least and at most: time that passed less its CPU time, which leaves
 * out what a host took, and less the time on CPU, which leaves out part of each
 * switch.
 */
#include "burn.h"
#include "on_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char usage[] = "blocks DIRECTORY [TIMES]";

enum {
	PAUSE_NS = 4000000,
	SETTLE_NS = 500000000,
	DISK_BYTES = 4 << 20
};

static int command[2], data[2], disk = -1;
static uint32_t word;
static void *buffer;
static pid_t blocked;

static void pause_ns(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

static void move_to_other_cpu(void)
{
	static uint32_t moves;
	cpu_set_t all, one;
	int last = -1;

	/* Of this thread, which was never moved. */
	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	moves++;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		/* Each in turn. */
		if (last < 0 || moves % 2)
			sched_setaffinity(blocked, sizeof(one), &one);
		last = i;
	}
}

/* Does what it is told a while later. */
static void *partner(void *unused)
{
	char what;

	(void)unused;
	while (read(command[0], &what, 1) == 1) {
		pause_ns(PAUSE_NS);
		if (what == 'f') {
			__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
			syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
		} else if (what == 'p') {
			(void)!write(data[1], &what, 1);
		} else {
			move_to_other_cpu();
		}
	}
	return NULL;
}

NAMED_FUNCTION static void block_sleep(void)
{
	pause_ns(PAUSE_NS);
}

NAMED_FUNCTION static void block_futex(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	(void)!write(command[1], "f", 1);
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
}

NAMED_FUNCTION static void block_pipe(void)
{
	char c;

	(void)!write(command[1], "p", 1);
	(void)!read(data[0], &c, 1);
}

NAMED_FUNCTION static void block_disk(void)
{
	if (disk >= 0)
		(void)!pread(disk, buffer, DISK_BYTES, 0);
}

NAMED_FUNCTION static void block_moved(void)
{
	(void)!write(command[1], "m", 1);
	pause_ns(3 * PAUSE_NS);
}

static const struct {
	const char *name;
	void (*block)(void);
} ways[] = {
	{ "block_sleep", block_sleep }, { "block_futex", block_futex },
	{ "block_pipe", block_pipe },   { "block_disk", block_disk },
	{ "block_moved", block_moved },
};

/* A file that is read from its disk, not from memory; -1: not possible. */
static int open_disk(const char *directory)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/blocks.data", directory);
	if (posix_memalign(&buffer, 4096, DISK_BYTES))
		return -1;
	memset(buffer, 'x', DISK_BYTES);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (fd >= 0 && (write(fd, buffer, DISK_BYTES) != DISK_BYTES ||
			fsync(fd) || pread(fd, buffer, 4096, 0) != 4096)) {
		close(fd);
		fd = -1;
	}
	unlink(path);
	return fd;
}

static void measure(const char *name, void (*block)(void), uint64_t times,
		    int on_cpu)
{
	uint64_t on = on_cpu_ns(on_cpu);
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t wall = clock_ns(CLOCK_MONOTONIC);
	uint64_t a, b;

	for (uint64_t k = 0; k < times; k++)
		block();
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	a = wall - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
	b = wall - (on_cpu_ns(on_cpu) - on);
	printf("%s %llu %llu %llu\n", name, (unsigned long long)times,
	       (unsigned long long)(a < b ? a : b),
	       (unsigned long long)(a < b ? b : a));
}

int main(int argc, char **argv)
{
	uint64_t times = argument(argc, argv, 2, 1, 100000, 50, usage);
	int on_cpu = on_cpu_open();
	pthread_t thread;

	if (on_cpu < 0 || argc < 2 || pipe(command) || pipe(data) ||
	    pthread_create(&thread, NULL, partner, NULL))
		return 1;
	blocked = gettid();
	disk = open_disk(argv[1]);
	pause_ns(SETTLE_NS); /* for the profiler to know this program */
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		measure(ways[i].name, ways[i].block, times, on_cpu);
	return 0;
}
