/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/wire.h"
#include "collector/label_names.h"
#include "collector/option_table.h"
#include "collector/options.h"

enum {
	OPT_CGROUP = OPTION_NO_LETTER,
	OPT_NO_CHILDREN,
	OPT_DETAIL,
	OPT_ATTRIBUTES,
	OPT_APPEND,
	OPT_INTERVAL,
	OPT_MAX_STACKS,
	OPT_RING_SIZE,
	OPT_MAX_WAL,
	OPT_MAX_TABLES,
	OPT_NO_INLINE,
	OPT_OTLP_LISTEN,
	OPT_GO_LABELS,
	OPT_TRACE_PROBE,
	OPT_SELF_COST,
	OPT_DEBUGINFOD,
	OPT_VERSION,
};

#define DEFAULT_HZ         997
#define DEFAULT_DETAIL     10
#define DEFAULT_INTERVAL   1000000000ULL
#define DEFAULT_MAX_STACKS 16384
#define DEFAULT_RING       (8ULL << 20)
#define DEFAULT_MAX_WAL    (64ULL << 20)
#define DEFAULT_MAX_TABLES (256ULL << 20)
#define DEFAULT_OUTPUT     "weft.db"

static const struct option_row rows[] = {
	{ 'a', "all", NULL,
	  "sample the whole machine (the default without a target)" },
	{ 'p', "pid", "PID[,PID]",
	  "sample these processes, and children born from now on" },
	{ 't', "tid", "TID[,TID]", "sample these threads only" },
	{ OPT_CGROUP, "cgroup", "PATH",
	  "sample tasks in this cgroup (version 2) and below" },
	{ OPT_NO_CHILDREN, "no-children", NULL, "do not follow children" },
	{ 'F', "frequency", "HZ", "samples per second and CPU (default 997)" },
	{ 'C', "cpu", "CPUS", "only on these CPUs, as in 0,2-5 (default all)" },
	{ 'U', "user", NULL, "user frames only" },
	{ 'K', "kernel", NULL, "kernel frames only" },
	{ OPT_DETAIL, "detail", "1/N|off",
	  "store one sample in N with time, thread and trace ID (default 1/10)" },
	{ OPT_ATTRIBUTES, "attributes", NULL,
	  "store the attributes of requests, such as http.route, with detail samples" },
	{ 'o', "output", "FILE",
	  "where to write (default weft.db); a weft file that is there is moved to FILE.old" },
	{ OPT_APPEND, "append", NULL, "add a recording to FILE instead" },
	{ 'd', "duration", "SECONDS",
	  "stop after this long (default: when interrupted, or when CMD ends)" },
	{ OPT_INTERVAL, "interval", "SECONDS",
	  "how often counts are stored (default 1)" },
	{ OPT_MAX_STACKS, "max-stacks", "N",
	  "distinct stacks in an interval (default 16384: about 60 MB of kernel memory)" },
	{ OPT_RING_SIZE, "ring-size", "SIZE",
	  "ring for details, a power of two (default 8M)" },
	{ OPT_MAX_WAL, "max-wal", "SIZE",
	  "write-ahead log above which details are discarded (default 64M)" },
	{ OPT_MAX_TABLES, "max-tables", "SIZE",
	  "kernel memory for unwind tables, taken as files need them (default 256M)" },
	{ OPT_NO_INLINE, "no-inline", NULL,
	  "symbols only: no inlined functions and no lines from DWARF" },
	{ OPT_OTLP_LISTEN, "otlp-listen", "ADDRESS:PORT",
	  "receive spans over OTLP/HTTP meanwhile, as at 127.0.0.1:4318" },
	{ OPT_GO_LABELS, "go-labels", "TRACE:SPAN|off",
	  "names of labels with IDs, as in trace_id,traceid:span_id (custom-labels too)" },
	{ OPT_TRACE_PROBE, "trace-probe", "PROBE",
	  "a function that is told trace IDs: BINARY:SYMBOL:MAP, or a USDT probe,\n"
	  "BINARY:usdt:PROVIDER:NAME:MAP; MAP as in trace=ptr@0,span=ptr@1 (to bytes),\n"
	  "trace=hex@0 (to digits) or hi=u64@0,lo=u64@1,span=u64@2; each call costs" },
	{ OPT_SELF_COST, "self-cost", NULL,
	  "have the kernel time our program, and store it" },
	{ OPT_DEBUGINFOD, "debuginfod", NULL,
	  "then fetch names that are missing, as weft symbolize --debuginfod does" },
	{ 'q', "quiet", NULL, "say nothing but errors" },
	{ 'v', "verbose", NULL, "say what libbpf and the collector do" },
	{ 'h', "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};

static void print_help(void)
{
	printf("usage: weft record [OPTION...] [-- CMD [ARG...]]\n\n"
	       "Sample what runs on the CPUs into a file that `weft` and sqlite3 read:\n"
	       "exact counts of every stack, and a random part of the samples in detail.\n"
	       "Ends with ^C, after -d, or with CMD, whose exit status it takes over.\n\n");
	option_table_print(rows, ARRAY_LEN(rows), 26);
	printf("\nSIZE takes k, M or G. Exit status: that of CMD; else 0 done, 1 failed, 2 usage,\n"
	       "3 no permission.\n");
}

/* Say what is wrong, with the value that is (NULL: none), and how to go on. */
static enum options_next refuse(const char *wrong, const char *value)
{
	if (value)
		weft_log(WEFT_ERROR, "%s; not '%s'", wrong, value);
	else
		weft_log(WEFT_ERROR, "%s", wrong);
	fprintf(stderr,
		"usage: weft record [OPTION...] [-- CMD [ARG...]]   (--help lists the options)\n");
	return OPTIONS_REFUSED;
}

static int parse_ids(const char *text, uint32_t *ids, size_t *n)
{
	char one[16];

	do {
		size_t length = strcspn(text, ",");
		uint64_t id;

		if (length >= sizeof(one) || *n >= OPTIONS_TARGETS_MAX)
			return -EINVAL;
		memcpy(one, text, length);
		one[length] = '\0';
		if (weft_parse_u64(one, 1, INT32_MAX, &id))
			return -EINVAL;
		ids[(*n)++] = id;
		text += length;
	} while (*text++ == ',');
	return 0;
}

static int parse_detail(const char *text, uint64_t *n)
{
	if (!strcmp(text, "off")) {
		*n = 0;
		return 0;
	}
	if (strncmp(text, "1/", 2))
		return -EINVAL;
	return weft_parse_u64(text + 2, 1, 1000000, n);
}

static int parse_hz(const char *text, uint64_t *hz)
{
	return weft_parse_u64(text, 1, UINT32_MAX, hz);
}

static int parse_ring(const char *text, uint64_t *bytes)
{
	int rc = weft_parse_size(text, 4096, 1ULL << 30, bytes);

	return !rc && *bytes & (*bytes - 1) ? -EINVAL : rc;
}

/* Take one option's value. Returns NULL, or what is wrong with it. */
static const char *take(int id, const char *value, struct record_opts *o)
{
	switch (id) {
	case 'a':
		o->all = true;
		return NULL;
	case 'p':
		return parse_ids(value, o->pids, &o->n_pids)
			       ? "-p takes process IDs, as in 12,34"
			       : NULL;
	case 't':
		return parse_ids(value, o->tids, &o->n_tids)
			       ? "-t takes thread IDs, as in 12,34"
			       : NULL;
	case OPT_CGROUP:
		o->cgroup = value;
		return NULL;
	case OPT_NO_CHILDREN:
		o->follow_children = false;
		return NULL;
	case 'F':
		return parse_hz(value, &o->hz)
			       ? "-F takes samples per second, at least 1"
			       : NULL;
	case 'C':
		return cpu_list_parse(value, &o->cpus)
			       ? "-C takes CPUs in ascending order, as in 0,2-5"
			       : NULL;
	case 'U':
		o->kernel_stacks = false;
		return NULL;
	case 'K':
		o->user_stacks = false;
		return NULL;
	case OPT_DETAIL:
		return parse_detail(value, &o->detail_n)
			       ? "--detail takes 1/N (N up to 1000000) or off"
			       : NULL;
	case OPT_ATTRIBUTES:
		o->attributes = true;
		return NULL;
	case 'o':
		o->output = value;
		return value[0] ? NULL : "-o takes a file name";
	case OPT_APPEND:
		o->append = true;
		return NULL;
	case 'd':
		return weft_parse_seconds(value, 1000000, INT64_MAX / 2,
					  &o->duration_ns)
			       ? "-d takes seconds, as in 10 or 0.5"
			       : NULL;
	case OPT_INTERVAL:
		return weft_parse_seconds(value, 10000000, 3600000000000ULL,
					  &o->interval_ns)
			       ? "--interval takes seconds from 0.01 to 3600"
			       : NULL;
	case OPT_MAX_STACKS:
		return weft_parse_u64(value, 16, 1 << 22, &o->max_stacks)
			       ? "--max-stacks takes a number from 16 to 4194304"
			       : NULL;
	case OPT_RING_SIZE:
		return parse_ring(value, &o->ring_bytes)
			       ? "--ring-size takes a power of two from 4k to 1G"
			       : NULL;
	case OPT_MAX_WAL:
		return weft_parse_size(value, 1 << 20, 1ULL << 40,
				       &o->max_wal_bytes)
			       ? "--max-wal takes a size of at least 1M"
			       : NULL;
	case OPT_MAX_TABLES:
		return weft_parse_size(value, 1 << 20, 1ULL << 40,
				       &o->max_table_bytes)
			       ? "--max-tables takes a size of at least 1M"
			       : NULL;
	case OPT_OTLP_LISTEN:
		o->otlp_listen = value;
		return NULL;
	case OPT_GO_LABELS:
		return label_names_parse(value, &o->labels);
	case OPT_TRACE_PROBE:
		return trace_probe_parse(value, &o->trace_probe);
	case OPT_NO_INLINE:
		o->no_inline = true;
		return NULL;
	case OPT_SELF_COST:
		o->self_cost = true;
		return NULL;
	case OPT_DEBUGINFOD:
		o->use_debuginfod = true;
		return NULL;
	case 'q':
		o->log_level = WEFT_ERROR;
		return NULL;
	default: /* 'v' */
		o->log_level = WEFT_DEBUG;
		return NULL;
	}
}

/* What options together ask for must make sense. NULL, or what does not. */
static const char *check(struct record_opts *o)
{
	int kinds = (o->n_pids > 0) + (o->n_tids > 0) + (o->cgroup != NULL) +
		    (o->command != NULL);
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (o->use_debuginfod && (!urls || !*urls))
		return "--debuginfod asks the servers in $DEBUGINFOD_URLS, which is not set (sudo -E keeps it)";
	if (!o->user_stacks && !o->kernel_stacks)
		return "-U and -K exclude each other";
	if (o->attributes && !o->detail_n)
		return "--attributes goes with detail samples, which --detail off leaves out";
	if (o->all && kinds)
		return "-a samples everything: leave out -p, -t, --cgroup and CMD";
	if (o->n_pids + o->n_tids > 0 && (o->cgroup || o->command))
		return "-p and -t do not go with --cgroup or CMD";
	if (o->cgroup && o->command)
		return "--cgroup and CMD exclude each other";
	o->all = !kinds;
	return NULL;
}

enum options_next options_parse(int argc, char **argv, struct record_opts *out)
{
	struct option_walk walk;
	const char *wrong;
	char text[256];
	int id;

	*out = (struct record_opts){
		.hz = DEFAULT_HZ,
		.user_stacks = true,
		.kernel_stacks = true,
		.follow_children = true,
		.detail_n = DEFAULT_DETAIL,
		.output = DEFAULT_OUTPUT,
		.interval_ns = DEFAULT_INTERVAL,
		.max_stacks = DEFAULT_MAX_STACKS,
		.ring_bytes = DEFAULT_RING,
		.max_wal_bytes = DEFAULT_MAX_WAL,
		.max_table_bytes = DEFAULT_MAX_TABLES,
		.log_level = WEFT_INFO,
	};
	label_names_default(&out->labels);
	option_walk_begin(&walk, rows, ARRAY_LEN(rows), argc, argv, true);
	while ((id = option_walk_next(&walk)) != -1) {
		switch (id) {
		case 'h':
			print_help();
			return OPTIONS_DONE;
		case OPT_VERSION:
			printf("weft-record %s\n", WEFT_VERSION);
			return OPTIONS_DONE;
		case OPTION_WRONG:
			return refuse(walk.wrong, NULL);
		default:
			wrong = take(id, optarg, out);
			if (wrong)
				return refuse(wrong, optarg);
		}
	}
	if (optind < argc)
		out->command = argv + optind;
	if (out->command && strcmp(argv[optind - 1], "--")) {
		snprintf(text, sizeof(text),
			 "unexpected '%s'; a command to run stands after `--`",
			 argv[optind]);
		return refuse(text, NULL);
	}
	wrong = check(out);
	return wrong ? refuse(wrong, NULL) : OPTIONS_RECORD;
}
