/* SPDX-License-Identifier: MIT */
/*
 * Libraries that come and go with the variable (see signed.h):
 *
 *	again PATH	closed and opened again, so that the module's ID is
 *			reused; a thread that used the first one stays idle in
 *			that respect: what its vector holds is of the past
 *	two PATH PATH	two that both define it; the second one is used
 *	deleted PATH	its file is gone
 */
#include <dlfcn.h>
#include <pthread.h>

#include "tests/load/tls/signed.h"

enum {
	SHORT_MS = 700,
	/* Until what was published anew is known, on a busy machine too. */
	SETTLE_MS = 1500
};

static pthread_barrier_t step;
static void **(*find_slot)(void);

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&find_slot = dlsym(library, "ctx_slot");
	return library;
}

static void *use_the_first(void *arg)
{
	static struct ctx_record record;

	say(1);
	burn_signed(&record, find_slot(), 1, SHORT_MS);
	pthread_barrier_wait(&step);
	/* Closed, opened and published anew. */
	pthread_barrier_wait(&step);
	say(0);
	burn(long_ms());
	return arg;
}

static void open_again(const char *path)
{
	static struct ctx_record first, second;
	void *library = open_library(path);
	pthread_t thread;

	pthread_barrier_init(&step, NULL, 2);
	if (pthread_create(&thread, NULL, use_the_first, NULL))
		exit(1);
	burn_signed(&first, find_slot(), 1, SHORT_MS);
	pthread_barrier_wait(&step);
	*find_slot() = NULL;
	dlclose(library);
	(void)open_library(path);
	say(2);
	publish("again");
	burn_signed(&second, find_slot(), 2, SETTLE_MS);
	pthread_barrier_wait(&step);
	burn_signed(&second, find_slot(), 2, long_ms());
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static struct ctx_record record;

	if (argc < 3)
		return 2;
	say(1);
	publish(argv[1]);
	if (!strcmp(argv[1], "again")) {
		open_again(argv[2]);
		return 0;
	}
	(void)open_library(argv[2]);
	if (argc > 3)
		(void)open_library(argv[3]);
	if (!strcmp(argv[1], "deleted"))
		(void)unlink(argv[2]);
	publish(argv[1]);
	burn_signed(&record, find_slot(), 1, long_ms());
	return 0;
}
