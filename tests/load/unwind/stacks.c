/* SPDX-License-Identifier: MIT */
/*
 * Chains that pass from one stack to another or begin on one of their own:
 * signal handlers, threads, coroutines.
 */
#include "chain.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	STACK_BYTES = 256 << 10
};

static char second_stack[STACK_BYTES];
static volatile bool is_over;

ALWAYS_INLINE void handle(int signal, void (*handler)(int),
			  bool on_second_stack)
{
	const stack_t stack = {
		.ss_sp = second_stack,
		.ss_size = sizeof(second_stack),
	};
	struct sigaction action = {
		.sa_handler = handler,
		.sa_flags = on_second_stack ? SA_ONSTACK : 0,
	};

	if (on_second_stack)
		sigaltstack(&stack, NULL);
	sigaction(signal, &action, NULL);
}

FRAME static void chain_handler(int signal)
{
	(void)signal;
	chain_leaf(CHAIN_LONG);
	STAY();
}

void chain_signal(unsigned int n)
{
	handle(SIGUSR1, chain_handler, n);
	while (chain_goes_on())
		kill(getpid(), SIGUSR1);
}

/* Interrupts whatever instruction is running: below the signal's frame there
 * is no call. */
FRAME static void chain_interruption(int signal)
{
	static const struct itimerval never;

	(void)signal;
	chain_spin(CHAIN_LONG);
	if (chain_goes_on())
		return;
	is_over = true;
	setitimer(ITIMER_REAL, &never, NULL);
	STAY();
}

void chain_interrupt(unsigned int n)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } };

	handle(SIGALRM, chain_interruption, n);
	setitimer(ITIMER_REAL, &often, NULL);
	while (!is_over)
		chain_leaf(16);
}

FRAME static void chain_outer_handler(int signal)
{
	(void)signal;
	kill(getpid(), SIGUSR1);
	STAY();
}

void chain_nest(unsigned int n)
{
	handle(SIGUSR1, chain_handler, false);
	handle(SIGUSR2, chain_outer_handler, n);
	while (chain_goes_on())
		kill(getpid(), SIGUSR2);
}

FRAME static void *chain_thread_root(void *nothing)
{
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_leaf(CHAIN_SHORT);
	return nothing;
}

void chain_thread(unsigned int n)
{
	pthread_t thread;

	(void)n;
	if (pthread_create(&thread, NULL, chain_thread_root, NULL) == 0)
		pthread_join(thread, NULL);
	STAY();
}

#ifdef __GLIBC__ /* others have no coroutines */
static ucontext_t main_context, other_context;

FRAME static void chain_coroutine(void)
{
	for (;;) {
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_leaf(CHAIN_SHORT);
		swapcontext(&other_context, &main_context);
	}
}

/* n != 0: it has somewhere to go on when it ends. That is kept where, below
 * another function, a return address would be. */
void chain_context(unsigned int n)
{
	getcontext(&other_context);
	other_context.uc_link = n ? &main_context : NULL;
	other_context.uc_stack.ss_sp = second_stack;
	other_context.uc_stack.ss_size = sizeof(second_stack);
	makecontext(&other_context, chain_coroutine, 0);
	while (chain_goes_on())
		swapcontext(&main_context, &other_context);
}
#endif
