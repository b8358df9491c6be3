/* SPDX-License-Identifier: MIT */
/*
 * The demo service: HTTP on the loopback, a pool of workers, five routes that
 * burn CPU in different code. It publishes the trace ID of each request while
 * it works on it, and writes what is true about each to a file.
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "connection.h"
#include "otel-thread-ctx.h"
#include "pool.h"
#include "route.h"
#include "truth.h"

struct options {
	const char *truth_path;
	const char *port_path;
	unsigned int workers;
	bool is_broken_writer;
};

struct service {
	uv_loop_t loop;
	uv_tcp_t listener;
	uv_signal_t sigterm;
	uv_signal_t sigint;
	struct connection_config config;
};

static const char usage[] =
	"usage: service --truth FILE --port-file FILE [--workers N]\n"
	"               [--broken-writer]\n"
	"\n"
	"Serves /search /report /checkout /compress /sign?cost=N on a free\n"
	"port of 127.0.0.1 until SIGTERM or SIGINT.\n"
	"\n"
	"  --truth FILE      write trace ID, route, worker, times of each\n"
	"                    request there\n"
	"  --port-file FILE  write the port there once it accepts connections\n"
	"  --workers N       worker threads (4)\n"
	"  --broken-writer   publish wrongly on purpose: each request passes\n"
	"                    for the one before it on its thread\n";

static int fail(const char *what, const char *object, int code)
{
	fprintf(stderr, "service: cannot %s '%s': %s\n", what, object,
		strerror(code < 0 ? -code : code));
	return -1;
}

/* 0, 1 to end well, -1 for a usage error. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{ "truth", required_argument, NULL, 't' },
		{ "port-file", required_argument, NULL, 'p' },
		{ "workers", required_argument, NULL, 'w' },
		{ "broken-writer", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){ .workers = 4 };
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 't':
			o->truth_path = optarg;
			break;
		case 'p':
			o->port_path = optarg;
			break;
		case 'w':
			o->workers = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'b':
			o->is_broken_writer = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			return -1;
		}
	}
	if (optind < argc || !o->truth_path || !o->port_path || !o->workers) {
		fputs(usage, stderr);
		return -1;
	}
	return 0;
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct service *s = listener->data;

	if (status == 0)
		connection_accept(listener, &s->config);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	struct service *s = arg;

	if (handle->type == UV_TCP && handle != (uv_handle_t *)&s->listener)
		connection_close(handle);
	else if (handle->type != UV_ASYNC && !uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* The loop ends by itself when all handles are closed and all jobs back. */
static void stop(struct service *s)
{
	uv_walk(&s->loop, close_handle, s);
	pool_drain(s->config.pool);
}

static void on_stop(uv_signal_t *signal, int number)
{
	(void)number;
	stop(signal->data);
}

static int start(struct service *s)
{
	struct sockaddr_in address;
	int rc;

	uv_tcp_init(&s->loop, &s->listener);
	uv_signal_init(&s->loop, &s->sigterm);
	uv_signal_init(&s->loop, &s->sigint);
	s->listener.data = s;
	s->sigterm.data = s;
	s->sigint.data = s;
	uv_ip4_addr("127.0.0.1", 0, &address);
	rc = uv_tcp_bind(&s->listener, (struct sockaddr *)&address, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&s->listener, 128, on_connection);
	if (rc == 0)
		rc = uv_signal_start(&s->sigterm, on_stop, SIGTERM);
	if (rc == 0)
		rc = uv_signal_start(&s->sigint, on_stop, SIGINT);
	return rc;
}

/* Renamed into place, so that a reader never sees half a number. */
static int write_port(struct service *s, const char *path)
{
	struct sockaddr_in address;
	int length = sizeof(address);
	char temporary[4096];
	FILE *file;

	if (uv_tcp_getsockname(&s->listener, (struct sockaddr *)&address,
			       &length) < 0)
		return -1;
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	file = fopen(temporary, "we");
	if (!file)
		return fail("write", temporary, errno);
	fprintf(file, "%d\n", ntohs(address.sin_port));
	if (fclose(file) != 0 || rename(temporary, path) != 0)
		return fail("write", path, errno);
	return 0;
}

static int serve(struct service *s, const struct options *o)
{
	int rc = uv_loop_init(&s->loop);

	if (rc < 0)
		return fail("make", "loop", rc);
	s->config.pool = pool_open(&s->loop, o->workers);
	if (!s->config.pool)
		return fail("start", "workers", EAGAIN);
	rc = start(s);
	if (rc < 0)
		fail("listen on", "127.0.0.1", rc);
	else
		rc = write_port(s, o->port_path);
	if (rc < 0)
		stop(s);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	pool_close(s->config.pool);
	uv_loop_close(&s->loop);
	return rc;
}

static int run(struct service *s, const struct options *o)
{
	int rc = otc_init("weft-demo");

	if (rc < 0)
		return fail("publish", "trace context", rc);
	if (route_init() < 0)
		return fail("make", "signing key", EIO);
	s->config.is_broken_writer = o->is_broken_writer;
	s->config.truth = truth_open(o->truth_path);
	if (!s->config.truth)
		return fail("write", o->truth_path, errno);
	rc = serve(s, o);
	if (truth_close(s->config.truth) < 0)
		rc = fail("write", o->truth_path, errno);
	return rc;
}

int main(int argc, char **argv)
{
	struct service service = { 0 };
	struct options o;
	int rc = parse_options(argc, argv, &o);

	if (rc != 0)
		return rc < 0 ? 2 : 0;
	/* zlib and OpenSSL allocate per request: without this much of the
	 * profile would be memory going to the kernel and back */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	rc = run(&service, &o);
	route_release();
	return rc < 0 ? 1 : 0;
}
