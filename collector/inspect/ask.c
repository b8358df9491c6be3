/* SPDX-License-Identifier: MIT */
/* What can be asked of inspectors, each as the job that it is. */
#include "collector/inspect/jobs.h"

int inspect_process(struct inspect *in, const struct weft_identity *who,
		    inspect_process_fn *fn, void *ctx)
{
	struct job_parts parts = { .op = WIRE_PROCESS, .process = who };

	return inspect_submit(in, &parts, (union job_fn){ .process = fn }, ctx);
}

int inspect_names(struct inspect *in, const struct inspect_file *file,
		  const uint64_t *offsets, size_t n, inspect_names_fn *fn,
		  void *ctx)
{
	struct job_parts parts = { .op = WIRE_NAMES,
				   .file = file,
				   .offsets = offsets,
				   .n_offsets = n };

	return inspect_submit(in, &parts, (union job_fn){ .names = fn }, ctx);
}

int inspect_segments(struct inspect *in, const struct inspect_file *file,
		     inspect_segments_fn *fn, void *ctx)
{
	struct job_parts parts = { .op = WIRE_SEGMENTS, .file = file };

	return inspect_submit(in, &parts, (union job_fn){ .segments = fn },
			      ctx);
}

int inspect_lines(struct inspect *in, const struct inspect_file *file,
		  const uint64_t *offsets, size_t n, inspect_lines_fn *fn,
		  void *ctx)
{
	struct job_parts parts = { .op = WIRE_LINES,
				   .file = file,
				   .offsets = offsets,
				   .n_offsets = n };

	return inspect_submit(in, &parts, (union job_fn){ .lines = fn }, ctx);
}

int inspect_table(struct inspect *in, const struct inspect_file *file,
		  inspect_table_fn *fn, void *ctx)
{
	struct job_parts parts = { .op = WIRE_TABLE, .file = file };

	return inspect_submit(in, &parts, (union job_fn){ .table = fn }, ctx);
}

int inspect_perf_map(struct inspect *in, const struct weft_identity *who,
		     uint32_t inner_pid, const uint64_t *addresses, size_t n,
		     inspect_names_fn *fn, void *ctx)
{
	struct job_parts parts = { .op = WIRE_PERF_MAP,
				   .process = who,
				   .inner_pid = inner_pid,
				   .offsets = addresses,
				   .n_offsets = n };

	return inspect_submit(in, &parts, (union job_fn){ .names = fn }, ctx);
}

int inspect_context(struct inspect *in, const struct weft_identity *who,
		    inspect_context_fn *fn, void *ctx)
{
	struct job_parts parts = { .op = WIRE_CONTEXT, .process = who };

	return inspect_submit(in, &parts, (union job_fn){ .context = fn }, ctx);
}

int inspect_records(struct inspect *in, const struct weft_identity *who,
		    const uint64_t *pointers, size_t n, inspect_records_fn *fn,
		    void *ctx)
{
	struct job_parts parts = { .op = WIRE_RECORDS,
				   .process = who,
				   .offsets = pointers,
				   .n_offsets = n };

	return inspect_submit(in, &parts, (union job_fn){ .records = fn }, ctx);
}
