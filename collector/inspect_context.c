/* SPDX-License-Identifier: MIT */
/* A process's trace context: the mapping first, for it is the gate. Without
 * it what a thread-local variable holds may be a parent's, from before a
 * fork. */
#include <string.h>

#include "collector/context_process.h"
#include "collector/context_tls.h"
#include "collector/inspect_ops.h"

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
	rc = context_read_process(&proc, &context);
	if (!rc && context.state == INSPECT_CONTEXT_FOUND)
		rc = context_find_slots(&proc, &own->entry, &context.state);
	/* What it says of itself is the last resort. */
	if (!rc && context.state == INSPECT_CONTEXT_NO_SYMBOL &&
	    context_use_offset(&own->entry, context.tp_offset))
		context.state = INSPECT_CONTEXT_FOUND;
	own->state = context.state;
	own->published_ns = context.published_ns;
	if (!rc)
		rc = reply_add_string(reply, context.service,
				      strlen(context.service), &own->service);
	if (!rc)
		rc = procfs_check(&proc, request->head->process.start_ns);
	procfs_close(&proc);
	return inspect_to_status(rc);
}
