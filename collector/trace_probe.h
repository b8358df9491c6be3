/* SPDX-License-Identifier: MIT */
/*
 * --trace-probe: a function, or a USDT probe, that is told the IDs of the
 * request that the calling thread works on.
 */
#ifndef WEFT_TRACE_PROBE_H
#define WEFT_TRACE_PROBE_H

#include "bpf/wire.h"
#include "store/weft.h"

struct weft_bpf;

enum {
	TRACE_PROBE_PATH_MAX = 4096,
	TRACE_PROBE_NAME_MAX = 512
};

struct trace_probe {
	struct weft_trace_probe map; /* trace_form NONE: there is no probe */
	char binary[TRACE_PROBE_PATH_MAX];
	char symbol[TRACE_PROBE_NAME_MAX];   /* or the USDT probe's name */
	char provider[TRACE_PROBE_NAME_MAX]; /* "": symbol is a function */
};

/*
 * Parse BINARY:SYMBOL:MAP or BINARY:usdt:PROVIDER:NAME:MAP. MAP says which
 * argument, from 0, has what: trace=FORM@N or hi=u64@N,lo=u64@N, then if
 * wanted span=FORM@N; FORM is ptr (to 16 or 8 bytes), hex (to 32 or 16
 * digits), or, for a span, u64. Returns NULL, or what is wrong.
 */
const char *trace_probe_parse(const char *text, struct trace_probe *out);

/* Choose what is loaded for it; before the load. */
int trace_probe_prepare(struct weft_bpf *skel, const struct trace_probe *probe);

/* Attach it, to all processes that map the binary, also later. Needs
 * privilege. The links are the skeleton's. */
int trace_probe_attach(struct weft_bpf *skel, const struct trace_probe *probe,
		       struct weft_err *err) MUST_CHECK;

#endif
