/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "collector/inspect/jobs.h"

/* A file is barred as such, so that one process with a bad file keeps its
 * other files' names. */
static struct inspect_target find_target(const struct job_parts *parts)
{
	const struct inspect_file *file = parts->file;
	bool is_lines = parts->op == WIRE_LINES;

	if (!file)
		return (struct inspect_target){
			.a = parts->process->start_ns,
			.b = parts->process->pid,
		};
	if (!file->inode)
		return (struct inspect_target){
			.a = file->start_ns,
			.b = file->pid,
			.is_file = true,
			.is_lines = is_lines,
		};
	return (struct inspect_target){
		.a = file->inode,
		.b = (uint64_t)file->dev_major << 32 | file->dev_minor,
		.is_file = true,
		.is_lines = is_lines,
	};
}

static void fill_file(struct wire_request *request,
		      const struct inspect_file *file)
{
	request->process.pid = file->pid;
	request->process.start_ns = file->start_ns;
	request->map_start = file->map_start;
	request->map_end = file->map_end;
	request->inode = file->inode;
	request->dev_major = file->dev_major;
	request->dev_minor = file->dev_minor;
	request->build_id_size = file->build_id_size;
	request->n_places = (uint32_t)file->n_places;
	request->n_segments = (uint32_t)file->n_segments;
	request->is_vouched = file->is_vouched;
	request->is_debug = file->is_debug;
	assert(file->n_places <= INSPECT_PLACES_MAX);
	assert(file->n_segments <= INSPECT_SEGMENTS_MAX);
	assert(file->build_id_size <= INSPECT_BUILD_ID_MAX);
	memcpy(request->build_id, file->build_id, file->build_id_size);
}

/* Bytes of the path to send: a longer one cannot be opened anyway. */
static size_t path_size(const struct job_parts *parts)
{
	size_t length;

	if (!parts->file || !parts->file->path)
		return 0;
	length = strlen(parts->file->path);
	return length < WIRE_PATH_MAX ? length + 1 : 0;
}

/* Bytes of the places to send. */
static size_t places_size(const struct inspect_file *file)
{
	size_t size = 0;

	for (size_t i = 0; file && i < file->n_places; i++)
		size += strlen(file->places[i].root) + 1 +
			strlen(file->places[i].path) + 1;
	return size;
}

static void fill_places(char *at, const struct inspect_file *file)
{
	for (size_t i = 0; i < file->n_places; i++) {
		at = stpcpy(at, file->places[i].root) + 1;
		at = stpcpy(at, file->places[i].path) + 1;
	}
}

struct job *job_new(const struct job_parts *parts, union job_fn fn, void *ctx)
{
	size_t offsets_size = parts->n_offsets * sizeof(uint64_t);
	size_t n_segments = parts->file ? parts->file->n_segments : 0;
	size_t segments_size = n_segments * sizeof(struct inspect_segment);
	size_t path = path_size(parts);
	size_t places = places_size(parts->file);
	struct job *job = calloc(1, sizeof(*job));
	uint8_t *at;

	assert(parts->n_offsets <= INSPECT_NAMES_MAX);
	if (places > WIRE_PLACES_MAX) {
		free(job);
		job = NULL;
	}
	if (!job)
		return NULL;
	job->size = sizeof(*job->request) + offsets_size + segments_size +
		    path + places;
	job->request = calloc(1, job->size);
	if (!job->request) {
		free(job);
		return NULL;
	}
	job->fn = fn;
	job->ctx = ctx;
	job->target = find_target(parts);
	job->request->op = parts->op;
	job->request->n_offsets = (uint32_t)parts->n_offsets;
	job->request->inner_pid = parts->inner_pid;
	job->request->path_size = (uint32_t)path;
	if (parts->file)
		fill_file(job->request, parts->file);
	else
		job->request->process = *parts->process;
	at = (uint8_t *)(job->request + 1);
	if (offsets_size)
		memcpy(at, parts->offsets, offsets_size);
	at += offsets_size;
	if (n_segments)
		memcpy(at, parts->file->segments, segments_size);
	at += segments_size;
	if (path)
		memcpy(at, parts->file->path, path);
	job->request->places_size = (uint32_t)places;
	if (places)
		fill_places((char *)at + path, parts->file);
	return job;
}

/* Where the texts of a request begin: its path, then its places. */
static const char *find_texts(const struct wire_request *r)
{
	return (const char *)(r + 1) + r->n_offsets * sizeof(uint64_t) +
	       r->n_segments * sizeof(struct inspect_segment);
}

const char *job_path(const struct job *job)
{
	return job->request->path_size ? find_texts(job->request) : NULL;
}

bool job_place(const struct job *job, uint32_t i, struct inspect_place *out)
{
	const char *at = find_texts(job->request) + job->request->path_size;

	if (i >= job->request->n_places)
		return false;
	for (;;) {
		out->root = at;
		out->path = at + strlen(at) + 1;
		if (!i--)
			return true;
		at = out->path + strlen(out->path) + 1;
	}
}

void job_free(struct job *job)
{
	if (!job)
		return;
	free(job->request);
	free(job);
}

void job_finish(struct job *job, const struct inspect_answer *answer)
{
	enum inspect_status status = answer->status;
	bool is_ok = status == INSPECT_OK;

	switch ((enum wire_op)job->request->op) {
	case WIRE_PROCESS:
		job->fn.process(job->ctx, status,
				is_ok ? &answer->process : NULL);
		break;
	case WIRE_NAMES:
	case WIRE_PERF_MAP:
		job->fn.names(job->ctx, status, answer->names, answer->n);
		break;
	case WIRE_LINES:
		job->fn.lines(job->ctx, status, answer->levels, answer->n);
		break;
	case WIRE_SEGMENTS:
		job->fn.segments(job->ctx, status, answer->segments, answer->n);
		break;
	case WIRE_TABLE:
		job->fn.table(job->ctx, status, is_ok ? &answer->table : NULL);
		break;
	case WIRE_CONTEXT:
		job->fn.context(job->ctx, status,
				is_ok ? &answer->context : NULL);
		break;
	case WIRE_RECORDS:
		job->fn.records(job->ctx, status,
				is_ok ? &answer->context : NULL,
				answer->records, answer->n);
		break;
	case WIRE_OP_END:
		break;
	}
	job_free(job);
}

void jobs_init(struct jobs *jobs)
{
	*jobs = (struct jobs){ .last = &jobs->first };
}

void jobs_append(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	*jobs->last = job;
	jobs->last = &job->next;
	jobs->n++;
}

struct job *jobs_take(struct jobs *jobs, struct job **link)
{
	struct job *job = *link;

	*link = job->next;
	if (!job->next)
		jobs->last = link;
	jobs->n--;
	return job;
}

void jobs_drop(struct jobs *jobs)
{
	while (jobs->first)
		job_free(jobs_take(jobs, &jobs->first));
}
