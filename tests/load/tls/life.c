/* SPDX-License-Identifier: MIT */
/*
 * Lives of processes and threads in which an ID could be taken for another's
 * (see signed.h). Its argument says which.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/load/tls/signed.h"

enum {
	SHORT_MS = 500
};

void **ctx_slot(void);

static struct ctx_record record;

/* The child inherits the pointer and the record, but not the mapping. */
static void live_fork(void)
{
	burn_signed(&record, ctx_slot(), 1, SHORT_MS);
	if (!fork()) {
		say(0);
		burn(long_ms());
		_exit(0);
	}
	burn_signed(&record, ctx_slot(), 1, long_ms());
	wait(NULL);
}

static void live_republish(void)
{
	burn_signed(&record, ctx_slot(), 1, SHORT_MS);
	if (!fork()) {
		struct ctx_payload payload;

		say(0);
		*ctx_slot() = NULL;
		say(2);
		ctx_describe(&payload, "child", NULL, 0);
		(void)ctx_publish(NULL, &payload);
		burn_signed(&record, ctx_slot(), 2, long_ms());
		_exit(0);
	}
	burn_signed(&record, ctx_slot(), 1, long_ms());
	wait(NULL);
}

static void live_exec(char **argv)
{
	unsigned int number =
		argv[2] ? (unsigned int)strtoul(argv[2], NULL, 10) : 1;
	char next[16];

	burn_signed(&record, ctx_slot(), number, SHORT_MS);
	if (number >= 6)
		return;
	*ctx_slot() = NULL;
	say(0);
	snprintf(next, sizeof(next), "%u", number + 1);
	execl(argv[0], argv[0], argv[1], next, NULL);
	exit(1);
}

/* Children that all have the same pid, one after the other; of them every
 * other publishes. */
static void live_reuse(void)
{
	pid_t pid = 0;

	for (unsigned int i = 1; i <= 6; i++) {
		struct clone_args args = {
			.exit_signal = SIGCHLD,
			.set_tid = pid ? (uint64_t)(uintptr_t)&pid : 0,
			.set_tid_size = pid > 0,
		};
		pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

		if (child < 0) {
			printf("# no pid is reused: %s\n", strerror(errno));
			return;
		}
		if (!child) {
			struct ctx_payload payload;

			say(i % 2 ? i : 0);
			ctx_describe(&payload, "reused", NULL, 0);
			if (i % 2)
				(void)ctx_publish(NULL, &payload);
			if (i % 2)
				burn_signed(&record, ctx_slot(), i, SHORT_MS);
			else
				burn(SHORT_MS);
			_exit(0);
		}
		pid = child;
		waitpid(child, NULL, 0);
	}
}

static void *live_for_a_moment(void *arg)
{
	struct ctx_record *own = calloc(1, sizeof(*own));

	burn_signed(own, ctx_slot(), 1, 0);
	*ctx_slot() = NULL;
	free(own);
	return arg;
}

/* About 3,000 threads per second. */
static void live_churn(void)
{
	uint64_t begin = now_ns(), n = 0;
	pthread_t thread;

	while (now_ns() - begin < (uint64_t)long_ms() * 1000000) {
		if (pthread_create(&thread, NULL, live_for_a_moment, NULL))
			break;
		pthread_join(thread, NULL);
		n++;
		burn_signed(&record, ctx_slot(), 1, 0);
		while ((now_ns() - begin) * 3 / 1000000 < n)
			usleep(100);
	}
	printf("# %lu threads\n", (unsigned long)n);
}

/* Reads that the kernel is told to do in workers, which inherit our thread
 * pointer. */
static void live_uring(void)
{
	struct io_uring_params p = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 8, &p);
	int zero = open("/dev/urandom", O_RDONLY);
	struct io_uring_sqe *sqes;
	char *sq, *buffer = malloc(1 << 20);
	uint64_t end = now_ns() + (uint64_t)long_ms() * 1000000;

	if (ring < 0 || zero < 0) {
		printf("# no io_uring: %s\n", strerror(errno));
		return;
	}
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4,
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		  IORING_OFF_SQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	for (uint32_t tail = 0; now_ns() < end; tail++) {
		uint32_t at = tail % p.sq_entries;

		sqes[at] = (struct io_uring_sqe){
			.opcode = IORING_OP_READ,
			.flags = IOSQE_ASYNC,
			.fd = zero,
			.addr = (uint64_t)(uintptr_t)buffer,
			.len = 1 << 20,
		};
		((uint32_t *)(void *)(sq + p.sq_off.array))[at] = at;
		__atomic_store_n((uint32_t *)(void *)(sq + p.sq_off.tail),
				 tail + 1, __ATOMIC_RELEASE);
		burn_signed(&record, ctx_slot(), 1, 0);
		if (syscall(SYS_io_uring_enter, ring, 1, 1,
			    IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			break;
		/* The completions are of no interest. */
		__atomic_store_n((uint32_t *)(void *)(sq + p.cq_off.head),
				 tail + 1, __ATOMIC_RELEASE);
	}
	printf("# io_uring\n");
}

int main(int argc, char **argv)
{
	const char *life = argc > 1 ? argv[1] : "";

	if (strcmp(life, "reuse")) {
		say(argc > 2 ? (unsigned int)atoi(argv[2]) : 1);
		publish(life);
	}
	if (!strcmp(life, "fork"))
		live_fork();
	else if (!strcmp(life, "republish"))
		live_republish();
	else if (!strcmp(life, "exec"))
		live_exec(argv);
	else if (!strcmp(life, "reuse"))
		live_reuse();
	else if (!strcmp(life, "churn"))
		live_churn();
	else if (!strcmp(life, "uring"))
		live_uring();
	else
		burn_signed(&record, ctx_slot(), 1, long_ms());
	*ctx_slot() = NULL;
	return 0;
}
