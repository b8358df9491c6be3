/* SPDX-License-Identifier: MIT */
/* IDs that say who wrote them: 8 hex digits each of process, thread, and 16 of
 * a number; the span's are thread and number. */
#ifndef OLDER_IDS_H
#define OLDER_IDS_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Between writes that whoever interrupts the thread may see. */
#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

struct ids {
	char trace[33], span[17];
	uint8_t trace_bytes[16], span_bytes[8];
};

static inline void put_bytes(uint8_t *out, uint64_t value, int size)
{
	for (int i = 0; i < size; i++)
		out[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static inline void sign(struct ids *ids, uint32_t tid, uint64_t number)
{
	uint32_t pid = (uint32_t)getpid();

	snprintf(ids->trace, sizeof(ids->trace), "%08x%08x%016lx", pid, tid,
		 (unsigned long)number);
	snprintf(ids->span, sizeof(ids->span), "%08x%08x", tid,
		 (uint32_t)number);
	put_bytes(ids->trace_bytes, pid, 4);
	put_bytes(ids->trace_bytes + 4, tid, 4);
	put_bytes(ids->trace_bytes + 8, number, 8);
	put_bytes(ids->span_bytes, tid, 4);
	put_bytes(ids->span_bytes + 4, number, 4);
}

#endif
