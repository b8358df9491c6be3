/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/otlp/otlp.h"
#include "gen/otlp.pb-c.h"

/* Memory of one message. Two bytes of input make a struct, so that without a
 * limit a small message could take all there is. */
static const size_t memory_max = 512 << 20;
static const size_t nested_bytes_max = 1 << 20;

struct budget {
	size_t left;
};

static void *budget_alloc(void *data, size_t size)
{
	struct budget *budget = data;

	if (size > budget->left)
		return NULL;
	budget->left -= size;
	return malloc(size);
}

/* What is given back is not spent again: only the decoder's arrays are. */
static void budget_free(void *data, void *memory)
{
	(void)data;
	free(memory);
}

static json_t *to_json(const Otlp__AnyValue *value, int depth);

static int put(json_t *object, const Otlp__KeyValue *pair, int depth)
{
	json_t *key = otlp_string(pair->key, strlen(pair->key));
	json_t *value = key ? to_json(pair->value, depth) : NULL;
	int rc = -ENOMEM;

	if (value &&
	    !json_object_set_new(object, json_string_value(key), value))
		rc = 0;
	json_decref(key);
	return rc;
}

static json_t *pairs_to_json(Otlp__KeyValue *const *pairs, size_t n, int depth)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < n; i++) {
		if (put(object, pairs[i], depth)) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}

static json_t *list_to_json(const ProtobufCBinaryData *bytes, int depth)
{
	Otlp__ArrayValue *list = NULL;
	json_t *array;

	if (bytes->len <= nested_bytes_max)
		list = otlp__array_value__unpack(NULL, bytes->len, bytes->data);
	array = list ? json_array() : json_null();

	for (size_t i = 0; list && array && i < list->n_values; i++) {
		if (json_array_append_new(array,
					  to_json(list->values[i], depth))) {
			json_decref(array);
			array = NULL;
		}
	}
	if (list)
		otlp__array_value__free_unpacked(list, NULL);
	return array;
}

static json_t *map_to_json(const ProtobufCBinaryData *bytes, int depth)
{
	Otlp__KeyValueList *list = NULL;
	json_t *object;

	if (bytes->len <= nested_bytes_max)
		list = otlp__key_value_list__unpack(NULL, bytes->len,
						    bytes->data);

	if (!list)
		return json_null();
	object = pairs_to_json(list->values, list->n_values, depth);
	otlp__key_value_list__free_unpacked(list, NULL);
	return object;
}

/* As hex: what the bytes mean, only their sender knows. */
static json_t *bytes_to_json(const ProtobufCBinaryData *bytes)
{
	json_t *string;
	char *text = malloc(2 * bytes->len + 1);

	if (!text)
		return NULL;
	weft_hex(text, bytes->data, bytes->len);
	string = json_stringn(text, 2 * bytes->len);
	free(text);
	return string;
}

/* NULL: out of memory. */
static json_t *to_json(const Otlp__AnyValue *value, int depth)
{
	if (!value || depth >= OTLP_DEPTH_MAX)
		return json_null();
	switch (value->value_case) {
	case OTLP__ANY_VALUE__VALUE_STRING_VALUE:
		return otlp_string(value->string_value,
				   strlen(value->string_value));
	case OTLP__ANY_VALUE__VALUE_BOOL_VALUE:
		return json_boolean(value->bool_value);
	case OTLP__ANY_VALUE__VALUE_INT_VALUE:
		return json_integer(value->int_value);
	case OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE:
		/* JSON has no infinity. */
		return isfinite(value->double_value)
			       ? json_real(value->double_value)
			       : json_null();
	case OTLP__ANY_VALUE__VALUE_ARRAY_VALUE:
		return list_to_json(&value->array_value, depth + 1);
	case OTLP__ANY_VALUE__VALUE_KVLIST_VALUE:
		return map_to_json(&value->kvlist_value, depth + 1);
	case OTLP__ANY_VALUE__VALUE_BYTES_VALUE:
		return bytes_to_json(&value->bytes_value);
	default:
		return json_null();
	}
}

static int read_span(struct otlp_spans *spans,
		     const struct otlp_resource *resource,
		     const Otlp__Span *span)
{
	struct otlp_raw raw = {
		.trace_id = span->trace_id.data,
		.trace_id_size = span->trace_id.len,
		.span_id = span->span_id.data,
		.span_id_size = span->span_id.len,
		.parent_id = span->parent_span_id.data,
		.parent_id_size = span->parent_span_id.len,
		.name = span->name,
		.kind = (uint32_t)span->kind,
		.status = span->status ? (uint32_t)span->status->code : 0,
		.start_ns = span->start_time_unix_nano,
		.end_ns = span->end_time_unix_nano,
		.attributes =
			pairs_to_json(span->attributes, span->n_attributes, 0),
	};
	int rc = raw.attributes ? otlp_add(spans, resource, &raw) : -ENOMEM;

	json_decref(raw.attributes);
	return rc;
}

static int read_scopes(struct otlp_spans *spans,
		       const struct otlp_resource *resource,
		       Otlp__ScopeSpans *const *scopes, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		for (size_t k = 0; k < scopes[i]->n_spans && !rc; k++)
			rc = read_span(spans, resource, scopes[i]->spans[k]);
	}
	return rc;
}

static int read_resource(struct otlp_spans *spans,
			 const Otlp__ResourceSpans *from)
{
	struct otlp_resource resource;
	const Otlp__Resource *r = from->resource;
	int rc = otlp_resource_take(
		&resource, r ? pairs_to_json(r->attributes, r->n_attributes, 0)
			     : json_object());

	if (!rc)
		rc = read_scopes(spans, &resource, from->scope_spans,
				 from->n_scope_spans);
	if (!rc)
		rc = read_scopes(spans, &resource,
				 from->instrumentation_library_spans,
				 from->n_instrumentation_library_spans);
	otlp_resource_release(&resource);
	return rc;
}

int otlp_read_proto(struct otlp_spans *spans, const uint8_t *bytes, size_t size,
		    const char *place, struct weft_err *err)
{
	struct otlp_mark before = otlp_mark(spans);
	struct budget budget = { memory_max };
	ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
	Otlp__TracesData *data =
		otlp__traces_data__unpack(&allocator, size, bytes);
	int rc = 0;

	if (!data)
		return weft_fail(err, -EPROTO,
				 "%s%sthese %zu bytes are no OTLP traces in "
				 "protobuf: cut short, something else, or too "
				 "large for our memory",
				 place, *place ? ": " : "", size);
	for (size_t i = 0; i < data->n_resource_spans && !rc; i++)
		rc = read_resource(spans, data->resource_spans[i]);
	otlp__traces_data__free_unpacked(data, &allocator);
	if (!rc) {
		otlp_say_where(spans, before, place);
		return 0;
	}
	otlp_back_to(spans, before);
	return weft_fail(err, rc, "%s%scannot take in spans: %s", place,
			 *place ? ": " : "",
			 rc == -E2BIG ? "they have too much text"
				      : "out of memory");
}
