/* SPDX-License-Identifier: MIT */
/*
 * The N-th allocation of a program fails: loaded by LD_PRELOAD. In the
 * environment:
 *
 *   FAIL_MEMORY_AT=N     which one, from 1
 *   FAIL_MEMORY_LOG=FILE made when it was reached
 *
 * Of the program itself, not of processes that it forks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long at, n;

static void in_child(void)
{
	at = 0;
}

__attribute__((constructor)) static void set_up(void)
{
	const char *text = getenv("FAIL_MEMORY_AT");

	at = text ? atol(text) : 0;
	pthread_atfork(NULL, NULL, in_child);
}

static bool fails(void)
{
	const char *log;
	int fd;

	if (!at || __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) != at)
		return false;
	log = getenv("FAIL_MEMORY_LOG");
	fd = log ? open(log, O_WRONLY | O_CREAT, 0600) : -1;
	if (fd >= 0)
		close(fd);
	errno = ENOMEM;
	return true;
}

static void *real(void **f, const char *name)
{
	if (!*f)
		*f = dlsym(RTLD_NEXT, name);
	return *f;
}

void *malloc(size_t size)
{
	static void *f;
	void *(*next)(size_t) = real(&f, "malloc");

	return fails() ? NULL : next(size);
}

void *calloc(size_t count, size_t size)
{
	static void *f;
	void *(*next)(size_t, size_t) = real(&f, "calloc");

	return fails() ? NULL : next(count, size);
}

void *realloc(void *old, size_t size)
{
	static void *f;
	void *(*next)(void *, size_t) = real(&f, "realloc");

	return fails() ? NULL : next(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	static void *f;
	void *(*next)(void *, size_t, size_t) = real(&f, "reallocarray");

	return fails() ? NULL : next(old, count, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	static void *f;
	int (*next)(void **, size_t, size_t) = real(&f, "posix_memalign");

	return fails() ? ENOMEM : next(out, align, size);
}
