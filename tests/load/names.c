/* SPDX-License-Identifier: MIT */
/*
 * A hundred functions that spin in turn, each in a child whose name is the
 * function's, so that each sample says what its frame must be called:
 *
 *   names MS [FIRST LAST [ROUNDS [GATE]]]
 *
 * MS of CPU time each; waits until the file GATE is there; then stays for the
 * seconds in NAMES_STAY, so that it can be looked at. All have the same length.
 * -DPERMUTED has them in the opposite order, so that at one's offset
 * lies another; -DLIBRARY leaves main out, -DPROGRAM all the rest. With
 * NAMES_REMAP in the environment the code is moved to anonymous memory at the
 * same place, as programs do that want it in huge pages.
 */
#include "burn.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FUNCTIONS = 100,
	PAGE = 4096
};

int names_run(int argc, char **argv);

#ifndef PROGRAM
static volatile uint32_t sink;

/* 300 to 399: none is short enough for a shorter instruction. */
#define SPIN(number)                             \
	void f_##number(void);                   \
	NAMED_FUNCTION void f_##number(void)     \
	{                                        \
		for (;;)                         \
			sink = sink + 3##number; \
	}
#define ROW(number) f_##number,
#define UP(X, ten) \
	X(ten##0)  \
	X(ten##1)  \
	X(ten##2)  \
	X(ten##3) X(ten##4) X(ten##5) X(ten##6) X(ten##7) X(ten##8) X(ten##9)
#define DOWN(X, ten) \
	X(ten##9)    \
	X(ten##8)    \
	X(ten##7)    \
	X(ten##6) X(ten##5) X(ten##4) X(ten##3) X(ten##2) X(ten##1) X(ten##0)

/* clang-format off */
#ifdef PERMUTED
DOWN(SPIN, 9) DOWN(SPIN, 8) DOWN(SPIN, 7) DOWN(SPIN, 6) DOWN(SPIN, 5)
DOWN(SPIN, 4) DOWN(SPIN, 3) DOWN(SPIN, 2) DOWN(SPIN, 1) DOWN(SPIN, 0)
#else
UP(SPIN, 0) UP(SPIN, 1) UP(SPIN, 2) UP(SPIN, 3) UP(SPIN, 4)
UP(SPIN, 5) UP(SPIN, 6) UP(SPIN, 7) UP(SPIN, 8) UP(SPIN, 9)
#endif

static void (*const spin[FUNCTIONS])(void) = {
	UP(ROW, 0) UP(ROW, 1) UP(ROW, 2) UP(ROW, 3) UP(ROW, 4)
	UP(ROW, 5) UP(ROW, 6) UP(ROW, 7) UP(ROW, 8) UP(ROW, 9)
};
/* clang-format on */

/* In the child: until the timer kills it. */
static void spin_for(int number, long ms)
{
	struct itimerval timer = {
		.it_value = { ms / 1000, ms % 1000 * 1000 },
	};
	char name[16];

	snprintf(name, sizeof(name), "f_%02d", number);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	spin[number]();
}

/* Move the code of all functions. What is copied is what lies there, so that
 * whatever of it runs meanwhile goes on. */
static int remap(void)
{
	uintptr_t first = UINTPTR_MAX, last = 0;
	size_t size;
	void *copy;

	for (int i = 0; i < FUNCTIONS; i++) {
		uintptr_t at = (uintptr_t)spin[i];

		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	first -= first % PAGE;
	size = last - last % PAGE + PAGE - first;
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return 1;
	memcpy(copy, (const void *)first, size);
	return mprotect(copy, size, PROT_READ | PROT_EXEC) ||
	       mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
		      (void *)first) == MAP_FAILED;
}

static int number(int argc, char **argv, int at, int otherwise)
{
	return argc > at ? (int)strtol(argv[at], NULL, 10) : otherwise;
}

int names_run(int argc, char **argv)
{
	long ms = number(argc, argv, 1, 20);
	int first = number(argc, argv, 2, 0);
	int last = number(argc, argv, 3, FUNCTIONS - 1);
	int rounds = number(argc, argv, 4, 1);
	const char *stay = getenv("NAMES_STAY");

	if (first < 0 || last >= FUNCTIONS)
		return 2;
	if (getenv("NAMES_REMAP") && remap()) {
		perror("names: cannot move code");
		return 1;
	}
	while (argc > 5 && access(argv[5], F_OK))
		usleep(20000);
	while (rounds-- > 0) {
		for (int i = first; i <= last; i++) {
			pid_t child = fork();

			if (!child)
				spin_for(i, ms);
			waitpid(child, NULL, 0);
		}
	}
	sleep(stay ? (unsigned)strtoul(stay, NULL, 10) : 0);
	return 0;
}
#endif

#ifndef LIBRARY
int main(int argc, char **argv)
{
	return names_run(argc, argv);
}
#endif
