/* SPDX-License-Identifier: MIT */
/* The thread's record of Elastic's agents, as their "universal profiling
 * integration" lays it out, version 1. */
#ifndef WEFT_CONTEXT_ELASTIC_BPF_H
#define WEFT_CONTEXT_ELASTIC_BPF_H

#include "trace_id.h"
#include "wire.h"

struct elastic_record {
	__u16 minor_version;
	__u8 valid; /* 0: being changed */
	__u8 trace_present;
	__u8 trace_flags;
	__u8 trace_id[16];
	__u8 span_id[8];
	/* The ID of the transaction follows: the local root span. */
} __attribute__((packed));

static __always_inline __u8 read_elastic(__u64 slot_address,
					 struct weft_sample *s)
{
	struct elastic_record r;
	__u64 record, id[2];

	if (bpf_probe_read_user(&record, sizeof(record),
				(const void *)slot_address))
		return WEFT_CTX_E_SLOT;
	if (!record)
		return WEFT_CTX_NULL;
	if (bpf_probe_read_user(&r, sizeof(r), (const void *)record))
		return WEFT_CTX_E_RECORD;
	if (!r.valid)
		return WEFT_CTX_UPDATING;
	__builtin_memcpy(id, r.trace_id, sizeof(id));
	if (r.trace_present != 1 || all_zero(id, 2))
		return WEFT_CTX_ZERO;
	__builtin_memcpy(s->trace_id, r.trace_id, sizeof(s->trace_id));
	__builtin_memcpy(s->span_id, r.span_id, sizeof(s->span_id));
	s->trace_flags = r.trace_flags;
	s->context_source = WEFT_SOURCE_ELASTIC;
	return WEFT_CTX_OK;
}

#endif
