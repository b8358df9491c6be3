/* SPDX-License-Identifier: MIT */
/*
 * speedscope's file format, https://www.speedscope.app/file-format-schema.json:
 * one sampled profile, root first. Its frames are functions within a binary,
 * so that equal ones are one row of its lists; inlined functions are frames of
 * their own, and so is the process, which comes first. The keys of an object
 * come in any order, so stacks go out as they are walked over, what they refer
 * to follows. Memory: what query/frames.h says, and 8 bytes for each stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/export/export.h"
#include "query/strings.h"

static const char schema[] = "https://www.speedscope.app/file-format-schema"
			     ".json";

/* A frame of theirs: a place, or a process. */
struct shown {
	const char *name; /* of a function, borrowed; NULL: a process */
	const char *suffix, *file;
	uint32_t comm; /* in strings */
	uint32_t line;
};

struct speedscope {
	const struct export *x;
	bool in_ns;
	struct strings comms;
	uint32_t *of_comm;  /* owned, by comm: 1 + index of shown, 0 not yet */
	uint32_t *of_place; /* owned: the same of places */
	size_t n_of_comm;
	struct shown *shown; /* owned */
	size_t n_shown;
	int64_t *weights; /* owned */
	size_t n_weights;
	double carry; /* what rounding owes to the sum */
	double sum;
	int64_t process_id;
	uint32_t process;
};

/* An array's room doubles whenever its size is a power of two. */
static void *grow(void *rows, size_t n, size_t size)
{
	if (n & (n - 1))
		return rows;
	return reallocarray(rows, n ? 2 * n : 1, size);
}

static int add_shown(struct speedscope *s, const struct shown *one,
		     uint32_t *out)
{
	struct shown *grown = grow(s->shown, s->n_shown, sizeof(*grown));

	if (!grown || s->n_shown >= UINT32_MAX)
		return -ENOMEM;
	s->shown = grown;
	grown[s->n_shown] = *one;
	*out = (uint32_t)s->n_shown++;
	return 0;
}

static int of_process(struct speedscope *s, const char *comm, uint32_t *out)
{
	struct shown one = { .suffix = "" };
	uint32_t *grown;

	if (strings_intern_clean(&s->comms, *comm ? comm : "[unknown]",
				 &one.comm))
		return -ENOMEM;
	if (one.comm >= s->n_of_comm) {
		grown = grow(s->of_comm, s->n_of_comm, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->of_comm = grown;
		grown[s->n_of_comm++] = 0;
	}
	if (!s->of_comm[one.comm]) {
		if (add_shown(s, &one, out))
			return -ENOMEM;
		s->of_comm[one.comm] = *out + 1;
	}
	*out = s->of_comm[one.comm] - 1;
	return 0;
}

static int of_level(struct speedscope *s, const struct frames_frame *frame,
		    const struct frames_level *level, uint32_t *out)
{
	const struct frames *f = s->x->frames;
	const struct frames_function *function = &f->functions[level->function];
	uint32_t *known = &s->of_place[level->place];
	struct shown one = {
		.name = function->name,
		.suffix = frame->in_kernel ? "_[k]" : "",
		.file = function->file,
		.line = function->line,
	};

	if (!*known) {
		if (!one.file && frame->binary != FRAMES_NONE)
			one.file = f->binaries[frame->binary].path;
		if (add_shown(s, &one, out))
			return -ENOMEM;
		*known = *out + 1;
	}
	*out = *known - 1;
	return 0;
}

static int add_weight(struct speedscope *s, double exact)
{
	int64_t *grown = grow(s->weights, s->n_weights, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	s->weights = grown;
	grown[s->n_weights] = export_whole(exact, &s->carry);
	s->sum += (double)grown[s->n_weights++];
	return 0;
}

static int add(void *ctx, const struct profile_sample *p, struct weft_err *err)
{
	struct speedscope *s = ctx;
	struct frames_way way = { .stack = p->frames, .n_frames = p->n_frames };
	uint32_t at;

	if (!s->n_weights || p->process.id != s->process_id) {
		if (of_process(s, p->process.comm, &s->process))
			return export_no_memory(s->x, err);
		s->process_id = p->process.id;
	}
	fprintf(s->x->to, "%s[%" PRIu32, s->n_weights ? ",\n" : "", s->process);
	while (frames_next(s->x->frames, &way)) {
		if (of_level(s, way.frame, way.level, &at))
			return export_no_memory(s->x, err);
		fprintf(s->x->to, ",%" PRIu32, at);
	}
	putc(']', s->x->to);
	if (add_weight(s, s->in_ns ? export_value(p) : export_count(p)))
		return export_no_memory(s->x, err);
	return 0;
}

/* Foreign text in quotes. */
static int put_text(struct speedscope *s, const char *text, const char *suffix)
{
	char *clean = strings_clean(text);
	size_t i;

	if (!clean)
		return -ENOMEM;
	putc('"', s->x->to);
	for (i = 0; clean[i]; i++) {
		if (clean[i] == '"' || clean[i] == '\\')
			putc('\\', s->x->to);
		putc(clean[i], s->x->to);
	}
	fprintf(s->x->to, "%s\"", suffix);
	free(clean);
	return 0;
}

static int put_frame(struct speedscope *s, const struct shown *one)
{
	int rc;

	fputs("{\"name\":", s->x->to);
	rc = put_text(s, one->name ? one->name : s->comms.rows[one->comm],
		      one->suffix);
	if (!rc && one->file) {
		fputs(",\"file\":", s->x->to);
		rc = put_text(s, one->file, "");
	}
	if (!rc && one->line)
		fprintf(s->x->to, ",\"line\":%" PRIu32, one->line);
	putc('}', s->x->to);
	return rc;
}

static int write_all(struct speedscope *s, struct weft_err *err)
{
	const struct export *x = s->x;
	char event[64], title[128], name[128];
	size_t i;
	int rc;

	export_event_type(x, event);
	snprintf(title, sizeof(title), "weft: %s%s%s", event,
		 *x->trace_hex ? ", trace " : "", x->trace_hex);
	snprintf(name, sizeof(name), "%s, %s", event,
		 x->detail ? "detail" : "shape");
	fprintf(x->to,
		"{\"$schema\":\"%s\",\n\"exporter\":\"weft@%s\",\n"
		"\"name\":",
		schema, WEFT_VERSION);
	rc = put_text(s, title, "");
	fputs(",\n\"activeProfileIndex\":0,\n"
	      "\"profiles\":[{\"type\":\"sampled\",\"name\":",
	      x->to);
	if (!rc)
		rc = put_text(s, name, "");
	if (rc)
		return export_no_memory(x, err);
	fprintf(x->to, ",\"unit\":\"%s\",\"startValue\":0,\n\"samples\":[\n",
		s->in_ns ? "nanoseconds" : "none");
	rc = export_walk(x, PROFILE_BY_TIME, add, s, err);
	if (rc)
		return rc;
	fprintf(x->to, "],\n\"weights\":[");
	for (i = 0; i < s->n_weights; i++)
		fprintf(x->to, "%s%" PRId64, i ? "," : "", s->weights[i]);
	fprintf(x->to,
		"],\n\"endValue\":%.0f}],\n\"shared\":"
		"{\"frames\":[\n",
		s->sum);
	for (i = 0; !rc && i < s->n_shown; i++) {
		if (i)
			fputs(",\n", x->to);
		rc = put_frame(s, &s->shown[i]);
	}
	fputs("]}}\n", x->to);
	return rc ? export_no_memory(x, err) : 0;
}

int export_speedscope(const struct export *x, struct weft_err *err)
{
	struct speedscope s = {
		.x = x,
		.in_ns = !strcmp(x->report->range.unit, "ns"),
	};
	int rc;

	s.of_place = calloc(x->frames->n_places, sizeof(*s.of_place));
	rc = s.of_place ? write_all(&s, err) : export_no_memory(x, err);
	strings_release(&s.comms);
	free(s.of_comm);
	free(s.of_place);
	free(s.shown);
	free(s.weights);
	return rc;
}
