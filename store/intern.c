/* SPDX-License-Identifier: MIT */
/*
 * Equal things become equal rows.
 *
 * Processes, threads and binaries are few in an interval: the file is asked
 * by their unique key each time. Frames, stack nodes and traces are many, so
 * what was written is remembered; only where that memory is not complete is
 * the file asked as well.
 *
 * Stacks are a tree (store/stack.c).
 *
 * Ids are dealt from counters, and none twice while a store is open. So a
 * transaction that failed is forgotten by forgetting all ids from where the
 * counters stood before it. Who deletes rows (store/sweep.c) forgets theirs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/inside.h"

static const char *const kind_word[STORE_BINARY_KINDS] = {
	[STORE_ELF] = "elf",       [STORE_KERNEL] = "kernel",
	[STORE_MODULE] = "module", [STORE_VDSO] = "vdso",
	[STORE_JIT] = "jit",       [STORE_UNKNOWN] = "unknown",
};

/* 0 stands for "not known". */
static void bind_known(sqlite3_stmt *stmt, int column, uint32_t value)
{
	if (value)
		sqlite3_bind_int64(stmt, column, value);
	else
		sqlite3_bind_null(stmt, column);
}

static int intern_processes(struct store *st, const struct store_batch *b,
			    int64_t *id, struct weft_err *err)
{
	const struct store_process *p;
	sqlite3_stmt *put, *find;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_PROCESS_PUT, &put, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_PROCESS_FIND, &find, err);
	for (i = 0; i < b->n_processes && !rc; i++) {
		p = &b->processes[i];
		sqlite3_bind_int64(put, 1, st->recording_id);
		sqlite3_bind_int64(put, 2, p->pid);
		sqlite3_bind_int64(put, 3, (int64_t)p->start_ns);
		sqlite3_bind_int64(put, 4, p->exec_seq);
		bind_known(put, 5, p->parent_pid);
		bind_known(put, 6, p->inner_pid);
		bind_text(put, 7, b->text, p->comm);
		bind_text(put, 8, b->text, p->exe);
		bind_text(put, 9, b->text, p->cgroup);
		bind_text(put, 10, b->text, p->service);
		rc = store_run(st, put, err);
		if (rc)
			break;
		sqlite3_bind_int64(find, 1, st->recording_id);
		sqlite3_bind_int64(find, 2, p->pid);
		sqlite3_bind_int64(find, 3, (int64_t)p->start_ns);
		sqlite3_bind_int64(find, 4, p->exec_seq);
		rc = store_find(st, find, &id[i], err);
		sweep_saw(st, SWEEP_PROCESS, id[i]);
	}
	return rc;
}

static int intern_threads(struct store *st, const struct store_batch *b,
			  const int64_t *process_id, int64_t *id,
			  struct weft_err *err)
{
	const struct store_thread *t;
	sqlite3_stmt *put, *find;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_THREAD_PUT, &put, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_THREAD_FIND, &find, err);
	for (i = 0; i < b->n_threads && !rc; i++) {
		t = &b->threads[i];
		sqlite3_bind_int64(put, 1, process_id[t->process]);
		sqlite3_bind_int64(put, 2, t->tid);
		sqlite3_bind_int64(put, 3, (int64_t)t->start_ns);
		bind_text(put, 4, b->text, t->comm);
		rc = store_run(st, put, err);
		if (rc)
			break;
		sqlite3_bind_int64(find, 1, process_id[t->process]);
		sqlite3_bind_int64(find, 2, t->tid);
		sqlite3_bind_int64(find, 3, (int64_t)t->start_ns);
		rc = store_find(st, find, &id[i], err);
		sweep_saw(st, SWEEP_THREAD, id[i]);
	}
	return rc;
}

static void bind_binary(sqlite3_stmt *stmt, const struct store_batch *b,
			const struct store_binary *binary)
{
	sqlite3_bind_text(stmt, 1, kind_word[binary->kind], -1, SQLITE_STATIC);
	bind_text_or_empty(stmt, 2, b->text, binary->path);
	bind_text(stmt, 3, b->text, binary->build_id);
	bind_text_or_empty(stmt, 4, b->text, binary->identity);
}

static int intern_binaries(struct store *st, const struct store_batch *b,
			   int64_t *id, struct weft_err *err)
{
	sqlite3_stmt *add, *find;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_BINARY_ADD, &add, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_BINARY_FIND, &find, err);
	for (i = 0; i < b->n_binaries && !rc; i++) {
		bind_binary(find, b, &b->binaries[i]);
		rc = store_find(st, find, &id[i], err);
		if (rc || id[i])
			continue;
		bind_binary(add, b, &b->binaries[i]);
		rc = store_run(st, add, err);
		id[i] = sqlite3_last_insert_rowid(st->conn.db);
	}
	return rc;
}

static int remember(struct store *st, struct memory *memory,
		    struct idmap_key key, int64_t id, struct weft_err *err)
{
	if (memory_add(memory, key, id))
		return weft_fail(err, -ENOMEM,
				 "cannot write to '%s': no memory", st->path);
	return 0;
}

int remember_row(struct store *st, struct memory *memory, struct idmap_key key,
		 int64_t id, struct weft_err *err)
{
	if (memory_is_full(memory, 1))
		memory_age(memory);
	return remember(st, memory, key, id, err);
}

/* Ids of binaries are dealt from 1 on: they stay below 2^31. */
static struct idmap_key frame_key(int64_t binary_id,
				  const struct store_frame *frame)
{
	return (struct idmap_key){ { (uint64_t)binary_id << 33 |
					     (uint64_t)frame->version << 1 |
					     frame->in_kernel,
				     frame->address } };
}

static int find_frame(struct store *st, int64_t binary_id,
		      const struct store_frame *frame, int64_t *out,
		      struct weft_err *err)
{
	struct idmap_key key = frame_key(binary_id, frame);
	sqlite3_stmt *stmt;
	int rc;

	*out = memory_find(&st->frame, key);
	if (*out)
		return 0;
	if (!st->frame.knows_all) {
		rc = store_stmt(st, STORE_SQL_FRAME_FIND, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, binary_id);
		sqlite3_bind_int64(stmt, 2, (int64_t)frame->address);
		sqlite3_bind_int(stmt, 3, frame->in_kernel);
		sqlite3_bind_int64(stmt, 4, frame->version);
		rc = store_find(st, stmt, out, err);
		if (rc)
			return rc;
		if (*out)
			return remember_row(st, &st->frame, key, *out, err);
	}
	rc = store_stmt(st, STORE_SQL_FRAME_ADD, &stmt, err);
	if (rc)
		return rc;
	*out = st->frame.next;
	sqlite3_bind_int64(stmt, 1, *out);
	sqlite3_bind_int64(stmt, 2, binary_id);
	sqlite3_bind_int64(stmt, 3, (int64_t)frame->address);
	sqlite3_bind_int(stmt, 4, frame->in_kernel);
	sqlite3_bind_int64(stmt, 5, frame->version);
	rc = store_run(st, stmt, err);
	if (rc)
		return rc;
	st->frame.next++;
	return remember_row(st, &st->frame, key, *out, err);
}

static int intern_frame(struct store *st, int64_t binary_id,
			const struct store_frame *frame, int64_t *out,
			struct weft_err *err)
{
	int rc = find_frame(st, binary_id, frame, out, err);

	if (!rc)
		sweep_saw(st, SWEEP_FRAME, *out);
	return rc;
}

int intern_trace(struct store *st, const uint8_t trace_id[16], int64_t *out,
		 struct weft_err *err)
{
	struct idmap_key key;
	sqlite3_stmt *stmt;
	int rc;

	memcpy(key.word, trace_id, sizeof(key.word));
	*out = memory_find(&st->trace, key);
	if (*out)
		return 0;
	if (!st->trace.knows_all) {
		rc = store_stmt(st, STORE_SQL_TRACE_FIND, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_blob(stmt, 1, trace_id, 16, SQLITE_STATIC);
		rc = store_find(st, stmt, out, err);
		if (rc)
			return rc;
	}
	if (!*out)
		*out = st->trace.next++;
	return remember(st, &st->trace, key, *out, err);
}

static int64_t *new_ids(size_t n)
{
	return calloc(n + 1, sizeof(int64_t)); /* none is not a failure */
}

int intern_batch(struct store *st, const struct store_batch *b,
		 struct interned *out, struct weft_err *err)
{
	size_t i;
	int rc;

	out->process = new_ids(b->n_processes);
	out->thread = new_ids(b->n_threads);
	out->binary = new_ids(b->n_binaries);
	out->frame = new_ids(b->n_frames);
	out->stack = new_ids(b->n_stacks);
	out->attribute = new_ids(b->n_attributes);
	if (!out->attribute || !out->process || !out->thread || !out->binary ||
	    !out->frame || !out->stack)
		return weft_fail(err, -ENOMEM,
				 "cannot write to '%s': no memory", st->path);
	rc = intern_processes(st, b, out->process, err);
	if (!rc)
		rc = intern_threads(st, b, out->process, out->thread, err);
	if (!rc)
		rc = intern_binaries(st, b, out->binary, err);
	for (i = 0; i < b->n_frames && !rc; i++)
		rc = intern_frame(st, out->binary[b->frames[i].binary],
				  &b->frames[i], &out->frame[i], err);
	for (i = 0; i < b->n_stacks && !rc; i++)
		rc = stack_intern(st, b, &b->stacks[i], out->frame,
				  &out->stack[i], err);
	if (!rc)
		rc = intern_attributes(st, b, out->attribute, err);
	return rc;
}

void interned_release(struct interned *in)
{
	free(in->process);
	free(in->thread);
	free(in->binary);
	free(in->frame);
	free(in->stack);
	free(in->attribute);
	memset(in, 0, sizeof(*in));
}

struct intern_mark intern_mark(const struct store *st)
{
	return (struct intern_mark){
		.node = st->node.next,
		.frame = st->frame.next,
		.trace = st->trace.next,
		.sample = st->next_sample,
	};
}

void intern_forget(struct store *st, struct intern_mark mark)
{
	memory_forget_from(&st->node, mark.node);
	memory_forget_from(&st->frame, mark.frame);
	memory_forget_from(&st->trace, mark.trace);
	stack_forget(st);
	st->next_sample = mark.sample;
}

int intern_make_room(struct store *st, const struct store_batch *b,
		     struct weft_err *err)
{
	uint64_t log_bytes;
	int rc;

	/* Of traces of a batch the file does not know before its end. */
	if (memory_is_full(&st->trace, b->n_samples))
		memory_age(&st->trace);
	/* Soon some nodes will have to be forgotten; or a transaction that
	 * failed has taken the index with it. */
	if (st->node.knows_all &&
	    memory_count(&st->node) < st->node.ceiling / 4 * 3)
		return 0;
	log_bytes = store_wal_bytes(st);
	rc = stack_ask_file(st, err);
	/* An index of millions of nodes, just made, is in the log whole; the
	 * batch is not to come on top of it. */
	if (!rc && store_wal_bytes(st) > log_bytes)
		(void)!store_checkpoint_log(st, NULL);
	return rc;
}

/* Read all rows of (id, key...) into memory. */
static int load(struct store *st, struct memory *memory, enum store_sql which,
		struct idmap_key (*to_key)(sqlite3_stmt *row),
		struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc, step;

	rc = store_stmt(st, which, &stmt, err);
	if (rc)
		return rc;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && !rc)
		rc = remember_row(st, memory, to_key(stmt),
				  sqlite3_column_int64(stmt, 0), err);
	if (!rc && step != SQLITE_DONE)
		rc = conn_fail(&st->conn, step, "read", err);
	sqlite3_reset(stmt);
	return rc;
}

static struct idmap_key node_row_key(sqlite3_stmt *row)
{
	return node_key(sqlite3_column_int64(row, 1),
			sqlite3_column_int64(row, 2));
}

static struct idmap_key frame_row_key(sqlite3_stmt *row)
{
	struct store_frame frame = {
		.address = (uint64_t)sqlite3_column_int64(row, 2),
		.in_kernel = sqlite3_column_int(row, 3) != 0,
		.version = (uint32_t)sqlite3_column_int64(row, 4),
	};

	return frame_key(sqlite3_column_int64(row, 1), &frame);
}

static int next_id(struct store *st, const char *sql, int64_t *out,
		   struct weft_err *err)
{
	int64_t last;
	int rc = conn_int(&st->conn, sql, &last, err);

	*out = last < 0 ? 1 : last + 1;
	return rc;
}

int intern_count(struct store *st, struct weft_err *err)
{
	int64_t tail_rows = 0;
	int rc;

	rc = next_id(st, "SELECT max(id) FROM stack_node", &st->node.next, err);
	if (!rc)
		rc = next_id(st, "SELECT max(id) FROM frame", &st->frame.next,
			     err);
	if (!rc)
		rc = next_id(st, "SELECT max(id) FROM trace", &st->trace.next,
			     err);
	if (!rc)
		rc = next_id(st,
			     "SELECT max(ifnull((SELECT max(id) FROM"
			     " sample_sealed), 0), ifnull((SELECT max(id) FROM"
			     " sample_tail), 0))",
			     &st->next_sample, err);
	if (!rc)
		rc = conn_int(&st->conn, "SELECT count(*) FROM sample_tail",
			      &tail_rows, err);
	if (rc)
		return rc;
	st->tail_rows = (uint64_t)tail_rows;
	st->sealed_rows = (uint64_t)(st->next_sample - 1 - tail_rows);
	st->trace.knows_all = st->trace.next == 1;
	return 0;
}

int intern_load(struct store *st, struct weft_err *err)
{
	int rc = intern_count(st, err);

	if (rc)
		return rc;
	/* Ids may have gaps, so they bound the number of rows from above. */
	if ((size_t)st->frame.next <= st->frame.ceiling)
		rc = load(st, &st->frame, STORE_SQL_FRAME_LIST, frame_row_key,
			  err);
	else
		st->frame.knows_all = false;
	if (rc)
		return rc;
	if ((size_t)st->node.next <= st->node.ceiling)
		return load(st, &st->node, STORE_SQL_STACK_NODE_LIST,
			    node_row_key, err);
	memory_clear(&st->node);
	return 0;
}
