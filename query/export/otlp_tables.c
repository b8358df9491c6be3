/* SPDX-License-Identifier: MIT */
/*
 * An entry is written as a dictionary that has nothing else: the encoding of a
 * message is that of its fields one after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen/otlp_profiles.pb-c.h"
#include "query/export/otlp_tables.h"
#include "query/strings.h"

struct otlp_tables {
	const struct export *x;
	FILE *spool;               /* owned */
	struct strings strings;    /* [0] is "" */
	struct strings attributes; /* "KEY\x1fVALUE"; [0] is "" */
	struct strings links;      /* both IDs in hex; [0] is "" */
	/* Owned; by the numbers of query/frames.h: index in the table, 0 not
	 * yet. */
	int32_t *locations, *functions, *mappings, *stacks;
	int32_t n_locations, n_functions, n_mappings, n_stacks, n_lists;
	int32_t *list;          /* owned: the locations of a stack */
	int32_t native, kernel; /* attributes: profile.frame.type */
};

typedef OtlpProfiles__Dictionary dictionary;

/* A buffer of protobuf-c that appends to a file. */
struct to_file {
	ProtobufCBuffer base;
	FILE *to;
};

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
	fwrite(data, 1, size, ((struct to_file *)buffer)->to);
}

static void emit(struct otlp_tables *t, const dictionary *part)
{
	struct to_file file = { .base = { append }, .to = t->spool };

	protobuf_c_message_pack_to_buffer(&part->base, &file.base);
}

int otlp_string(struct otlp_tables *t, const char *text, int32_t *out,
		struct weft_err *err)
{
	uint32_t at = 0;

	if (text && *text &&
	    (strings_intern_clean(&t->strings, text, &at) || at > INT32_MAX))
		return export_no_memory(t->x, err);
	*out = (int32_t)at;
	return 0;
}

/* Add an attribute, of which value is the text, unless one that reads so is
 * there. */
static int attribute(struct otlp_tables *t, const char *key, const char *text,
		     OtlpProfiles__AnyValue *value, int32_t *out,
		     struct weft_err *err)
{
	OtlpProfiles__KeyValueAndUnit one =
		OTLP_PROFILES__KEY_VALUE_AND_UNIT__INIT;
	OtlpProfiles__KeyValueAndUnit *list[] = { &one };
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;
	size_t before = t->attributes.n;
	size_t size = strlen(key) + strlen(text) + 2;
	char *both = malloc(size);
	uint32_t at = 0;
	int rc = both ? 0 : -ENOMEM;

	if (both) {
		snprintf(both, size, "%s\x1f%s", key, text);
		rc = strings_intern(&t->attributes, both, &at);
	}
	free(both);
	if (rc)
		return export_no_memory(t->x, err);
	*out = (int32_t)at;
	if (t->attributes.n == before)
		return 0;
	rc = otlp_string(t, key, &one.key_strindex, err);
	if (rc)
		return rc;
	one.value = value;
	part.attribute_table = list;
	part.n_attribute_table = 1;
	emit(t, &part);
	return 0;
}

int otlp_attribute_text(struct otlp_tables *t, const char *key,
			const char *text, int32_t *out, struct weft_err *err)
{
	OtlpProfiles__AnyValue value = OTLP_PROFILES__ANY_VALUE__INIT;
	char *clean = strings_clean(text);
	int rc;

	if (!clean)
		return export_no_memory(t->x, err);
	value.value_case = OTLP_PROFILES__ANY_VALUE__VALUE_STRING_VALUE;
	value.string_value = clean;
	rc = attribute(t, key, clean, &value, out, err);
	free(clean);
	return rc;
}

int otlp_attribute_int(struct otlp_tables *t, const char *key, int64_t number,
		       int32_t *out, struct weft_err *err)
{
	OtlpProfiles__AnyValue value = OTLP_PROFILES__ANY_VALUE__INIT;
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	value.value_case = OTLP_PROFILES__ANY_VALUE__VALUE_INT_VALUE;
	value.int_value = number;
	return attribute(t, key, text, &value, out, err);
}

int otlp_attribute_list(struct otlp_tables *t, const char *key,
			char *const *texts, size_t n, int32_t *out,
			struct weft_err *err)
{
	OtlpProfiles__ArrayValue array = OTLP_PROFILES__ARRAY_VALUE__INIT;
	OtlpProfiles__AnyValue value = OTLP_PROFILES__ANY_VALUE__INIT;
	OtlpProfiles__AnyValue *rows = calloc(n + 1, sizeof(*rows));
	OtlpProfiles__AnyValue **list = calloc(n + 1, sizeof(*list));
	char number[24];
	size_t i;
	int rc;

	for (i = 0; rows && list && i < n; i++) {
		otlp_profiles__any_value__init(&rows[i]);
		rows[i].value_case =
			OTLP_PROFILES__ANY_VALUE__VALUE_STRING_VALUE;
		rows[i].string_value = texts[i];
		list[i] = &rows[i];
	}
	array.values = list;
	array.n_values = n;
	value.value_case = OTLP_PROFILES__ANY_VALUE__VALUE_ARRAY_VALUE;
	value.array_value = &array;
	/* no text: each list is another */
	snprintf(number, sizeof(number), "\x1f%" PRId32, t->n_lists++);
	rc = rows && list ? attribute(t, key, number, &value, out, err)
			  : export_no_memory(t->x, err);
	free(rows);
	free(list);
	return rc;
}

int otlp_link(struct otlp_tables *t, const unsigned char *trace,
	      const unsigned char *span, int32_t *out, struct weft_err *err)
{
	OtlpProfiles__Link one = OTLP_PROFILES__LINK__INIT;
	OtlpProfiles__Link *list[] = { &one };
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;
	size_t before = t->links.n;
	char hex[49];
	uint32_t at;

	*out = 0;
	if (!trace || !span)
		return 0;
	weft_hex(hex, trace, 16);
	weft_hex(hex + 32, span, 8);
	if (strings_intern(&t->links, hex, &at) || at > INT32_MAX)
		return export_no_memory(t->x, err);
	*out = (int32_t)at;
	if (t->links.n == before)
		return 0;
	/* borrowed for the call, which only reads */
	one.trace_id.data = (uint8_t *)(uintptr_t)trace;
	one.trace_id.len = 16;
	one.span_id.data = (uint8_t *)(uintptr_t)span;
	one.span_id.len = 8;
	part.link_table = list;
	part.n_link_table = 1;
	emit(t, &part);
	return 0;
}

static int function(struct otlp_tables *t, uint32_t number, int32_t *out,
		    struct weft_err *err)
{
	const struct frames_function *f = &t->x->frames->functions[number];
	OtlpProfiles__Function one = OTLP_PROFILES__FUNCTION__INIT;
	OtlpProfiles__Function *list[] = { &one };
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;
	int rc;

	*out = t->functions[number];
	if (*out)
		return 0;
	rc = otlp_string(t, f->name, &one.name_strindex, err);
	if (!rc)
		rc = otlp_string(t, f->linkage_name ? f->linkage_name : f->name,
				 &one.system_name_strindex, err);
	if (!rc)
		rc = otlp_string(t, f->file, &one.filename_strindex, err);
	if (rc)
		return rc;
	one.start_line = f->line;
	part.function_table = list;
	part.n_function_table = 1;
	emit(t, &part);
	*out = t->functions[number] = ++t->n_functions;
	return 0;
}

static int mapping(struct otlp_tables *t, int32_t binary, int32_t *out,
		   struct weft_err *err)
{
	const struct frames_binary *b;
	OtlpProfiles__Mapping one = OTLP_PROFILES__MAPPING__INIT;
	OtlpProfiles__Mapping *list[] = { &one };
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;
	int32_t build_id;
	int rc;

	*out = 0;
	if (binary == FRAMES_NONE)
		return 0;
	*out = t->mappings[binary];
	if (*out)
		return 0;
	b = &t->x->frames->binaries[binary];
	rc = otlp_string(t, export_mapping_name(b), &one.filename_strindex,
			 err);
	if (!rc && b->build_id) {
		rc = otlp_attribute_text(t, "process.executable.build_id.gnu",
					 b->build_id, &build_id, err);
		one.attribute_indices = &build_id;
		one.n_attribute_indices = 1;
	}
	if (rc)
		return rc;
	one.memory_limit = EXPORT_MAPPING_LIMIT;
	part.mapping_table = list;
	part.n_mapping_table = 1;
	emit(t, &part);
	*out = t->mappings[binary] = ++t->n_mappings;
	return 0;
}

static int write_location(struct otlp_tables *t,
			  const struct frames_frame *frame,
			  OtlpProfiles__Line *lines, OtlpProfiles__Line **list,
			  struct weft_err *err)
{
	const struct frames_level *level =
		&t->x->frames->levels[frame->first_level];
	OtlpProfiles__Location one = OTLP_PROFILES__LOCATION__INIT;
	OtlpProfiles__Location *locations[] = { &one };
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;
	uint32_t i;
	int rc = mapping(t, frame->binary, &one.mapping_index, err);

	for (i = 0; !rc && i < frame->n_levels; i++) {
		otlp_profiles__line__init(&lines[i]);
		list[i] = &lines[i];
		lines[i].line = level[i].line;
		rc = function(t, level[i].function, &lines[i].function_index,
			      err);
	}
	if (rc)
		return rc;
	if (frame->binary != FRAMES_NONE)
		one.address = frame->address;
	one.lines = list;
	one.n_lines = frame->n_levels;
	one.attribute_indices = frame->in_kernel ? &t->kernel : &t->native;
	one.n_attribute_indices = 1;
	part.location_table = locations;
	part.n_location_table = 1;
	emit(t, &part);
	return 0;
}

static int location(struct otlp_tables *t, uint32_t number, int32_t *out,
		    struct weft_err *err)
{
	const struct frames_frame *frame = &t->x->frames->frames[number];
	OtlpProfiles__Line *lines, **list;
	int rc;

	*out = t->locations[number];
	if (*out)
		return 0;
	lines = calloc(frame->n_levels, sizeof(*lines));
	list = calloc(frame->n_levels, sizeof(*list));
	rc = lines && list ? write_location(t, frame, lines, list, err)
			   : export_no_memory(t->x, err);
	free(lines);
	free(list);
	if (!rc)
		*out = t->locations[number] = ++t->n_locations;
	return rc;
}

int otlp_stack(struct otlp_tables *t, const struct profile_sample *s,
	       int32_t *out, struct weft_err *err)
{
	int32_t *known =
		&t->stacks[frames_stack_number(t->x->frames, s->stack_id)];
	OtlpProfiles__Stack one = OTLP_PROFILES__STACK__INIT;
	OtlpProfiles__Stack *list[] = { &one };
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;
	size_t i;
	int rc = 0;

	*out = *known;
	if (*known)
		return 0;
	for (i = 0; !rc && i < s->n_frames; i++)
		rc = location(t, s->frames[i], &t->list[i], err);
	if (rc)
		return rc;
	one.location_indices = t->list;
	one.n_location_indices = s->n_frames;
	part.stack_table = list;
	part.n_stack_table = 1;
	emit(t, &part);
	*out = *known = ++t->n_stacks;
	return 0;
}

/* The zero value in front of each table but that of strings, which is written
 * last and has it. */
static void emit_zeroes(struct otlp_tables *t)
{
	OtlpProfiles__Mapping m = OTLP_PROFILES__MAPPING__INIT, *ms[] = { &m };
	OtlpProfiles__Location l = OTLP_PROFILES__LOCATION__INIT;
	OtlpProfiles__Location *ls[] = { &l };
	OtlpProfiles__Function f = OTLP_PROFILES__FUNCTION__INIT;
	OtlpProfiles__Function *fs[] = { &f };
	OtlpProfiles__Link k = OTLP_PROFILES__LINK__INIT, *ks[] = { &k };
	OtlpProfiles__KeyValueAndUnit a =
		OTLP_PROFILES__KEY_VALUE_AND_UNIT__INIT;
	OtlpProfiles__KeyValueAndUnit *as[] = { &a };
	OtlpProfiles__Stack s = OTLP_PROFILES__STACK__INIT, *ss[] = { &s };
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;

	part.mapping_table = ms;
	part.location_table = ls;
	part.function_table = fs;
	part.link_table = ks;
	part.attribute_table = as;
	part.stack_table = ss;
	part.n_mapping_table = part.n_location_table = part.n_function_table =
		part.n_link_table = part.n_attribute_table =
			part.n_stack_table = 1;
	emit(t, &part);
}

int otlp_tables_open(struct otlp_tables **out, const struct export *x,
		     struct weft_err *err)
{
	const struct frames *f = x->frames;
	struct otlp_tables *t = calloc(1, sizeof(*t));
	uint32_t zero;
	int rc = 0;

	*out = NULL;
	if (!t)
		return export_no_memory(x, err);
	t->x = x;
	t->locations = calloc(f->n_frames + 1, sizeof(*t->locations));
	t->functions = calloc(f->n_functions + 1, sizeof(*t->functions));
	t->mappings = calloc(f->n_binaries + 1, sizeof(*t->mappings));
	t->stacks = calloc(frames_n_stacks(f) + 1, sizeof(*t->stacks));
	t->list = calloc(FRAMES_DEPTH_MAX + 1, sizeof(*t->list));
	if (!t->locations || !t->functions || !t->mappings || !t->stacks ||
	    !t->list || strings_intern(&t->strings, "", &zero) ||
	    strings_intern(&t->attributes, "", &zero) ||
	    strings_intern(&t->links, "", &zero))
		rc = export_no_memory(x, err);
	if (!rc) {
		t->spool = tmpfile();
		if (!t->spool)
			rc = weft_fail(err, -errno,
				       "cannot make a temporary file: %s",
				       strerror(errno));
	}
	if (!rc) {
		emit_zeroes(t);
		rc = otlp_attribute_text(t, "profile.frame.type", "native",
					 &t->native, err);
	}
	if (!rc)
		rc = otlp_attribute_text(t, "profile.frame.type", "kernel",
					 &t->kernel, err);
	if (rc) {
		otlp_tables_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

void otlp_tables_close(struct otlp_tables *t)
{
	if (!t)
		return;
	if (t->spool)
		fclose(t->spool);
	strings_release(&t->strings);
	strings_release(&t->attributes);
	strings_release(&t->links);
	free(t->locations);
	free(t->functions);
	free(t->mappings);
	free(t->stacks);
	free(t->list);
	free(t);
}

/* Field 2 of the request: its length, then what was spooled. The encoding of
 * a length: https://protobuf.dev/programming-guides/encoding/ */
int otlp_tables_write(struct otlp_tables *t, FILE *to, struct weft_err *err)
{
	dictionary part = OTLP_PROFILES__DICTIONARY__INIT;
	char bytes[65536];
	uint64_t size;
	size_t i, n;

	part.n_string_table = 1;
	for (i = 0; i < t->strings.n; i++) {
		part.string_table = &t->strings.rows[i];
		emit(t, &part);
	}
	if (fflush(t->spool) || ferror(t->spool))
		return weft_fail(err, -EIO,
				 "cannot write a temporary file: is there room "
				 "in the directory for temporary files?");
	size = (uint64_t)ftello(t->spool);
	rewind(t->spool);
	putc(2 << 3 | 2, to);
	for (; size > 0x7f; size >>= 7)
		putc((int)(size & 0x7f) | 0x80, to);
	putc((int)size, to);
	while ((n = fread(bytes, 1, sizeof(bytes), t->spool)) > 0)
		fwrite(bytes, 1, n, to);
	if (ferror(t->spool))
		return weft_fail(err, -EIO, "cannot read a temporary file");
	return 0;
}
