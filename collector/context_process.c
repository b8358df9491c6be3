/* SPDX-License-Identifier: MIT */
#include "collector/inspect_ops.h"

/* Not built yet: every request is refused. */
enum inspect_status inspect_op_context(const struct request *request,
				       struct reply *reply)
{
	(void)request;
	(void)reply;
	return INSPECT_REFUSED;
}
