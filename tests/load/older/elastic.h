/* SPDX-License-Identifier: MIT */
/* The record of a thread as Elastic's agents keep it. */
#ifndef OLDER_ELASTIC_H
#define OLDER_ELASTIC_H

#include <string.h>

#include "tests/load/older/ids.h"

struct elastic_writer {
	struct {
		uint16_t version;
		uint8_t valid, has_trace, flags;
		uint8_t trace[16], span[8], transaction[8];
	} __attribute__((packed)) record;
};

__thread void *elastic_apm_profiling_correlation_tls_v1;

static inline void elastic_attach(struct elastic_writer *w,
				  const struct ids *ids)
{
	*(volatile uint8_t *)&w->record.valid = 0;
	BARRIER();
	w->record.version = 1;
	w->record.has_trace = 1;
	memcpy(w->record.trace, ids->trace_bytes, sizeof(w->record.trace));
	memcpy(w->record.span, ids->span_bytes, sizeof(w->record.span));
	BARRIER();
	*(volatile uint8_t *)&w->record.valid = 1;
	elastic_apm_profiling_correlation_tls_v1 = &w->record;
}

static inline void elastic_detach(struct elastic_writer *w)
{
	*(volatile uint8_t *)&w->record.has_trace = 0;
}

#endif
