/* SPDX-License-Identifier: MIT */
/*
 * Lists of numbers are texts with blanks between: a third of what they are as
 * JSON by line, and quick to split. Nodes are told by their depth and frame,
 * each before its children; layers by what has samples itself, the place of a
 * node as the distance from the one before. Sums over subtrees are left to
 * the reader, who needs them of any layer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen/flame_page.h"
#include "query/figure.h"
#include "query/flame/page.h"
#include "query/json.h"

enum {
	FORMAT = 1 /* of the data; the page checks it */
};

/* What is written, and whether memory ran out on the way. */
struct page {
	const struct flame_load *load;
	const struct flame *flame;
	struct json j;
	FILE *list; /* the text of the list that is being made */
	char *list_text;
	size_t list_size;
	bool is_short; /* of memory */
};

static bool list_begin(struct page *p)
{
	p->list_text = NULL;
	p->list = open_memstream(&p->list_text, &p->list_size);
	if (!p->list)
		p->is_short = true;
	return p->list;
}

static void list_end(struct page *p, const char *key)
{
	if (fclose(p->list))
		p->is_short = true;
	else
		json_bytes(&p->j, key, p->list_text,
			   p->list_size ? p->list_size - 1 : 0); /* a blank */
	free(p->list_text);
}

static int by_binary(const void *a, const void *b, void *ctx)
{
	const struct flame_frame *frames = ctx;
	const uint32_t *x = a, *y = b;
	int order = strcmp(frames[*x].binary, frames[*y].binary);

	return order ? order : *x < *y ? -1 : *x > *y;
}

/* The distinct binaries, and each frame's number of its own. */
static void put_binaries(struct page *p)
{
	const struct flame *f = p->flame;
	uint32_t *sorted = calloc(f->n_frames, sizeof(*sorted));
	uint32_t *number = calloc(f->n_frames, sizeof(*number));
	uint32_t n = 0;
	size_t i;

	if (!sorted || !number) {
		p->is_short = true;
		goto out;
	}
	for (i = 0; i < f->n_frames; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, f->n_frames, sizeof(*sorted), by_binary, f->frames);
	json_array(&p->j, "binaries");
	for (i = 0; i < f->n_frames; i++) {
		const char *binary = f->frames[sorted[i]].binary;

		if (i == 0 ||
		    strcmp(f->frames[sorted[i - 1]].binary, binary) != 0) {
			json_text(&p->j, NULL, binary);
			n++;
		}
		number[sorted[i]] = n - 1;
	}
	json_end_array(&p->j);
	if (list_begin(p)) {
		for (i = 0; i < f->n_frames; i++)
			fprintf(p->list, "%" PRIu32 " ", number[i]);
		list_end(p, "frame_binaries");
	}
out:
	free(number);
	free(sorted);
}

static void put_tree(struct page *p)
{
	const struct flame *f = p->flame;
	size_t i;

	json_array(&p->j, "names");
	for (i = 0; i < f->n_frames; i++)
		json_text(&p->j, NULL, f->frames[i].name);
	json_end_array(&p->j);
	put_binaries(p);
	if (list_begin(p)) {
		for (i = 0; i < f->n_frames; i++)
			fprintf(p->list, "%d ", (int)f->frames[i].kind);
		list_end(p, "frame_kinds");
	}
	if (list_begin(p)) {
		for (i = 0; i < f->n_nodes; i++)
			fprintf(p->list, "%" PRIu32 " ", f->nodes[i].depth);
		list_end(p, "depths");
	}
	if (list_begin(p)) {
		for (i = 0; i < f->n_nodes; i++)
			fprintf(p->list, "%" PRIu32 " ", f->nodes[i].frame);
		list_end(p, "frames");
	}
	json_int(&p->j, "nodes_folded", (int64_t)f->n_folded);
}

/* The keys of a layer, in the object that is open. */
static void put_layer(struct page *p, size_t number)
{
	const struct flame_layer *l = &p->flame->layers[number];
	uint32_t last = 0;
	size_t i;

	json_int(&p->j, "samples", (int64_t)l->all.count);
	json_real(&p->j, "weight", l->all.weight);
	json_real(&p->j, "value", l->all.estimate);
	json_real(&p->j, "effective", tally_samples(&l->all));
	if (list_begin(p)) {
		for (i = 0; i < l->n; last = l->rows[i++].node)
			fprintf(p->list, "%" PRIu32 " ",
				l->rows[i].node - last);
		list_end(p, "at");
	}
	if (list_begin(p)) {
		for (i = 0; i < l->n; i++)
			fprintf(p->list, "%.12g ", l->rows[i].tally.weight);
		list_end(p, "weights");
	}
	if (list_begin(p)) {
		for (i = 0; i < l->n; i++)
			fprintf(p->list, "%.0f ", l->rows[i].tally.estimate);
		list_end(p, "values");
	}
}

static void put_recording(struct page *p, const char *key,
			  const struct report *r, size_t layer)
{
	char line[512];

	json_object(&p->j, key);
	json_text(&p->j, "file", db_path(r->db));
	json_text(&p->j, "started",
		  FIGURE(figure_time, r->range.parts[0].start_unix_ns));
	json_int(&p->j, "length_ns", r->range.length_ns);
	json_text(&p->j, "loss",
		  ledger_describe_loss(&r->ledger, line, sizeof(line)) ? line
								       : NULL);
	put_layer(p, layer);
	json_end_object(&p->j);
}

static void put_trace(struct page *p, size_t i)
{
	const struct flame_load *l = p->load;
	const struct traces_row *row = &l->traces.rows[l->shown[i]];
	const struct spans_root *root = row->root;

	json_object(&p->j, NULL);
	json_text(&p->j, "id", row->hex);
	json_text(&p->j, "service", *root->service ? root->service : NULL);
	json_text(&p->j, "name", *root->name ? root->name : NULL);
	json_text(&p->j, "status", *root->status ? root->status : NULL);
	if (root->duration_ns >= 0)
		json_int(&p->j, "duration_ns", root->duration_ns);
	else
		json_null(&p->j, "duration_ns");
	json_int(&p->j, "extent_ns", traces_extent_ns(row));
	json_real(&p->j, "estimate", row->sum->tally.estimate);
	json_interval(&p->j, "estimate", row->interval);
	put_layer(p, l->first_layer + i);
	json_end_object(&p->j);
}

/* The requests that --where means, as if they were one; its ID is what was
 * asked for. */
static void put_pool(struct page *p)
{
	const struct traces *t = &p->load->traces;
	double mean;
	struct stats_interval of_all = traces_mean_ns(t, &t->report, &mean);

	json_object(&p->j, NULL);
	json_text(&p->j, "id", p->load->where);
	json_int(&p->j, "requests", (int64_t)t->n_rows);
	json_int(&p->j, "requests_sampled", (int64_t)t->n_sampled);
	json_real(&p->j, "estimate", mean);
	json_interval(&p->j, "estimate", of_all);
	put_layer(p, (size_t)p->load->pool_layer);
	json_end_object(&p->j);
}

static void put_traces(struct page *p)
{
	const struct flame_load *l = p->load;
	size_t i;

	json_array(&p->j, "traces");
	if (l->pool_layer >= 0)
		put_pool(p);
	for (i = 0; i < l->n_shown; i++)
		put_trace(p, i);
	json_end_array(&p->j);
	json_int(&p->j, "traces_in_all", (int64_t)l->traces.n_rows);
	if (l->pool_layer >= 0)
		json_int(&p->j, "chosen", 0);
	else if (l->chosen >= 0)
		json_int(&p->j, "chosen", l->chosen);
	else
		json_null(&p->j, "chosen");
}

static void put_all(struct page *p)
{
	const struct flame_load *l = p->load;
	char line[256];

	report_json(&l->traces.report, &p->j, "flame");
	json_int(&p->j, "format", FORMAT);
	ends_describe(&l->ends, line, sizeof(line));
	json_text(&p->j, "stacks", line);
	json_bool(&p->j, "by_value", l->is_by_value);
	if (l->pid)
		json_int(&p->j, "pid", l->pid);
	put_tree(p);
	put_recording(p, "everyone", &l->traces.report, 0);
	if (l->against)
		put_recording(p, "against", &l->other, 1);
	put_traces(p);
	json_end_object(&p->j);
}

int flame_page_json(const struct flame_load *l, FILE *to)
{
	struct page p = { .load = l, .flame = l->flame, .j = { .to = to } };

	put_all(&p);
	return p.is_short ? -ENOMEM : 0;
}

/* In JSON a `<` stands in texts only, and so do the line ends of Unicode,
 * which older readers of scripts take for such. */
static void put_safe(const char *text, size_t size, FILE *to)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (text[i] == '<') {
			fputs("\\u003c", to);
		} else if (size - i > 2 && !memcmp(text + i, "\xe2\x80", 2) &&
			   (text[i + 2] & ~1) == (char)0xa8) {
			fprintf(to, "\\u202%c", text[i + 2] & 1 ? '9' : '8');
			i += 2;
		} else {
			putc(text[i], to);
		}
	}
}

int flame_page_write(const struct flame_load *l, FILE *to)
{
	char *text = NULL;
	size_t size;
	FILE *data = open_memstream(&text, &size);
	int rc = data ? flame_page_json(l, data) : -ENOMEM;

	if (data && fclose(data))
		rc = -ENOMEM;
	if (!rc) {
		fputs(flame_page_head, to);
		put_safe(text, size, to);
		fputs(flame_page_tail, to);
	}
	free(text);
	return rc;
}
