/* SPDX-License-Identifier: MIT */
/*
 * A store from within its room: what store.c, intern.c, stack.c, write.c and
 * seal.c share. Nobody else includes it, except tests.
 */
#ifndef WEFT_STORE_INSIDE_H
#define WEFT_STORE_INSIDE_H

#include "gen/store_sql.h"
#include "store/conn.h"
#include "store/lock.h"
#include "store/memory.h"
#include "store/store.h"

/*
 * Ceilings of what is remembered, in entries of 24 bytes (32 to 64 with the
 * room that a hash table needs): 96, 24, 24 and 12 MiB, a few when stacks are
 * few. For what is forgotten the file is asked; only of traces, which are
 * written last, a batch may add more, up to its samples (48 MiB).
 */
enum {
	MAX_NODES = 3 << 20,
	MAX_FRAMES = 3 << 18,
	MAX_TRACES = 3 << 18,
	MAX_STACKS = 3 << 17,
};

struct store {
	struct conn conn;
	char *path; /* owned */
	bool in_memory;
	bool is_amended;                     /* no recording is being written */
	struct lock *lock;                   /* owned; NULL in memory */
	sqlite3_stmt *stmt[STORE_SQL_COUNT]; /* owned, NULL until used */
	int64_t recording_id;
	int64_t first_event_id; /* event rows of a recording are contiguous */
	uint32_t timer_event;   /* index of the first; UINT32_MAX: none */
	size_t n_events;
	int64_t first_metric_id; /* likewise */
	size_t n_metrics;
	bool *metric_has_value;    /* owned; by metric */
	bool *metric_has_extremes; /* owned */
	int64_t *ledger_entry_id;  /* owned */
	size_t n_ledger_entries;
	const char *const *walk_end; /* borrowed from store_opts.words */
	size_t n_walk_ends;
	struct memory node, frame, trace;
	struct idmap stack;   /* whole ones, by a hash of their frames */
	size_t stack_ceiling; /* entries */
	int64_t next_sample;
	uint64_t tail_rows, sealed_rows;
	uint64_t tail_limit;         /* rows at which the tail is sealed */
	bool sort_in_memory;         /* no place for temporary files */
	struct retention *retention; /* owned; NULL until something goes */
	uint64_t sweep_after; /* rows that go before a sweep, while recorded */
	_Atomic uint64_t steps; /* see store_steps() */
	bool is_trial;          /* all is undone in the end */
	bool is_to_compact;     /* when it is closed */
};

/* A statement, prepared once. Borrowed from the store. */
int store_stmt(struct store *st, enum store_sql which, sqlite3_stmt **out,
	       struct weft_err *err) MUST_CHECK;

/* Step a statement that returns no row, and reset it. */
int store_run(struct store *st, sqlite3_stmt *stmt,
	      struct weft_err *err) MUST_CHECK;

/* Step a statement that finds an id, and reset it; *out is 0 for none. */
int store_find(struct store *st, sqlite3_stmt *stmt, int64_t *out,
	       struct weft_err *err) MUST_CHECK;

/* store_checkpoint() without sealing. */
int store_checkpoint_log(struct store *st, struct weft_err *err) MUST_CHECK;

/* Ids of the rows that the parts of a batch became, by their index there. */
struct interned {
	int64_t *process, *thread, *binary, *frame, *stack; /* owned */
	int64_t *attribute; /* owned; of shape_attribute, 0: not in counts */
};

void retention_free(struct retention *r);

/* A sweep reads all that there is: so many rows have to have gone. */
enum {
	SWEEP_AFTER = 100000
};

/* What a sweep (store/sweep.c) marks. */
enum sweep_kind {
	SWEEP_NODE, /* also stands for the stack that ends there */
	SWEEP_FRAME,
	SWEEP_THREAD,
	SWEEP_PROCESS,
	SWEEP_KEY,
	SWEEP_KINDS,
	SWEEP_COLUMNS = 4 /* of a row that refers to them */
};

/* A batch refers to a row: a sweep that is under way leaves it. */
void sweep_saw(struct store *st, enum sweep_kind kind, int64_t id);

/* Whether one is. What it may take away must not be remembered then. */
bool sweep_is_under_way(const struct store *st);

/* Remember a row. Others may be forgotten for it: the file can be asked. */
int remember_row(struct store *st, struct memory *memory, struct idmap_key key,
		 int64_t id, struct weft_err *err) MUST_CHECK;

/* What a node of the tree of stacks is remembered by. */
struct idmap_key node_key(int64_t parent_id, int64_t frame_id);

/* From now on nodes are looked for in the file, too: make it possible. */
int stack_ask_file(struct store *st, struct weft_err *err) MUST_CHECK;

/* Find or write a stack of a batch: its nodes and its row. frame_id: the ids of
 * the batch's frames. */
int stack_intern(struct store *st, const struct store_batch *batch,
		 const struct store_stack *stack, const int64_t *frame_id,
		 int64_t *out, struct weft_err *err) MUST_CHECK;

/* Whole stacks that are remembered may not be there any more. */
void stack_forget(struct store *st);

/* Forget what would leave no room for the batch. Outside of a transaction. */
int intern_make_room(struct store *st, const struct store_batch *batch,
		     struct weft_err *err) MUST_CHECK;

/* Find or write all that the rows of a batch refer to. On failure the caller
 * rolls back and calls intern_forget(). */
int intern_batch(struct store *st, const struct store_batch *batch,
		 struct interned *out, struct weft_err *err) MUST_CHECK;
void interned_release(struct interned *in);

/* The id of a trace; is a new one where it is at least the mark's. */
int intern_trace(struct store *st, const uint8_t trace_id[16], int64_t *out,
		 struct weft_err *err) MUST_CHECK;

/* Find or write the rows of shape_attribute that the counts refer to. */
int intern_attributes(struct store *st, const struct store_batch *batch,
		      int64_t *id, struct weft_err *err) MUST_CHECK;

/* Write what samples (the first of which got id first_sample) and processes
 * have. */
int attributes_write(struct store *st, const struct store_batch *batch,
		     const struct interned *in, int64_t first_sample,
		     struct weft_err *err) MUST_CHECK;

/* What ids would come next: to go back there when a transaction fails. */
struct intern_mark {
	int64_t node, frame, trace, sample;
};

struct intern_mark intern_mark(const struct store *st);
void intern_forget(struct store *st, struct intern_mark mark);

/* How many rows of each kind a file has, without learning which. */
int intern_count(struct store *st, struct weft_err *err) MUST_CHECK;

/* Learn what a file that is added to has already. */
int intern_load(struct store *st, struct weft_err *err) MUST_CHECK;

/* Write the rows of `metric`. In a transaction. */
int metric_add(struct store *st, const struct store_metric *metrics, size_t n,
	       struct weft_err *err) MUST_CHECK;

/* Write what the measures of a batch had in an interval. */
int metric_write(struct store *st, const struct store_batch *batch,
		 const struct interned *id, int64_t interval_id,
		 struct weft_err *err) MUST_CHECK;

/* Refuse a batch whose indexes or offsets lead out of it. */
int batch_check(const struct store *st, const struct store_batch *batch,
		struct weft_err *err) MUST_CHECK;
int batch_check_text(const char *text, size_t text_size,
		     struct weft_err *err) MUST_CHECK;

/* Bind the string at an offset of the text; 0 is NULL. */
void bind_text(sqlite3_stmt *stmt, int column, const char *text,
	       store_text offset);
/* The same, where 0 is the empty string. */
void bind_text_or_empty(sqlite3_stmt *stmt, int column, const char *text,
			store_text offset);
/* Bind a number if there is one, else NULL. */
void bind_if(sqlite3_stmt *stmt, int column, bool is_there, uint64_t value);

/* Make the views anew; sample reads the tail unless the file is closed. */
int schema_make_views(const struct conn *conn, bool has_tail,
		      struct weft_err *err) MUST_CHECK;

/* Move the tail into sample_sealed, in transactions of their own. */
int seal_tail(struct store *st, struct weft_err *err) MUST_CHECK;

/* What makes a file that is not written any more good to read. */
int seal_finish(struct store *st, struct weft_err *err) MUST_CHECK;

#endif
