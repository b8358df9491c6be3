/* SPDX-License-Identifier: MIT */
/*
 * The collector on a machine that is not there: 256 CPUs that are never idle,
 * 10,000 processes of 100 programs, 1,000,000 distinct stacks. What its kernel
 * program would have counted of each second is made up, and goes the way of
 * every interval: sealed, resolved against the processes' mappings, written.
 * Each process has its code elsewhere, so that no two share an address.
 *
 *   scale FILE INTERVALS MAX_STACKS
 *
 * MAX_STACKS bounds what an interval has, as the kernel's tables do: samples
 * whose stack finds no room count on the lost stack. Prints a line for the
 * first interval, one for the medians of all others, and one for the close:
 * words, distinct stacks of an interval, % of samples without theirs, rows of
 * counts, rows of details, ms of CPU to seal and resolve, ms to write, bytes
 * that the file grew by (median: the mean), memory in bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/host.h"
#include "collector/jit.h"
#include "collector/ledger.h"
#include "collector/resolve.h"
#include "tools/bench/random.h"

enum {
	CPUS = 256,
	RATE = 997,
	SAMPLES = CPUS * RATE, /* of an interval of a second */
	SEEN = 1 << 20,        /* places of a hash of them; power of 2 */
	DETAIL_N = 10,
	PROCESSES = 10000,
	PROGRAMS = 100,
	STACKS_OF_PROGRAM = 10000,
	FUNCTIONS = 4000, /* of a program */
	FUNCTION_BYTES = 64,
	DEPTH_MIN = 8,
	DEPTH_MAX = 40,
	INTERVALS_MAX = 100000,
	CHECKPOINT_BYTES = 4 << 20
};

#define SECOND_NS 1000000000ULL
#define FIRST_NS  (100000 * SECOND_NS)
#define CODE      0x550000000000ULL

/* What is measured of an interval. */
struct figures {
	double stacks, lost, counts, details, resolve_ms, write_ms;
};

struct machine {
	uint64_t random;
	struct binaries *binaries;
	struct procs *procs;
	struct kernel *kernel;
	struct jit *jit;
	struct store *store;
	uint64_t now_ns;
	size_t max_stacks;
	uint32_t *seen; /* owned; counts of the interval, by hash */
	uint64_t lost;  /* samples of the interval without their stack */
};

static void must(int rc, const char *what, const struct weft_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "scale: no %s: %s\n", what,
		err && err->code ? err->msg : "none");
	exit(1);
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void on_answer(void *ctx)
{
	(void)ctx;
}

static struct weft_identity who(uint32_t process)
{
	return (struct weft_identity){ .start_ns = FIRST_NS + process,
				       .pid = 1000 + process };
}

/* Where a process has its program. */
static uint64_t base_of(uint32_t process)
{
	return CODE + ((uint64_t)process << 24);
}

/* A program begins, and maps its code. */
static void begin(struct machine *m, uint32_t process)
{
	struct weft_identity w = who(process);
	struct proc *proc;
	char path[32];
	struct sideband_event e = {
		.kind = SIDEBAND_EXEC,
		.boot_ns = ++m->now_ns,
		.pid = w.pid,
	};

	procs_event(m->procs, &e);
	e.kind = SIDEBAND_NOTICE;
	e.notice = (struct weft_notice){ .kind = WEFT_NOTICE_EXEC,
					 .boot_ns = ++m->now_ns,
					 .process = w };
	procs_event(m->procs, &e);
	snprintf(path, sizeof(path), "/usr/bin/program-%u", process % PROGRAMS);
	e = (struct sideband_event){
		.kind = SIDEBAND_MMAP,
		.boot_ns = ++m->now_ns,
		.pid = w.pid,
		.mmap = { .start = base_of(process),
			  .size = FUNCTIONS * FUNCTION_BYTES,
			  .inode = 1 + process % PROGRAMS,
			  .path = path },
	};
	procs_event(m->procs, &e);
	/* There is no inspector to ask. */
	proc = procs_get(m->procs, &w);
	must(!proc, "room for a process", NULL);
	proc->details_asked = true;
}

static void open_store(struct machine *m, const char *path)
{
	static const struct store_event event = { .name = "cpu-clock",
						  .unit = "ns",
						  .requested_hz = RATE };
	struct store_opts opts = {
		.path = path,
		.recording = { .started_ns = FIRST_NS,
			       .host = "scale",
			       .kernel = "none",
			       .arch = "x86_64",
			       .boot_id = "none",
			       .cpus = CPUS,
			       .detail_n = DETAIL_N,
			       .interval_ns = SECOND_NS },
		.events = &event,
		.n_events = 1,
		.words = { .ledger_entry = ledger_names,
			   .n_ledger_entry = LEDGER_ENTRIES,
			   .context_source = context_source_names,
			   .n_context_source = WEFT_SOURCE_COUNT,
			   .context_status = context_status_names,
			   .n_context_status = WEFT_CTX_COUNT,
			   .walk_end = walk_end_names,
			   .n_walk_end = WEFT_END_COUNT },
	};
	struct weft_err err = { 0 };

	must(store_open(&m->store, &opts, &err), "store", &err);
}

static void set_up(struct machine *m, const char *path)
{
	struct procs_opts opts = { .on_answer = on_answer };
	struct weft_err err = { 0 };

	m->now_ns = FIRST_NS;
	must(binaries_open(&m->binaries, &err), "binaries", &err);
	opts.binaries = m->binaries;
	must(procs_open(&m->procs, &opts, &err), "processes", &err);
	must(kernel_open(&m->kernel, m->binaries, &err), "kernel", &err);
	must(jit_open(&m->jit, NULL, on_answer, NULL, &err), "jit", &err);
	open_store(m, path);
	for (uint32_t i = 0; i < PROCESSES; i++)
		begin(m, i);
	m->seen = calloc(SEEN, sizeof(*m->seen));
	must(!m->seen, "memory", NULL);
}

/* A stack of a program: the nearer to the root, the more share a frame. */
static void make_stack(uint32_t process, uint32_t stack, struct weft_stack *out)
{
	uint32_t depth = DEPTH_MIN + (uint32_t)(random_mix(stack) %
						(DEPTH_MAX - DEPTH_MIN + 1));

	memset(out, 0, offsetof(struct weft_stack, address));
	out->n_user = (uint16_t)depth;
	out->user_end = WEFT_END_MARKED;
	out->user_leaf_exact = 1;
	for (uint32_t level = 0; level < depth; level++) {
		uint32_t branch = stack >> (level < 14 ? 14 - level : 0);
		uint64_t function =
			random_mix((uint64_t)level << 32 | branch) % FUNCTIONS;

		out->address[depth - 1 - level] =
			base_of(process) + function * FUNCTION_BYTES + 8;
	}
}

/* Where the index of a count is, or will be: +1; 0: it is not there. */
static uint32_t *slot_of(struct machine *m, const struct shape *shape,
			 const struct weft_count_key *key)
{
	uint64_t at = random_mix(key->stack.word[0] ^ (uint64_t)key->process.pid
							      << 40);

	for (;; at++) {
		uint32_t *slot = &m->seen[at & (SEEN - 1)];

		if (!*slot ||
		    !memcmp(&shape->counts[*slot - 1].key, key, sizeof(*key)))
			return slot;
	}
}

/* The key under which a sample is counted: that of its stack, which is put into
 * the table where it is new, or that of the lost stack. */
static struct weft_count_key count_key(struct machine *m, struct shape *shape,
				       uint32_t process, uint32_t stack)
{
	struct weft_count_key key = {
		.stack = { { (uint64_t)process << 32 | stack << 1 | 1, 1 } },
		.process = who(process),
	};
	struct weft_stack walked;

	if (*slot_of(m, shape, &key))
		return key;
	if (shape->n_stacks == m->max_stacks) {
		key.stack = (struct weft_stack_key){ { 0, 0 } };
		m->lost++;
		return key;
	}
	make_stack(process, stack, &walked);
	must(shape_add_stack(shape, &key.stack, &walked), "memory", NULL);
	return key;
}

static void add_sample(struct machine *m, struct harvest *h, uint32_t n)
{
	uint32_t process = random_skewed(&m->random, PROCESSES) - 1;
	uint32_t stack = random_skewed(&m->random, STACKS_OF_PROGRAM) - 1;
	struct weft_count_key key =
		count_key(m, &h->shape, process,
			  process % PROGRAMS * STACKS_OF_PROGRAM + stack);
	uint32_t *slot = slot_of(m, &h->shape, &key);

	if (!*slot) {
		must(shape_add_count(&h->shape, &key, 0, 0), "memory", NULL);
		*slot = (uint32_t)h->shape.n_counts;
	}
	h->shape.counts[*slot - 1].count++;
	h->shape.counts[*slot - 1].value += SECOND_NS / RATE;
	if (n % DETAIL_N)
		return;
	/* A request of some hundred samples. */
	h->samples[h->n_samples] = (struct weft_sample){
		.boot_ns = h->start_ns + n * (SECOND_NS / SAMPLES),
		.process = key.process,
		.stack = key.stack,
		.thread_start_ns = key.process.start_ns,
		.tid = key.process.pid,
		.cpu = n % CPUS,
		.value = SECOND_NS / RATE,
		.weight_q32 = (uint64_t)DETAIL_N << 32,
		.context_status = WEFT_CTX_OK,
		.context_source = WEFT_SOURCE_OTEL,
		.trace_id = { 1 },
	};
	memcpy(h->samples[h->n_samples++].trace_id + 8,
	       &(uint64_t){ random_mix((m->now_ns / SECOND_NS << 32 | process) /
				       8) },
	       sizeof(uint64_t));
}

static void make_harvest(struct machine *m, struct harvest *h)
{
	*h = (struct harvest){ .start_ns = m->now_ns,
			       .end_ns = m->now_ns + SECOND_NS };
	m->now_ns += SECOND_NS;
	m->lost = 0;
	memset(m->seen, 0, SEEN * sizeof(*m->seen));
	h->samples = calloc(SAMPLES, sizeof(*h->samples));
	must(!h->samples, "memory", NULL);
	for (uint32_t n = 0; n < SAMPLES; n++)
		add_sample(m, h, n);
}

/* What the recorder does with an interval, in its order. */
static struct figures record(struct machine *m)
{
	struct resolver resolver = { .procs = m->procs,
				     .kernel = m->kernel,
				     .binaries = m->binaries,
				     .jit = m->jit };
	struct measure_harvest measured = { 0 };
	struct store_frame_row *rows;
	struct store_batch view;
	struct weft_err err = { 0 };
	struct batch *batch = batch_new();
	struct jit_ask *ask;
	struct harvest h;
	double begin, resolved;
	struct figures f;

	make_harvest(m, &h);
	begin = cpu_ms();
	shape_seal(&h.shape);
	resolve_want_maps(&resolver, &h, &measured);
	ask = resolve_want_jit(&resolver, &h, &measured);
	must(!batch || !ask, "memory", NULL);
	*batch_interval(batch) =
		(struct store_interval){ .start_ns = h.start_ns,
					 .end_ns = h.end_ns };
	must(resolve(&resolver, &h, &measured, ask, batch), "memory", NULL);
	batch_view(batch, &view);
	resolved = cpu_ms();
	f = (struct figures){
		.stacks = (double)h.shape.n_stacks,
		.lost = 100.0 * (double)m->lost / SAMPLES,
		.counts = (double)view.n_counts,
		.details = (double)view.n_samples,
		.resolve_ms = resolved - begin,
	};
	rows = calloc(view.n_frames + 1, sizeof(*rows));
	must(!rows, "memory", NULL);
	must(store_write(m->store, &view, rows, &err), "write", &err);
	if (store_wal_bytes(m->store) >= CHECKPOINT_BYTES)
		must(store_checkpoint(m->store, &err), "checkpoint", &err);
	f.write_ms = cpu_ms() - resolved;
	free(rows);
	jit_release(ask);
	batch_free(batch);
	harvest_release(&h);
	return f;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the n figures whose first is at all, each so many doubles apart. */
static double median(const struct figures *all, size_t n, size_t which)
{
	static double column[INTERVALS_MAX];

	for (size_t i = 0; i < n; i++)
		column[i] = ((const double *)&all[i])[which];
	qsort(column, n, sizeof(*column), compare);
	return column[n / 2];
}

static void print(const char *words, const struct figures *f, double bytes)
{
	printf("%s\t%.0f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%llu\n", words,
	       f->stacks, f->lost, f->counts, f->details, f->resolve_ms,
	       f->write_ms, bytes, (unsigned long long)host_rss_bytes());
}

static double size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (double)st.st_size;
}

int main(int argc, char **argv)
{
	static struct figures figures[INTERVALS_MAX];
	struct machine m = { .random = 1 };
	struct figures middle, closing = { 0 };
	struct weft_err err = { 0 };
	uint64_t n, max_stacks;
	double first, begin;

	if (argc != 4 || weft_parse_u64(argv[2], 2, INTERVALS_MAX, &n) ||
	    weft_parse_u64(argv[3], 1, 1 << 24, &max_stacks)) {
		fprintf(stderr, "usage: scale FILE INTERVALS MAX_STACKS\n");
		return 2;
	}
	m.max_stacks = max_stacks;
	set_up(&m, argv[1]);
	figures[0] = record(&m);
	must(store_checkpoint(m.store, &err), "checkpoint", &err);
	first = size_of(argv[1]);
	print("first", &figures[0], first);
	for (uint64_t i = 1; i < n; i++)
		figures[i] = record(&m);
	must(store_checkpoint(m.store, &err), "checkpoint", &err);
	for (size_t i = 0; i < sizeof(middle) / sizeof(double); i++)
		((double *)&middle)[i] = median(figures + 1, n - 1, i);
	print("median", &middle, (size_of(argv[1]) - first) / (double)(n - 1));
	begin = cpu_ms();
	must(store_close(m.store, m.now_ns, &err), "close", &err);
	closing.write_ms = cpu_ms() - begin;
	print("close", &closing, size_of(argv[1]));
	return 0;
}
