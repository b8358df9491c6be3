/* SPDX-License-Identifier: MIT */
/*
 * A batch under construction: one interval (or several, where the writer is
 * behind) in the form that the store takes, each thing once. Adding the same
 * process, frame or stack again gives the same index; equal counts add up.
 */
#ifndef WEFT_BATCH_H
#define WEFT_BATCH_H

#include "bpf/wire.h"
#include "collector/binary.h"
#include "collector/proc.h"
#include "store/store.h"

/* What a batch may grow to; what does not fit is the caller's to count. */
enum {
	BATCH_BYTES_MAX = 80 << 20, /* see batch_bytes() */
	BATCH_COUNTS_MAX = 1 << 20,
	BATCH_SAMPLES_MAX = 1 << 20,
	BATCH_ATTRIBUTES_MAX = 1 << 20, /* of samples */
	BATCH_METRIC_VALUES_MAX = 1 << 20,
	BATCH_METRIC_BUCKETS_MAX = 1 << 22,
	BATCH_METRIC_EXEMPLARS_MAX = 1 << 18
};

struct batch;
struct batch_metrics;

/* A place in code, as frames are told apart, and its name if that came along.
 */
struct batch_code {
	struct binary *binary; /* borrowed; lives as long as all batches */
	uint64_t address;
	uint32_t version; /* of JIT code; else 0 */
	bool in_kernel;
	const char *name;         /* NULL: to be looked up, or known before */
	const char *linkage_name; /* NULL: same as name */
	const char *source;       /* what named it; static */
};

struct batch *batch_new(void);    /* NULL: out of memory */
void batch_free(struct batch *b); /* NULL is fine */

/* Memory that its rows take, with their indexes, in bytes. */
size_t batch_bytes(const struct batch *b);

/* The interval's row; the caller fills it. */
struct store_interval *batch_interval(struct batch *b);

/* Each sets *out to an index. 0, -ENOMEM, or -E2BIG (full). */
int batch_process(struct batch *b, struct proc *proc, uint32_t *out) MUST_CHECK;
int batch_thread(struct batch *b, uint32_t process, uint32_t tid,
		 uint64_t start_ns, const char *comm, uint32_t *out) MUST_CHECK;
int batch_frame(struct batch *b, const struct batch_code *code,
		uint32_t *out) MUST_CHECK;
/* frames: indexes, leaf first. end: says nothing of a lost stack. */
int batch_stack(struct batch *b, enum store_stack_status status,
		enum weft_walk_end end, const uint32_t *frames, uint32_t n,
		uint32_t *out) MUST_CHECK;
/* A key and a value of bytes that are safe to print. value NULL: of counts,
 * all that were refused. */
int batch_attribute(struct batch *b, const char *key, const char *value,
		    uint32_t *out) MUST_CHECK;
/* That the newest sample, or a process, has it. */
int batch_sample_has(struct batch *b, uint32_t attribute) MUST_CHECK;
int batch_process_has(struct batch *b, uint32_t process,
		      uint32_t attribute) MUST_CHECK;
/* attribute: index + 1, or 0. */
int batch_count(struct batch *b, uint32_t event, uint32_t process,
		uint32_t stack, uint32_t attribute, uint64_t count,
		uint64_t value) MUST_CHECK;
int batch_sample(struct batch *b, const struct store_sample *sample) MUST_CHECK;

/* Add to a CPU's row: period becomes the mean over merged intervals. */
int batch_cpu(struct batch *b, const struct store_cpu *cpu) MUST_CHECK;

/* Add to a ledger entry of an event; it is measured from then on. */
int batch_ledger(struct batch *b, uint32_t event, uint32_t entry,
		 uint64_t count, uint64_t value) MUST_CHECK;
/* Make sure that the row is there, even if nobody measures it. */
int batch_ledger_unmeasured(struct batch *b, uint32_t event,
			    uint32_t entry) MUST_CHECK;

/* What measures had; see batch_metrics.h. Borrowed. */
struct batch_metrics *batch_metrics(struct batch *b);
/* Copy text into the batch (NULL or empty: absent). -ENOMEM. */
int batch_text(struct batch *b, const char *text, store_text *out) MUST_CHECK;

/* Forget all samples; what they were is the caller's to count. */
void batch_drop_samples(struct batch *b);

/* For store_write(); borrowed until the batch changes or is freed. */
void batch_view(const struct batch *b, struct store_batch *out);

/* A frame as it was added. Borrowed likewise. */
void batch_frame_code(const struct batch *b, uint32_t frame,
		      struct batch_code *out);

#endif
