/* SPDX-License-Identifier: MIT */
/*
 * A connection: HTTP/1.1 requests of one client, one at a time. Each becomes
 * a job of the worker pool. Loop thread only.
 */
#ifndef DEMO_CONNECTION_H
#define DEMO_CONNECTION_H

#include <stdbool.h>

#include <uv.h>

struct pool;
struct truth;

struct connection_config {
	struct pool *pool;
	struct truth *truth;
	bool is_broken_writer;
};

/*
 * Take the next connection of listener and serve it until the client leaves
 * or its handle is closed by uv_walk(). config is borrowed until then. What
 * goes wrong with one client ends that client's connection, nothing else.
 */
void connection_accept(uv_stream_t *listener,
		       const struct connection_config *config);

/* As uv_walk_cb: close the handle if it is a connection. */
void connection_close(uv_handle_t *handle);

#endif
