/* SPDX-License-Identifier: MIT */
/*
 * Stacks are a tree. A stack is walked from its root, each step being a node
 * (parent, frame); its id is the id of its leaf's node. The walk starts at a
 * number at or below 0, one for each status and reason for its end, so that a
 * broken stack never equals a complete one of the same frames. No index over
 * (parent, frame) makes the file bigger, until there are more nodes than are
 * remembered: then one is made, and dropped on close.
 *
 * Most stacks of an interval were in the one before: whole ones are remembered,
 * too, by a hash of their frames, and not walked again. While a sweep is under
 * way (store/sweep.c) all are walked: it wants to see their nodes.
 */
#include "store/inside.h"

static const char *const status_word[STORE_STACK_STATUSES] = {
	[STORE_COMPLETE] = "complete", [STORE_TRUNCATED] = "truncated",
	[STORE_BROKEN] = "broken",     [STORE_NO_USER] = "no_user",
	[STORE_LOST] = "lost",         [STORE_NOT_TAKEN] = "not_taken",
};

/*
 * Roots for each reason: room for as many statuses. Those above -ROOTS_OF_END
 * are of stacks without a reason: the lost, those not taken, and all of schema
 * 1.
 */
enum {
	ROOTS_OF_END = 16
};

_Static_assert((int)STORE_STACK_STATUSES <= (int)ROOTS_OF_END,
	       "a root for each status");

struct idmap_key node_key(int64_t parent_id, int64_t frame_id)
{
	return (struct idmap_key){ { (uint64_t)parent_id,
				     (uint64_t)frame_id } };
}

int stack_ask_file(struct store *st, struct weft_err *err)
{
	return conn_exec(&st->conn,
			 "CREATE INDEX IF NOT EXISTS stack_node_identity"
			 " ON stack_node (parent_id, frame_id)",
			 err);
}

static int remember_node(struct store *st, struct idmap_key key, int64_t id,
			 struct weft_err *err)
{
	bool forgets =
		memory_is_full(&st->node, 1) && memory_has_old(&st->node);
	int rc = forgets && st->node.knows_all ? stack_ask_file(st, err) : 0;

	return rc ? rc : remember_row(st, &st->node, key, id, err);
}

/* The node that is known, by us or by the file; *out is 0 if there is none. */
static int find_node(struct store *st, struct idmap_key key, int64_t parent_id,
		     int64_t frame_id, int64_t *out, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	*out = memory_find(&st->node, key);
	if (*out || st->node.knows_all)
		return 0;
	rc = store_stmt(st, STORE_SQL_STACK_NODE_FIND, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, parent_id);
	sqlite3_bind_int64(stmt, 2, frame_id);
	rc = store_find(st, stmt, out, err);
	return rc || !*out ? rc : remember_node(st, key, *out, err);
}

/* A step of the walk. *is_new: the node that it comes from was made by the step
 * before, so that nothing can be below it yet; then the same of its own. */
static int intern_node(struct store *st, int64_t parent_id, int64_t frame_id,
		       int64_t *out, bool *is_new, struct weft_err *err)
{
	struct idmap_key key = node_key(parent_id, frame_id);
	sqlite3_stmt *stmt;
	int rc = 0;

	*out = 0;
	if (!*is_new)
		rc = find_node(st, key, parent_id, frame_id, out, err);
	if (rc || *out)
		return rc;
	rc = store_stmt(st, STORE_SQL_STACK_NODE_ADD, &stmt, err);
	if (rc)
		return rc;
	*is_new = true;
	*out = st->node.next;
	sqlite3_bind_int64(stmt, 1, *out);
	sqlite3_bind_int64(stmt, 2, parent_id);
	sqlite3_bind_int64(stmt, 3, frame_id);
	rc = store_run(st, stmt, err);
	if (rc)
		return rc;
	st->node.next++;
	return remember_node(st, key, *out, err);
}

/* Where the walk to a stack's node starts. */
static int64_t root_of(const struct store_stack *stack)
{
	int64_t root = stack->status;

	if (stack->status < STORE_LOST)
		root += ROOTS_OF_END * ((int64_t)stack->end + 1);
	return -root;
}

/* What a whole stack is remembered by. */
static struct idmap_key stack_key(const struct store *st,
				  const struct store_batch *b,
				  const struct store_stack *stack,
				  const int64_t *frame_id)
{
	const uint32_t *frame = &b->stack_frames[stack->first];
	struct idmap_key key = { { 0 } };
	uint32_t i = stack->depth;

	idmap_take(&st->stack, &key, (uint64_t)root_of(stack));
	while (i--)
		idmap_take(&st->stack, &key, (uint64_t)frame_id[frame[i]]);
	return key;
}

/* leaf_frame_id is of no meaning where the stack has no frames. */
static int put_stack(struct store *st, const struct store_stack *stack,
		     int64_t id, int64_t leaf_frame_id, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	rc = store_stmt(st, STORE_SQL_STACK_PUT, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_text(stmt, 2, status_word[stack->status], -1,
			  SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, stack->depth);
	sqlite3_bind_text(stmt, 4,
			  stack->status < STORE_LOST ? st->walk_end[stack->end]
						     : NULL,
			  -1, SQLITE_STATIC);
	if (stack->depth)
		sqlite3_bind_int64(stmt, 5, leaf_frame_id);
	else
		sqlite3_bind_null(stmt, 5);
	return store_run(st, stmt, err);
}

/* Its nodes and its row are in the file. Without memory for it they are looked
 * for again the next time. */
static void remember_stack(struct store *st, struct idmap_key key, int64_t id)
{
	if (id <= 0 || sweep_is_under_way(st))
		return; /* roots are few */
	if (st->stack.n >= st->stack_ceiling || idmap_add(&st->stack, key, id))
		idmap_clear(&st->stack);
}

int stack_intern(struct store *st, const struct store_batch *b,
		 const struct store_stack *stack, const int64_t *frame_id,
		 int64_t *out, struct weft_err *err)
{
	struct idmap_key key = stack_key(st, b, stack, frame_id);
	int64_t node = root_of(stack), frame = 0;
	uint32_t i = stack->depth;
	bool is_new = false;
	int rc;

	*out = idmap_find(&st->stack, key);
	if (*out)
		return 0;
	while (i--) {
		frame = frame_id[b->stack_frames[stack->first + i]];
		rc = intern_node(st, node, frame, &node, &is_new, err);
		if (rc)
			return rc;
		sweep_saw(st, SWEEP_NODE, node);
	}
	*out = node;
	rc = put_stack(st, stack, node, frame, err);
	if (!rc)
		remember_stack(st, key, node);
	return rc;
}

void stack_forget(struct store *st)
{
	idmap_clear(&st->stack);
}
