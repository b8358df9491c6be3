/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/random.h"
#include "tools/bench/service.h"

enum {
	PROGRAMS = 4,
	PROCESSES = 16,
	THREADS = 64,
	CPUS = 100,
	DETAIL_N = 10,
	STACKS = 52000,
	STACKS_OF_PROGRAM = STACKS / PROGRAMS,
	BRANCHINGS = 14, /* levels until each stack is its own */
	DEPTH_MIN = 8,
	DEPTH_MAX = 40,
	DEPTH_IN_KERNEL = 4,
	LIBRARIES = 7,
	/* Frames: those of a program for each, then libraries, then kernel. */
	FRAMES_OF_PROGRAM = 1000,
	FRAMES_OF_LIBRARIES = 600,
	FRAMES_OF_KERNEL = 400,
	FIRST_LIBRARY_FRAME = PROGRAMS * FRAMES_OF_PROGRAM,
	FIRST_KERNEL_FRAME = FIRST_LIBRARY_FRAME + FRAMES_OF_LIBRARIES,
	FRAMES = FIRST_KERNEL_FRAME + FRAMES_OF_KERNEL,
	BINARIES = PROGRAMS + LIBRARIES + 1,
	PERIOD_NS = 1003009,
	/* The collector's: a log of this size is worth moving. */
	CHECKPOINT_BYTES = 4 << 20,
};

#define INTERVAL_NS  1000000000ULL
#define FIRST_NS     100000000000000ULL    /* boot */
#define OFFSET_NS    1700000000000000000LL /* from boot to Unix time */
#define LEDGER_WORDS ARRAY_LEN(ledger_word)

static const char *const ledger_word[] = {
	"fired",
	"counted",
	"filtered",
	"idle",
	"lost_counts_full",
	"lost_busy",
	"selected",
	"passed_over",
	"lost_ring_full",
	"lost_ring_busy",
	"stack_lost",
	"sideband_lost",
	"stored",
	"lost_discarded",
	"lost_counts_discarded",
	"truncated",
	"broken",
	"ambiguous_map",
	"probe_deferred",
	"throttled",
	"table_pending",
	"table_refused",
	"due",
	"not_run",
};

static const char *const source_word[] = { "none", "otel" };
static const char *const status_word[] = { "ok", "null" };
static const char *const end_word[] = { "root", "no_frame" };

/* What a thread is at: a request, or between two. */
struct work {
	uint64_t trace; /* 0: none */
	uint32_t left;  /* samples until it turns to something else */
};

/* Which of all there are an interval has, in the order of its batch. */
struct chosen {
	uint32_t place[STACKS]; /* its index in the batch, from 1; 0: not there
				 */
	uint32_t which[STACKS]; /* what stands at an index */
	uint32_t n;
};

struct service {
	uint64_t random, traces, intervals;
	struct work work[THREADS];
	char text[4096];
	size_t text_size;
	struct store_process process[PROCESSES];
	struct store_thread thread[THREADS];
	struct store_binary binary[BINARIES];
	/* All there are. */
	struct store_frame frame[FRAMES];
	struct store_stack stack[STACKS];
	uint32_t stack_frame[STACKS * DEPTH_MAX];
	/* Those of the interval, and which of all each one is. */
	struct chosen frames, stacks;
	struct store_frame frame_now[FRAMES];
	struct store_frame_row row_now[FRAMES];
	struct store_stack stack_now[STACKS];
	uint32_t stack_frame_now[STACKS * DEPTH_MAX];
	struct store_cpu cpu[CPUS];
	struct store_ledger ledger[LEDGER_WORDS];
	struct store_batch batch;
	struct store_sample *sample; /* owned, as count */
	struct store_count *count;
	uint32_t n_samples;
	uint32_t longest; /* of nearly all requests, in samples */
};

static void *must(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "no memory\n");
	exit(1);
}

static void must_not_fail(int rc, const struct weft_err *err)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%s\n", err->msg);
	exit(1);
}

static uint32_t dice(struct service *s, uint32_t sides)
{
	return random_dice(&s->random, sides);
}

static uint32_t skewed(struct service *s, uint32_t n)
{
	return random_skewed(&s->random, n);
}

static store_text put_text(struct service *s, const char *text)
{
	size_t at = s->text_size, size = strlen(text) + 1;

	if (at + size > sizeof(s->text))
		abort();
	memcpy(s->text + at, text, size);
	s->text_size += size;
	return (store_text)at;
}

static void make_processes(struct service *s)
{
	char name[64];
	uint32_t i;

	for (i = 0; i < PROCESSES; i++) {
		struct store_process *p = &s->process[i];

		snprintf(name, sizeof(name), "/usr/bin/service-%u",
			 i % PROGRAMS);
		p->pid = 1000 + i;
		p->start_ns = FIRST_NS - INTERVAL_NS + i;
		p->parent_pid = 1;
		p->exe = put_text(s, name);
		p->comm = put_text(s, name + strlen("/usr/bin/"));
		p->service = p->comm;
	}
	for (i = 0; i < THREADS; i++) {
		snprintf(name, sizeof(name), "worker-%u", i / PROCESSES);
		s->thread[i] = (struct store_thread){
			.process = i % PROCESSES,
			.tid = 2000 + i,
			.start_ns = FIRST_NS - INTERVAL_NS + i,
			.comm = put_text(s, name),
		};
	}
}

static void make_binaries(struct service *s)
{
	char text[64];
	uint32_t i;

	for (i = 0; i < BINARIES; i++) {
		bool in_kernel = i == BINARIES - 1;

		snprintf(text, sizeof(text),
			 in_kernel      ? "[kernel]"
			 : i < PROGRAMS ? "/usr/bin/service-%u"
					: "/usr/lib/x86_64-linux-gnu/lib%u.so",
			 i);
		s->binary[i].kind = in_kernel ? STORE_KERNEL : STORE_ELF;
		s->binary[i].path = put_text(s, text);
		snprintf(text, sizeof(text), "%016llx%016llx%08x",
			 (unsigned long long)random_mix(i + 1),
			 (unsigned long long)random_mix(i + 100), i);
		s->binary[i].build_id = put_text(s, text);
	}
}

static uint32_t binary_of(uint32_t frame)
{
	if (frame >= FIRST_KERNEL_FRAME)
		return BINARIES - 1;
	if (frame >= FIRST_LIBRARY_FRAME)
		return PROGRAMS + frame % LIBRARIES;
	return frame / FRAMES_OF_PROGRAM;
}

static void make_frames(struct service *s)
{
	uint32_t i;

	for (i = 0; i < FRAMES; i++)
		s->frame[i] = (struct store_frame){
			.binary = binary_of(i),
			.in_kernel = i >= FIRST_KERNEL_FRAME,
			.address =
				0x1000 + 16 * (uint64_t)i + random_mix(i) % 16,
		};
}

/* A level of a stack, 0 being the root: the nearer to the root, the more
 * stacks share it. */
static uint32_t frame_at(struct service *s, uint32_t stack, uint32_t level,
			 uint32_t depth)
{
	uint32_t program = stack / STACKS_OF_PROGRAM;
	uint32_t branch = (stack % STACKS_OF_PROGRAM) >>
			  (level < BRANCHINGS ? BRANCHINGS - level : 0);
	uint64_t random = random_mix(((uint64_t)program << 40) +
				     ((uint64_t)level << 32) + branch + 1);

	if (stack % 5 == 0 && level + DEPTH_IN_KERNEL >= depth)
		return FIRST_KERNEL_FRAME +
		       (uint32_t)(random % FRAMES_OF_KERNEL);
	if (dice(s, 4) == 0 && level > BRANCHINGS)
		return FIRST_LIBRARY_FRAME +
		       (uint32_t)(random % FRAMES_OF_LIBRARIES);
	return program * FRAMES_OF_PROGRAM +
	       (uint32_t)(random % FRAMES_OF_PROGRAM);
}

static void make_stacks(struct service *s)
{
	uint32_t i, level;

	for (i = 0; i < STACKS; i++) {
		struct store_stack *stack = &s->stack[i];

		stack->status = i % 50 == 1 ? STORE_BROKEN : STORE_COMPLETE;
		stack->end = stack->status == STORE_BROKEN;
		stack->first = i * DEPTH_MAX;
		stack->depth = DEPTH_MIN + dice(s, DEPTH_MAX - DEPTH_MIN + 1);
		for (level = 0; level < stack->depth; level++)
			s->stack_frame[stack->first + stack->depth - 1 -
				       level] =
				frame_at(s, i, level, stack->depth);
	}
}

/* What each interval reports beside its samples. */
static void make_sums(struct service *s)
{
	uint64_t counted = (uint64_t)s->n_samples * DETAIL_N;
	uint32_t i;

	for (i = 0; i < CPUS; i++)
		s->cpu[i] = (struct store_cpu){
			.cpu = i,
			.period = PERIOD_NS,
			.due = counted / CPUS,
			.fired = counted / CPUS,
		};
	for (i = 0; i < LEDGER_WORDS; i++) {
		const char *word = ledger_word[i];
		uint64_t count = 0;

		if (!strcmp(word, "fired") || !strcmp(word, "counted") ||
		    !strcmp(word, "due"))
			count = counted;
		else if (!strcmp(word, "selected") || !strcmp(word, "stored"))
			count = s->n_samples;
		else if (!strcmp(word, "passed_over"))
			count = counted - s->n_samples;
		s->ledger[i] = (struct store_ledger){
			.entry = i,
			.count = count,
			.value = count * PERIOD_NS,
			.measured = strcmp(word, "throttled") != 0,
		};
	}
}

static void make_batch(struct service *s)
{
	s->batch = (struct store_batch){
		.text = s->text,
		.text_size = s->text_size,
		.cpus = s->cpu,
		.n_cpus = CPUS,
		.processes = s->process,
		.n_processes = PROCESSES,
		.threads = s->thread,
		.n_threads = THREADS,
		.binaries = s->binary,
		.n_binaries = BINARIES,
		.frames = s->frame_now,
		.stacks = s->stack_now,
		.stack_frames = s->stack_frame_now,
		.counts = s->count,
		.n_counts = s->n_samples,
		.samples = s->sample,
		.n_samples = s->n_samples,
		.ledger = s->ledger,
		.n_ledger = LEDGER_WORDS,
	};
}

struct service *service_new(uint32_t samples, uint32_t longest, uint64_t seed)
{
	struct service *s = must(calloc(1, sizeof(*s)));

	s->random = seed;
	s->n_samples = samples;
	s->longest = longest;
	s->sample = must(calloc(samples, sizeof(*s->sample)));
	s->count = must(calloc(samples, sizeof(*s->count)));
	s->text_size = 1;
	make_processes(s);
	make_binaries(s);
	make_frames(s);
	make_stacks(s);
	make_sums(s);
	make_batch(s);
	return s;
}

void service_free(struct service *s)
{
	free(s->sample);
	free(s->count);
	free(s);
}

struct store *service_open(const char *path)
{
	static const struct store_event event = { .name = "timer",
						  .unit = "ns",
						  .requested_hz = 997 };
	struct store_opts opts = {
		.path = path,
		.recording = {
			.started_ns = FIRST_NS + (uint64_t)OFFSET_NS,
			.host = "bench",
			.kernel = "none",
			.arch = "x86_64",
			.boot_id = "bench",
			.cpus = CPUS,
			.detail_n = DETAIL_N,
			.interval_ns = INTERVAL_NS,
		},
		.events = &event,
		.n_events = 1,
		.words = {
			.ledger_entry = ledger_word,
			.n_ledger_entry = LEDGER_WORDS,
			.context_source = source_word,
			.n_context_source = ARRAY_LEN(source_word),
			.context_status = status_word,
			.n_context_status = ARRAY_LEN(status_word),
			.walk_end = end_word,
			.n_walk_end = ARRAY_LEN(end_word),
		},
	};
	struct weft_err err = { 0 };
	struct store *st;

	must_not_fail(store_open(&st, &opts, &err), &err);
	return st;
}

/* Two in three times the next request, else nothing that has an ID. Most are
 * short, one in a thousand is 50 times as long. */
static void turn_to_next(struct service *s, struct work *work)
{
	work->trace = dice(s, 3) ? ++s->traces : 0;
	work->left = skewed(s, s->longest) * (dice(s, 1000) ? 1 : 50);
}

/* Its index in the batch; it is put there when first asked for. */
static uint32_t choose(struct chosen *c, uint32_t which)
{
	if (!c->place[which]) {
		c->which[c->n] = which;
		c->place[which] = ++c->n;
	}
	return c->place[which] - 1;
}

static void choose_none(struct chosen *c)
{
	while (c->n)
		c->place[c->which[--c->n]] = 0;
}

static void make_sample(struct service *s, uint32_t i)
{
	uint32_t thread = dice(s, THREADS);
	struct work *work = &s->work[thread];
	struct store_sample *sample = &s->sample[i];
	uint64_t trace_id[2], span_id;

	if (work->left == 0)
		turn_to_next(s, work);
	work->left--;
	*sample = (struct store_sample){
		.time_ns = FIRST_NS + s->intervals * INTERVAL_NS +
			   i * INTERVAL_NS / s->n_samples + dice(s, 1000),
		.thread = thread,
		.stack = choose(&s->stacks,
				thread % PROGRAMS * STACKS_OF_PROGRAM +
					skewed(s, STACKS_OF_PROGRAM)),
		.cpu = dice(s, CPUS),
		.value = PERIOD_NS,
		.weight = DETAIL_N,
		.has_trace = work->trace != 0,
		.context_source = 1,
		.context_status = work->trace == 0,
	};
	s->count[i] = (struct store_count){
		.process = s->thread[thread].process,
		.stack = sample->stack,
		.count = DETAIL_N,
		.value = (uint64_t)DETAIL_N * PERIOD_NS,
	};
	if (!work->trace)
		return;
	trace_id[0] = random_mix(work->trace);
	trace_id[1] = random_mix(trace_id[0] + 1);
	span_id = random_mix(trace_id[1] + work->left / 8);
	memcpy(sample->trace_id, trace_id, sizeof(trace_id));
	memcpy(sample->span_id, &span_id, sizeof(span_id));
	sample->trace_flags = 1;
}

/* Put the chosen stacks and the frames they need into the batch. */
static void fill_stacks(struct service *s)
{
	struct store_batch *b = &s->batch;
	uint32_t i, level;

	b->n_stack_frames = 0;
	for (i = 0; i < s->stacks.n; i++) {
		struct store_stack stack = s->stack[s->stacks.which[i]];

		for (level = 0; level < stack.depth; level++)
			s->stack_frame_now[b->n_stack_frames + level] =
				choose(&s->frames,
				       s->stack_frame[stack.first + level]);
		stack.first = (uint32_t)b->n_stack_frames;
		s->stack_now[i] = stack;
		b->n_stack_frames += stack.depth;
	}
	for (i = 0; i < s->frames.n; i++)
		s->frame_now[i] = s->frame[s->frames.which[i]];
	b->n_stacks = s->stacks.n;
	b->n_frames = s->frames.n;
}

const struct store_batch *service_next(struct service *s)
{
	uint32_t i;

	choose_none(&s->frames);
	choose_none(&s->stacks);
	for (i = 0; i < s->n_samples; i++)
		make_sample(s, i);
	fill_stacks(s);
	s->batch.interval = (struct store_interval){
		.start_ns = FIRST_NS + s->intervals * INTERVAL_NS,
		.end_ns = FIRST_NS + (s->intervals + 1) * INTERVAL_NS,
		.clock_offset_ns = OFFSET_NS,
		.clock_error_ns = 100,
		.self_cpu_ns = 10000000,
		.self_rss_bytes = 30 << 20,
	};
	s->intervals++;
	return &s->batch;
}

/* A name for a frame, and for one in three the caller it is inlined in. */
static void name_frame(struct store *st, int64_t frame_id, uint32_t frame)
{
	struct store_name name[2];
	struct weft_err err = { 0 };
	char text[256] = "";
	size_t n = frame % 3 == 0 ? 2 : 1, size = 1, i;

	/* Several frames are in one function. */
	for (i = 0; i < n; i++) {
		name[i] = (struct store_name){
			.frame_id = frame_id,
			.inline_depth = (uint32_t)i,
			.name = (store_text)size,
		};
		size += 1 +
			(size_t)snprintf(text + size, 100,
					 "program_%u::module_%u::Handler<std::"
					 "string>::method_%u(Request const&)",
					 binary_of(frame), frame / 4 % 40,
					 frame / 4 + (uint32_t)i * 7);
		name[i].source = (store_text)size;
		size += 1 + (size_t)snprintf(text + size, 10, "symtab");
	}
	must_not_fail(store_write_names(st, name, n, text, size, &err), &err);
}

void service_write(struct service *s, struct store *st,
		   const struct store_batch *batch)
{
	struct weft_err err = { 0 };
	uint32_t i;

	must_not_fail(store_write(st, batch, s->row_now, &err), &err);
	for (i = 0; i < s->frames.n; i++) {
		if (s->row_now[i].is_new)
			name_frame(st, s->row_now[i].id, s->frames.which[i]);
	}
}

void service_checkpoint(struct store *st)
{
	struct weft_err err = { 0 };

	if (store_wal_bytes(st) >= CHECKPOINT_BYTES)
		must_not_fail(store_checkpoint(st, &err), &err);
}

uint64_t service_end_ns(uint64_t intervals)
{
	return FIRST_NS + (uint64_t)OFFSET_NS + intervals * INTERVAL_NS;
}
