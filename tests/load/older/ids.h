/* SPDX-License-Identifier: MIT */
/* IDs that say who wrote them: 8 hex digits each of process, thread, and 16 of
 * a number; the span's are thread and number. */
#ifndef OLDER_IDS_H
#define OLDER_IDS_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/load/ctx_publish.h"

/* Between writes that whoever interrupts the thread may see. */
#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

struct ids {
	char trace[33], span[17];
	uint8_t trace_bytes[16], span_bytes[8];
};

/* As this thread, whose number-th request it is. */
static inline void sign(struct ids *ids, uint64_t number)
{
	uint32_t pid = (uint32_t)getpid(), tid = (uint32_t)gettid();

	snprintf(ids->trace, sizeof(ids->trace), "%08x%08x%016lx", pid, tid,
		 (unsigned long)number);
	snprintf(ids->span, sizeof(ids->span), "%08x%08x", tid,
		 (uint32_t)number);
	ctx_put_number(ids->trace_bytes, pid, 4);
	ctx_put_number(ids->trace_bytes + 4, tid, 4);
	ctx_put_number(ids->trace_bytes + 8, number, 8);
	ctx_put_number(ids->span_bytes, tid, 4);
	ctx_put_number(ids->span_bytes + 4, number, 4);
}

#endif
