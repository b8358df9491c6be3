/* SPDX-License-Identifier: MIT */
/*
 * A ring of blocks: the reader fills one while the taker empties those that are
 * full. Locks are taken once a block. Where no thread can be had the reader
 * takes its rows itself.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "query/conveyor.h"
#include "query/thread.h"

enum {
	BLOCKS = 4
};

struct conveyor {
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	conveyor_take *take;
	void *ctx;
	size_t row_bytes;
	char *rows; /* owned: of all blocks */
	size_t n;   /* in the block that is being filled: the reader's own */
	/* Under the lock. */
	size_t filled, taken; /* blocks, ever */
	size_t in[BLOCKS];    /* rows in each that is filled */
	bool is_over;         /* no more come */
	int result;           /* of take: not 0, nothing more is taken */
};

static char *block(const struct conveyor *c, size_t i)
{
	return c->rows + i % BLOCKS * CONVEYOR_ROWS * c->row_bytes;
}

static void *run(void *arg)
{
	struct conveyor *c = arg;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		size_t at = c->taken;
		int result;

		while (at == c->filled && !c->is_over)
			pthread_cond_wait(&c->changed, &c->lock);
		if (at == c->filled)
			break;
		pthread_mutex_unlock(&c->lock);
		result = c->take(c->ctx, block(c, at), c->in[at % BLOCKS]);
		pthread_mutex_lock(&c->lock);
		c->taken++;
		c->result = result;
		pthread_cond_signal(&c->changed);
		if (result)
			break;
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void release(struct conveyor *c)
{
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c->rows);
	free(c);
}

int conveyor_begin(struct conveyor **out, size_t row_bytes, conveyor_take *take,
		   void *ctx)
{
	struct conveyor *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->take = take;
	c->ctx = ctx;
	c->row_bytes = row_bytes;
	c->rows = calloc((size_t)BLOCKS * CONVEYOR_ROWS, row_bytes);
	if (!c->rows) {
		release(c);
		return -ENOMEM;
	}
	c->has_thread = thread_start(&c->thread, run, c);
	*out = c;
	return 0;
}

/* Pass on what is in the block at hand, and wait until the next is free. false:
 * taking has ended. */
static bool pass_on(struct conveyor *c)
{
	bool goes_on;

	if (!c->has_thread) {
		c->result = c->take(c->ctx, c->rows, c->n);
		c->n = 0;
		return !c->result;
	}
	pthread_mutex_lock(&c->lock);
	c->in[c->filled % BLOCKS] = c->n;
	c->filled++;
	c->n = 0;
	pthread_cond_signal(&c->changed);
	while (c->filled - c->taken == BLOCKS && !c->result)
		pthread_cond_wait(&c->changed, &c->lock);
	goes_on = !c->result;
	pthread_mutex_unlock(&c->lock);
	return goes_on;
}

void *conveyor_next(struct conveyor *c)
{
	if (c->n == CONVEYOR_ROWS && !pass_on(c))
		return NULL;
	return block(c, c->filled) + c->n++ * c->row_bytes;
}

int conveyor_end(struct conveyor *c)
{
	int result;

	if (c->n)
		(void)pass_on(c);
	if (c->has_thread) {
		pthread_mutex_lock(&c->lock);
		c->is_over = true;
		pthread_cond_signal(&c->changed);
		pthread_mutex_unlock(&c->lock);
		pthread_join(c->thread, NULL);
	}
	result = c->result;
	release(c);
	return result;
}
