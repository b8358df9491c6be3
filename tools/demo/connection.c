/* SPDX-License-Identifier: MIT */
/*
 * One request at a time: when the parser has a whole request it is paused and
 * reading stops. The job runs, the answer is written, and only then the rest
 * of what was read is parsed, and reading goes on. So there is one job, one
 * write and one buffer per connection, all inside it.
 *
 * The connection is freed when its handle is closed and its job is back,
 * whichever is later.
 */
#include "connection.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <http_parser.h>

#include "job.h"
#include "pool.h"
#include "route.h"
#include "truth.h"

enum {
	READ_BYTES = 8192
};

/* Text that arrives in pieces; what is too long is kept as too long. */
struct text {
	char bytes[JOB_TRACEPARENT_BYTES];
	size_t length; /* may exceed what bytes holds */
};

struct connection {
	uv_tcp_t tcp;
	struct pool_task task;
	uv_write_t write;
	const struct connection_config *config; /* borrowed */
	bool is_working;
	bool is_closed;
	bool is_keep_alive;

	http_parser parser;
	struct text url;
	struct text header;
	bool in_value; /* the header's name is complete */
	struct text traceparent;

	char input[READ_BYTES];
	size_t input_length;
	size_t input_parsed;

	struct job job;
	char output[256];
};

static void parse_input(struct connection *c);

static void text_append(struct text *text, const char *bytes, size_t length)
{
	if (text->length + length < sizeof(text->bytes)) {
		memcpy(text->bytes + text->length, bytes, length);
		text->bytes[text->length + length] = '\0';
	}
	text->length += length;
}

static void text_clear(struct text *text)
{
	text->length = 0;
	text->bytes[0] = '\0';
}

/* Spaces around a value are not part of it; the parser leaves those behind. */
static void text_trim_end(struct text *text)
{
	char *bytes = text->bytes;
	size_t n = strlen(bytes);

	while (n > 0 && (bytes[n - 1] == ' ' || bytes[n - 1] == '\t'))
		bytes[--n] = '\0';
}

static bool text_fits(const struct text *text)
{
	return text->length < sizeof(text->bytes);
}

/* ---- life ---- */

static void free_if_done(struct connection *c)
{
	if (c->is_closed && !c->is_working)
		free(c);
}

static void on_closed(uv_handle_t *handle)
{
	struct connection *c = handle->data;

	c->is_closed = true;
	free_if_done(c);
}

void connection_close(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void drop(struct connection *c)
{
	connection_close((uv_handle_t *)&c->tcp);
}

/* ---- the answer ---- */

static void on_written(uv_write_t *write, int status)
{
	struct connection *c = write->data;

	if (status < 0 || !c->is_keep_alive)
		drop(c);
	else if (!uv_is_closing((uv_handle_t *)&c->tcp))
		parse_input(c);
}

static void answer(struct connection *c, const char *status, const char *body)
{
	int n = snprintf(c->output, sizeof(c->output),
			 "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n%s",
			 status, strlen(body),
			 c->is_keep_alive ? "" : "Connection: close\r\n", body);
	uv_buf_t buffer = uv_buf_init(c->output, (unsigned int)n);

	c->write.data = c;
	if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &buffer, 1,
		     on_written) < 0)
		drop(c);
}

/* ---- the work ---- */

static struct connection *connection_of(struct pool_task *task)
{
	return (struct connection *)((char *)task -
				     offsetof(struct connection, task));
}

static void on_work(struct pool_task *task)
{
	job_run(&connection_of(task)->job);
}

static void after_work(struct pool_task *task)
{
	struct connection *c = connection_of(task);
	char body[64];

	c->is_working = false;
	truth_add(c->config->truth, &c->job.row);
	if (uv_is_closing((uv_handle_t *)&c->tcp)) {
		free_if_done(c);
		return;
	}
	snprintf(body, sizeof(body), "%s %016" PRIx64 "\n", c->job.route->name,
		 c->job.checksum);
	answer(c, "200 OK", body);
}

/* /ROUTE or /ROUTE?cost=N; the cost is 1 if not given. */
static bool parse_url(struct connection *c)
{
	struct http_parser_url url;
	const char *text = c->url.bytes;
	unsigned long cost = 1;
	char *end;

	http_parser_url_init(&url);
	if (!text_fits(&c->url) ||
	    http_parser_parse_url(text, c->url.length, 0, &url) != 0 ||
	    !(url.field_set & (1 << UF_PATH)))
		return false;
	if (url.field_set & (1 << UF_QUERY)) {
		const char *query = text + url.field_data[UF_QUERY].off;

		if (strncmp(query, "cost=", 5) != 0)
			return false;
		cost = strtoul(query + 5, &end, 10);
		if (*end || cost < 1 || cost > ROUTE_MAX_COST)
			return false;
	}
	c->job.cost = (unsigned int)cost;
	c->job.route = route_find(text + url.field_data[UF_PATH].off + 1,
				  url.field_data[UF_PATH].len - 1u);
	return true;
}

static void start_job(struct connection *c)
{
	memset(&c->job, 0, sizeof(c->job));
	c->is_keep_alive = http_should_keep_alive(&c->parser) != 0;
	if (!parse_url(c)) {
		answer(c, "400 Bad Request", "use /ROUTE?cost=1..1000\n");
		return;
	}
	if (!c->job.route) {
		answer(c, "404 Not Found", "no such route\n");
		return;
	}
	text_trim_end(&c->traceparent);
	if (text_fits(&c->traceparent))
		memcpy(c->job.traceparent, c->traceparent.bytes,
		       sizeof(c->job.traceparent));
	c->job.is_broken_writer = c->config->is_broken_writer;
	c->is_working = true;
	c->task = (struct pool_task){ .run = on_work, .done = after_work };
	pool_add(c->config->pool, &c->task);
}

/* ---- the request ---- */

static int on_message_begin(http_parser *parser)
{
	struct connection *c = parser->data;

	text_clear(&c->url);
	text_clear(&c->header);
	text_clear(&c->traceparent);
	c->in_value = false;
	return 0;
}

static int on_url(http_parser *parser, const char *at, size_t length)
{
	struct connection *c = parser->data;

	text_append(&c->url, at, length);
	return 0;
}

static int on_header_field(http_parser *parser, const char *at, size_t length)
{
	struct connection *c = parser->data;

	if (c->in_value)
		text_clear(&c->header);
	c->in_value = false;
	text_append(&c->header, at, length);
	return 0;
}

/* A second traceparent is appended to the first, which makes both invalid,
 * as W3C demands. */
static int on_header_value(http_parser *parser, const char *at, size_t length)
{
	struct connection *c = parser->data;

	c->in_value = true;
	if (text_fits(&c->header) &&
	    strcasecmp(c->header.bytes, "traceparent") == 0)
		text_append(&c->traceparent, at, length);
	return 0;
}

static int on_message_complete(http_parser *parser)
{
	http_parser_pause(parser, 1);
	return 0;
}

static const http_parser_settings settings = {
	.on_message_begin = on_message_begin,
	.on_url = on_url,
	.on_header_field = on_header_field,
	.on_header_value = on_header_value,
	.on_message_complete = on_message_complete,
};

/* ---- the stream ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct connection *c = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(c->input, sizeof(c->input));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct connection *c = stream->data;

	(void)buffer;
	if (n < 0) {
		drop(c);
		return;
	}
	if (n == 0)
		return;
	uv_read_stop(stream);
	c->input_length = (size_t)n;
	c->input_parsed = 0;
	parse_input(c);
}

/* Go on with what was read, up to the next whole request; then read more. */
static void parse_input(struct connection *c)
{
	http_parser *p = &c->parser;

	if (c->input_parsed < c->input_length) {
		c->input_parsed += http_parser_execute(
			p, &settings, c->input + c->input_parsed,
			c->input_length - c->input_parsed);
		if (HTTP_PARSER_ERRNO(p) == HPE_PAUSED) {
			http_parser_pause(p, 0);
			start_job(c);
			return;
		}
		if (HTTP_PARSER_ERRNO(p) != HPE_OK || p->upgrade) {
			drop(c);
			return;
		}
	}
	if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0)
		drop(c);
}

void connection_accept(uv_stream_t *listener,
		       const struct connection_config *config)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	if (uv_tcp_init(listener->loop, &c->tcp) < 0) {
		free(c);
		return;
	}
	c->tcp.data = c;
	c->config = config;
	http_parser_init(&c->parser, HTTP_REQUEST);
	c->parser.data = c;
	if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0) {
		drop(c);
		return;
	}
	uv_tcp_nodelay(&c->tcp, 1);
	parse_input(c);
}
