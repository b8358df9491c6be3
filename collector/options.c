/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/wire.h"
#include "collector/label_names.h"
#include "collector/measure/parse.h"
#include "collector/obi.h"
#include "collector/option_table.h"
#include "collector/options.h"
#include "collector/otlp/server.h"

enum {
	OPT_CGROUP = OPTION_NO_LETTER,
	OPT_NO_CHILDREN,
	OPT_MIN_BLOCK,
	OPT_STATE,
	OPT_ONLY_REQUESTS,
	OPT_DETAIL,
	OPT_ATTRIBUTES,
	OPT_SHAPE_BY,
	OPT_APPEND,
	OPT_HEALTH,
	OPT_INTERVAL,
	OPT_MAX_STACKS,
	OPT_RING_SIZE,
	OPT_MAX_WAL,
	OPT_KEEP_DETAIL,
	OPT_KEEP_SHAPE,
	OPT_MAX_SIZE,
	OPT_MAX_TABLES,
	OPT_MEASURE,
	OPT_MAX_KEYS,
	OPT_EXAMPLES,
	OPT_NO_SAMPLES,
	OPT_NO_INLINE,
	OPT_OTLP_LISTEN,
	OPT_GO_LABELS,
	OPT_TRACE_PROBE,
	OPT_OBI,
	OPT_SELF_COST,
	OPT_DEBUGINFOD,
	OPT_VERSION,
};

#define DEFAULT_HZ         997
#define DEFAULT_PERIOD     1000000
#define DEFAULT_DETAIL     10
#define DEFAULT_TAU_UNIT   1000000ULL
#define TAU_MAX            4000000000ULL
#define DEFAULT_INTERVAL   1000000000ULL
#define DEFAULT_MAX_STACKS 16384
#define DEFAULT_RING       (8ULL << 20)
#define DEFAULT_MAX_WAL    (64ULL << 20)
#define DEFAULT_MAX_TABLES (256ULL << 20)
#define DEFAULT_MAX_KEYS   4096
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
	{ 'e', "event", "NAME[,KEY=VALUE]",
	  "what makes samples, repeatable: cpu-clock (the default), wall, on-cpu, off-cpu,\nrun-queue, a counter (cycles), a call (uprobe:PATH:SYMBOL); see `weft list events`" },
	{ 'F', "frequency", "HZ",
	  "samples per second and CPU of cpu-clock (default 997)" },
	{ 'c', "count", "PERIOD",
	  "a sample for so many events of a counter (default 1000000; of the kernel's own 1)" },
	{ OPT_MIN_BLOCK, "min-block", "TIME",
	  "off-cpu: count blocks of at least so long, as in 50us or 10ms" },
	{ OPT_STATE, "state", "LETTERS",
	  "off-cpu: count threads that went off in these states, as ps has them: S asleep, D in\nan operation, T stopped, I idle in the kernel, X else (default these), R preempted" },
	{ OPT_ONLY_REQUESTS, "only-requests", NULL,
	  "on-cpu, off-cpu, run-queue: only threads with an active trace" },
	{ 'C', "cpu", "CPUS", "only on these CPUs, as in 0,2-5 (default all)" },
	{ 'U', "user", NULL, "user frames only" },
	{ 'K', "kernel", NULL, "kernel frames only" },
	{ OPT_DETAIL, "detail", "1/N|off",
	  "store one sample in N with time, thread and trace ID (default 1/10)" },
	{ OPT_ATTRIBUTES, "attributes", NULL,
	  "store the attributes of requests, such as http.route, with detail samples" },
	{ OPT_SHAPE_BY, "shape-by", "KEY",
	  "tell counts apart by an attribute of few values, as http.route (256 at most)" },
	{ 'o', "output", "FILE",
	  "where to write (default weft.db); a weft file that is there is moved to FILE.old" },
	{ OPT_APPEND, "append", NULL, "add a recording to FILE instead" },
	{ OPT_HEALTH, "health", "FILE",
	  "also say each interval how recording goes, in Prometheus' text format (as FILE.prom)" },
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
	{ OPT_KEEP_DETAIL, "keep-detail", "TIME", KEEP_DETAIL_HELP },
	{ OPT_KEEP_SHAPE, "keep-shape", "TIME[,TIME]", KEEP_SHAPE_HELP },
	{ OPT_MAX_SIZE, "max-size", "SIZE", KEEP_MAX_SIZE_HELP },
	{ OPT_MAX_TABLES, "max-tables", "SIZE",
	  "kernel memory for unwind tables, taken as files need them (default 256M)" },
	{ OPT_MEASURE, "measure", "TEXT",
	  "also have the kernel measure, as in 'sizes = hist(args.count) by comm @\ntracepoint:syscalls:sys_enter_read'; repeatable (weft measure --help)" },
	{ OPT_MAX_KEYS, "max-keys", "N",
	  "distinct keys of a measure in an interval (default 4096)" },
	{ OPT_EXAMPLES, "examples", "N",
	  "store N events of each bucket of a measure, CPU and interval, with time, thread, trace\nID and stack; of max() and stats() the highest (default 0: each costs microseconds)" },
	{ OPT_NO_SAMPLES, "no-samples", NULL,
	  "only measure: no timer, no stacks" },
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
	{ OPT_OBI, "obi", "auto|off|always",
	  "read the IDs that OBI keeps of threads, if it pins its map: of processes that tell none\n"
	  "themselves (auto, the default); always: also where they tell that there is no request,\n"
	  "and pin a map where there is none" },
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

/* Also in the name of `weft measure`, whose usage is another. */
static enum options_next refuse_measure(const char *wrong)
{
	weft_log(WEFT_ERROR, "%s", wrong);
	fprintf(stderr, "`weft measure --help` has the language\n");
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

/* A time with its unit, as in 50us. */
static int parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *word;
		uint64_t ns;
	} units[] = { { "ns", 1 },
		      { "us", 1000 },
		      { "ms", 1000000 },
		      { "s", 1000000000 } };
	size_t digits = strspn(text, "0123456789");
	char number[24];

	if (digits >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(text + digits, units[i].word))
			continue;
		if (weft_parse_u64(number, 0, UINT32_MAX, ns))
			return -EINVAL;
		*ns *= units[i].ns;
		return 0;
	}
	return -EINVAL;
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
	case 'c':
		return weft_parse_u64(value, 1, INT64_MAX, &o->period)
			       ? "-c takes a number of events, at least 1"
			       : NULL;
	case OPT_MIN_BLOCK:
		return parse_time(value, &o->min_block_ns)
			       ? "--min-block takes a time with ns, us, ms or s, as in 50us"
			       : NULL;
	case OPT_STATE:
		return trigger_parse_states(value, &o->block_states)
			       ? "--state takes letters of R S D T I X, as in S,D"
			       : NULL;
	case OPT_ONLY_REQUESTS:
		o->only_requests = true;
		return NULL;
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
	case OPT_SHAPE_BY:
		o->shape_by = value;
		return value[0] && strlen(value) <= 128
			       ? NULL
			       : "--shape-by takes the key of an attribute, as http.route";
	case 'o':
		o->output = value;
		return value[0] ? NULL : "-o takes a file name";
	case OPT_APPEND:
		o->append = true;
		return NULL;
	case OPT_HEALTH:
		o->health = value;
		return value[0] ? NULL : "--health takes a file name";
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
	case OPT_KEEP_DETAIL:
		return keep_take_detail(value, &o->keep);
	case OPT_KEEP_SHAPE:
		return keep_take_shape(value, &o->keep);
	case OPT_MAX_SIZE:
		return weft_parse_size(value, 1 << 20, 1ULL << 50,
				       &o->keep.max_bytes)
			       ? "--max-size takes a size of at least 1M"
			       : NULL;
	case OPT_MAX_TABLES:
		return weft_parse_size(value, 1 << 20, 1ULL << 40,
				       &o->max_table_bytes)
			       ? "--max-tables takes a size of at least 1M"
			       : NULL;
	case OPT_MEASURE:
		if (o->n_measures == OPTIONS_MEASURES_MAX)
			return "--measure can be given 16 times";
		o->measures[o->n_measures++] = value;
		return NULL;
	case OPT_MAX_KEYS:
		return weft_parse_u64(value, 1, 1 << 20, &o->max_keys)
			       ? "--max-keys takes a number from 1 to 1048576"
			       : NULL;
	case OPT_EXAMPLES:
		return weft_parse_u64(value, 0, 100, &o->examples)
			       ? "--examples takes a number up to 100"
			       : NULL;
	case OPT_NO_SAMPLES:
		o->no_samples = true;
		return NULL;
	case OPT_OTLP_LISTEN:
		o->otlp_listen = value;
		return otlp_server_is_address(value)
			       ? NULL
			       : "--otlp-listen takes an address and a port in "
				 "numbers, as 127.0.0.1:4318; names are not "
				 "looked up";
	case OPT_GO_LABELS:
		return label_names_parse(value, &o->labels);
	case OPT_TRACE_PROBE:
		return trace_probe_parse(value, &o->trace_probe);
	case OPT_OBI:
		return obi_parse(value, &o->obi);
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

static bool is_counter(const struct trigger *t)
{
	return t->kind == TRIGGER_COUNTER;
}

static bool is_no_perf_event(const struct trigger *t)
{
	return !trigger_is_perf_event(t);
}

/* Whether options go with the events that are asked for. */
static const char *check_events(const struct record_opts *o)
{
	const struct triggers *t = &o->triggers;
	bool has_off_cpu = triggers_find(t, TRIGGER_OFF_CPU) != WEFT_NO_EVENT;
	bool has_run_queue =
		triggers_find(t, TRIGGER_RUN_QUEUE) != WEFT_NO_EVENT;

	if (o->period && !triggers_any(t, is_counter))
		return "-c is for counters: name one with -e";
	if (o->block_states && !has_off_cpu)
		return "--state is for -e off-cpu";
	if (o->min_block_ns && !has_off_cpu)
		return "--min-block is for -e off-cpu";
	if (o->only_requests && !has_off_cpu && !has_run_queue &&
	    triggers_find(t, TRIGGER_ON_CPU) == WEFT_NO_EVENT)
		return "--only-requests is for -e on-cpu, -e off-cpu and -e run-queue";
	if (has_run_queue && o->block_states & 1U << WEFT_BLOCK_PREEMPTED)
		return "--state R counts what run-queue counts: leave out one of them";
	if (o->cpus.n && triggers_any(t, is_no_perf_event))
		return "-C is for timers and counters: blocks, waits and calls are of the whole machine";
	for (uint32_t i = 0; i < t->n; i++)
		if (t->trigger[i].stacks_n * o->detail_n >= UINT32_MAX)
			return "stacks=1/N and --detail 1/N together choose too few: at most one call in 4294967294";
	return NULL;
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
	if (o->no_samples && o->triggers.n)
		return "--no-samples and -e exclude each other";
	if (o->examples && !o->n_measures)
		return "--examples goes with --measure";
	if (o->no_samples && !o->n_measures)
		return "--no-samples leaves nothing to record without --measure";
	o->all = !kinds;
	return check_events(o);
}

/* What was not asked for. Returns false: out of memory. */
static bool add_defaults(struct record_opts *o)
{
	keep_add_defaults(&o->keep);
	if (!o->triggers.n && triggers_add(&o->triggers, "cpu-clock", NULL))
		return false;
	for (uint32_t i = 0; i < o->triggers.n; i++) {
		struct trigger *t = &o->triggers.trigger[i];

		if (t->kind == TRIGGER_COUNTER && !t->period)
			t->period = o->period ? o->period
				    : t->perf_type == PERF_TYPE_SOFTWARE
					    ? 1
					    : DEFAULT_PERIOD;
		/* As many details as a busy thread has of the timer; with
		 * --detail 1/1 all of them. */
		if (t->tau_ns == TRIGGER_TAU_DEFAULT)
			t->tau_ns = o->detail_n > 1
					    ? o->detail_n * DEFAULT_TAU_UNIT
					    : 0;
		if (t->tau_ns > TAU_MAX)
			t->tau_ns = TAU_MAX;
	}
	if (!o->block_states)
		o->block_states = ((1U << WEFT_BLOCK_STATES) - 1) &
				  ~(1U << WEFT_BLOCK_PREEMPTED);
	return true;
}

void options_release(struct record_opts *o)
{
	triggers_release(&o->triggers);
}

enum options_next options_parse(int argc, char **argv, struct record_opts *out)
{
	struct option_walk walk;
	struct weft_err err = { 0 };
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
		.max_keys = DEFAULT_MAX_KEYS,
		.max_table_bytes = DEFAULT_MAX_TABLES,
		.obi = WEFT_OBI_AUTO,
		.log_level = WEFT_INFO,
	};
	label_names_default(&out->labels);
	keep_init(&out->keep);
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
		case 'e':
			if (triggers_add(&out->triggers, optarg, &err))
				return refuse(err.msg, NULL);
			break;
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
	if (!wrong && !add_defaults(out))
		wrong = "out of memory";
	if (wrong)
		return refuse(wrong, NULL);
	for (size_t i = 0; i < out->n_measures; i++)
		if (measure_parse(out->measures[i], &(struct measure){ 0 },
				  &err))
			return refuse_measure(err.msg);
	return OPTIONS_RECORD;
}
