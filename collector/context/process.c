/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/context/process.h"
#include "gen/context_process.pb-c.h"

enum {
	TRIES_MAX = 3,
	VERSION = 2
};

static const char signature[8] = { 'O', 'T', 'E', 'L', '_', 'C', 'T', 'X' };

/* All of one record: "tlsdesc_v1_dev" is what writers publish today, "tls_v1"
 * the final name; the other two were seen in review. */
static const char *const schemas[] = { "tls_v1", "tlsdesc_v1_dev", "tlsdesc_v1",
				       "tls_v1_dev" };

/* Of the three ways to make the mapping, each shows under a name of its own. */
static bool is_named_context(const struct procfs_mapping *line)
{
	static const char *const prefixes[] = { "[anon_shmem:OTEL_CTX]",
						"[anon:OTEL_CTX]",
						"/memfd:OTEL_CTX" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (!strncmp(line->path, prefixes[i], strlen(prefixes[i])))
			return line->end - line->start >= CONTEXT_HEADER_SIZE;
	}
	return false;
}

bool context_parse_header(const uint8_t bytes[CONTEXT_HEADER_SIZE],
			  struct context_header *out)
{
	uint32_t version;

	memcpy(&version, bytes + 8, sizeof(version));
	memcpy(&out->payload_size, bytes + 12, sizeof(out->payload_size));
	memcpy(&out->published_ns, bytes + 16, sizeof(out->published_ns));
	memcpy(&out->payload, bytes + 24, sizeof(out->payload));
	return !memcmp(bytes, signature, sizeof(signature)) &&
	       version == VERSION && out->payload_size &&
	       out->payload_size <= CONTEXT_PAYLOAD_MAX;
}

/* The first value of a key, or NULL. Early writers put ours among the
 * resource's. */
static const Otel__AnyValue *find_value(const Otel__ProcessContext *context,
					const char *key)
{
	const Otel__Resource *resource = context->resource;

	for (size_t i = 0; i < context->n_attributes; i++) {
		const Otel__KeyValue *pair = context->attributes[i];

		if (!strcmp(pair->key, key) && pair->value)
			return pair->value;
	}
	for (size_t i = 0; resource && i < resource->n_attributes; i++) {
		const Otel__KeyValue *pair = resource->attributes[i];

		if (!strcmp(pair->key, key) && pair->value)
			return pair->value;
	}
	return NULL;
}

static const char *find_text(const Otel__ProcessContext *context,
			     const char *key)
{
	const Otel__AnyValue *value = find_value(context, key);

	return value ? value->string_value : NULL;
}

static int64_t find_number(const Otel__ProcessContext *context, const char *key)
{
	const Otel__AnyValue *value = find_value(context, key);

	return value ? value->int_value : 0;
}

static bool is_known_schema(const char *schema)
{
	for (size_t i = 0; schema && i < ARRAY_LEN(schemas); i++) {
		if (!strcmp(schema, schemas[i]))
			return true;
	}
	return false;
}

/* Cut to what there is room for; NULL is "". */
static void copy_text(char out[CONTEXT_TEXT_MAX], const char *text)
{
	size_t length = text ? strnlen(text, CONTEXT_TEXT_MAX - 1) : 0;

	if (length)
		memcpy(out, text, length);
	out[length] = '\0';
}

/* Copy a string; what is longer than max bytes is left out, as "". */
static const char *keep(struct process_context *out, const char *text,
			size_t max)
{
	size_t size = strnlen(text, max + 1) + 1;
	char *copy = out->pool + out->n_pool;

	if (size > max + 1 || size > sizeof(out->pool) - out->n_pool)
		return "";
	memcpy(copy, text, size);
	out->n_pool += size;
	return copy;
}

static void keep_keys(struct process_context *out,
		      const Otel__ProcessContext *context)
{
	const Otel__AnyValue *value =
		find_value(context, "threadlocal.attribute_key_map");
	const Otel__ArrayValue *list = value ? value->array_value : NULL;

	for (size_t i = 0; list && i < list->n_values && i < INSPECT_KEYS_MAX;
	     i++)
		out->texts[out->n_texts++] = (struct inspect_context_text){
			.is_key = true,
			.key = keep(out, list->values[i]->string_value,
				    CONTEXT_KEY_MAX),
			.value = "",
		};
}

static void keep_resource(struct process_context *out,
			  const Otel__Resource *resource)
{
	size_t first = out->n_texts;

	for (size_t i = 0; resource && i < resource->n_attributes; i++) {
		const Otel__KeyValue *pair = resource->attributes[i];
		bool is_new = pair->value && pair->value->string_value[0] &&
			      strncmp(pair->key, "threadlocal.", 12) != 0;

		for (size_t k = first; k < out->n_texts && is_new; k++)
			is_new = strcmp(out->texts[k].key, pair->key) != 0;
		if (!is_new || out->n_texts - first >= INSPECT_RESOURCE_MAX)
			continue;
		out->texts[out->n_texts++] = (struct inspect_context_text){
			.key = keep(out, pair->key, CONTEXT_KEY_MAX),
			.value = keep(out, pair->value->string_value,
				      CONTEXT_TEXT_MAX - 1),
		};
	}
}

/* Nothing is known. Not the whole structure, which is large. */
static void clear(struct process_context *out, enum inspect_context_state state)
{
	out->state = state;
	out->service[0] = '\0';
	out->schema[0] = '\0';
	out->tp_offset = 0;
	out->n_texts = out->n_pool = 0;
}

void context_decode(const uint8_t *payload, size_t size,
		    struct process_context *out)
{
	Otel__ProcessContext *context =
		otel__process_context__unpack(NULL, size, payload);
	const char *schema;

	clear(out, INSPECT_CONTEXT_BAD_HEADER);
	if (!context)
		return;
	keep_keys(out, context);
	keep_resource(out, context->resource);
	schema = find_text(context, "threadlocal.schema_version");
	copy_text(out->schema, schema);
	out->state = is_known_schema(schema) ? INSPECT_CONTEXT_FOUND
					     : INSPECT_CONTEXT_UNKNOWN_SCHEMA;
	out->tp_offset = find_number(context, "weft.thread_ctx.tp_offset");
	copy_text(out->service, find_text(context, "service.name"));
	otel__process_context__free_unpacked(context, NULL);
}

/* Reads in this order, each a system call: header, payload, header. A writer
 * that is between the two leaves 0, or another time than before. */
static enum inspect_context_state read_context(const struct procfs *proc,
					       uint64_t addr,
					       struct process_context *out)
{
	static uint8_t payload[CONTEXT_PAYLOAD_MAX];
	uint8_t bytes[CONTEXT_HEADER_SIZE];
	struct context_header before, after;

	for (int i = 0; i < TRIES_MAX; i++) {
		if (procfs_read_memory(proc, addr, bytes, sizeof(bytes)) ||
		    !context_parse_header(bytes, &before))
			return INSPECT_CONTEXT_BAD_HEADER;
		if (!before.published_ns)
			continue;
		if (procfs_read_memory(proc, before.payload, payload,
				       before.payload_size))
			return INSPECT_CONTEXT_BAD_HEADER;
		if (procfs_read_memory(proc, addr, bytes, sizeof(bytes)) ||
		    !context_parse_header(bytes, &after))
			return INSPECT_CONTEXT_BAD_HEADER;
		if (after.published_ns != before.published_ns)
			continue;
		out->published_ns = before.published_ns;
		context_decode(payload, before.payload_size, out);
		return out->state;
	}
	return INSPECT_CONTEXT_CHANGING;
}

int context_read_process(const struct procfs *proc, struct process_context *out)
{
	static struct procfs_maps maps;
	struct procfs_mapping line;
	int rc = procfs_maps_open(&maps, proc);

	clear(out, INSPECT_CONTEXT_NO_MAPPING);
	out->published_ns = 0;
	if (rc)
		return rc;
	while ((rc = procfs_maps_next(&maps, &line)) > 0) {
		if (!is_named_context(&line))
			continue;
		out->state = read_context(proc, line.start, out);
		/* A name is only a hint: another may be the real one. */
		if (out->state != INSPECT_CONTEXT_BAD_HEADER)
			break;
	}
	procfs_maps_close(&maps);
	return rc < 0 ? rc : 0;
}
