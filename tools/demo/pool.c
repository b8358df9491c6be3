/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	POOL_MAX_THREADS = 64
};

struct queue {
	struct pool_task *first;
	struct pool_task **end;
};

struct pool {
	uv_async_t is_done;   /* wakes the loop */
	pthread_mutex_t lock; /* of the next four */
	pthread_cond_t has_work;
	struct queue waiting;
	struct queue done;
	bool is_ending;

	unsigned int n_threads;
	pthread_t thread[POOL_MAX_THREADS];
	unsigned int pending; /* loop thread's: added and not yet done */
	bool is_draining;
};

static void queue_clear(struct queue *queue)
{
	queue->first = NULL;
	queue->end = &queue->first;
}

static void queue_put(struct queue *queue, struct pool_task *task)
{
	task->next = NULL;
	*queue->end = task;
	queue->end = &task->next;
}

static struct pool_task *queue_take(struct queue *queue)
{
	struct pool_task *task = queue->first;

	queue->first = task->next;
	if (!queue->first)
		queue->end = &queue->first;
	return task;
}

static void *pool_worker(void *arg)
{
	struct pool *pool = arg;
	struct pool_task *task;

	pthread_setname_np(pthread_self(), "demo-worker");
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->waiting.first && !pool->is_ending)
			pthread_cond_wait(&pool->has_work, &pool->lock);
		if (!pool->waiting.first)
			break;
		task = queue_take(&pool->waiting);
		pthread_mutex_unlock(&pool->lock);
		task->run(task);
		pthread_mutex_lock(&pool->lock);
		queue_put(&pool->done, task);
		uv_async_send(&pool->is_done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void stop_if_drained(struct pool *pool)
{
	uv_handle_t *handle = (uv_handle_t *)&pool->is_done;

	if (pool->is_draining && pool->pending == 0 && !uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void on_done(uv_async_t *async)
{
	struct pool *pool = async->data;
	struct pool_task *task, *next;

	pthread_mutex_lock(&pool->lock);
	task = pool->done.first;
	queue_clear(&pool->done);
	pthread_mutex_unlock(&pool->lock);
	for (; task; task = next) {
		next = task->next; /* done() may free the task */
		pool->pending--;
		task->done(task);
	}
	stop_if_drained(pool);
}

struct pool *pool_open(uv_loop_t *loop, unsigned int threads)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool || threads > POOL_MAX_THREADS ||
	    uv_async_init(loop, &pool->is_done, on_done) < 0) {
		free(pool);
		return NULL;
	}
	pool->is_done.data = pool;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->has_work, NULL);
	queue_clear(&pool->waiting);
	queue_clear(&pool->done);
	for (; pool->n_threads < threads; pool->n_threads++) {
		if (pthread_create(&pool->thread[pool->n_threads], NULL,
				   pool_worker, pool) != 0)
			break;
	}
	if (pool->n_threads == threads)
		return pool;
	pool_drain(pool);
	uv_run(loop, UV_RUN_DEFAULT);
	pool_close(pool);
	return NULL;
}

void pool_add(struct pool *pool, struct pool_task *task)
{
	pool->pending++;
	pthread_mutex_lock(&pool->lock);
	queue_put(&pool->waiting, task);
	pthread_cond_signal(&pool->has_work);
	pthread_mutex_unlock(&pool->lock);
}

void pool_drain(struct pool *pool)
{
	pool->is_draining = true;
	stop_if_drained(pool);
}

void pool_close(struct pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->is_ending = true;
	pthread_cond_broadcast(&pool->has_work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < pool->n_threads; i++)
		pthread_join(pool->thread[i], NULL);
	pthread_cond_destroy(&pool->has_work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
