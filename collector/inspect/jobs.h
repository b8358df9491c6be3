/* SPDX-License-Identifier: MIT */
/* Requests on the loop's side: what was asked, of whom, and who is told. */
#ifndef WEFT_INSPECT_JOBS_H
#define WEFT_INSPECT_JOBS_H

#include "collector/inspect/bars.h"
#include "collector/inspect/reply.h"

union job_fn {
	inspect_process_fn *process;
	inspect_names_fn *names; /* also of perf maps */
	inspect_segments_fn *segments;
	inspect_lines_fn *lines;
	inspect_table_fn *table;
	inspect_context_fn *context;
	inspect_records_fn *records;
};

struct job {
	struct job *next;
	union job_fn fn;
	void *ctx; /* borrowed, for fn */
	struct inspect_target target;
	size_t owner;                 /* of lines: in struct inspect_owners */
	enum inspect_status status;   /* when settled without an answer */
	size_t size;                  /* of what is sent */
	struct wire_request *request; /* owned; size bytes */
};

/* What a request is made of; what it does not need is zero. */
struct job_parts {
	enum wire_op op;
	const struct weft_identity *process;
	const struct inspect_file *file; /* takes process's place */
	const uint64_t *offsets;
	size_t n_offsets;
	uint32_t inner_pid;
};

/* Queue a job of these parts. Returns 0 or -ENOMEM. */
int inspect_submit(struct inspect *in, const struct job_parts *parts,
		   union job_fn fn, void *ctx) MUST_CHECK;

/* A job with copies of all parts; NULL: no memory. */
struct job *job_new(const struct job_parts *parts, union job_fn fn, void *ctx);
void job_free(struct job *job);

/* The path of the file that it is about; NULL: it is about a process. */
const char *job_path(const struct job *job);

/* The i-th place of it; borrowed. Returns false if there is none. */
bool job_place(const struct job *job, uint32_t i, struct inspect_place *out);

/* Give the callback its answer, and free the job. */
void job_finish(struct job *job, const struct inspect_answer *answer);

/* First in, first out. */
struct jobs {
	struct job *first, **last;
	size_t n;
};

void jobs_init(struct jobs *jobs);
void jobs_append(struct jobs *jobs, struct job *job);

/* Unlink the job that *link points at; the caller owns it. */
struct job *jobs_take(struct jobs *jobs, struct job **link);
void jobs_drop(struct jobs *jobs);

#endif
