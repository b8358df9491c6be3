/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/otlp/file.h"
#include "gen/otlp.pb-c.h"

#define TRACE "5b8efff798038103d269b633813fc60c"
#define SPAN  "eee19b7ec3c1b174"

/* A message with one span, whose members are given. */
#define MESSAGE(members)                                                     \
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":["                \
	"{\"key\":\"service.name\",\"value\":{\"stringValue\":\"app\"}},"    \
	"{\"key\":\"telemetry.sdk.name\",\"value\":{\"stringValue\":\"x\"}}" \
	"]},\"scopeSpans\":[{\"spans\":[{" members "}]}]}]}"
#define IDS "\"traceId\":\"" TRACE "\",\"spanId\":\"" SPAN "\""

static int read_text(struct otlp_spans *spans, const char *text)
{
	struct weft_err err = { 0 };

	return otlp_read_json(spans, text, strlen(text), "", &err);
}

static void expect_text(const struct otlp_spans *spans, store_text at,
			const char *want)
{
	if (!want) {
		assert_int_equal(at, 0);
		return;
	}
	assert_int_not_equal(at, 0);
	assert_string_equal(spans->text + at, want);
}

static void a_span_is_read(void **state)
{
	static const uint8_t trace[16] = { 0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03,
					   0x81, 0x03, 0xd2, 0x69, 0xb6, 0x33,
					   0x81, 0x3f, 0xc6, 0x0c };
	struct otlp_spans spans = { 0 };
	const struct store_span *span;

	(void)state;
	assert_int_equal(
		read_text(
			&spans,
			MESSAGE(IDS
				",\"parentSpanId\":\"00000000000000aa\","
				"\"name\":\"GET /x\",\"kind\":2,"
				"\"startTimeUnixNano\":\"1767225600000000000\","
				"\"endTimeUnixNano\":1767225600005000000,"
				"\"status\":{\"code\":2},"
				"\"attributes\":[{\"key\":\"http.route\","
				"\"value\":{\"stringValue\":\"/x\"}},"
				"{\"key\":\"n\",\"value\":"
				"{\"intValue\":\"12\"}}]")),
		0);
	assert_int_equal(spans.n, 1);
	span = &spans.spans[0];
	assert_memory_equal(span->trace_id, trace, sizeof(trace));
	assert_int_equal(span->span_id[0], 0xee);
	assert_true(span->has_parent);
	assert_int_equal(span->parent_span_id[7], 0xaa);
	assert_int_equal(span->kind, 2);
	assert_int_equal(span->status, 2);
	assert_int_equal(span->start_ns, 1767225600000000000ULL);
	assert_int_equal(span->end_ns, 1767225600005000000ULL);
	expect_text(&spans, span->name, "GET /x");
	expect_text(&spans, span->service, "app");
	expect_text(
		&spans, span->attributes,
		"{\"service.name\":\"app\",\"http.route\":\"/x\",\"n\":12}");
	otlp_release(&spans);
}

static void generous_with_names_and_numbers(void **state)
{
	struct otlp_spans spans = { 0 };

	(void)state;
	assert_int_equal(
		read_text(
			&spans,
			"\xef\xbb\xbf[{\"resource_spans\":[{"
			"\"instrumentation_library_spans\":[{\"spans\":[{"
			"\"trace_id\":\"5B8EFFF798038103D269B633813FC60C\","
			"\"span_id\":\"" SPAN "\",\"parent_span_id\":\"\","
			"\"kind\":\"SPAN_KIND_CLIENT\",\"unknown\":{\"a\":[]},"
			"\"status\":{\"code\":\"STATUS_CODE_OK\"},"
			"\"name\":null}]}]}]},{}]\r\n"),
		0);
	assert_int_equal(spans.n, 1);
	assert_int_equal(spans.spans[0].kind, 3);
	assert_int_equal(spans.spans[0].status, 1);
	assert_false(spans.spans[0].has_parent);
	expect_text(&spans, spans.spans[0].name, NULL);
	expect_text(&spans, spans.spans[0].service, NULL);
	expect_text(&spans, spans.spans[0].attributes, "{}");
	otlp_release(&spans);
}

/* As JavaScript writes doubles; also where a text has as many digits. */
static void integers_of_any_length_are_numbers(void **state)
{
	static const char value[] = ",\"attributes\":["
				    "{\"key\":\"d\",\"value\":{\"doubleValue\":"
				    "100000000000000000000}},"
				    "{\"key\":\"m\",\"value\":{\"doubleValue\":"
				    "-123456789012345678901234567890123456}},"
				    "{\"key\":\"i\",\"value\":{\"intValue\":"
				    "1767225600000000001}},"
				    "{\"key\":\"s\",\"value\":{\"stringValue\":"
				    "\"\\\"99999999999999999999999\"}}]";
	struct otlp_spans spans = { 0 };
	struct weft_err err = { 0 };
	char text[2048];

	(void)state;
	snprintf(
		text, sizeof(text),
		"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{%s%s}]}]}]}",
		IDS, value);
	assert_int_equal(read_text(&spans, text), 0);
	expect_text(&spans, spans.spans[0].attributes,
		    "{\"d\":1e20,\"m\":-1.2345678901234568e35,"
		    "\"i\":1767225600000000001,"
		    "\"s\":\"\\\"99999999999999999999999\"}");
	/* a time beyond all is no time, not the year 1970 */
	assert_int_equal(
		read_text(&spans, MESSAGE(IDS ",\"startTimeUnixNano\":"
					      "99999999999999999999999")),
		0);
	assert_int_equal(spans.rejected, 1);
	assert_string_equal(spans.why, "its time is after the year 2262");
	assert_int_equal(
		read_text(&spans, MESSAGE(IDS ",\"endTimeUnixNano\":"
					      "\"18446744073709551616\"")),
		0);
	assert_int_equal(spans.rejected, 2);
	/* what no double can hold is no number */
	snprintf(text, sizeof(text), MESSAGE(IDS ",\"a\":1e999"));
	assert_int_equal(otlp_read_json(&spans, text, strlen(text), "", &err),
			 -EPROTO);
	assert_non_null(strstr(err.msg, "byte "));
	otlp_release(&spans);
}

/* Nothing of a document is taken in that has another type somewhere. */
static void wrong_types_are_refused_with_their_place(void **state)
{
#define IN(text) "{\"resourceSpans\":[{},{\"scopeSpans\":[{},{" text "}]}]}"
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{\"resourceSpans\":[{},3]}",
		  "resourceSpans 1, scopeSpans 0, spans 0 (of each, from 0): "
		  "it is no object" },
		{ "{\"resourceSpans\":[{\"scopeSpans\":\"x\"}]}",
		  "its scopeSpans are no list" },
		{ "{\"resourceSpans\":[{\"scopeSpans\":[{},7]}]}",
		  "scopeSpans 1, spans 0 (of each, from 0): its scopeSpans "
		  "have what is no object" },
		{ "{\"resourceSpans\":[{\"resource\":{\"attributes\":{}}}]}",
		  "its resource's attributes are no list" },
		{ IN("\"spans\":{}"), "its spans are no list" },
		{ IN("\"spans\":[{" IDS "},[]]"),
		  "resourceSpans 1, scopeSpans 1, spans 1 (of each, from 0): "
		  "it is no object" },
		{ IN("\"spans\":[{" IDS ",\"attributes\":1}]"),
		  "its attributes are no list" },
		{ IN("\"spans\":[{" IDS ",\"startTimeUnixNano\":\"-1\"}]"),
		  "its time is no number" },
		{ IN("\"spans\":[{" IDS ",\"endTimeUnixNano\":{}}]"),
		  "its time is no number" },
		{ IN("\"spans\":[{" IDS ",\"startTimeUnixNano\":-1}]"),
		  "its time is no number" },
		{ IN("\"spans\":[{" IDS ",\"name\":7}]"),
		  "its name is no text" },
	};
	struct otlp_spans spans = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct weft_err err = { 0 };

		assert_int_equal(otlp_read_json(&spans, bad[i].text,
						strlen(bad[i].text), "line 7",
						&err),
				 -EPROTO);
		if (!strstr(err.msg, "line 7: ") ||
		    !strstr(err.msg, bad[i].says))
			fail_msg("%zu: %s", i, err.msg);
		assert_int_equal(spans.n, 0);
	}
	otlp_release(&spans);
}

/* Names end at it, as C's do; attributes keep it. */
static void nul_in_a_text_is_survived(void **state)
{
	struct otlp_spans spans = { 0 };

	(void)state;
	assert_int_equal(
		read_text(&spans,
			  MESSAGE(IDS ",\"name\":\"a\\u0000b\",\"attributes\":["
				      "{\"key\":\"k\\u0000l\",\"value\":"
				      "{\"stringValue\":\"x\\u0000y\"}}]")),
		0);
	assert_int_equal(spans.n, 1);
	expect_text(&spans, spans.spans[0].name, "a");
	expect_text(&spans, spans.spans[0].attributes,
		    "{\"service.name\":\"app\",\"k\":\"x\\u0000y\"}");
	otlp_release(&spans);
}

static void text_is_bounded(void **state)
{
	static const char text[] = MESSAGE(IDS ",\"name\":\"GET /x\"");
	struct otlp_spans spans = { .text_max = 64 };
	int rc, n = 0;

	(void)state;
	do
		rc = read_text(&spans, text);
	while (!rc && n++ < 10);
	assert_int_equal(rc, -E2BIG);
	assert_true(n == (int)spans.n);
	assert_true(spans.text_size <= 64);
	otlp_release(&spans);
}

static void spans_without_ids_are_counted(void **state)
{
	static const char *const bad[] = {
		"\"spanId\":\"" SPAN "\"",
		"\"traceId\":\"" TRACE "\"",
		"\"traceId\":\"\",\"spanId\":\"" SPAN "\"",
		"\"traceId\":\"" TRACE "0\",\"spanId\":\"" SPAN "\"",
		"\"traceId\":\"" TRACE "00\",\"spanId\":\"" SPAN "\"",
		"\"traceId\":\"00000000000000000000000000000000\","
		"\"spanId\":\"" SPAN "\"",
		"\"traceId\":\"" TRACE "\",\"spanId\":\"0000000000000000\"",
		"\"traceId\":\"" TRACE "\",\"spanId\":\"zzzzzzzzzzzzzzzz\"",
		"\"traceId\":5,\"spanId\":{}",
		IDS ",\"startTimeUnixNano\":\"18446744073709551615\"",
	};
	struct otlp_spans spans = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text), MESSAGE("%s"), bad[i]);
		assert_int_equal(read_text(&spans, text), 0);
		assert_int_equal(spans.rejected, i + 1);
	}
	assert_int_equal(spans.n, 0);
	assert_non_null(strstr(spans.why, "trace"));
	otlp_release(&spans);
}

static void what_is_not_otlp_fails_whole(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"nonsense",
		"3",
		"{\"a\":1}",
		"{\"resourceSpans\":{}}",
		"[3]",
		MESSAGE(IDS) "x",
		"{\"resourceSpans\":[]",
		"[" MESSAGE(IDS) ",{\"a\":1}]",
	};
	struct otlp_spans spans = { 0 };

	(void)state;
	assert_int_equal(read_text(&spans, MESSAGE(IDS)), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t text_size = spans.text_size;
		struct weft_err err = { 0 };

		assert_int_equal(otlp_read_json(&spans, bad[i], strlen(bad[i]),
						"line 7", &err),
				 -EPROTO);
		assert_non_null(strstr(err.msg, "line 7: "));
		assert_int_equal(spans.n, 1);
		assert_int_equal(spans.rejected, 0);
		assert_int_equal(spans.text_size, text_size);
	}
	otlp_release(&spans);
}

static void other_signals_are_passed_over(void **state)
{
	struct otlp_spans spans = { 0 };

	(void)state;
	assert_int_equal(read_text(&spans, "{\"resourceMetrics\":[{}]}"), 0);
	assert_int_equal(read_text(&spans, "{\"resourceLogs\":[]}"), 0);
	assert_int_equal(read_text(&spans, "{}"), 0);
	assert_int_equal(spans.others, 2);
	assert_int_equal(spans.n, 0);
	otlp_release(&spans);
}

/* {"a": {"arrayValue": {"values": [ ... ]}}}, so many levels deep. */
static char *nest(int depth)
{
	static const char open[] = "{\"arrayValue\":{\"values\":[";
	static const char close[] = "]}}";
	char *text =
		malloc((size_t)depth * (sizeof(open) + sizeof(close)) + 1024);
	char *at = text;

	at += sprintf(at, "%s",
		      "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS
		      ",\"attributes\":[{\"key\":\"a\",\"value\":");
	for (int i = 0; i < depth; i++)
		at += sprintf(at, "%s", open);
	at += sprintf(at, "{\"intValue\":1}");
	for (int i = 0; i < depth; i++)
		at += sprintf(at, "%s", close);
	sprintf(at, "}]}]}]}]}");
	return text;
}

static void depth_is_bounded(void **state)
{
	static const int depths[] = { 1, 31, 32, 300, 100000 };
	struct otlp_spans spans = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		char *text = nest(depths[i]);
		int rc = read_text(&spans, text);

		/* Deeper than the JSON reader goes is no JSON to it. */
		assert_int_equal(rc, depths[i] > 1000 ? -EPROTO : 0);
		free(text);
	}
	assert_int_equal(spans.n, 4);
	expect_text(&spans, spans.spans[0].attributes, "{\"a\":[1]}");
	assert_non_null(strstr(spans.text + spans.spans[3].attributes, "null"));
	otlp_release(&spans);
}

static void long_texts_are_cut(void **state)
{
	size_t size = 2 * OTLP_ATTRIBUTES_MAX;
	struct otlp_spans spans = { 0 };
	char *text = malloc(size + 1024), *at = text;

	(void)state;
	at += sprintf(at, "%s",
		      "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS
		      ",\"name\":\"");
	memset(at, 'n', size);
	at += size;
	sprintf(at, "\",\"attributes\":[]}]}]}]}");
	assert_int_equal(read_text(&spans, text), 0);
	assert_int_equal(strlen(spans.text + spans.spans[0].name),
			 OTLP_NAME_MAX);
	at = text;
	at += sprintf(at, "%s",
		      "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS
		      ",\"attributes\":[{\"key\":\"k\",\"value\":"
		      "{\"stringValue\":\"");
	memset(at, 'v', size);
	at += size;
	sprintf(at, "\"}}]}]}]}]}");
	assert_int_equal(read_text(&spans, text), 0);
	expect_text(&spans, spans.spans[1].attributes,
		    "{\"weft.attributes\":\"too long\"}");
	free(text);
	otlp_release(&spans);
}

/* The same span as above, in protobuf. Returns its size. */
static size_t pack(uint8_t *out)
{
	static uint8_t trace[16] = { 0x5b, 1 }, id[8] = { 0xee },
		       parent[8] = { 0, 2 };
	Otlp__AnyValue app = OTLP__ANY_VALUE__INIT, deep = app, list = app;
	Otlp__KeyValue service = OTLP__KEY_VALUE__INIT, nested = service;
	Otlp__KeyValue *resource_pairs[] = { &service };
	Otlp__KeyValue *span_pairs[] = { &nested };
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__ScopeSpans scope = OTLP__SCOPE_SPANS__INIT;
	Otlp__ScopeSpans *scopes[] = { &scope };
	Otlp__ResourceSpans from = OTLP__RESOURCE_SPANS__INIT;
	Otlp__ResourceSpans *all[] = { &from };
	Otlp__TracesData data = OTLP__TRACES_DATA__INIT;
	Otlp__Span span = OTLP__SPAN__INIT;
	Otlp__Span *spans[] = { &span };
	Otlp__ArrayValue array = OTLP__ARRAY_VALUE__INIT;
	Otlp__AnyValue *values[] = { &deep };
	uint8_t packed[64];

	app.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	app.string_value = (char *)"app\xff";
	service.key = (char *)"service.name";
	service.value = &app;
	deep.value_case = OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
	deep.bool_value = 1;
	array.n_values = 1;
	array.values = values;
	list.value_case = OTLP__ANY_VALUE__VALUE_ARRAY_VALUE;
	list.array_value.len = otlp__array_value__pack(&array, packed);
	list.array_value.data = packed;
	nested.key = (char *)"list";
	nested.value = &list;
	resource.n_attributes = 1;
	resource.attributes = resource_pairs;
	span.trace_id = (ProtobufCBinaryData){ sizeof(trace), trace };
	span.span_id = (ProtobufCBinaryData){ sizeof(id), id };
	span.parent_span_id = (ProtobufCBinaryData){ sizeof(parent), parent };
	span.name = (char *)"GET /x";
	span.kind = 2;
	span.start_time_unix_nano = 5;
	span.end_time_unix_nano = 6;
	span.n_attributes = 1;
	span.attributes = span_pairs;
	scope.n_spans = 1;
	scope.spans = spans;
	from.resource = &resource;
	from.n_scope_spans = 1;
	from.scope_spans = scopes;
	data.n_resource_spans = 1;
	data.resource_spans = all;
	return otlp__traces_data__pack(&data, out);
}

static void protobuf_says_the_same(void **state)
{
	struct otlp_spans spans = { 0 };
	struct weft_err err = { 0 };
	uint8_t bytes[1024];
	size_t size = pack(bytes);

	(void)state;
	assert_int_equal(otlp_read_proto(&spans, bytes, size, "", &err), 0);
	assert_int_equal(spans.n, 1);
	assert_int_equal(spans.spans[0].trace_id[1], 1);
	assert_int_equal(spans.spans[0].kind, 2);
	assert_int_equal(spans.spans[0].start_ns, 5);
	assert_true(spans.spans[0].has_parent);
	expect_text(&spans, spans.spans[0].service, "app?");
	expect_text(&spans, spans.spans[0].attributes,
		    "{\"service.name\":\"app?\",\"list\":[true]}");
	otlp_release(&spans);
}

/* Cut or changed anywhere: read, or refused, never a crash, never half. */
static void broken_protobuf_is_survived(void **state)
{
	struct weft_err err = { 0 };
	uint8_t bytes[1024], copy[1024];
	size_t size = pack(bytes);

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		for (int bit = -1; bit < 8; bit++) {
			struct otlp_spans spans = { 0 };
			size_t n = bit < 0 ? cut : size;
			int rc;

			memcpy(copy, bytes, size);
			if (bit >= 0)
				copy[cut] ^= (uint8_t)(1 << bit);
			rc = otlp_read_proto(&spans, copy, n, "", &err);
			assert_true(!rc || (rc == -EPROTO && !spans.n));
			otlp_release(&spans);
		}
	}
}

/* Two bytes each, and a struct for each. */
static void a_message_cannot_take_all_memory(void **state)
{
	size_t size = 16 << 20;
	struct otlp_spans spans = { 0 };
	struct weft_err err = { 0 };
	uint8_t *bytes = malloc(size);

	(void)state;
	for (size_t i = 0; i < size; i += 2) {
		bytes[i] = 0x0a;
		bytes[i + 1] = 0;
	}
	assert_int_equal(otlp_read_proto(&spans, bytes, size, "", &err),
			 -EPROTO);
	free(bytes);
	otlp_release(&spans);
}

static void put_file(const char *path, const char *data, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

#define OTHER "\"traceId\":\"" TRACE "\",\"spanId\":\"00000000000000aa\""

static void files_in_every_form(void **state)
{
	char path[] = "/tmp/t_otlp.XXXXXX", gz[64], command[160];
	uint8_t message[1024], framed[4 + sizeof(message)] = { 0 };
	size_t size = pack(message);
	int fd = mkstemp(path);
	struct {
		const char *text;
		size_t size, spans;
		bool is_cut;
	} files[] = {
		{ MESSAGE(IDS) "\n" MESSAGE(OTHER) "\n", 0, 2, false },
		{ MESSAGE(IDS) "\r\n\r\n" MESSAGE(OTHER), 0, 2, false },
		{ MESSAGE(IDS) "\n{\"resourceSpa", 0, 1, true },
		{ "\n" MESSAGE(IDS) "\n", 0, 1, false },
		{ "{\n\"resourceSpans\":\n[]}\n", 0, 0, false },
		{ "", 0, 0, false },
		{ (const char *)message, size, 1, false },
		{ (const char *)framed, size + 4, 1, false },
		{ (const char *)framed, size + 3, 0, true },
		{ (const char *)framed, 2, 0, true },
	};

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	framed[2] = (uint8_t)(size >> 8);
	framed[3] = (uint8_t)size;
	memcpy(framed + 4, message, size);
	snprintf(gz, sizeof(gz), "%s.gz", path);
	snprintf(command, sizeof(command), "gzip -kf %s", path);
	for (size_t i = 0; i < 2 * sizeof(files) / sizeof(files[0]); i++) {
		struct otlp_spans spans = { 0 };
		struct weft_err err = { 0 };
		bool is_cut;

		put_file(path, files[i / 2].text,
			 files[i / 2].size ? files[i / 2].size
					   : strlen(files[i / 2].text));
		if (i % 2)
			assert_int_equal(system(command), 0);
		if (otlp_read_file(&spans, i % 2 ? gz : path, OTLP_AUTO,
				   &is_cut, &err))
			fail_msg("file %zu: %s", i / 2, err.msg);
		assert_int_equal(spans.n, files[i / 2].spans);
		assert_int_equal(is_cut, files[i / 2].is_cut);
		otlp_release(&spans);
	}
	unlink(gz);
	unlink(path);
}

static void bad_files_name_the_place(void **state)
{
	static const struct {
		const char *text, *says;
	} files[] = {
		{ MESSAGE(IDS) "\n{\"resourceSpans\":[}\n", ", line 2: " },
		{ MESSAGE(IDS) "\n{\"a\":1}\n", ", line 2: " },
		{ "{\n\"resourceSpans\":[[}\n", "byte " },
		{ "\x0a\x7fxx", "protobuf" },
		{ "PK\x03\x04", "no JSON" },
	};
	char path[] = "/tmp/t_otlp.XXXXXX";
	struct weft_err err = { 0 };
	int fd = mkstemp(path);
	bool is_cut;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct otlp_spans spans = { 0 };

		err = (struct weft_err){ 0 };
		put_text(path, files[i].text);
		assert_int_equal(
			otlp_read_file(&spans, path, OTLP_AUTO, &is_cut, &err),
			-EPROTO);
		if (!strstr(err.msg, files[i].says) || !strstr(err.msg, path))
			fail_msg("file %zu: %s", i, err.msg);
		assert_int_equal(spans.n, 0);
		otlp_release(&spans);
	}
	/* A file of zeros: message after message of no length. */
	err = (struct weft_err){ 0 };
	assert_int_equal(otlp_read_file(&(struct otlp_spans){ 0 }, "/dev/zero",
					OTLP_AUTO, &is_cut, &err),
			 -EPROTO);
	assert_non_null(strstr(err.msg, "message 1"));
	unlink(path);
	assert_int_equal(otlp_read_file(NULL, path, OTLP_AUTO, &is_cut, &err),
			 -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_read),
		cmocka_unit_test(generous_with_names_and_numbers),
		cmocka_unit_test(integers_of_any_length_are_numbers),
		cmocka_unit_test(wrong_types_are_refused_with_their_place),
		cmocka_unit_test(nul_in_a_text_is_survived),
		cmocka_unit_test(text_is_bounded),
		cmocka_unit_test(spans_without_ids_are_counted),
		cmocka_unit_test(what_is_not_otlp_fails_whole),
		cmocka_unit_test(other_signals_are_passed_over),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(protobuf_says_the_same),
		cmocka_unit_test(broken_protobuf_is_survived),
		cmocka_unit_test(a_message_cannot_take_all_memory),
		cmocka_unit_test(files_in_every_form),
		cmocka_unit_test(bad_files_name_the_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
