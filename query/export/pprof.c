/* SPDX-License-Identifier: MIT */
/*
 * A Profile is written in parts: the encoding of a message is that of its
 * fields one after the other, in any order, so each sample, location and
 * function goes out as a Profile that has nothing else, as soon as it is
 * known. Memory: what query/frames.h says, 4 bytes for each frame, and the
 * strings.
 *
 * Addresses are offsets in the file that was mapped (of the kernel and JITs
 * as table frame says).
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "gen/pprof.pb-c.h"
#include "query/export/export.h"
#include "query/strings.h"

enum {
	LABELS_MAX = 6
};

/* Samples that are equal but for their time. */
struct equal {
	int64_t process_id, tid, stack_id;
	unsigned char trace[16], span[8];
};

struct pprof {
	const struct export *x;
	gzFile gz;
	struct strings strings;
	uint8_t *buffer; /* owned: a part on its way out */
	size_t buffer_size;
	uint32_t *locations; /* owned: the ids of frames, 0 not yet */
	uint32_t *functions;
	uint32_t *mappings;
	uint32_t n_locations, n_functions, n_mappings;

	/* The sample that is being added up. */
	struct equal equal;
	bool has_sample;
	uint64_t *location_ids; /* owned */
	size_t n_location_ids;
	Pprof__Label labels[LABELS_MAX];
	size_t n_labels;
	double count, value;

	double count_carry, value_carry; /* what rounding owes to the sums */
	double count_sum, value_sum;
	/* Whose binary is the main one. */
	char *exe, *main_exe; /* owned */
	int64_t process_id;
	double exe_value, main_value;
};

static int emit(struct pprof *p, const Pprof__Profile *part,
		struct weft_err *err)
{
	size_t size = pprof__profile__get_packed_size(part);
	uint8_t *grown;

	if (size > p->buffer_size) {
		grown = realloc(p->buffer, 2 * size);
		if (!grown)
			return export_no_memory(p->x, err);
		p->buffer = grown;
		p->buffer_size = 2 * size;
	}
	pprof__profile__pack(part, p->buffer);
	if (size && gzwrite(p->gz, p->buffer, (unsigned)size) == 0)
		return weft_fail(err, -EIO, "cannot write the profile: %s",
				 gzerror(p->gz, &(int){ 0 }));
	return 0;
}

/* The number of a string; text that is absent is "", 0. */
static int string(struct pprof *p, const char *text, int64_t *out,
		  struct weft_err *err)
{
	uint32_t at = 0;

	*out = 0;
	if (!text || !*text)
		return 0;
	if (strings_intern_clean(&p->strings, text, &at))
		return export_no_memory(p->x, err);
	*out = at;
	return 0;
}

static int function_id(struct pprof *p, uint32_t index, uint64_t *out,
		       struct weft_err *err)
{
	const struct frames_function *f = &p->x->frames->functions[index];
	Pprof__Function function = PPROF__FUNCTION__INIT;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function *list[] = { &function };
	int rc;

	if (p->functions[index]) {
		*out = p->functions[index];
		return 0;
	}
	rc = string(p, f->name, &function.name, err);
	if (!rc)
		rc = string(p, f->linkage_name ? f->linkage_name : f->name,
			    &function.system_name, err);
	if (!rc)
		rc = string(p, f->file, &function.filename, err);
	if (rc)
		return rc;
	function.start_line = f->line;
	function.id = *out = p->functions[index] = ++p->n_functions;
	part.function = list;
	part.n_function = 1;
	return emit(p, &part, err);
}

static int write_location(struct pprof *p, const struct frames_frame *frame,
			  uint32_t id, Pprof__Line *lines, Pprof__Line **list,
			  struct weft_err *err)
{
	const struct frames_level *level =
		&p->x->frames->levels[frame->first_level];
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location *one[] = { &location };
	uint32_t i;
	int rc;

	for (i = 0; i < frame->n_levels; i++) {
		pprof__line__init(&lines[i]);
		list[i] = &lines[i];
		lines[i].line = level[i].line;
		rc = function_id(p, level[i].function, &lines[i].function_id,
				 err);
		if (rc)
			return rc;
	}
	if (frame->binary != FRAMES_NONE) {
		if (!p->mappings[frame->binary])
			p->mappings[frame->binary] = ++p->n_mappings;
		location.mapping_id = p->mappings[frame->binary];
		location.address = frame->address;
	}
	location.id = id;
	location.line = list;
	location.n_line = frame->n_levels;
	part.location = one;
	part.n_location = 1;
	return emit(p, &part, err);
}

static int location_id(struct pprof *p, uint32_t index, uint64_t *out,
		       struct weft_err *err)
{
	const struct frames_frame *frame = &p->x->frames->frames[index];
	Pprof__Line *lines, **list;
	int rc = 0;

	if (!p->locations[index]) {
		p->locations[index] = ++p->n_locations;
		lines = calloc(frame->n_levels, sizeof(*lines));
		list = calloc(frame->n_levels, sizeof(*list));
		rc = lines && list
			     ? write_location(p, frame, p->locations[index],
					      lines, list, err)
			     : export_no_memory(p->x, err);
		free(lines);
		free(list);
	}
	*out = p->locations[index];
	return rc;
}

static int flush_sample(struct pprof *p, struct weft_err *err)
{
	Pprof__Label *labels[LABELS_MAX];
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	Pprof__Sample *one[] = { &sample };
	int64_t values[2];
	size_t i;

	if (!p->has_sample)
		return 0;
	p->has_sample = false;
	values[0] = export_whole(p->count, &p->count_carry);
	values[1] = export_whole(p->value, &p->value_carry);
	for (i = 0; i < p->n_labels; i++)
		labels[i] = &p->labels[i];
	sample.location_id = p->location_ids;
	sample.n_location_id = p->n_location_ids;
	sample.value = values;
	sample.n_value = ARRAY_LEN(values);
	sample.label = labels;
	sample.n_label = p->n_labels;
	part.sample = one;
	part.n_sample = 1;
	return emit(p, &part, err);
}

/* Add a label: text, or where that is NULL a number; without either none. */
static int label(struct pprof *p, const char *key, const char *text,
		 int64_t number, struct weft_err *err)
{
	Pprof__Label *l = &p->labels[p->n_labels];
	int rc;

	pprof__label__init(l);
	rc = string(p, key, &l->key, err);
	if (!rc)
		rc = string(p, text, &l->str, err);
	l->num = text ? 0 : number;
	if (!rc && (l->str || l->num))
		p->n_labels++;
	return rc;
}

static int hex_label(struct pprof *p, const char *key,
		     const unsigned char *bytes, size_t n, struct weft_err *err)
{
	char hex[33] = "";

	if (bytes)
		weft_hex(hex, bytes, n);
	return label(p, key, hex, 0, err);
}

static int begin_sample(struct pprof *p, const struct profile_sample *s,
			struct weft_err *err)
{
	size_t i;
	int rc;

	p->n_labels = 0;
	p->count = p->value = 0;
	p->has_sample = true;
	rc = label(p, "pid", NULL, s->process.pid, err);
	if (!rc)
		rc = label(p, "comm", s->process.comm, 0, err);
	if (!rc && p->x->detail)
		rc = label(p, "thread_id", NULL, s->tid, err);
	if (!rc && p->x->detail)
		rc = label(p, "thread_name", s->thread, 0, err);
	if (!rc)
		rc = hex_label(p, "trace_id", s->trace, 16, err);
	if (!rc)
		rc = hex_label(p, "span_id", s->span, 8, err);
	for (i = 0; !rc && i < s->n_frames; i++)
		rc = location_id(p, s->frames[i], &p->location_ids[i], err);
	p->n_location_ids = s->n_frames;
	return rc;
}

/* Of the programs, the one that used most has the main binary. */
static void settle_main(struct pprof *p)
{
	if (!p->exe || p->exe_value <= p->main_value)
		return;
	free(p->main_exe);
	p->main_exe = p->exe;
	p->main_value = p->exe_value;
	p->exe = NULL;
}

static int note_process(struct pprof *p, const struct profile_sample *s)
{
	if (!p->exe || s->process.id != p->process_id) {
		settle_main(p);
		free(p->exe);
		p->exe = strdup(s->process.exe);
		p->exe_value = 0;
		p->process_id = s->process.id;
	}
	p->exe_value += export_value(s);
	return p->exe ? 0 : -ENOMEM;
}

static int add(void *ctx, const struct profile_sample *s, struct weft_err *err)
{
	struct pprof *p = ctx;
	struct equal equal = {
		.process_id = s->process.id,
		.tid = s->tid,
		.stack_id = s->stack_id,
	};
	int rc = 0;

	if (note_process(p, s))
		return export_no_memory(p->x, err);
	if (s->trace)
		memcpy(equal.trace, s->trace, sizeof(equal.trace));
	if (s->span)
		memcpy(equal.span, s->span, sizeof(equal.span));
	if (!p->has_sample || memcmp(&equal, &p->equal, sizeof(equal)) != 0) {
		rc = flush_sample(p, err);
		if (!rc)
			rc = begin_sample(p, s, err);
		p->equal = equal;
	}
	p->count += export_count(s);
	p->value += export_value(s);
	p->count_sum += export_count(s);
	p->value_sum += export_value(s);
	return rc;
}

static int write_mapping(struct pprof *p, size_t index, struct weft_err *err)
{
	const struct frames_binary *b = &p->x->frames->binaries[index];
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping *one[] = { &mapping };
	int rc = string(p, export_mapping_name(b), &mapping.filename, err);

	if (!rc)
		rc = string(p, b->build_id, &mapping.build_id, err);
	if (rc)
		return rc;
	mapping.id = p->mappings[index];
	mapping.memory_limit = EXPORT_MAPPING_LIMIT;
	/* what has no name here has none that a reader should look for */
	mapping.has_functions = mapping.has_filenames = true;
	mapping.has_line_numbers = mapping.has_inline_frames = true;
	part.mapping = one;
	part.n_mapping = 1;
	return emit(p, &part, err);
}

/* The first is taken for the main binary. */
static int write_mappings(struct pprof *p, struct weft_err *err)
{
	const struct frames *f = p->x->frames;
	size_t main_one = f->n_binaries, i;
	int rc = 0;

	settle_main(p);
	for (i = 0; p->main_exe && i < f->n_binaries; i++)
		if (p->mappings[i] && !strcmp(f->binaries[i].path, p->main_exe))
			main_one = i;
	if (main_one < f->n_binaries)
		rc = write_mapping(p, main_one, err);
	for (i = 0; !rc && i < f->n_binaries; i++)
		if (p->mappings[i] && i != main_one)
			rc = write_mapping(p, i, err);
	return rc;
}

static int comment(struct pprof *p, const char *text, struct weft_err *err)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t at;
	int rc = string(p, text, &at, err);

	part.comment = &at;
	part.n_comment = 1;
	return rc ? rc : emit(p, &part, err);
}

/* What it is, and what was lost. */
static int write_comments(struct pprof *p, struct weft_err *err)
{
	const struct report *r = p->x->report;
	char text[512];
	size_t i;
	int rc;

	snprintf(text, sizeof(text),
		 "weft %s: %s of recording %" PRId64 "%s%s%s, %s", WEFT_VERSION,
		 r->range.event,
		 r->range.parts[r->range.n_parts - 1].recording_id,
		 r->range.is_whole ? "" : ", a part of it",
		 *p->x->trace_hex ? ", trace " : "", p->x->trace_hex,
		 p->x->detail ? "detail: values are estimates, what each "
				"sample stands for"
			      : "shape: values are exact");
	rc = comment(p, text, err);
	for (i = 0; !rc && i < r->ledger.n_entries; i++) {
		export_ledger_text(&r->ledger.entries[i], text);
		rc = comment(p, text, err);
	}
	return rc;
}

static int write_head(struct pprof *p, struct weft_err *err)
{
	const struct report *r = p->x->report;
	Pprof__ValueType samples = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType value = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *types[] = { &samples, &value };
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char name[64];
	int rc;

	export_event_type(p->x, name);
	rc = string(p, "samples", &samples.type, err);
	if (!rc)
		rc = string(p, "count", &samples.unit, err);
	if (!rc)
		rc = string(p, name, &value.type, err);
	if (!rc)
		rc = string(p, export_event_unit(p->x), &value.unit, err);
	if (rc)
		return rc;
	part.sample_type = types;
	part.n_sample_type = ARRAY_LEN(types);
	part.default_sample_type = value.type;
	part.time_nanos = r->range.parts[0].start_unix_ns;
	part.duration_nanos = r->range.length_ns;
	if (r->range.parts[0].requested_hz && p->count_sum > 0) {
		part.period_type = &value;
		part.period = export_whole(p->value_sum / p->count_sum,
					   &(double){ 0 });
	}
	return emit(p, &part, err);
}

static int write_strings(struct pprof *p, struct weft_err *err)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	size_t i;
	int rc = 0;

	part.n_string_table = 1;
	for (i = 0; !rc && i < p->strings.n; i++) {
		part.string_table = &p->strings.rows[i];
		rc = emit(p, &part, err);
	}
	return rc;
}

static int write_all(struct pprof *p, struct weft_err *err)
{
	int rc = export_walk(p->x, PROFILE_BY_STACK, add, p, err);

	if (!rc)
		rc = flush_sample(p, err);
	if (!rc)
		rc = write_head(p, err);
	if (!rc)
		rc = write_mappings(p, err);
	if (!rc)
		rc = write_comments(p, err);
	return rc ? rc : write_strings(p, err);
}

/* The zlib stream has a descriptor of its own, and closes it. */
static int open_gz(struct pprof *p, struct weft_err *err)
{
	int fd = dup(fileno(p->x->to));

	p->gz = fd < 0 ? NULL : gzdopen(fd, "wb");
	if (p->gz)
		return 0;
	if (fd >= 0)
		close(fd);
	return export_no_memory(p->x, err);
}

int export_pprof(const struct export *x, struct weft_err *err)
{
	const struct frames *f = x->frames;
	struct pprof p = { .x = x };
	uint32_t empty;
	int rc = 0;

	p.locations = calloc(f->n_frames + 1, sizeof(*p.locations));
	p.functions = calloc(f->n_functions + 1, sizeof(*p.functions));
	p.mappings = calloc(f->n_binaries + 1, sizeof(*p.mappings));
	p.location_ids = calloc(FRAMES_DEPTH_MAX + 1, sizeof(*p.location_ids));
	if (!p.locations || !p.functions || !p.mappings || !p.location_ids ||
	    strings_intern(&p.strings, "", &empty))
		rc = export_no_memory(x, err);
	if (!rc)
		rc = open_gz(&p, err);
	if (!rc)
		rc = write_all(&p, err);
	if (p.gz && gzclose(p.gz) != Z_OK && !rc)
		rc = weft_fail(err, -EIO, "cannot write the profile: %s",
			       strerror(errno));
	strings_release(&p.strings);
	free(p.buffer);
	free(p.locations);
	free(p.functions);
	free(p.mappings);
	free(p.location_ids);
	free(p.exe);
	free(p.main_exe);
	return rc;
}
