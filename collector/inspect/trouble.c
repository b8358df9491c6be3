/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
	struct inspect_place place;

	if (job_place(job, 0, &place))
		snprintf(out, size, "'%.100s%.200s'",
			 strcmp(place.root, "/") ? place.root : "", place.path);
	else if (path)
		snprintf(out, size, "'%.300s'", path);
	else
		snprintf(out, size, "process %" PRIu32,
			 job->request->process.pid);
}

/* Of a perf map that was read. What is not kept goes first: it grows on. */
static enum inspect_trouble describe_perf_map(char out[TROUBLE_MAX],
					      const char *whom,
					      const struct wire_perf_map *map)
{
	if (map->skipped_bytes || map->dropped) {
		snprintf(
			out, TROUBLE_MAX,
			"%s: its perf map is larger than is kept of one: its first %" PRIu64
			" MiB are not read, and %" PRIu64
			" older functions are dropped; their code has no name",
			whom, map->skipped_bytes >> 20, map->dropped);
		return INSPECT_TROUBLE_CUT;
	}
	if (!map->bad_lines)
		return INSPECT_TROUBLE_NONE;
	snprintf(
		out, TROUBLE_MAX,
		"%s: %" PRIu64
		" lines of its perf map are malformed, the first is line %" PRIu64,
		whom, map->bad_lines, map->first_bad_line);
	return INSPECT_TROUBLE_MALFORMED;
}

static enum inspect_trouble describe_lines(char out[TROUBLE_MAX],
					   const char *whom,
					   const struct wire_lines *lines)
{
	if (lines->dwarf == WIRE_DWARF_OK)
		return INSPECT_TROUBLE_NONE;
	snprintf(
		out, TROUBLE_MAX,
		"%s: its inlined functions and lines are not read: its DWARF is %s",
		whom,
		lines->dwarf == WIRE_DWARF_TOO_LARGE
			? "more than is read of one file, 512 MiB at most"
			: "damaged, or of a kind that is not known");
	return lines->dwarf == WIRE_DWARF_TOO_LARGE ? INSPECT_TROUBLE_CUT
						    : INSPECT_TROUBLE_MALFORMED;
}

static const char *say_where(uint32_t source)
{
	switch ((enum wire_source)source) {
	case WIRE_SOURCE_MINIDEBUG:
		return "its .gnu_debugdata";
	case WIRE_SOURCE_BUILD_ID:
	case WIRE_SOURCE_DEBUGLINK:
		return "its debug file";
	default:
		return "the file itself";
	}
}

/* What is lost of a file's symbols; the rest of them is used. */
static enum inspect_trouble describe_names(char out[TROUBLE_MAX],
					   const char *whom,
					   const struct wire_names *names)
{
	static const char next[] =
		"weft symbolize --symfs can name its code later, from a whole file";
	const char *where = say_where(names->source);

	switch ((enum wire_loss)names->loss) {
	case WIRE_LOSS_NAMES:
		snprintf(
			out, TROUBLE_MAX,
			"%s: %" PRIu64
			" functions have no name: their symbols in %s point outside its table of names; %s",
			whom, names->skipped, where, next);
		return INSPECT_TROUBLE_MALFORMED;
	case WIRE_LOSS_TABLE:
		snprintf(
			out, TROUBLE_MAX,
			"%s: symbols of %s are not read: a table of them is cut off or damaged; %s",
			whom, where, next);
		return INSPECT_TROUBLE_MALFORMED;
	case WIRE_LOSS_SECTIONS:
		snprintf(
			out, TROUBLE_MAX,
			"%s: symbols of %s are not read: its section headers are cut off or damaged; %s",
			whom, where, next);
		return INSPECT_TROUBLE_MALFORMED;
	case WIRE_LOSS_TOO_LARGE:
		snprintf(
			out, TROUBLE_MAX,
			"%s: symbols of %s are not read: they are more than is read of one file",
			whom, where);
		return INSPECT_TROUBLE_CUT;
	case WIRE_LOSS_NONE:
	case WIRE_LOSS_COUNT:
		break;
	}
	return INSPECT_TROUBLE_NONE;
}

enum inspect_trouble trouble_describe(char out[TROUBLE_MAX],
				      const struct job *job,
				      const struct inspect_answer *answer)
{
	uint32_t op = job->request->op;
	char whom[320];

	say_whom(whom, sizeof(whom), job);
	if (answer->status == INSPECT_OK && op == WIRE_LINES)
		return describe_lines(out, whom, &answer->lines);
	if (answer->status == INSPECT_OK && op == WIRE_NAMES)
		return describe_names(out, whom, &answer->of_names);
	if (answer->status == INSPECT_OK)
		return describe_perf_map(out, whom, &answer->perf_map);
	if (answer->status == INSPECT_TIMEOUT) {
		snprintf(out, TROUBLE_MAX,
			 "%s: reading %s took too long; left alone for a while",
			 whom, wanted[op]);
		return INSPECT_TROUBLE_BARRED;
	}
	if (answer->status == INSPECT_CRASHED) {
		snprintf(
			out, TROUBLE_MAX,
			"%s: reading %s ended the inspector; left alone for a while",
			whom, wanted[op]);
		return INSPECT_TROUBLE_BARRED;
	}
	if (answer->status != INSPECT_REFUSED)
		return INSPECT_TROUBLE_NONE;
	if (op == WIRE_PERF_MAP)
		snprintf(
			out, TROUBLE_MAX,
			"%s: its perf map is not read: it must be a regular file with one name, of the process's user or of root",
			whom);
	else if (op == WIRE_NAMES)
		snprintf(
			out, TROUBLE_MAX,
			"%s: its symbols are not read: it is damaged, or not the file that is mapped",
			whom);
	else
		return INSPECT_TROUBLE_NONE;
	return INSPECT_TROUBLE_REFUSED;
}
