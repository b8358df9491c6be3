/* SPDX-License-Identifier: MIT */
/* A process's trace context: the mapping first, for it is the gate of OTEP
 * 4947. Without it what that variable holds may be a parent's, from before a
 * fork. What else there is goes by its own rules. */
#include <string.h>

#include "collector/context/fallback.h"
#include "collector/context/process.h"
#include "collector/context/tls.h"
#include "collector/inspect/ops.h"

/* The first way by which it publishes. */
static int find(const struct procfs *proc, struct process_context *context,
		struct weft_context_entry *entry)
{
	static struct modules modules;
	enum inspect_context_state state;
	int rc = context_read_process(proc, context);

	if (!rc && context->state == INSPECT_CONTEXT_FOUND) {
		rc = modules_read(&modules, proc);
		if (!rc)
			context_find_slots(proc, &modules, CONTEXT_VARIABLE,
					   entry, &context->state);
	}
	/* What it says of itself is the last resort. */
	if (!rc && context->state == INSPECT_CONTEXT_NO_SYMBOL &&
	    context_use_offset(entry, context->tp_offset))
		context->state = INSPECT_CONTEXT_FOUND;
	entry->source = WEFT_SOURCE_OTEL;
	if (rc || context->state == INSPECT_CONTEXT_FOUND ||
	    context->state == INSPECT_CONTEXT_CHANGING)
		return rc;
	rc = context_find_fallback(proc, entry, &state);
	if (!rc && state != INSPECT_CONTEXT_NO_MAPPING)
		context->state = state;
	return rc;
}

static int add_texts(struct reply *reply, const struct process_context *context)
{
	int rc = 0;

	for (size_t i = 0; i < context->n_texts && !rc; i++) {
		const struct inspect_context_text *text = &context->texts[i];
		struct wire_context_text wire = { .is_key = text->is_key };

		rc = reply_add_string(reply, text->key, strlen(text->key),
				      &wire.key);
		if (!rc)
			rc = reply_add_string(reply, text->value,
					      strlen(text->value), &wire.value);
		if (!rc)
			rc = reply_add(reply, &wire, sizeof(wire));
	}
	return rc;
}

enum inspect_status inspect_op_context(const struct request *request,
				       struct reply *reply)
{
	static struct process_context context;
	struct wire_context *own = &reply->own.context;
	struct procfs proc;
	int rc = procfs_open(&proc, &request->head->process);

	if (rc)
		return inspect_to_status(rc);
	reply->own_size = sizeof(*own);
	rc = find(&proc, &context, &own->entry);
	own->state = context.state;
	own->published_ns = context.published_ns;
	if (!rc)
		rc = reply_add_string(reply, context.service,
				      strlen(context.service), &own->service);
	if (!rc)
		rc = reply_add_string(reply, context.schema,
				      strlen(context.schema), &own->schema);
	if (!rc && request->head->op == WIRE_CONTEXT)
		rc = add_texts(reply, &context);
	if (!rc)
		rc = procfs_check(&proc, request->head->process.start_ns);
	procfs_close(&proc);
	return inspect_to_status(rc);
}
