/* SPDX-License-Identifier: MIT */
/*
 * A recording file, as its only writer sees it. The caller describes an
 * interval in a batch of plain arrays that refer to each other by index; the
 * store gives rows their ids, finds those it has already, and writes the
 * batch in one transaction. Names follow later, in transactions of their own.
 *
 * One thread at a time may use a store; it need not be always the same.
 * Readers open the file themselves (query/db.h).
 */
#ifndef WEFT_STORE_H
#define WEFT_STORE_H

#include "store/weft.h"

#define STORE_APPLICATION_ID 0x77656674 /* "weft" */
/* The schema this code writes: the number of the newest migration. */
#define STORE_SCHEMA_VERSION 10
/* Rows that the unindexed tail may grow to before it is sealed. */
#define STORE_TAIL_ROWS 1000000

struct store;

/* The row of `recording`. Strings are borrowed for the call. */
struct store_recording {
	uint64_t started_ns; /* Unix */
	const char *host, *kernel, *arch, *boot_id;
	const char *command; /* NULL: none */
	uint32_t cpus;
	uint64_t detail_n; /* 0: off */
	uint64_t interval_ns;
};

struct store_event {
	const char *name;
	const char *unit;      /* "ns", "calls" or "events" */
	uint64_t requested_hz; /* 0: not a timer. Sums of traces are of the
				  first timer */
	bool is_by_size;       /* chosen for detail by tau_ns */
	uint64_t tau_ns;       /* see table event */
};

/* Names that small numbers in rows stand for; see the tables they fill. */
struct store_words {
	const char *const *ledger_entry;
	size_t n_ledger_entry;
	const char *const *context_source;
	size_t n_context_source;
	const char *const *context_status;
	size_t n_context_status;
	/* Column stack.ended. Append only: a file that is added to tells
	 * stacks apart by these numbers. Borrowed until the store is closed. */
	const char *const *walk_end;
	size_t n_walk_end;
};

enum {
	STORE_METRIC_KEYS = 4
};

/* A measure: the row of `metric`. Strings are borrowed for the call. */
struct store_metric {
	const char *name, *text, *aggregate, *unit, *probe;
	const char *value; /* NULL: it counts */
	const char *key[STORE_METRIC_KEYS];
	size_t n_keys;
	int64_t linear_min, linear_max, linear_step; /* step 0: not linear */
	uint64_t max_keys;
	bool keeps_extremes; /* else minimum and maximum are NULL */
};

struct store_opts {
	const char *path;
	bool append;    /* add a recording to a weft file that is there */
	bool in_memory; /* for tests: no file, path is ignored */
	struct store_recording recording;
	const struct store_event *events; /* samples and counts refer to them
					     by index */
	size_t n_events;
	const struct store_metric *metrics; /* likewise */
	size_t n_metrics;
	struct store_words words;
};

/*
 * Create the file (mode 0600), or with append add to it, take its lock, and
 * write the rows of recording and event.
 *
 * A weft file that is there already is moved to PATH.old (replacing that)
 * unless append is set. Any other file, a damaged one, and one written by a
 * newer weft are refused and left byte for byte as they were; so is a file
 * whose lock another process holds. With append, an older schema is migrated.
 *
 * The lock is an advisory write lock (fcntl F_OFD_SETLK) on PATH.lock, a file
 * that is removed on close; it is held until store_close().
 *
 * Returns 0 with *out owned by the caller, or a negative errno with err
 * filled and *out NULL: -EEXIST not a weft file, -EBUSY locked, -EPROTO
 * damaged, -ENOTSUP newer schema, else what the system said.
 */
int store_open(struct store **out, const struct store_opts *opts,
	       struct weft_err *err) MUST_CHECK;

/*
 * Open a weft file that is there, to change its names or add spans: no
 * recording is added. Lock, refusals and migration as store_open() with
 * append; errors too, and -ENOENT. Then only store_each_frame(),
 * store_replace_names(), store_write_spans(), store_close() and what is in
 * store/retention.h may be called.
 */
int store_open_to_amend(struct store **out, const char *path,
			struct weft_err *err) MUST_CHECK;

enum store_binary_kind {
	STORE_ELF,
	STORE_KERNEL,
	STORE_MODULE,
	STORE_VDSO,
	STORE_JIT,
	STORE_UNKNOWN,
	STORE_BINARY_KINDS
};

enum store_stack_status {
	STORE_COMPLETE,
	STORE_TRUNCATED,
	STORE_BROKEN,
	STORE_NO_USER,
	STORE_LOST,      /* counted, but the stack found no room */
	STORE_NOT_TAKEN, /* counted; nobody walked the stack */
	STORE_STACK_STATUSES
};

struct store_interval {
	uint64_t start_ns, end_ns; /* boot */
	int64_t clock_offset_ns;
	uint64_t clock_error_ns;
	uint64_t self_cpu_ns;
	uint64_t self_rss_bytes;
	uint64_t bpf_run_ns, bpf_run_count;
	bool has_bpf_run; /* else the two above are stored as NULL */
};

struct store_cpu {
	uint32_t event; /* index into store_opts.events */
	uint32_t cpu;
	uint64_t period;
	uint64_t due, fired;
	uint64_t throttled;
	bool has_throttled;
};

/*
 * Strings in a batch are offsets into its text, each NUL-terminated; 0 means
 * absent (text[0] is always NUL). They are bytes, not necessarily UTF-8.
 */
typedef uint32_t store_text;

struct store_process {
	uint32_t pid;
	uint64_t start_ns;
	uint32_t exec_seq;
	uint32_t parent_pid, inner_pid; /* 0: not known */
	store_text comm, exe, cgroup, service;
};

struct store_thread {
	uint32_t process; /* index */
	uint32_t tid;
	uint64_t start_ns;
	store_text comm;
};

struct store_binary {
	enum store_binary_kind kind;
	store_text path;
	store_text build_id; /* lower-case hex */
	store_text identity; /* see table binary; 0 is stored as '' */
};

struct store_frame {
	uint32_t binary; /* index */
	bool in_kernel;
	uint64_t address; /* see table frame */
	uint32_t version; /* the same */
};

struct store_stack {
	enum store_stack_status status;
	uint8_t end;    /* index into store_words.walk_end; of a stack
			   without frames for one of the last two
			   reasons nothing is stored */
	uint32_t first; /* index into stack_frames; leaf first */
	uint32_t depth;
};

/* A key and a value: of counts, samples, processes, by index. */
struct store_attribute {
	store_text key;
	store_text value; /* 0, of counts only: all that were refused */
};

struct store_count {
	uint32_t event, process, stack; /* indexes */
	uint64_t count, value;
	uint32_t attribute; /* index + 1; 0: it had none */
};

struct store_sample {
	uint64_t time_ns;              /* boot */
	uint32_t event, thread, stack; /* indexes */
	uint32_t cpu;
	uint64_t value;
	double weight;
	bool has_trace; /* else trace_id, span_id and flags are NULL */
	bool has_span;  /* without has_trace: span_id is there all the same */
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t trace_flags;
	uint8_t context_source, context_status;
};

/* That a sample, or a process, has an attribute. */
struct store_has {
	uint32_t who;       /* index */
	uint32_t attribute; /* index; value not 0 */
};

struct store_ledger {
	uint32_t event;
	uint32_t entry; /* index into store_words.ledger_entry */
	uint64_t count, value;
	bool measured; /* else both are stored as NULL */
};

/* One part of a measure's key. */
struct store_metric_key {
	enum {
		STORE_KEY_NONE,
		STORE_KEY_NUMBER,
		STORE_KEY_TEXT,
		STORE_KEY_STACK /* number is an index; stored: its id */
	} kind;
	int64_t number;
	store_text text;
};

/* What a key had. The same key may come several times: they add up. */
struct store_metric_value {
	uint32_t metric; /* index into store_opts.metrics */
	struct store_metric_key key[STORE_METRIC_KEYS];
	uint64_t count;
	int64_t sum, min, max;
	uint32_t first, n_buckets; /* in metric_buckets */
};

struct store_metric_bucket {
	uint32_t bucket;
	uint64_t count;
};

/* An event of a bucket; see table metric_exemplar. */
struct store_metric_exemplar {
	uint32_t metric; /* index into store_opts.metrics */
	struct store_metric_key key[STORE_METRIC_KEYS];
	uint32_t bucket;
	int64_t value;
	uint64_t time_ns;       /* boot */
	uint32_t thread, stack; /* indexes */
	uint32_t cpu;
	bool has_trace; /* else trace_id and span_id are NULL */
	bool has_span;  /* without has_trace: span_id is there all the same */
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t context_source, context_status;
};

/* Where a measure's events ended; see table metric_interval. */
enum store_metric_entry {
	STORE_METRIC_FIRED,
	STORE_METRIC_COUNTED,
	STORE_METRIC_FILTERED,
	STORE_METRIC_NOT_MET,
	STORE_METRIC_KEYS_FULL,
	STORE_METRIC_BUSY,
	STORE_METRIC_UNREADABLE,
	STORE_METRIC_ENTERED,
	STORE_METRIC_NO_ENTRY,
	STORE_METRIC_NO_RETURN,
	STORE_METRIC_CALLS_FULL,
	STORE_METRIC_MISSED,
	STORE_METRIC_DISCARDED,
	STORE_METRIC_SELECTED,
	STORE_METRIC_LOST_EXEMPLARS,
	STORE_METRIC_ENTRIES
};

struct store_metric_ledger {
	uint64_t entry[STORE_METRIC_ENTRIES];
};

/* One interval. The arrays belong to whoever made the batch. */
struct store_batch {
	struct store_interval interval;
	const char *text;
	size_t text_size;
	const struct store_cpu *cpus;
	size_t n_cpus;
	const struct store_process *processes;
	size_t n_processes;
	const struct store_thread *threads;
	size_t n_threads;
	const struct store_binary *binaries;
	size_t n_binaries;
	const struct store_frame *frames;
	size_t n_frames;
	const struct store_stack *stacks;
	size_t n_stacks;
	const uint32_t *stack_frames; /* indexes into frames */
	size_t n_stack_frames;
	const struct store_count *counts;
	size_t n_counts;
	const struct store_sample *samples;
	size_t n_samples;
	const struct store_ledger *ledger;
	size_t n_ledger;
	const struct store_attribute *attributes;
	size_t n_attributes;
	/* Of two with one key, the first stays. */
	const struct store_has *sample_attributes, *process_attributes;
	size_t n_sample_attributes, n_process_attributes;
	const struct store_metric_value *metric_values;
	size_t n_metric_values;
	const struct store_metric_bucket *metric_buckets;
	size_t n_metric_buckets;
	const struct store_metric_exemplar *metric_exemplars;
	size_t n_metric_exemplars;
	const struct store_metric_ledger *metric_ledger; /* of each metric, or
							    NULL */
};

/* What the caller needs to ask for names: for each frame of the batch. */
struct store_frame_row {
	int64_t id;
	bool is_new; /* first seen in this file with this batch */
};

/*
 * Write a batch in one transaction; equal (process, stack, event, attribute)
 * counts are added up. Indexes are checked: one out of range fails the batch
 * with -EINVAL and nothing of it is stored. A busy file is waited for (2 s).
 * rows (n_frames of them, the caller's) is filled on success.
 *
 * After -ENOSPC, -EBUSY or -EIO the store stays usable and the same batch may
 * be given again.
 */
int store_write(struct store *st, const struct store_batch *batch,
		struct store_frame_row *rows, struct weft_err *err) MUST_CHECK;

/* A name for a frame: one function at one inline depth. */
struct store_name {
	int64_t frame_id;
	uint32_t inline_depth;         /* 0 = innermost */
	uint32_t line;                 /* of the frame; 0: not known */
	store_text name;               /* demangled */
	store_text linkage_name, file; /* 0: absent */
	uint32_t function_line;        /* 0: not known */
	store_text source;             /* what named it */
};

/*
 * Give frames names, in one transaction. A frame that has a name at that
 * depth keeps it. Errors as store_write().
 */
int store_write_names(struct store *st, const struct store_name *names,
		      size_t n, const char *text, size_t text_size,
		      struct weft_err *err) MUST_CHECK;

/* A piece of a binary's file that is mapped as code. */
struct store_segment {
	int64_t frame_id; /* any frame of the binary */
	uint64_t file_offset, size, address;
};

/* Keep segments, in one transaction; of a binary that has some, others at the
 * same offset are ignored. Errors as store_write(). */
int store_write_segments(struct store *st, const struct store_segment *segments,
			 size_t n, struct weft_err *err) MUST_CHECK;

/* The segments of a binary: fills at most max (frame_id 0), *n how many. */
int store_read_segments(struct store *st, int64_t binary_id,
			struct store_segment *out, size_t max, size_t *n,
			struct weft_err *err) MUST_CHECK;

enum {
	STORE_SPAN_KINDS = 6,   /* unspecified, internal, server, client,
				   producer, consumer */
	STORE_SPAN_STATUSES = 3 /* unset, ok, error */
};

/* A span of a trace, as OpenTelemetry has it. */
struct store_span {
	uint8_t trace_id[16], span_id[8], parent_span_id[8];
	bool has_parent;
	uint8_t kind, status;                 /* numbers of OTLP */
	uint64_t start_ns, end_ns;            /* Unix; 0: not known */
	store_text service, name, attributes; /* attributes: a JSON object */
};

/*
 * Add spans, all or none. A span that is there already (same trace ID and
 * span ID) stays as it is. *added is how many were new. Errors as
 * store_write().
 */
int store_write_spans(struct store *st, const struct store_span *spans,
		      size_t n, const char *text, size_t text_size,
		      size_t *added, struct weft_err *err) MUST_CHECK;

/* What a file has of a frame; strings are borrowed for the call. */
struct store_known_frame {
	int64_t id;
	uint64_t address; /* offset in the file */
	int64_t binary_id;
	const char *path;
	const char *build_id; /* NULL: has none */
	const char *identity;
	uint32_t levels; /* inline levels that have names; 0: it has none */
	bool has_lines;
	/* Of the outermost level; NULL where it has no name. */
	const char *name, *source;
};

typedef int store_frame_fn(void *ctx, const struct store_known_frame *frame);

/* Call fn for each frame of user code in files (STORE_ELF), by binary, then
 * by address. What fn returns, if not 0, ends it and is returned, without a
 * message. */
int store_each_frame(struct store *st, store_frame_fn *fn, void *ctx,
		     struct weft_err *err) MUST_CHECK;

/*
 * As store_write_names(), but frames that are named here lose all names that
 * they had. A frame's names have to come in one call.
 */
int store_replace_names(struct store *st, const struct store_name *names,
			size_t n, const char *text, size_t text_size,
			struct weft_err *err) MUST_CHECK;

/* Bytes in the write-ahead log now; 0 where there is none. Cheap. */
uint64_t store_wal_bytes(const struct store *st);

/* A number that grows while something is being done, unless the disk keeps it
 * waiting. Any thread may ask. */
uint64_t store_steps(const struct store *st);

/* Bytes of the file and of its log. */
uint64_t store_file_bytes(const struct store *st);

/*
 * Move what is checkpointable from the log into the file, without waiting for
 * readers; then, if the tail is long enough and no reader keeps the log from
 * being emptied, seal it (some seconds of work; 80 to 150 MiB of log, which
 * are gone again on return unless a reader came meanwhile). Called by the
 * writer between batches; the only checkpoint there is. Errors are not fatal:
 * tail and log stay as they are, and the next call tries again.
 */
int store_checkpoint(struct store *st, struct weft_err *err);

/* Set recording.ended_ns (of a recording that was opened), seal the tail,
 * refresh statistics for the planner and the derived views, checkpoint, leave
 * WAL mode, and close. A reader in the way costs the last two only: the file
 * stays readable as WAL. After a failure the file is readable too, with
 * whatever was not done left undone, for the next --append to make up for.
 * Frees st on every path; accepts NULL. */
int store_close(struct store *st, uint64_t ended_ns, struct weft_err *err);

/* Close without ending the recording, as a crash would leave it; frees st. */
void store_abandon(struct store *st);

#endif
