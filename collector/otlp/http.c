/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <microhttpd.h>

#include "collector/clock.h"
#include "collector/grow.h"
#include "collector/otlp/http.h"
#include "collector/otlp/otlp.h"
#include "collector/otlp/server.h"
#include "gen/otlp.pb-c.h"

enum {
	CONNECTION_MEMORY = 64 << 10,
	BLOCK = 64 << 10,
	GZIP_WINDOW = 16 + MAX_WBITS /* zlib: a gzip header, nothing else */
};

/* One request, while its body comes. */
struct post {
	bool is_json, is_gzip;
	bool is_too_large, has_no_memory;
	char *body; /* owned */
	size_t size, room;
};

/* What is answered. */
struct answer {
	unsigned status;
	bool is_json;
	uint64_t rejected;
	const char *message; /* NULL: none */
};

/* Who is connected, and since when no whole request came from there. */
struct place {
	struct MHD_Connection *connection; /* NULL: free */
	uint64_t since_ns;                 /* boot */
	struct post *post;                 /* borrowed; NULL: no request */
};

/* All of the thread that answers. */
static int out_fd = -1;
static struct place places[OTLP_CONNECTIONS_MAX];
static uint64_t times_full; /* not told yet */

static char *pack(const ProtobufCMessage *message, size_t *size)
{
	char *bytes;

	*size = protobuf_c_message_get_packed_size(message);
	bytes = malloc(*size + 1);
	if (bytes)
		protobuf_c_message_pack(message, (uint8_t *)bytes);
	return bytes;
}

static char *pack_answer(const struct answer *a, size_t *size)
{
	Otlp__ExportTraceServiceResponse ok =
		OTLP__EXPORT_TRACE_SERVICE_RESPONSE__INIT;
	Otlp__PartialSuccess partial = OTLP__PARTIAL_SUCCESS__INIT;
	Otlp__RpcStatus failed = OTLP__RPC_STATUS__INIT;

	if (a->status != MHD_HTTP_OK) {
		failed.message = (char *)a->message;
		return pack(&failed.base, size);
	}
	if (a->rejected) {
		partial.rejected_spans = (int64_t)a->rejected;
		partial.error_message = (char *)a->message;
		ok.partial_success = &partial;
	}
	return pack(&ok.base, size);
}

static char *print_answer(const struct answer *a, size_t *size)
{
	json_t *object = json_object(), *partial;
	char *text;

	if (a->status != MHD_HTTP_OK) {
		json_object_set_new(object, "message", json_string(a->message));
	} else if (a->rejected) {
		partial = json_object();
		/* 64-bit numbers are text in OTLP's JSON. */
		json_object_set_new(
			partial, "rejectedSpans",
			json_sprintf("%llu", (unsigned long long)a->rejected));
		json_object_set_new(partial, "errorMessage",
				    json_string(a->message));
		json_object_set_new(object, "partialSuccess", partial);
	}
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	*size = text ? strlen(text) : 0;
	return text;
}

static enum MHD_Result reply(struct MHD_Connection *connection,
			     const struct answer *a)
{
	struct MHD_Response *response;
	enum MHD_Result result;
	size_t size;
	char *body =
		a->is_json ? print_answer(a, &size) : pack_answer(a, &size);

	if (!body)
		return MHD_NO;
	response = MHD_create_response_from_buffer(size, body,
						   MHD_RESPMEM_MUST_FREE);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				a->is_json ? "application/json"
					   : "application/x-protobuf");
	if (a->status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER,
					"1");
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
					"POST");
	result = MHD_queue_response(connection, a->status, response);
	MHD_destroy_response(response);
	return result;
}

/* Whether a header's value is a word, perhaps with parameters after it. */
static bool is_word(const char *value, const char *word)
{
	size_t size = strlen(word);

	return value && !strncasecmp(value, word, size) &&
	       (!value[size] || strchr("; \t", value[size]));
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Why a request is refused by its head; 0: it is not. */
static unsigned check_head(struct MHD_Connection *connection, const char *url,
			   const char *method, struct post *post,
			   const char **why)
{
	const char *type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
	const char *coding =
		header(connection, MHD_HTTP_HEADER_CONTENT_ENCODING);

	post->is_json = is_word(type, "application/json");
	post->is_gzip = is_word(coding, "gzip");
	if (strcmp(url, "/v1/traces") != 0) {
		*why = "spans go to /v1/traces; other signals are not received";
		return MHD_HTTP_NOT_FOUND;
	}
	if (strcmp(method, MHD_HTTP_METHOD_POST) != 0) {
		*why = "spans come by POST";
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	if (!post->is_json && !is_word(type, "application/x-protobuf")) {
		*why = "the Content-Type is neither application/x-protobuf nor "
		       "application/json";
		return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	}
	if (coding && !post->is_gzip && !is_word(coding, "identity")) {
		*why = "the Content-Encoding is neither gzip nor identity";
		return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	}
	return 0;
}

static struct place *place_of(const struct MHD_Connection *connection)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (places[i].connection == connection)
			return &places[i];
	return NULL;
}

/* Put a connection, or none (NULL), in the place of another, or of none. There
 * is one: no more are accepted than there are places. */
static void change_place(const struct MHD_Connection *from,
			 struct MHD_Connection *to)
{
	struct place *place = place_of(from);

	if (place)
		*place = (struct place){ .connection = to,
					 .since_ns = clock_boot_ns() };
}

static void note_whole_request(const struct MHD_Connection *connection)
{
	struct place *place = place_of(connection);

	if (place)
		place->since_ns = clock_boot_ns();
}

static void set_post(const struct MHD_Connection *connection, struct post *post)
{
	struct place *place = place_of(connection);

	if (place)
		place->post = post;
}

static void close_place(const struct place *place)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		place->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info)
		(void)shutdown(info->connect_fd, SHUT_RDWR);
	times_full++;
}

/* Where a connection is from which no whole request came for longest: of all
 * but one, or of those that hold a body. NULL: there is none. */
static const struct place *find_idlest(const struct MHD_Connection *but,
				       bool has_body)
{
	const struct place *idlest = NULL;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const struct place *p = &places[i];

		if (!p->connection || p->connection == but ||
		    (has_body && !(p->post && p->post->body)))
			continue;
		if (!idlest || p->since_ns < idlest->since_ns)
			idlest = p;
	}
	return idlest;
}

/* Close one of the others that hold a part of a body, and let that go. Returns
 * whether there was one. */
static bool make_memory(const struct MHD_Connection *asks)
{
	const struct place *idlest = find_idlest(asks, true);

	if (!idlest)
		return false;
	free(idlest->post->body);
	*idlest->post = (struct post){ .is_json = idlest->post->is_json,
				       .has_no_memory = true };
	close_place(idlest);
	return true;
}

static void add_body(const struct MHD_Connection *connection, struct post *post,
		     const char *data, size_t size)
{
	if (post->is_too_large || post->has_no_memory)
		return; /* read on, so that the sender hears the answer */
	if (size > OTLP_BODY_MAX - post->size) {
		post->is_too_large = true;
		return;
	}
	while (GROW(post->body, post->size + size + 1, post->room)) {
		if (make_memory(connection))
			continue;
		post->has_no_memory = true;
		return;
	}
	memcpy(post->body + post->size, data, size);
	post->size += size;
}

/* Unpack the body in place of itself. Several members are one body. Returns 0,
 * -EPROTO, -E2BIG or -ENOMEM. */
static int unpack(struct post *post)
{
	z_stream z = { .next_in = (void *)post->body,
		       .avail_in = (unsigned)post->size };
	size_t size = 0, room = 0;
	char *text = NULL;
	int rc = 0, status = Z_OK;

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	while (!rc && (status == Z_OK || z.avail_in)) {
		if (status == Z_STREAM_END && inflateReset(&z) != Z_OK)
			break;
		if (size > OTLP_BODY_MAX)
			rc = -E2BIG;
		else
			rc = GROW(text, size + BLOCK, room);
		if (rc)
			break;
		z.next_out = (void *)(text + size);
		z.avail_out = BLOCK;
		status = inflate(&z, Z_NO_FLUSH);
		size += BLOCK - z.avail_out;
		if (status != Z_OK && status != Z_STREAM_END)
			rc = -EPROTO;
	}
	inflateEnd(&z);
	if (rc) {
		free(text);
		return rc;
	}
	free(post->body);
	post->body = text;
	post->size = size;
	post->room = room;
	return 0;
}

static int write_all(const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t done = write(out_fd, at, size);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			at += done;
			size -= (size_t)done;
		}
	}
	return 0;
}

/* Hand spans on. -EAGAIN: the last ones are not taken yet. What is told besides
 * can wait until then. */
static int hand_on(const struct otlp_spans *spans)
{
	struct otlp_message message = {
		.n = spans->n,
		.text_size = spans->text_size,
		.rejected = spans->rejected,
		.times_full = times_full,
	};
	struct pollfd out = { .fd = out_fd, .events = POLLOUT };
	int rc;

	if (!message.n && !message.rejected && !message.times_full)
		return 0;
	if (poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT))
		return message.n || message.rejected ? -EAGAIN : 0;
	rc = write_all(&message, sizeof(message));
	if (!rc)
		rc = write_all(spans->spans, spans->n * sizeof(*spans->spans));
	if (!rc)
		rc = write_all(spans->text, spans->text_size);
	if (rc)
		_exit(0); /* nobody is there any more, or half was written */
	times_full = 0;
	return 0;
}

static unsigned status_of(int rc)
{
	switch (rc) {
	case 0:
		return MHD_HTTP_OK;
	case -EPROTO:
		return MHD_HTTP_BAD_REQUEST;
	case -E2BIG:
		return MHD_HTTP_CONTENT_TOO_LARGE;
	default: /* -EAGAIN, -ENOMEM: again, later */
		return MHD_HTTP_TOO_MANY_REQUESTS;
	}
}

static enum MHD_Result finish(struct MHD_Connection *connection,
			      struct post *post)
{
	struct otlp_spans spans = { .text_max = OTLP_TEXT_MAX };
	struct answer a = { .is_json = post->is_json };
	struct weft_err err = { 0 };
	enum MHD_Result result;
	char why[sizeof(spans.where) + sizeof(spans.why) + 2];
	int rc = post->is_too_large    ? -E2BIG
		 : post->has_no_memory ? -ENOMEM
		 : post->is_gzip       ? unpack(post)
				       : 0;

	if (rc)
		weft_fail(&err, rc, "%s",
			  rc == -E2BIG ? "the request has more than 64 MiB"
			  : rc == -EPROTO
				  ? "the body is no gzip, or is cut short"
				  : "out of memory; try again");
	else if (post->is_json && post->size)
		rc = otlp_read_json(&spans, post->body, post->size, "", &err);
	else
		rc = otlp_read_proto(&spans, (const void *)post->body,
				     post->size, "", &err);
	if (rc == -ENOMEM && !post->has_no_memory)
		(void)make_memory(connection); /* for when it comes again */
	if (!rc) {
		rc = hand_on(&spans);
		if (rc)
			weft_fail(&err, rc, "too many spans at once");
	}
	a.status = status_of(rc);
	a.rejected = rc ? 0 : spans.rejected;
	snprintf(why, sizeof(why), "%s: %s", spans.where, spans.why);
	a.message = rc ? err.msg : why;
	note_whole_request(connection);
	result = reply(connection, &a);
	otlp_release(&spans);
	return result;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *size, void **state)
{
	struct post *post = *state;
	struct answer a = { 0 };

	(void)ctx;
	(void)version;
	if (!post) {
		post = calloc(1, sizeof(*post));
		if (!post)
			return MHD_NO;
		*state = post;
		set_post(connection, post);
		a.status =
			check_head(connection, url, method, post, &a.message);
		a.is_json = post->is_json;
		return a.status ? reply(connection, &a) : MHD_YES;
	}
	if (*size) {
		add_body(connection, post, data, *size);
		*size = 0;
		return MHD_YES;
	}
	return finish(connection, post);
}

static void on_completed(void *ctx, struct MHD_Connection *connection,
			 void **state, enum MHD_RequestTerminationCode code)
{
	struct post *post = *state;

	(void)ctx;
	(void)code;
	set_post(connection, NULL);
	if (post)
		free(post->body);
	free(post);
	*state = NULL;
}

/* Who takes the last place makes room for the next, or those who say a word now
 * and then, and never all, would keep everybody out. That is told. */
static void on_connection(void *ctx, struct MHD_Connection *connection,
			  void **socket,
			  enum MHD_ConnectionNotificationCode code)
{
	(void)ctx;
	(void)socket;
	if (code != MHD_CONNECTION_NOTIFY_STARTED) {
		change_place(connection, NULL);
		return;
	}
	change_place(NULL, connection);
	if (place_of(NULL))
		return;
	close_place(find_idlest(connection, false));
	(void)hand_on(&(struct otlp_spans){ 0 });
}

struct MHD_Daemon *otlp_http_start(int listener, int out)
{
	out_fd = out;
	return MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL,
		on_request, NULL, MHD_OPTION_LISTEN_SOCKET, listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)OTLP_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)OTLP_IDLE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
		MHD_OPTION_END);
}
