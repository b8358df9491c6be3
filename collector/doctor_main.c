/* SPDX-License-Identifier: MIT */
/* weft-doctor: whether weft can record here, or see a process's requests. */
#include <stdio.h>

#include "collector/doctor/doctor.h"
#include "collector/option_table.h"

enum {
	OPT_JSON = OPTION_NO_LETTER,
	OPT_VERSION
};

static const struct option_row rows[] = {
	{ 'p', "pid", "PID", "this process: can its trace context be seen?" },
	{ OPT_JSON, "json", NULL, "print one JSON object" },
	{ 'h', "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};

struct doctor_opts {
	uint32_t pid; /* 0: the machine */
	bool json;
};

static void print_help(void)
{
	printf("usage: weft doctor [--pid PID] [--json]\n"
	       "\n"
	       "Say what stands in the way, what it costs and what to do: of recording on this\n"
	       "machine, or of seeing the trace context of one process. That is looked for in\n"
	       "steps (mapping, schema, symbol, slot), down to what its threads have attached\n"
	       "just now. Nothing is changed or stopped. As root it sees more.\n"
	       "\n"
	       "options:\n");
	option_table_print(rows, ARRAY_LEN(rows), 18);
	printf("\nexit status: 0 nothing fails (there may be warnings), 1 something does, 2 usage,\n"
	       "3 no permission, 4 no such process\n");
}

static int take_pid(const char *text, struct doctor_opts *o)
{
	uint64_t pid;

	if (weft_parse_u64(text, 1, INT32_MAX, &pid)) {
		weft_log(WEFT_ERROR,
			 "--pid takes the number of a process, not '%s'", text);
		return WEFT_EXIT_USAGE;
	}
	o->pid = (uint32_t)pid;
	return -1;
}

/* Returns -1 to go on, or the exit status. */
static int parse(int argc, char **argv, struct doctor_opts *o)
{
	struct option_walk walk;
	int id, rc = -1;

	option_walk_begin(&walk, rows, ARRAY_LEN(rows), argc, argv, false);
	while (rc < 0 && (id = option_walk_next(&walk)) != -1) {
		switch (id) {
		case 'p':
			rc = take_pid(optarg, o);
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case 'h':
			print_help();
			return WEFT_EXIT_OK;
		case OPT_VERSION:
			printf("weft %s\n", WEFT_VERSION);
			return WEFT_EXIT_OK;
		default: /* OPTION_WRONG */
			weft_log(WEFT_ERROR, "%s", walk.wrong);
			return WEFT_EXIT_USAGE;
		}
	}
	if (rc < 0 && optind < argc) {
		weft_log(WEFT_ERROR,
			 "'%s' is no option; a process is named by --pid",
			 argv[optind]);
		return WEFT_EXIT_USAGE;
	}
	return rc;
}

static int exit_status(const struct doctor_report *report)
{
	if (report->is_not_there)
		return WEFT_EXIT_NOTHING_MATCHED;
	if (report->is_not_allowed)
		return WEFT_EXIT_NO_PERMISSION;
	for (size_t i = 0; i < report->n; i++)
		if (report->checks[i].state == DOCTOR_FAIL)
			return WEFT_EXIT_FAILED;
	return WEFT_EXIT_OK;
}

int main(int argc, char **argv)
{
	static struct doctor_report report;
	struct doctor_opts opts = { 0 };
	struct weft_err err = { 0 };
	int status;

	weft_log_init("weft doctor", WEFT_INFO);
	status = parse(argc, argv, &opts);
	if (status >= 0)
		return status;
	if (!opts.pid)
		doctor_machine(&report);
	else if (doctor_process(&report, opts.pid, &err)) {
		weft_log(WEFT_ERROR, "%s", err.msg);
		return weft_exit_for(err.code);
	}
	if (opts.json)
		doctor_print_json(&report);
	else
		doctor_print(&report);
	return exit_status(&report);
}
