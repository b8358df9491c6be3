/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/otlp/otlp.h"

enum {
	TRACE_ID_SIZE = 16,
	SPAN_ID_SIZE = 8
};

/* Of a resource's attributes those that tell which program it was; the rest
 * (its SDK, its command line) would stand in every span. */
static const char *const kept_prefixes[] = {
	"service.",   "process.pid", "host.name",
	"container.", "k8s.",        "deployment.",
};

void otlp_release(struct otlp_spans *spans)
{
	free(spans->spans);
	free(spans->text);
	*spans = (struct otlp_spans){ 0 };
}

struct otlp_mark otlp_mark(const struct otlp_spans *spans)
{
	return (struct otlp_mark){
		.n = spans->n,
		.text_size = spans->text_size,
		.rejected = spans->rejected,
		.others = spans->others,
		.has_why = spans->why[0],
	};
}

void otlp_back_to(struct otlp_spans *spans, struct otlp_mark mark)
{
	spans->n = mark.n;
	spans->text_size = mark.text_size;
	spans->rejected = mark.rejected;
	spans->others = mark.others;
	if (!mark.has_why)
		spans->why[0] = spans->where[0] = '\0';
}

void otlp_say_where(struct otlp_spans *spans, struct otlp_mark before,
		    const char *place)
{
	if (before.rejected || !spans->rejected)
		return;
	snprintf(spans->where, sizeof(spans->where), "%.400s%sspan %zu", place,
		 *place ? ", " : "", spans->n_before - before.n + 1);
}

json_t *otlp_string(const char *text, size_t size)
{
	json_t *string = json_stringn(text, size);
	char *plain;

	if (string)
		return string;
	plain = malloc(size + 1);
	if (!plain)
		return NULL;
	for (size_t i = 0; i < size; i++)
		plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	string = json_stringn(plain, size);
	free(plain);
	return string;
}

static bool is_kept(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(kept_prefixes); i++) {
		if (!strncmp(key, kept_prefixes[i], strlen(kept_prefixes[i])))
			return true;
	}
	return false;
}

int otlp_resource_take(struct otlp_resource *resource, json_t *attributes)
{
	const char *key;
	json_t *value;
	void *next;

	*resource = (struct otlp_resource){ .kept = attributes };
	if (!attributes)
		return -ENOMEM;
	json_object_foreach_safe(attributes, next, key, value)
	{
		if (!is_kept(key))
			json_object_del(attributes, key);
	}
	resource->service =
		json_string_value(json_object_get(attributes, "service.name"));
	return 0;
}

void otlp_resource_release(struct otlp_resource *resource)
{
	json_decref(resource->kept);
	*resource = (struct otlp_resource){ 0 };
}

static int add_text(struct otlp_spans *spans, const char *text, size_t size,
		    store_text *out)
{
	/* Offset 0 stands for absent: its byte is never used. */
	size_t at = spans->text_size ? spans->text_size : 1;
	int rc;

	*out = 0;
	if (!text)
		return 0;
	size = strnlen(text, size);
	if (at + size + 1 > UINT32_MAX ||
	    (spans->text_max && at + size + 1 > spans->text_max))
		return -E2BIG;
	rc = GROW(spans->text, at + size + 1, spans->text_room);
	if (rc)
		return rc;
	spans->text[0] = '\0';
	memcpy(spans->text + at, text, size);
	spans->text[at + size] = '\0';
	spans->text_size = at + size + 1;
	*out = (store_text)at;
	return 0;
}

static bool is_usable_id(const uint8_t *id, size_t size, size_t want)
{
	if (size != want)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (id[i])
			return true;
	}
	return false;
}

/* NULL: the span is fine. */
static const char *find_fault(const struct otlp_raw *raw)
{
	if (!is_usable_id(raw->trace_id, raw->trace_id_size, TRACE_ID_SIZE))
		return "its trace ID is not 16 bytes, or is all zero";
	if (!is_usable_id(raw->span_id, raw->span_id_size, SPAN_ID_SIZE))
		return "its span ID is not 8 bytes, or is all zero";
	if (raw->start_ns > INT64_MAX || raw->end_ns > INT64_MAX)
		return "its time is after the year 2262";
	return NULL;
}

/* The span's attributes and its resource's, as one JSON text. */
static int add_attributes(struct otlp_spans *spans,
			  const struct otlp_resource *resource,
			  const struct otlp_raw *raw, store_text *out)
{
	json_t *all = json_copy(resource->kept);
	char *text = NULL;
	int rc = -ENOMEM;

	if (all && !json_object_update(all, raw->attributes))
		text = json_dumps(all, JSON_COMPACT);
	if (text && strlen(text) > OTLP_ATTRIBUTES_MAX)
		rc = add_text(spans, "{\"weft.attributes\":\"too long\"}",
			      OTLP_ATTRIBUTES_MAX, out);
	else if (text)
		rc = add_text(spans, text, OTLP_ATTRIBUTES_MAX, out);
	free(text);
	json_decref(all);
	return rc;
}

int otlp_add(struct otlp_spans *spans, const struct otlp_resource *resource,
	     const struct otlp_raw *raw)
{
	const char *fault = find_fault(raw);
	struct store_span *span;
	int rc;

	if (fault) {
		if (!spans->rejected++) {
			snprintf(spans->why, sizeof(spans->why), "%s", fault);
			spans->n_before = spans->n;
		}
		return 0;
	}
	rc = GROW(spans->spans, spans->n + 1, spans->room);
	if (rc)
		return rc;
	span = &spans->spans[spans->n];
	*span = (struct store_span){
		.start_ns = raw->start_ns,
		.end_ns = raw->end_ns,
		.kind = raw->kind < STORE_SPAN_KINDS ? (uint8_t)raw->kind : 0,
		.status = raw->status < STORE_SPAN_STATUSES
				  ? (uint8_t)raw->status
				  : 0,
		.has_parent = is_usable_id(raw->parent_id, raw->parent_id_size,
					   SPAN_ID_SIZE),
	};
	memcpy(span->trace_id, raw->trace_id, sizeof(span->trace_id));
	memcpy(span->span_id, raw->span_id, sizeof(span->span_id));
	if (span->has_parent)
		memcpy(span->parent_span_id, raw->parent_id,
		       sizeof(span->parent_span_id));
	rc = add_text(spans, raw->name, OTLP_NAME_MAX, &span->name);
	if (!rc)
		rc = add_text(spans, resource->service, OTLP_NAME_MAX,
			      &span->service);
	if (!rc)
		rc = add_attributes(spans, resource, raw, &span->attributes);
	if (!rc)
		spans->n++;
	return rc;
}
