/* SPDX-License-Identifier: MIT */
/*
 * Threads that burn CPU time with ever new trace IDs that say who wrote them,
 * kept as an agent older than OTEP 4947 does. One of
 *
 *	-DOLDER_ELASTIC		Elastic's record
 *	-DOLDER_LABELS		custom-labels; OLDER_ABI is its version
 *	-DOLDER_GO		the runtime of Go, of version OLDER_GO
 *("go1.24.2"), as far as labels need it: OLDER_CURG, OLDER_AT and OLDER_SLICE
 *say how that one lays them out
 *
 * builds it. An ID is 8 hex digits each of process, thread, and 16 of a
 * number; the span's are thread and number. With a second argument a label is
 * no ID.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/load/burn.h"

enum {
	THREADS = 2,
	PAUSE_US = 5000 /* many run at a time */
};

static uint64_t end_ns;
static int is_malformed;

struct ids {
	char trace[33], span[17];
	uint8_t trace_bytes[16], span_bytes[8];
};

static void put_bytes(uint8_t *out, uint64_t value, int size)
{
	for (int i = 0; i < size; i++)
		out[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static void sign(struct ids *ids, uint32_t tid, uint64_t number)
{
	uint32_t pid = (uint32_t)getpid();

	snprintf(ids->trace, sizeof(ids->trace), "%08x%08x%016lx", pid, tid,
		 (unsigned long)number);
	snprintf(ids->span, sizeof(ids->span), "%08x%08x", tid,
		 (uint32_t)number);
	put_bytes(ids->trace_bytes, pid, 4);
	put_bytes(ids->trace_bytes + 4, tid, 4);
	put_bytes(ids->trace_bytes + 8, number, 8);
	put_bytes(ids->span_bytes, tid, 4);
	put_bytes(ids->span_bytes + 4, number, 4);
	if (is_malformed)
		ids->trace[31] = 'g';
}

/* Of each thread: what it writes into, in turns. */
struct writer;
static void attach(struct writer *w, const struct ids *ids);
static void detach(struct writer *w);

#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#ifdef OLDER_ELASTIC

struct writer {
	struct {
		uint16_t version;
		uint8_t valid, has_trace, flags;
		uint8_t trace[16], span[8], transaction[8];
	} __attribute__((packed)) record;
};

__thread void *elastic_apm_profiling_correlation_tls_v1;

static void attach(struct writer *w, const struct ids *ids)
{
	*(volatile uint8_t *)&w->record.valid = 0;
	BARRIER();
	w->record.version = 1;
	w->record.has_trace = 1;
	memcpy(w->record.trace, ids->trace_bytes, sizeof(w->record.trace));
	memcpy(w->record.span, ids->span_bytes, sizeof(w->record.span));
	BARRIER();
	*(volatile uint8_t *)&w->record.valid = 1;
	elastic_apm_profiling_correlation_tls_v1 = &w->record;
}

static void detach(struct writer *w)
{
	*(volatile uint8_t *)&w->record.has_trace = 0;
}

#endif
#ifdef OLDER_LABELS

struct text {
	size_t size;
	const char *at;
};

struct writer {
	struct {
		struct ids ids;
		struct {
			struct text key, value;
		} labels[4];
		struct {
			const void *labels;
			size_t count, capacity;
		} set;
	} both[2];
	unsigned turn;
};

#ifndef OLDER_ABI
#define OLDER_ABI 1
#endif
const uint32_t custom_labels_abi_version = OLDER_ABI;
__thread void *custom_labels_current_set;

static struct text text_of(const char *text)
{
	return (struct text){ strlen(text), text };
}

static void attach(struct writer *w, const struct ids *ids)
{
	unsigned turn = w->turn++ & 1;

	w->both[turn].ids = *ids;
	/* The first is a hole, of the two of one name the first counts. */
	w->both[turn].labels[0].key.at = NULL;
	w->both[turn].labels[1].key = text_of("trace_id");
	w->both[turn].labels[1].value = text_of(w->both[turn].ids.trace);
	w->both[turn].labels[2].key = text_of("span_id");
	w->both[turn].labels[2].value = text_of(w->both[turn].ids.span);
	w->both[turn].labels[3].key = text_of("trace_id");
	w->both[turn].labels[3].value =
		text_of("00000000000000000000000000000001");
	w->both[turn].set.labels = w->both[turn].labels;
	w->both[turn].set.count = 4;
	w->both[turn].set.capacity = 4;
	BARRIER();
	custom_labels_current_set = &w->both[turn].set;
}

static void detach(struct writer *w)
{
	(void)w;
	custom_labels_current_set = NULL;
}

#endif
#ifdef OLDER_GO

/* As in debug/buildinfo: the version's length stands before it. */
__attribute__((section(".go.buildinfo"), used, aligned(16))) static struct {
	char magic[14];
	uint8_t pointer_size, flags;
	uint8_t unused[16];
	uint8_t length;
	char version[sizeof(OLDER_GO) - 1];
} build_info = { "\xff Go buildinf:",  8,       2, { 0 },
		 sizeof(OLDER_GO) - 1, OLDER_GO };

__thread void *tlsg __asm__("runtime.tlsg");
/* That the variable is not the program's only one, nor the last. */
static __thread uint64_t other[3];

struct go_string {
	const char *at;
	size_t size;
};

struct writer {
	uint8_t m[512], g0[512], g[512];
	struct {
		struct ids ids;
		struct {
			struct go_string key, value;
		} list[3];
		struct {
			uint8_t hashes[8];
			struct go_string keys[8], values[8];
			void *next;
		} buckets[2];
		struct {
			uint64_t count;
			uint8_t flags, log2_buckets, rest[6];
			void *buckets;
		} map;
		union {
			void *map;
			struct {
				void *at;
				size_t size, room;
			} slice;
		} labels;
	} both[2];
	unsigned turn;
};

static struct go_string text_of(const char *text)
{
	return (struct go_string){ text, strlen(text) };
}

static void put(void *at, size_t offset, const void *pointer)
{
	memcpy((uint8_t *)at + offset, &pointer, sizeof(pointer));
}

static void attach(struct writer *w, const struct ids *ids)
{
	unsigned turn = w->turn++ & 1;
	struct go_string route = text_of("route"), value = text_of("/x");

	w->both[turn].ids = *ids;
	if (OLDER_SLICE) {
		w->both[turn].list[0].key = route;
		w->both[turn].list[0].value = value;
		w->both[turn].list[1].key = text_of("span_id");
		w->both[turn].list[1].value = text_of(w->both[turn].ids.span);
		w->both[turn].list[2].key = text_of("trace_id");
		w->both[turn].list[2].value = text_of(w->both[turn].ids.trace);
		w->both[turn].labels.slice.at = w->both[turn].list;
		w->both[turn].labels.slice.size = 3;
	} else {
		/* Empty and moved slots are below 5. */
		memset(w->both[turn].buckets, 0, sizeof(w->both[0].buckets));
		w->both[turn].buckets[0].hashes[1] = 77;
		w->both[turn].buckets[0].keys[1] = route;
		w->both[turn].buckets[0].values[1] = value;
		w->both[turn].buckets[0].hashes[2] = 4;
		w->both[turn].buckets[0].keys[2] = text_of("trace_id");
		w->both[turn].buckets[0].values[2] =
			text_of("00000000000000000000000000000001");
		w->both[turn].buckets[1].hashes[0] = 200;
		w->both[turn].buckets[1].keys[0] = text_of("trace_id");
		w->both[turn].buckets[1].values[0] =
			text_of(w->both[turn].ids.trace);
		w->both[turn].buckets[1].hashes[7] = 5;
		w->both[turn].buckets[1].keys[7] = text_of("span_id");
		w->both[turn].buckets[1].values[7] =
			text_of(w->both[turn].ids.span);
		w->both[turn].map.count = 3;
		w->both[turn].map.log2_buckets = 1;
		w->both[turn].map.buckets = w->both[turn].buckets;
		w->both[turn].labels.map = &w->both[turn].map;
	}
	/* The thread is on its scheduler's stack: not g0's labels count, but
	 * those of the goroutine that runs. */
	put(w->g0, 48, w->m);
	put(w->g, 48, w->m);
	put(w->m, 0, w->g0);
	put(w->m, OLDER_CURG, w->g);
	tlsg = w->g0;
	other[0]++;
	BARRIER();
	put(w->g, OLDER_AT, &w->both[turn].labels);
}

static void detach(struct writer *w)
{
	put(w->g, OLDER_AT, NULL);
}

#endif

static void *run(void *arg)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct writer *w = calloc(1, sizeof(*w));
	struct ids ids;

	for (uint64_t n = 1; w && clock_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		sign(&ids, tid, n);
		attach(w, &ids);
		burn_result += burn_steps(n, 50000);
		if (n % 4)
			continue;
		detach(w);
		burn_result += burn_steps(n, 20000);
		usleep(PAUSE_US);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static const char usage[] = "writer [SECONDS [malformed]]";
	uint64_t seconds = argument(argc, argv, 1, 1, 3600, 10, usage);
	pthread_t threads[THREADS];

	is_malformed = argc > 2;
	end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000;
#ifdef OLDER_GO
	__asm__ volatile("" : : "r"(&build_info));
#endif
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
