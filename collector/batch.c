/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/batch_rows.h"

/* A row that is looked for, and where. */
struct wanted {
	const struct batch *batch;
	const void *row;
	const uint32_t *frames; /* of a stack */
};

/* Indexes hold row number + 1 in place of a pointer. */
static size_t number_of(const void *entry)
{
	return (uintptr_t)entry - 1;
}

static void *entry_of(size_t number)
{
	return (void *)(uintptr_t)(number + 1);
}

struct batch *batch_new(void)
{
	struct batch *b = calloc(1, sizeof(*b));

	/* Text 0 means absent. */
	if (b && GROW(b->text, 1, b->text_room)) {
		batch_free(b);
		return NULL;
	}
	if (b)
		b->text[b->n_text++] = '\0';
	return b;
}

#define ROWS_RELEASE(rows)                    \
	do {                                  \
		free((rows).row);             \
		table_release(&(rows).index); \
	} while (0)

void batch_free(struct batch *b)
{
	if (!b)
		return;
	ROWS_RELEASE(b->processes);
	ROWS_RELEASE(b->threads);
	ROWS_RELEASE(b->binaries);
	ROWS_RELEASE(b->frames);
	ROWS_RELEASE(b->stacks);
	ROWS_RELEASE(b->counts);
	ROWS_RELEASE(b->samples);
	ROWS_RELEASE(b->cpus);
	ROWS_RELEASE(b->ledger);
	ROWS_RELEASE(b->attributes);
	ROWS_RELEASE(b->sample_has);
	ROWS_RELEASE(b->process_has);
	batch_metrics_release(&b->metrics);
	free(b->text);
	free(b->stack_frames);
	free(b->notes);
	free(b->binary_of);
	free(b);
}

/* With what an index takes of each row. */
#define ROWS_BYTES(rows) \
	((rows).n * (sizeof(*(rows).row) + 2 * sizeof(struct table_slot)))

size_t batch_bytes(const struct batch *b)
{
	const struct batch_metrics *m = &b->metrics;

	return sizeof(*b) + b->n_text + ROWS_BYTES(b->processes) +
	       ROWS_BYTES(b->threads) + ROWS_BYTES(b->binaries) +
	       ROWS_BYTES(b->frames) + b->frames.n * sizeof(*b->notes) +
	       ROWS_BYTES(b->stacks) +
	       b->n_stack_frames * sizeof(*b->stack_frames) +
	       ROWS_BYTES(b->counts) + ROWS_BYTES(b->attributes) +
	       b->samples.n * sizeof(*b->samples.row) +
	       b->sample_has.n * sizeof(*b->sample_has.row) +
	       b->process_has.n * sizeof(*b->process_has.row) +
	       m->n_values * sizeof(*m->values) +
	       m->n_buckets * sizeof(*m->buckets) +
	       m->n_exemplars * sizeof(*m->exemplars);
}

bool batch_is_full(const struct batch *b)
{
	return batch_bytes(b) >= BATCH_BYTES_MAX;
}

struct store_interval *batch_interval(struct batch *b)
{
	return &b->interval;
}

/* Copy text (NULL or empty: absent). */
static int add_text(struct batch *b, const char *text, store_text *out)
{
	size_t size = text ? strlen(text) + 1 : 1;

	*out = 0;
	if (size == 1)
		return 0;
	if (GROW(b->text, b->n_text + size, b->text_room))
		return -ENOMEM;
	memcpy(b->text + b->n_text, text, size);
	*out = b->n_text;
	b->n_text += size;
	return 0;
}

static bool is_process(const void *entry, const void *wanted)
{
	const struct wanted *w = wanted;
	const struct store_process *a =
		&w->batch->processes.row[number_of(entry)];
	const struct store_process *b = w->row;

	return a->pid == b->pid && a->start_ns == b->start_ns &&
	       a->exec_seq == b->exec_seq;
}

static int fill_process(struct batch *b, struct store_process *row,
			struct proc *proc)
{
	int rc = add_text(b, proc->comm, &row->comm);

	if (!rc)
		rc = add_text(b, proc->exe, &row->exe);
	if (!rc)
		rc = add_text(b, proc->cgroup, &row->cgroup);
	if (!rc)
		rc = add_text(b, proc->service, &row->service);
	row->parent_pid = proc->parent_pid;
	row->inner_pid = proc->inner_pid;
	proc->changed = false;
	return rc;
}

int batch_process(struct batch *b, struct proc *proc, uint32_t *out)
{
	struct store_process row = {
		.pid = proc->who.pid,
		.start_ns = proc->who.start_ns,
		.exec_seq = proc->who.exec_seq,
	};
	struct wanted wanted = { .batch = b, .row = &row };
	uint64_t hash = table_hash(&proc->who, sizeof(proc->who), 0);
	void *found =
		table_find(&b->processes.index, hash, is_process, &wanted);
	int rc;

	if (found) {
		*out = number_of(found);
		if (!proc->changed)
			return 0;
		return fill_process(b, &b->processes.row[*out], proc);
	}
	if (batch_is_full(b))
		return -E2BIG;
	rc = fill_process(b, &row, proc);
	if (!rc)
		rc = GROW(b->processes.row, b->processes.n + 1,
			  b->processes.room);
	if (!rc)
		rc = table_add(&b->processes.index, hash,
			       entry_of(b->processes.n));
	if (rc)
		return rc;
	*out = b->processes.n;
	b->processes.row[b->processes.n++] = row;
	return 0;
}

static bool is_thread(const void *entry, const void *wanted)
{
	const struct wanted *w = wanted;
	const struct store_thread *a = &w->batch->threads.row[number_of(entry)];
	const struct store_thread *b = w->row;

	return a->process == b->process && a->tid == b->tid &&
	       a->start_ns == b->start_ns;
}

int batch_thread(struct batch *b, uint32_t process, uint32_t tid,
		 uint64_t start_ns, const char *comm, uint32_t *out)
{
	struct store_thread row = {
		.process = process,
		.tid = tid,
		.start_ns = start_ns,
	};
	struct wanted wanted = { .batch = b, .row = &row };
	uint64_t hash = table_hash(&start_ns, sizeof(start_ns),
				   (uint64_t)process << 32 | tid);
	void *found = table_find(&b->threads.index, hash, is_thread, &wanted);
	int rc;

	if (found) {
		*out = number_of(found);
		return 0;
	}
	if (batch_is_full(b))
		return -E2BIG;
	rc = add_text(b, comm, &row.comm);
	if (!rc)
		rc = GROW(b->threads.row, b->threads.n + 1, b->threads.room);
	if (!rc)
		rc = table_add(&b->threads.index, hash, entry_of(b->threads.n));
	if (rc)
		return rc;
	*out = b->threads.n;
	b->threads.row[b->threads.n++] = row;
	return 0;
}

static bool is_frame(const void *entry, const void *wanted)
{
	const struct wanted *w = wanted;
	const struct store_frame *b = w->row;
	const struct store_frame *a = &w->batch->frames.row[number_of(entry)];

	return a->binary == b->binary && a->address == b->address &&
	       a->in_kernel == b->in_kernel && a->version == b->version;
}

/* Binaries are the same objects throughout: found by their pointer. */
static bool is_binary(const void *entry, const void *wanted)
{
	const struct wanted *w = wanted;

	return w->batch->binary_of[number_of(entry)] == w->row;
}

static int add_binary(struct batch *b, const struct binary *binary,
		      uint32_t *out)
{
	struct store_binary row = { .kind = binary->kind };
	struct wanted wanted = { .batch = b, .row = binary };
	uint64_t hash = table_hash(&binary, sizeof(binary), 0);
	void *found = table_find(&b->binaries.index, hash, is_binary, &wanted);
	char identity[64], build_id[64];
	int rc;

	if (found) {
		*out = number_of(found);
		return 0;
	}
	if (batch_is_full(b))
		return -E2BIG;
	binary_identity(binary, identity, sizeof(identity));
	binary_build_id(binary, build_id, sizeof(build_id));
	rc = add_text(b, binary->file.path, &row.path);
	if (!rc)
		rc = add_text(b, identity, &row.identity);
	if (!rc)
		rc = add_text(b, build_id, &row.build_id);
	if (!rc)
		rc = GROW(b->binaries.row, b->binaries.n + 1, b->binaries.room);
	if (!rc)
		rc = GROW(b->binary_of, b->binaries.n + 1, b->binary_of_room);
	if (!rc)
		rc = table_add(&b->binaries.index, hash,
			       entry_of(b->binaries.n));
	if (rc)
		return rc;
	b->binary_of[b->binaries.n] = binary;
	*out = b->binaries.n;
	b->binaries.row[b->binaries.n++] = row;
	return 0;
}

int batch_frame(struct batch *b, const struct batch_code *code, uint32_t *out)
{
	struct store_frame row = {
		.in_kernel = code->in_kernel,
		.address = code->address,
		.version = code->version,
	};
	struct wanted wanted = { .batch = b, .row = &row };
	struct frame_note note = {
		.binary = code->binary,
		.source = code->source,
	};
	uint64_t hash;
	void *found;
	int rc = add_binary(b, code->binary, &row.binary);

	if (rc)
		return rc;
	hash = table_hash(&row.address, sizeof(row.address),
			  (uint64_t)row.version << 32 ^ row.binary << 1 ^
				  row.in_kernel);
	found = table_find(&b->frames.index, hash, is_frame, &wanted);
	if (found) {
		*out = number_of(found);
		return 0;
	}
	if (batch_is_full(b))
		return -E2BIG;
	rc = add_text(b, code->name, &note.name);
	if (!rc)
		rc = add_text(b, code->linkage_name, &note.linkage_name);
	if (!rc)
		rc = GROW(b->frames.row, b->frames.n + 1, b->frames.room);
	if (!rc)
		rc = GROW(b->notes, b->frames.n + 1, b->notes_room);
	if (!rc)
		rc = table_add(&b->frames.index, hash, entry_of(b->frames.n));
	if (rc)
		return rc;
	*out = b->frames.n;
	b->notes[b->frames.n] = note;
	b->frames.row[b->frames.n++] = row;
	return 0;
}

static bool is_stack(const void *entry, const void *wanted)
{
	const struct wanted *w = wanted;
	const struct store_stack *b = w->row;
	const struct store_stack *a = &w->batch->stacks.row[number_of(entry)];

	return a->status == b->status && a->end == b->end &&
	       a->depth == b->depth &&
	       (!a->depth || !memcmp(w->batch->stack_frames + a->first,
				     w->frames, a->depth * sizeof(*w->frames)));
}

int batch_stack(struct batch *b, enum store_stack_status status,
		enum weft_walk_end end, const uint32_t *frames, uint32_t n,
		uint32_t *out)
{
	struct store_stack row = {
		.status = status,
		.end = end,
		.first = b->n_stack_frames,
		.depth = n,
	};
	struct wanted wanted = { .batch = b, .row = &row, .frames = frames };
	uint64_t hash = table_hash(frames, n * sizeof(*frames),
				   (uint64_t)end << 8 | status);
	void *found = table_find(&b->stacks.index, hash, is_stack, &wanted);
	int rc;

	if (found) {
		*out = number_of(found);
		return 0;
	}
	if (batch_is_full(b))
		return -E2BIG;
	rc = GROW(b->stacks.row, b->stacks.n + 1, b->stacks.room);
	if (!rc)
		rc = GROW(b->stack_frames, b->n_stack_frames + n,
			  b->stack_frames_room);
	if (!rc)
		rc = table_add(&b->stacks.index, hash, entry_of(b->stacks.n));
	if (rc)
		return rc;
	if (n)
		memcpy(b->stack_frames + b->n_stack_frames, frames,
		       n * sizeof(*frames));
	b->n_stack_frames += n;
	*out = b->stacks.n;
	b->stacks.row[b->stacks.n++] = row;
	return 0;
}

static bool is_count(const void *entry, const void *wanted)
{
	const struct wanted *w = wanted;
	const struct store_count *b = w->row;
	const struct store_count *a = &w->batch->counts.row[number_of(entry)];

	return a->event == b->event && a->process == b->process &&
	       a->stack == b->stack && a->attribute == b->attribute;
}

struct wanted_attribute {
	const struct batch *batch;
	const char *key, *value;
};

static bool is_attribute(const void *entry, const void *wanted)
{
	const struct wanted_attribute *w = wanted;
	const struct store_attribute *a =
		&w->batch->attributes.row[number_of(entry)];

	return !strcmp(w->batch->text + a->key, w->key) &&
	       !strcmp(w->batch->text + a->value, w->value ? w->value : "");
}

int batch_attribute(struct batch *b, const char *key, const char *value,
		    uint32_t *out)
{
	struct wanted_attribute wanted = { b, key, value };
	uint64_t hash = table_hash(key, strlen(key), 0);
	struct store_attribute row;
	void *found;
	int rc;

	if (value)
		hash = table_hash(value, strlen(value), hash);
	found = table_find(&b->attributes.index, hash, is_attribute, &wanted);
	if (found) {
		*out = number_of(found);
		return 0;
	}
	if (batch_is_full(b))
		return -E2BIG;
	rc = add_text(b, key, &row.key);
	if (!rc)
		rc = add_text(b, value, &row.value);
	if (!rc)
		rc = GROW(b->attributes.row, b->attributes.n + 1,
			  b->attributes.room);
	if (!rc)
		rc = table_add(&b->attributes.index, hash,
			       entry_of(b->attributes.n));
	if (rc)
		return rc;
	*out = b->attributes.n;
	b->attributes.row[b->attributes.n++] = row;
	return 0;
}

int batch_sample_has(struct batch *b, uint32_t attribute)
{
	if (b->sample_has.n >= BATCH_ATTRIBUTES_MAX || batch_is_full(b))
		return -E2BIG;
	if (GROW(b->sample_has.row, b->sample_has.n + 1, b->sample_has.room))
		return -ENOMEM;
	b->sample_has.row[b->sample_has.n++] = (struct store_has){
		.who = (uint32_t)b->samples.n - 1,
		.attribute = attribute,
	};
	return 0;
}

int batch_process_has(struct batch *b, uint32_t process, uint32_t attribute)
{
	if (batch_is_full(b))
		return -E2BIG;
	if (GROW(b->process_has.row, b->process_has.n + 1, b->process_has.room))
		return -ENOMEM;
	b->process_has.row[b->process_has.n++] = (struct store_has){
		.who = process,
		.attribute = attribute,
	};
	return 0;
}

int batch_count(struct batch *b, uint32_t event, uint32_t process,
		uint32_t stack, uint32_t attribute, uint64_t count,
		uint64_t value)
{
	struct store_count row = {
		.event = event,
		.process = process,
		.stack = stack,
		.attribute = attribute,
		.count = count,
		.value = value,
	};
	struct wanted wanted = { .batch = b, .row = &row };
	uint64_t key[2] = { (uint64_t)process << 32 | stack,
			    (uint64_t)attribute << 32 | event };
	uint64_t hash = table_hash(key, sizeof(key), 0);
	void *found = table_find(&b->counts.index, hash, is_count, &wanted);
	int rc;

	if (found) {
		b->counts.row[number_of(found)].count += count;
		b->counts.row[number_of(found)].value += value;
		return 0;
	}
	if (b->counts.n >= BATCH_COUNTS_MAX || batch_is_full(b))
		return -E2BIG;
	rc = GROW(b->counts.row, b->counts.n + 1, b->counts.room);
	if (!rc)
		rc = table_add(&b->counts.index, hash, entry_of(b->counts.n));
	if (rc)
		return rc;
	b->counts.row[b->counts.n++] = row;
	return 0;
}

int batch_sample(struct batch *b, const struct store_sample *sample)
{
	if (b->samples.n >= BATCH_SAMPLES_MAX || batch_is_full(b))
		return -E2BIG;
	if (GROW(b->samples.row, b->samples.n + 1, b->samples.room))
		return -ENOMEM;
	b->samples.row[b->samples.n++] = *sample;
	return 0;
}

struct batch_metrics *batch_metrics(struct batch *b)
{
	return &b->metrics;
}

int batch_text(struct batch *b, const char *text, store_text *out)
{
	return add_text(b, text, out);
}

void batch_drop_samples(struct batch *b)
{
	b->samples.n = 0;
	b->sample_has.n = 0;
}

void batch_view(const struct batch *b, struct store_batch *out)
{
	*out = (struct store_batch){
		.interval = b->interval,
		.text = b->text,
		.text_size = b->n_text,
		.cpus = b->cpus.row,
		.n_cpus = b->cpus.n,
		.processes = b->processes.row,
		.n_processes = b->processes.n,
		.threads = b->threads.row,
		.n_threads = b->threads.n,
		.binaries = b->binaries.row,
		.n_binaries = b->binaries.n,
		.frames = b->frames.row,
		.n_frames = b->frames.n,
		.stacks = b->stacks.row,
		.n_stacks = b->stacks.n,
		.stack_frames = b->stack_frames,
		.n_stack_frames = b->n_stack_frames,
		.counts = b->counts.row,
		.n_counts = b->counts.n,
		.samples = b->samples.row,
		.n_samples = b->samples.n,
		.ledger = b->ledger.row,
		.n_ledger = b->ledger.n,
		.attributes = b->attributes.row,
		.n_attributes = b->attributes.n,
		.sample_attributes = b->sample_has.row,
		.n_sample_attributes = b->sample_has.n,
		.process_attributes = b->process_has.row,
		.n_process_attributes = b->process_has.n,
		.metric_values = b->metrics.values,
		.n_metric_values = b->metrics.n_values,
		.metric_buckets = b->metrics.buckets,
		.n_metric_buckets = b->metrics.n_buckets,
		.metric_exemplars = b->metrics.exemplars,
		.n_metric_exemplars = b->metrics.n_exemplars,
		.metric_ledger = b->metrics.ledger,
	};
}

static const char *text_at(const struct batch *b, store_text at)
{
	return at ? b->text + at : NULL;
}

void batch_frame_code(const struct batch *b, uint32_t frame,
		      struct batch_code *out)
{
	const struct store_frame *row = &b->frames.row[frame];
	const struct frame_note *note = &b->notes[frame];

	*out = (struct batch_code){
		.binary = note->binary,
		.address = row->address,
		.version = row->version,
		.in_kernel = row->in_kernel,
		.name = text_at(b, note->name),
		.linkage_name = text_at(b, note->linkage_name),
		.source = note->source,
	};
}
