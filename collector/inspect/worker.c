/* SPDX-License-Identifier: MIT */
/* The inspector process: takes requests off its socket and sends answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/inspect/ops.h"
#include "collector/inspect/server.h"

enum {
	KEPT_BYTES_MAX = 1 << 20 /* of a reply, for the next */
};

static int grow(void **data, size_t *room, size_t size, size_t more)
{
	size_t want = *room ? *room : 4096;
	void *bigger;

	if (more > WIRE_REPLY_MAX || size > WIRE_REPLY_MAX - more)
		return -E2BIG;
	while (want < size + more)
		want *= 2;
	if (want == *room)
		return 0;
	bigger = realloc(*data, want);
	if (!bigger)
		return -ENOMEM;
	*data = bigger;
	*room = want;
	return 0;
}

int reply_add(struct reply *reply, const void *item, size_t size)
{
	void *items = reply->items;
	int rc = grow(&items, &reply->items_room, reply->items_size, size);

	if (rc)
		return rc;
	reply->items = items;
	memcpy(reply->items + reply->items_size, item, size);
	reply->items_size += size;
	reply->n++;
	return 0;
}

void reply_own_items(struct reply *reply, void *items, size_t size, uint32_t n)
{
	free(reply->items);
	reply->items = items;
	reply->items_size = size;
	reply->items_room = size;
	reply->n = n;
}

int reply_add_string(struct reply *reply, const char *text, size_t size,
		     uint32_t *out)
{
	void *strings = reply->strings;
	int rc;

	size = strnlen(text, size);
	/* Leaves a quarter of the limit for items. */
	if (reply->strings_size + size + 1 > WIRE_REPLY_MAX * 3 / 4)
		return -E2BIG;
	rc = grow(&strings, &reply->strings_room, reply->strings_size,
		  size + 1);
	if (rc)
		return rc;
	reply->strings = strings;
	*out = (uint32_t)reply->strings_size;
	memcpy(reply->strings + reply->strings_size, text, size);
	reply->strings[reply->strings_size + size] = '\0';
	reply->strings_size += size + 1;
	return 0;
}

enum inspect_status inspect_to_status(int rc)
{
	if (!rc)
		return INSPECT_OK;
	return rc == -ESRCH || rc == -ENOENT ? INSPECT_GONE : INSPECT_REFUSED;
}

static void reply_drop_items(struct reply *reply)
{
	reply->items_size = 0;
	reply->strings_size = 0;
	reply->n = 0;
	reply->owner = WIRE_NO_OWNER;
}

static void reply_clear(struct reply *reply)
{
	reply_drop_items(reply);
	reply->own_size = 0;
	memset(&reply->own, 0, sizeof(reply->own));
}

/* Returns false if the strings are not as many as there are places. */
static bool take_places(const char *at, struct request *out)
{
	const char *end = at + out->head->places_size;

	for (uint32_t i = 0; i < out->head->n_places; i++) {
		const char **parts[] = { &out->places[i].root,
					 &out->places[i].path };

		for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
			if (at == end)
				return false;
			*parts[k] = at;
			at += strlen(at) + 1;
		}
	}
	return at == end;
}

/* Returns false for what our own side would never send. */
static bool take_apart(const uint8_t *bytes, size_t size, struct request *out)
{
	const struct wire_request *head = (const void *)bytes;
	size_t want = sizeof(*head);

	if (size < want || head->n_offsets > INSPECT_NAMES_MAX ||
	    head->path_size > WIRE_PATH_MAX ||
	    head->places_size > WIRE_PLACES_MAX ||
	    head->n_places > INSPECT_PLACES_MAX ||
	    head->n_segments > INSPECT_SEGMENTS_MAX ||
	    head->build_id_size > INSPECT_BUILD_ID_MAX)
		return false;
	want += head->n_offsets * sizeof(uint64_t) +
		head->n_segments * sizeof(struct inspect_segment) +
		head->path_size + head->places_size;
	if (size != want ||
	    (head->path_size && bytes[size - head->places_size - 1]) ||
	    (head->places_size && bytes[size - 1]))
		return false;
	*out = (struct request){
		.head = head,
		.offsets = (const void *)(bytes + sizeof(*head)),
		.segments = (const void *)(bytes + sizeof(*head) +
					   head->n_offsets * sizeof(uint64_t)),
		.path = "",
	};
	if (head->path_size)
		out->path = (const char *)bytes + size - head->places_size -
			    head->path_size;
	return take_places((const char *)bytes + size - head->places_size, out);
}

static enum inspect_status run(const struct request *request,
			       struct reply *reply)
{
	switch ((enum wire_op)request->head->op) {
	case WIRE_PROCESS:
		return inspect_op_process(request, reply);
	case WIRE_NAMES:
		return inspect_op_names(request, reply);
	case WIRE_LINES:
		return inspect_op_lines(request, reply);
	case WIRE_TABLE:
		return inspect_op_table(request, reply);
	case WIRE_PERF_MAP:
		return inspect_op_perf_map(request, reply);
	case WIRE_CONTEXT:
		return inspect_op_context(request, reply);
	case WIRE_RECORDS:
		return inspect_op_records(request, reply);
	case WIRE_SEGMENTS:
		return inspect_op_segments(request, reply);
	case WIRE_OP_END:
		break;
	}
	return INSPECT_REFUSED;
}

/* Send what the parts hold, in as many packets as it takes. */
static bool send_parts(int fd, const struct iovec *parts, int n)
{
	static uint8_t packet[WIRE_PACKET_MAX];
	size_t fill = 0;

	for (int i = 0; i < n; i++) {
		const uint8_t *from = parts[i].iov_base;
		size_t left = parts[i].iov_len;

		while (left) {
			size_t step = sizeof(packet) - fill;

			step = step < left ? step : left;
			memcpy(packet + fill, from, step);
			fill += step;
			from += step;
			left -= step;
			if (fill < sizeof(packet))
				continue;
			if (send(fd, packet, fill, MSG_NOSIGNAL) < 0)
				return false;
			fill = 0;
		}
	}
	return !fill || send(fd, packet, fill, MSG_NOSIGNAL) >= 0;
}

/* A reply that was large is rare, and its memory is better free. */
static void reply_shrink(struct reply *reply)
{
	if (reply->items_room > KEPT_BYTES_MAX)
		reply_own_items(reply, NULL, 0, 0);
}

static bool answer(int fd, const struct request *request, struct reply *reply)
{
	struct wire_reply head = { .id = request->head->id };
	bool is_sent;

	reply_clear(reply);
	head.status = run(request, reply);
	if (head.status == INSPECT_REFUSED && request->head->op == WIRE_NAMES)
		reply_drop_items(reply);
	else if (head.status != INSPECT_OK)
		reply_clear(reply);
	head.n = reply->n;
	head.owner = reply->owner;
	head.strings_size = (uint32_t)reply->strings_size;

	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ &reply->own, reply->own_size },
		{ reply->items, reply->items_size },
		{ reply->strings, reply->strings_size },
	};

	is_sent = send_parts(fd, parts, ARRAY_LEN(parts));
	reply_shrink(reply);
	return is_sent;
}

_Noreturn void inspect_serve(int fd)
{
	static union {
		uint64_t align;
		uint8_t bytes[WIRE_REQUEST_MAX + 1];
	} buffer;
	static struct reply reply;
	struct request request;
	ssize_t size;

	for (;;) {
		size = recv(fd, buffer.bytes, sizeof(buffer.bytes), 0);
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			_exit(0);
		if (!take_apart(buffer.bytes, (size_t)size, &request) ||
		    !answer(fd, &request, &reply))
			_exit(1);
	}
}
