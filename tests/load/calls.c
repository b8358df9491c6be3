/* SPDX-License-Identifier: MIT */
/*
 * Calls of known number, arguments and results, for measures:
 *
 *   calls plain THREADS N   each thread calls measured(0) to measured(N - 1)
 *   calls nested N DEPTH    recursion: N times DEPTH calls in each other
 *   calls left N            N calls that are left by longjmp()
 *   calls ends N COUNT      N threads that end in ends(), then COUNT calls
 *                           of it that return
 *   calls reads N           reads of 0 to N - 1 bytes of /dev/zero
 *
 * A function that no probe can be put on is there, too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int measured(int x);
int nested(int depth);
void left(jmp_buf *out);
void ends(bool is_last);
void locked_first(int *count);

/* The kernel does not take over an instruction with this prefix. */
__asm__(".globl locked_first\n"
	".type locked_first, @function\n"
	"locked_first:\n"
	"	lock incl (%rdi)\n"
	"	ret\n"
	".size locked_first, . - locked_first\n");

__attribute__((noinline)) int measured(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x - 100;
}

__attribute__((noinline)) int nested(int depth)
{
	int below = depth > 1 ? nested(depth - 1) : 0;

	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

__attribute__((noinline)) void left(jmp_buf *out)
{
	longjmp(*out, 1);
}

__attribute__((noinline)) void ends(bool is_last)
{
	if (is_last)
		pthread_exit(NULL);
	__asm__ volatile("");
}

static void *end_thread(void *unused)
{
	(void)unused;
	ends(true);
	return NULL;
}

static void *call(void *n)
{
	for (long i = 0; i < *(long *)n; i++)
		measured((int)i);
	return NULL;
}

static int plain(long n_threads, long n)
{
	pthread_t thread[64];

	if (n_threads < 1 || n_threads > 64)
		return 2;
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&thread[i], NULL, call, &n))
			return 1;
	for (long i = 0; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static int leave(long n)
{
	for (volatile long i = 0; i < n; i++) {
		jmp_buf out;

		if (!setjmp(out))
			left(&out);
	}
	return 0;
}

static int end(long n, long count)
{
	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_thread, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	while (count--)
		ends(false);
	return 0;
}

static int reads(long n)
{
	char *to = malloc((size_t)n + 1);
	int fd = open("/dev/zero", O_RDONLY);

	for (long i = 0; i < n && to; i++)
		if (read(fd, to, (size_t)i) != i)
			return 1;
	free(to);
	return fd < 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long a = argc > 2 ? atol(argv[2]) : 0, b = argc > 3 ? atol(argv[3]) : 0;
	int count = 0;

	locked_first(&count);
	if (!strcmp(what, "plain"))
		return plain(a, b);
	if (!strcmp(what, "left"))
		return leave(a);
	if (!strcmp(what, "ends"))
		return end(a, b);
	if (!strcmp(what, "reads"))
		return reads(a);
	if (strcmp(what, "nested")) {
		fprintf(stderr,
			"usage: calls plain|nested|left|ends|reads N [N]\n");
		return 2;
	}
	while (a--)
		count += nested((int)b);
	return count < 0;
}
