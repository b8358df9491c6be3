/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "collector/inspect/trouble.h"

static const char *const wanted[WIRE_OP_END] = {
	[WIRE_PROCESS] = "its mappings",
	[WIRE_NAMES] = "its symbols",
	[WIRE_TABLE] = "its unwind table",
	[WIRE_PERF_MAP] = "its perf map",
	[WIRE_CONTEXT] = "its trace context",
	[WIRE_LINES] = "its DWARF",
	[WIRE_RECORDS] = "its threads' trace context",
	[WIRE_SEGMENTS] = "its segments",
};

static void say_whom(char *out, size_t size, const struct job *job)
{
	const char *path = job_path(job);

	if (path)
		snprintf(out, size, "'%.300s'", path);
	else
		snprintf(out, size, "process %" PRIu32,
			 job->request->process.pid);
}

bool trouble_describe(char out[TROUBLE_MAX], const struct job *job,
		      const struct inspect_answer *answer)
{
	const struct wire_perf_map *map = &answer->perf_map;
	uint32_t op = job->request->op;
	char whom[320];

	say_whom(whom, sizeof(whom), job);
	if (answer->status == INSPECT_TIMEOUT)
		snprintf(out, TROUBLE_MAX,
			 "%s: reading %s took too long; left alone for a while",
			 whom, wanted[op]);
	else if (answer->status == INSPECT_CRASHED)
		snprintf(
			out, TROUBLE_MAX,
			"%s: reading %s ended the inspector; left alone for a while",
			whom, wanted[op]);
	else if (answer->status == INSPECT_REFUSED && op == WIRE_PERF_MAP)
		snprintf(
			out, TROUBLE_MAX,
			"%s: its perf map is not read: it must be a regular file with one name, of the process's user or of root",
			whom);
	else if (answer->status == INSPECT_REFUSED && op == WIRE_NAMES)
		snprintf(
			out, TROUBLE_MAX,
			"%s: its symbols are not read: it is damaged, or not the file that is mapped",
			whom);
	else if (answer->status == INSPECT_OK && map->bad_lines)
		snprintf(
			out, TROUBLE_MAX,
			"%s: %" PRIu64
			" lines of its perf map are malformed, the first is line %" PRIu64,
			whom, map->bad_lines, map->first_bad_line);
	else
		return false;
	return true;
}
