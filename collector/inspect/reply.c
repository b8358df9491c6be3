/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/inspect/reply.h"

static const char *const source_words[WIRE_SOURCE_COUNT] = {
	[WIRE_SOURCE_SYMTAB] = "symtab",
	[WIRE_SOURCE_DYNSYM] = "dynsym",
	[WIRE_SOURCE_PERF_MAP] = "perf-map",
	[WIRE_SOURCE_VDSO] = "vdso",
	[WIRE_SOURCE_MINIDEBUG] = "minidebug",
	[WIRE_SOURCE_BUILD_ID] = "build-id",
	[WIRE_SOURCE_DEBUGLINK] = "debuglink",
};

/* A reply taken apart; every string offset below size ends within it. */
struct parts {
	const void *own;
	const void *items;
	const char *strings;
	size_t n, strings_size;
};

struct layout {
	size_t own, item, max;
};

static bool find_layout(const struct wire_request *request,
			struct layout *layout)
{
	switch ((enum wire_op)request->op) {
	case WIRE_PROCESS:
		*layout = (struct layout){ sizeof(struct wire_process),
					   sizeof(struct wire_mapping),
					   INSPECT_MAPPINGS_MAX };
		return true;
	case WIRE_NAMES:
		*layout = (struct layout){ sizeof(struct wire_names),
					   sizeof(struct wire_name),
					   request->n_offsets };
		return true;
	case WIRE_PERF_MAP:
		*layout = (struct layout){ sizeof(struct wire_perf_map),
					   sizeof(struct wire_name),
					   request->n_offsets };
		return true;
	case WIRE_LINES:
		*layout = (struct layout){ sizeof(struct wire_lines),
					   sizeof(struct wire_level),
					   (size_t)request->n_offsets *
						   INSPECT_LEVELS_MAX };
		return true;
	case WIRE_SEGMENTS:
		*layout = (struct layout){ 0, sizeof(struct inspect_segment),
					   INSPECT_SEGMENTS_MAX };
		return true;
	case WIRE_TABLE:
		*layout = (struct layout){ sizeof(struct wire_table),
					   WIRE_TABLE_BLOCK_BYTES,
					   INSPECT_TABLE_BLOCKS_MAX };
		return true;
	case WIRE_CONTEXT:
		*layout = (struct layout){ sizeof(struct wire_context),
					   sizeof(struct wire_context_text),
					   WIRE_CONTEXT_TEXTS_MAX };
		return true;
	case WIRE_RECORDS:
		*layout = (struct layout){ sizeof(struct wire_context),
					   sizeof(struct wire_record),
					   request->n_offsets };
		return true;
	case WIRE_OP_END:
		break;
	}
	return false;
}

size_t inspect_reply_size(const struct wire_reply *head,
			  const struct wire_request *request)
{
	struct layout layout;
	size_t size;

	if (head->id != request->id || !find_layout(request, &layout))
		return 0;
	if (head->status != INSPECT_OK) {
		bool is_sane = head->status < INSPECT_STATUSES && !head->n &&
			       !head->strings_size;

		size = sizeof(*head);
		if (head->status == INSPECT_REFUSED &&
		    request->op == WIRE_NAMES)
			size += layout.own;
		return is_sane ? size : 0;
	}
	if (head->n > layout.max)
		return 0;
	/* A name for each offset: a caller indexes by its own count. */
	if ((request->op == WIRE_NAMES || request->op == WIRE_PERF_MAP) &&
	    head->n != request->n_offsets)
		return 0;
	if (request->op == WIRE_RECORDS && head->n &&
	    head->n != request->n_offsets)
		return 0;
	size = sizeof(*head) + layout.own + head->n * layout.item;
	if (request->op == WIRE_TABLE)
		return head->strings_size ? 0 : size;
	if (head->strings_size > WIRE_REPLY_MAX - size)
		return 0;
	return size + head->strings_size;
}

static bool take_string(const struct parts *parts, uint32_t at,
			const char **out)
{
	if (at >= parts->strings_size)
		return false;
	*out = parts->strings + at;
	return true;
}

static bool take_optional(const struct parts *parts, uint32_t at,
			  const char **out)
{
	*out = NULL;
	return at == WIRE_NO_STRING || take_string(parts, at, out);
}

static bool take_mapping(const struct parts *parts,
			 const struct wire_mapping *wire,
			 struct inspect_mapping *out)
{
	if (wire->start >= wire->end ||
	    wire->build_id_size > sizeof(out->build_id))
		return false;
	*out = (struct inspect_mapping){
		.start = wire->start,
		.end = wire->end,
		.file_offset = wire->file_offset,
		.inode = wire->inode,
		.dev_major = wire->dev_major,
		.dev_minor = wire->dev_minor,
		.build_id_size = (uint8_t)wire->build_id_size,
		.is_vdso = wire->flags & WIRE_MAPPING_VDSO,
		.is_anonymous = wire->flags & WIRE_MAPPING_ANONYMOUS,
	};
	memcpy(out->build_id, wire->build_id, wire->build_id_size);
	return take_string(parts, wire->path, &out->path);
}

static bool take_process(struct inspect_answer *out, const struct parts *parts)
{
	const struct wire_process *own = parts->own;
	const struct wire_mapping *wire = parts->items;
	struct inspect_mapping *mappings = out->items;

	for (size_t i = 0; i < parts->n; i++) {
		if (!take_mapping(parts, &wire[i], &mappings[i]))
			return false;
		if (i && mappings[i].start < mappings[i - 1].end)
			return false;
	}
	out->process = (struct inspect_process){
		.parent_pid = own->parent_pid,
		.inner_pid = own->inner_pid,
		.mappings = mappings,
		.n_mappings = parts->n,
		.mappings_cut = own->mappings_cut,
	};
	return take_string(parts, own->comm, &out->process.comm) &&
	       take_string(parts, own->exe, &out->process.exe) &&
	       take_string(parts, own->cgroup, &out->process.cgroup);
}

static bool take_names(struct inspect_answer *out, const struct parts *parts)
{
	const struct wire_name *wire = parts->items;
	struct inspect_name *names = out->items;

	for (size_t i = 0; i < parts->n; i++) {
		if (wire[i].source >= WIRE_SOURCE_COUNT ||
		    !take_optional(parts, wire[i].name, &names[i].name) ||
		    !take_optional(parts, wire[i].linkage_name,
				   &names[i].linkage_name))
			return false;
		names[i].source = source_words[wire[i].source];
		names[i].start = wire[i].start;
		names[i].version = wire[i].version;
	}
	out->names = names;
	return true;
}

static bool is_errno(int32_t error)
{
	return error <= 0 && error >= -4095;
}

static bool take_of_names(struct inspect_answer *out, const struct parts *parts)
{
	struct wire_names *own = &out->of_names;

	memcpy(own, parts->own, sizeof(*own));
	if (own->loss >= WIRE_LOSS_COUNT || own->source >= WIRE_SOURCE_COUNT)
		return false;
	for (size_t i = 0; i < INSPECT_PLACES_MAX; i++) {
		if (!is_errno(own->other[i].error) ||
		    own->other[i].build_id_size >
			    sizeof(own->other[i].build_id))
			return false;
	}
	return is_errno(own->linked_error) &&
	       take_optional(parts, own->linked, &out->linked);
}

/* No piece leads out of what a file, or memory, can be. */
static bool take_segments(struct inspect_answer *out, const struct parts *parts)
{
	struct inspect_segment *segments = out->items;

	for (size_t i = 0; i < parts->n; i++) {
		memcpy(&segments[i],
		       (const struct inspect_segment *)parts->items + i,
		       sizeof(segments[i]));
		if (segments[i].offset > INT64_MAX ||
		    segments[i].size > INT64_MAX - segments[i].offset ||
		    segments[i].address > INT64_MAX)
			return false;
	}
	out->segments = segments;
	return true;
}

/* A caller indexes by at, and counts levels. */
static bool take_levels(struct inspect_answer *out, const struct parts *parts,
			uint32_t n_offsets)
{
	const struct wire_level *wire = parts->items;
	struct inspect_level *levels = out->items;
	uint32_t deep = 0;

	for (size_t i = 0; i < parts->n; i++) {
		if (wire[i].at >= n_offsets ||
		    (i && wire[i].at < wire[i - 1].at))
			return false;
		deep = i && wire[i].at == wire[i - 1].at ? deep + 1 : 1;
		if (deep > INSPECT_LEVELS_MAX ||
		    !take_optional(parts, wire[i].name, &levels[i].name) ||
		    !take_optional(parts, wire[i].linkage_name,
				   &levels[i].linkage_name) ||
		    !take_optional(parts, wire[i].file, &levels[i].file))
			return false;
		levels[i].at = wire[i].at;
		levels[i].line = wire[i].line;
		levels[i].function_line = wire[i].function_line;
		levels[i].start = wire[i].start;
	}
	out->levels = levels;
	return true;
}

/* The index comes before the rules, and names rows that are there. */
static bool is_index_sane(const struct wire_table *own, const uint32_t *words,
			  size_t n_blocks)
{
	const uint32_t block = WEFT_TABLE_BLOCK_WORDS;

	if (own->rules_block >= n_blocks ||
	    own->n_pages > (uint64_t)own->rules_block * block / 2 ||
	    own->n_pages > UINT32_MAX - own->first_page)
		return false;
	for (uint32_t i = 0; i < own->n_pages; i++) {
		uint32_t first = words[2 * i], n = words[2 * i + 1];

		if (!n || n > block || first / block >= n_blocks ||
		    first % block + n > block)
			return false;
	}
	return true;
}

static bool take_table(struct inspect_answer *out, const struct parts *parts)
{
	const struct wire_table *own = parts->own;

	if (own->n_pages ? !is_index_sane(own, parts->items, parts->n)
			 : parts->n > 0)
		return false;
	out->table = (struct inspect_table){
		.first_page = own->first_page,
		.n_pages = own->n_pages,
		.rules_block = own->rules_block,
		.n_blocks = (uint32_t)parts->n,
		.words = parts->items,
		.n_rows = own->n_rows,
		.build_ns = own->build_ns,
	};
	return true;
}

static bool take_context(struct inspect_answer *out, const struct parts *parts,
			 const struct weft_identity *asked)
{
	const struct wire_context *own = parts->own;
	const struct weft_context_entry *entry = &own->entry;

	if (own->state > INSPECT_CONTEXT_UNSUPPORTED ||
	    entry->kind > WEFT_CONTEXT_DTV ||
	    entry->source >= WEFT_SOURCE_COUNT ||
	    entry->n_slots > WEFT_MAX_CONTEXT_SLOTS)
		return false;
	if (own->state == INSPECT_CONTEXT_FOUND &&
	    (entry->kind == WEFT_CONTEXT_NONE || !entry->n_slots))
		return false;
	out->context = (struct inspect_context){
		.state = (enum inspect_context_state)own->state,
		.entry = *entry,
		.published_ns = own->published_ns,
	};
	/* The entry speaks of who was asked about, whatever it says. */
	out->context.entry.process = *asked;
	return take_string(parts, own->service, &out->context.service) &&
	       take_string(parts, own->schema, &out->context.schema);
}

static bool take_texts(struct inspect_answer *out, const struct parts *parts)
{
	const struct wire_context_text *wire = parts->items;
	struct inspect_context_text *texts = out->items;

	for (size_t i = 0; i < parts->n; i++) {
		texts[i].is_key = wire[i].is_key;
		if (!take_string(parts, wire[i].key, &texts[i].key) ||
		    !take_string(parts, wire[i].value, &texts[i].value))
			return false;
	}
	out->context.texts = texts;
	out->context.n_texts = parts->n;
	return true;
}

static bool take_records(struct inspect_answer *out, const struct parts *parts)
{
	const struct wire_record *wire = parts->items;
	struct inspect_record *records = out->items;

	for (size_t i = 0; i < parts->n; i++) {
		if (wire[i].status >= WEFT_CTX_COUNT)
			return false;
		records[i].status = (enum weft_context_status)wire[i].status;
		records[i].trace_flags = wire[i].trace_flags;
		memcpy(records[i].trace_id, wire[i].trace_id,
		       sizeof(records[i].trace_id));
		memcpy(records[i].span_id, wire[i].span_id,
		       sizeof(records[i].span_id));
	}
	out->records = records;
	return true;
}

static bool take_own(struct inspect_answer *out, const struct parts *parts,
		     const struct wire_request *request)
{
	switch ((enum wire_op)request->op) {
	case WIRE_PROCESS:
		return take_process(out, parts);
	case WIRE_PERF_MAP:
		memcpy(&out->perf_map, parts->own, sizeof(out->perf_map));
		return take_names(out, parts);
	case WIRE_NAMES:
		return take_of_names(out, parts) && take_names(out, parts);
	case WIRE_LINES:
		memcpy(&out->lines, parts->own, sizeof(out->lines));
		return take_levels(out, parts, request->n_offsets);
	case WIRE_SEGMENTS:
		return take_segments(out, parts);
	case WIRE_TABLE:
		return take_table(out, parts);
	case WIRE_CONTEXT:
		return take_context(out, parts, &request->process) &&
		       take_texts(out, parts);
	case WIRE_RECORDS:
		return take_context(out, parts, &request->process) &&
		       take_records(out, parts);
	case WIRE_OP_END:
		break;
	}
	return false;
}

/* Room for any kind of item. */
union item {
	struct inspect_mapping mapping;
	struct inspect_name name;
	struct inspect_segment segment;
	struct inspect_level level;
	struct inspect_record record;
	struct inspect_context_text text;
};

int inspect_answer_decode(struct inspect_answer *out, const void *bytes,
			  size_t size, const struct wire_request *request)
{
	const struct wire_reply *head = bytes;
	const uint8_t *at = (const uint8_t *)bytes + sizeof(*head);
	struct layout layout;
	struct parts parts;

	*out = (struct inspect_answer){ 0 };
	if (size < sizeof(*head) || inspect_reply_size(head, request) != size)
		return -EPROTO;
	out->status = (enum inspect_status)head->status;
	out->owner = head->owner;
	if (size == sizeof(*head) && head->status != INSPECT_OK)
		return 0;
	if (!find_layout(request, &layout))
		return -EPROTO;
	parts = (struct parts){
		.own = at,
		.items = at + layout.own,
		.strings =
			(const char *)at + layout.own + head->n * layout.item,
		.n = head->n,
		.strings_size = head->strings_size,
	};
	/* The one check that makes every string end within the reply. */
	if (parts.strings_size && parts.strings[parts.strings_size - 1])
		return -EPROTO;
	out->n = parts.n;
	/* A table's words stay where they are. */
	if (request->op != WIRE_TABLE) {
		out->items = calloc(parts.n + 1, sizeof(union item));
		if (!out->items)
			return -ENOMEM;
	}
	if (take_own(out, &parts, request))
		return 0;
	inspect_answer_release(out);
	return -EPROTO;
}

void inspect_answer_release(struct inspect_answer *answer)
{
	free(answer->items);
	*answer = (struct inspect_answer){ 0 };
}
