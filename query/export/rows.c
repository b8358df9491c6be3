/* SPDX-License-Identifier: MIT */
/*
 * A row for each count (shape) or sample (detail), with its stack as folded
 * text (without the process): CSV with a heading, or an array of JSON objects.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/csv.h"
#include "query/export/export.h"
#include "query/folded.h"
#include "query/json.h"

enum {
	HEX_MAX = 33
};

struct rows {
	const struct export *x;
	struct csv csv;
	struct json json;
	bool is_json;
	bool in_heading; /* of CSV: keys, not values */
	char **names;    /* owned, by place: as folded text has it, NULL: not
			    yet */
	char *stack;     /* owned */
	size_t room;
};

static void put_text(struct rows *r, const char *key, const char *text)
{
	if (r->is_json)
		json_text(&r->json, key, text && *text ? text : NULL);
	else if (r->in_heading)
		csv_text(&r->csv, key, strlen(key));
	else if (text && *text)
		csv_text(&r->csv, text, strlen(text));
	else
		csv_null(&r->csv);
}

static void put_int(struct rows *r, const char *key, int64_t value)
{
	if (r->is_json)
		json_int(&r->json, key, value);
	else if (r->in_heading)
		csv_text(&r->csv, key, strlen(key));
	else
		csv_int(&r->csv, value);
}

static void put_real(struct rows *r, const char *key, double value)
{
	if (r->is_json)
		json_real(&r->json, key, value);
	else if (r->in_heading)
		csv_text(&r->csv, key, strlen(key));
	else
		csv_real(&r->csv, value);
}

static const char *to_hex(char out[HEX_MAX], const unsigned char *id, size_t n)
{
	if (!id)
		return NULL;
	weft_hex(out, id, n);
	return out;
}

static void put_row(struct rows *r, const struct profile_sample *s,
		    const char *stack)
{
	char trace[HEX_MAX], span[HEX_MAX];

	if (r->is_json)
		json_object(&r->json, NULL);
	put_int(r, "pid", s->process.pid);
	put_text(r, "comm", s->process.comm);
	put_text(r, "exe", s->process.exe);
	put_text(r, "service", s->process.service);
	if (r->x->detail) {
		put_int(r, "unix_ns", s->unix_ns);
		put_int(r, "cpu", s->cpu);
		put_int(r, "tid", s->tid);
		put_text(r, "thread_comm", s->thread);
		put_text(r, "trace_id", to_hex(trace, s->trace, 16));
		put_text(r, "span_id", to_hex(span, s->span, 8));
		put_real(r, "weight", s->weight);
	} else {
		put_int(r, "count", (int64_t)s->count);
	}
	put_int(r, "value", s->value);
	put_int(r, "stack_id", s->stack_id);
	put_text(r, "stack", stack);
	if (r->is_json)
		json_end_object(&r->json);
	else
		csv_end(&r->csv);
}

static const char *name_of(struct rows *r, const struct frames_frame *frame,
			   const struct frames_level *level)
{
	char **name = &r->names[level->place];

	if (!*name)
		*name = folded_name(
			r->x->frames->functions[level->function].name,
			frame->in_kernel ? "_[k]" : "", FOLDED_WITHIN);
	return *name;
}

static int append(struct rows *r, size_t *size, const char *name)
{
	size_t more = strlen(name) + 2;
	char *grown;

	if (*size + more > r->room) {
		grown = realloc(r->stack, 2 * (*size + more));
		if (!grown)
			return -ENOMEM;
		r->stack = grown;
		r->room = 2 * (*size + more);
	}
	if (*size)
		r->stack[(*size)++] = ';';
	memcpy(r->stack + *size, name, more - 1);
	*size += more - 2;
	return 0;
}

static int add(void *ctx, const struct profile_sample *s, struct weft_err *err)
{
	struct rows *r = ctx;
	struct frames_way way = { .stack = s->frames, .n_frames = s->n_frames };
	const char *name;
	size_t size = 0;

	while (frames_next(r->x->frames, &way)) {
		name = name_of(r, way.frame, way.level);
		if (!name || append(r, &size, name))
			return export_no_memory(r->x, err);
	}
	put_row(r, s, r->stack);
	return 0;
}

static int write_rows(struct rows *r, struct weft_err *err)
{
	const struct export *x = r->x;
	size_t i;
	int rc;

	r->names = calloc(x->frames->n_places, sizeof(*r->names));
	if (!r->names)
		return export_no_memory(x, err);
	rc = export_walk(x, PROFILE_BY_TIME, add, r, err);
	for (i = 0; i < x->frames->n_places; i++)
		free(r->names[i]);
	free(r->names);
	free(r->stack);
	return rc;
}

int export_csv(const struct export *x, struct weft_err *err)
{
	static const struct profile_sample none;
	struct rows r = { .x = x, .csv = { .to = x->to }, .in_heading = true };

	put_row(&r, &none, "");
	r.in_heading = false;
	return write_rows(&r, err);
}

int export_json(const struct export *x, struct weft_err *err)
{
	struct rows r = { .x = x, .json = { .to = x->to }, .is_json = true };
	int rc;

	json_array(&r.json, NULL);
	rc = write_rows(&r, err);
	json_end_array(&r.json);
	return rc;
}
