/* SPDX-License-Identifier: MIT */
/*
 * OTLP's JSON is proto3's, but IDs are hex. Readers are asked to be generous:
 * 64-bit numbers as strings or numbers, snake_case names, enum names.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collector/otlp/otlp.h"

/* Where in a document we are, for what is wrong there. */
struct position {
	size_t resource, scope, span;
	const char *wrong; /* NULL: nothing is, or it is no OTLP at all */
};

/* A member by either of its names; NULL where it is absent or null. */
static json_t *member(const json_t *object, const char *camel,
		      const char *snake)
{
	json_t *found = json_object_get(object, camel);

	if (!found && snake)
		found = json_object_get(object, snake);
	return json_is_null(found) ? NULL : found;
}

/* Digits of either kind, or a number without a fraction; UINT64_MAX where it
 * is larger. Else 0. */
static uint64_t to_number(const json_t *value)
{
	const char *text = json_string_value(value);
	unsigned long long number;
	char *end;

	if (json_is_integer(value))
		return json_integer_value(value) > 0
			       ? (uint64_t)json_integer_value(value)
			       : 0;
	if (json_is_real(value)) {
		double real = json_real_value(value);

		if (real >= 1.8e19)
			return UINT64_MAX;
		return real > 0 ? (uint64_t)real : 0;
	}
	if (!text || *text < '0' || *text > '9')
		return 0;
	number = strtoull(text, &end, 10);
	return *end ? 0 : number;
}

/* Of an enum: its number, or the name's place among words (each as the
 * specification has it, without its prefix). */
static uint32_t to_enum(const json_t *value, const char *prefix,
			const char *const *words, uint32_t n)
{
	const char *text = json_string_value(value);
	uint64_t number;

	for (uint32_t i = 0; text && i < n; i++) {
		if (!strncmp(text, prefix, strlen(prefix)) &&
		    !strcmp(text + strlen(prefix), words[i]))
			return i;
	}
	number = to_number(value);
	return number > UINT32_MAX ? 0 : (uint32_t)number;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* An ID in hex. Returns its size in bytes: 0 where absent or no hex, more
 * than room where it is too long. */
static size_t to_id(const json_t *value, uint8_t *out, size_t room)
{
	const char *text = json_string_value(value);
	size_t size = json_string_length(value) / 2;

	if (!text || json_string_length(value) % 2)
		return 0;
	for (size_t i = 0; i < size && i < room; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return 0;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return size;
}

static json_t *to_plain(const json_t *value, int depth);

/* A list of {key, value} as an object. NULL: out of memory. */
static json_t *pairs_to_plain(const json_t *pairs, int depth)
{
	json_t *object = json_object(), *pair;
	size_t i;

	json_array_foreach(pairs, i, pair)
	{
		json_t *key = member(pair, "key", NULL);

		if (!object || !json_is_string(key))
			continue;
		if (json_object_set_new(
			    object, json_string_value(key),
			    to_plain(member(pair, "value", NULL), depth))) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}

static json_t *values_to_plain(const json_t *values, int depth)
{
	json_t *array = json_array(), *value;
	size_t i;

	json_array_foreach(values, i, value)
	{
		if (array &&
		    json_array_append_new(array, to_plain(value, depth))) {
			json_decref(array);
			array = NULL;
		}
	}
	return array;
}

/* An integer, also where it is written as text. */
static json_t *to_integer(json_t *value)
{
	const char *text = json_string_value(value);
	long long number;
	char *end;

	if (!text)
		return json_incref(value);
	errno = 0;
	number = strtoll(text, &end, 10);
	return errno || *end || end == text ? json_incref(value)
					    : json_integer(number);
}

/* An AnyValue as plain JSON. NULL: out of memory. */
static json_t *to_plain(const json_t *value, int depth)
{
	static const char *const as_they_are[][2] = {
		{ "stringValue", "string_value" },
		{ "boolValue", "bool_value" },
		{ "doubleValue", "double_value" }, /* or "NaN" */
		{ "bytesValue", "bytes_value" },   /* base64 */
	};
	json_t *found;

	if (depth >= OTLP_DEPTH_MAX)
		return json_null();
	for (size_t i = 0; i < ARRAY_LEN(as_they_are); i++) {
		found = member(value, as_they_are[i][0], as_they_are[i][1]);
		if (found && !json_is_object(found) && !json_is_array(found))
			return json_incref(found);
	}
	found = member(value, "intValue", "int_value");
	if (found && !json_is_object(found) && !json_is_array(found))
		return to_integer(found);
	found = member(value, "arrayValue", "array_value");
	if (found)
		return values_to_plain(member(found, "values", NULL),
				       depth + 1);
	found = member(value, "kvlistValue", "kvlist_value");
	if (found)
		return pairs_to_plain(member(found, "values", NULL), depth + 1);
	return json_null();
}

/* Say what is wrong here. */
static int refuse(struct position *at, const char *wrong)
{
	at->wrong = wrong;
	return -EPROTO;
}

static bool is_list(const json_t *value)
{
	return !value || json_is_array(value);
}

static bool is_time(const json_t *value)
{
	const char *text = json_string_value(value);

	if (json_is_number(value))
		return json_number_value(value) >= 0;
	return !value || (text && strspn(text, "0123456789") == strlen(text));
}

/* What has another type than OTLP says is not OTLP. */
static int check_span(const json_t *span, struct position *at)
{
	if (!json_is_object(span))
		return refuse(at, "it is no object");
	if (!is_list(member(span, "attributes", NULL)))
		return refuse(at, "its attributes are no list");
	if (!is_time(member(span, "startTimeUnixNano",
			    "start_time_unix_nano")) ||
	    !is_time(member(span, "endTimeUnixNano", "end_time_unix_nano")))
		return refuse(at, "its time is no number");
	if (member(span, "name", NULL) &&
	    !json_is_string(member(span, "name", NULL)))
		return refuse(at, "its name is no text");
	return 0;
}

static int read_span(struct otlp_spans *spans,
		     const struct otlp_resource *resource, const json_t *span)
{
	static const char *const kinds[STORE_SPAN_KINDS] = {
		"UNSPECIFIED", "INTERNAL", "SERVER",
		"CLIENT",      "PRODUCER", "CONSUMER",
	};
	static const char *const codes[STORE_SPAN_STATUSES] = { "UNSET", "OK",
								"ERROR" };
	const json_t *status = member(span, "status", NULL);
	uint8_t trace_id[16], span_id[8], parent[8];
	struct otlp_raw raw = {
		.trace_id = trace_id,
		.trace_id_size = to_id(member(span, "traceId", "trace_id"),
				       trace_id, sizeof(trace_id)),
		.span_id = span_id,
		.span_id_size = to_id(member(span, "spanId", "span_id"),
				      span_id, sizeof(span_id)),
		.parent_id = parent,
		.parent_id_size =
			to_id(member(span, "parentSpanId", "parent_span_id"),
			      parent, sizeof(parent)),
		.name = json_string_value(member(span, "name", NULL)),
		.kind = to_enum(member(span, "kind", NULL), "SPAN_KIND_", kinds,
				ARRAY_LEN(kinds)),
		.status = to_enum(member(status, "code", NULL), "STATUS_CODE_",
				  codes, ARRAY_LEN(codes)),
		.start_ns = to_number(member(span, "startTimeUnixNano",
					     "start_time_unix_nano")),
		.end_ns = to_number(
			member(span, "endTimeUnixNano", "end_time_unix_nano")),
		.attributes =
			pairs_to_plain(member(span, "attributes", NULL), 0),
	};
	int rc = raw.attributes ? otlp_add(spans, resource, &raw) : -ENOMEM;

	json_decref(raw.attributes);
	return rc;
}

static int read_scopes(struct otlp_spans *spans,
		       const struct otlp_resource *resource,
		       const json_t *scopes, struct position *at)
{
	json_t *scope, *span;
	int rc = is_list(scopes) ? 0 : refuse(at, "its scopeSpans are no list");

	json_array_foreach(scopes, at->scope, scope)
	{
		const json_t *list = member(scope, "spans", NULL);

		if (!rc && !json_is_object(scope))
			rc = refuse(at, "its scopeSpans have what is no "
					"object");
		if (!rc && !is_list(list))
			rc = refuse(at, "its spans are no list");
		if (rc)
			return rc;
		json_array_foreach(list, at->span, span)
		{
			rc = check_span(span, at);
			if (!rc)
				rc = read_span(spans, resource, span);
			if (rc)
				return rc;
		}
	}
	return rc;
}

static int read_resource(struct otlp_spans *spans, const json_t *from,
			 struct position *at)
{
	const json_t *r = member(from, "resource", NULL);
	const json_t *attributes = member(r, "attributes", NULL);
	struct otlp_resource resource;
	int rc;

	if (!json_is_object(from))
		return refuse(at, "it is no object");
	if (!is_list(attributes))
		return refuse(at, "its resource's attributes are no list");
	rc = otlp_resource_take(&resource, pairs_to_plain(attributes, 0));
	if (!rc)
		rc = read_scopes(spans, &resource,
				 member(from, "scopeSpans", "scope_spans"), at);
	if (!rc)
		rc = read_scopes(spans, &resource,
				 member(from, "instrumentationLibrarySpans",
					"instrumentation_library_spans"),
				 at);
	otlp_resource_release(&resource);
	return rc;
}

/* -EPROTO: it is something else. */
static int read_message(struct otlp_spans *spans, const json_t *message,
			struct position *at)
{
	const json_t *resources =
		member(message, "resourceSpans", "resource_spans");
	json_t *from;
	int rc = 0;

	if (!json_is_object(message) ||
	    (resources && !json_is_array(resources)))
		return -EPROTO;
	if (json_object_get(message, "resourceMetrics") ||
	    json_object_get(message, "resourceLogs"))
		spans->others++;
	else if (!resources && json_object_size(message))
		return -EPROTO;
	json_array_foreach(resources, at->resource, from)
	{
		at->scope = at->span = 0;
		rc = read_resource(spans, from, at);
		if (rc)
			return rc;
	}
	return rc;
}

static int read_document(struct otlp_spans *spans, const json_t *document,
			 struct position *at)
{
	json_t *message;
	size_t i;
	int rc = 0;

	if (!json_is_array(document))
		return read_message(spans, document, at);
	json_array_foreach(document, i, message)
	{
		if (!rc)
			rc = read_message(spans, message, at);
	}
	return rc;
}

/* An integer of more than 64 bits reads as a real: where a double ends, the
 * last two digits say nothing. */
static void shorten(char *number, size_t size)
{
	char text[32] = "";
	size_t head = size < sizeof(text) ? size : sizeof(text) - 1;

	if (strspn(number + 1, "0123456789") + 1 < size)
		return;             /* a real already */
	memcpy(text, number, head); /* a part of it is too long as well */
	errno = 0;
	(void)strtoll(text, NULL, 10);
	if (errno == ERANGE)
		memcpy(number + size - 2, "e2", 2);
}

/*
 * A copy of text without integers of more than 64 bits, which jansson refuses
 * and JSON does not: JavaScript writes 1e20 with all its zeros. NULL: out of
 * memory.
 */
static char *without_long_integers(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	bool is_string = false;

	if (!copy)
		return NULL;
	memcpy(copy, text, size);
	copy[size] = '\0';
	for (size_t i = 0; i < size;) {
		size_t n = 0;

		if (copy[i] == '"')
			is_string = !is_string;
		else if (copy[i] == '\\')
			i++;
		else if (!is_string)
			n = strspn(copy + i, "+-0123456789.eE");
		if (n > 1)
			shorten(copy + i, n);
		i += n ? n : 1;
	}
	return copy;
}

static json_t *parse(const char *text, size_t size, json_error_t *fault)
{
	/* Programs put NUL into values: no reason to lose all the others. */
	json_t *document = json_loadb(text, size, JSON_ALLOW_NUL, fault);
	char *again;

	if (document || json_error_code(fault) != json_error_numeric_overflow)
		return document;
	again = without_long_integers(text, size);
	if (again)
		document = json_loadb(again, size, JSON_ALLOW_NUL, fault);
	free(again);
	return document;
}

int otlp_read_json(struct otlp_spans *spans, const char *text, size_t size,
		   const char *place, struct weft_err *err)
{
	struct otlp_mark before = otlp_mark(spans);
	const char *colon = *place ? ": " : "";
	struct position at = { 0 };
	json_error_t fault;
	json_t *document;
	int rc;

	/* A byte order mark. */
	if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		size -= 3;
	}
	document = parse(text, size, &fault);
	if (!document)
		return weft_fail(err, -EPROTO,
				 "%s%sthis is no JSON: byte %d: %s", place,
				 colon, fault.position, fault.text);
	rc = read_document(spans, document, &at);
	json_decref(document);
	if (!rc) {
		otlp_say_where(spans, before, place);
		return 0;
	}
	otlp_back_to(spans, before);
	if (at.wrong)
		return weft_fail(
			err, rc,
			"%s%sthis JSON is no OTLP: at resourceSpans "
			"%zu, scopeSpans %zu, spans %zu (of each, from "
			"0): %s",
			place, colon, at.resource, at.scope, at.span, at.wrong);
	if (rc == -EPROTO)
		return weft_fail(err, rc,
				 "%s%sthis JSON is no OTLP: it has no list "
				 "resourceSpans",
				 place, colon);
	return weft_fail(err, rc, "%s%scannot take in spans: %s", place, colon,
			 rc == -E2BIG ? "they have too much text"
				      : "out of memory");
}
