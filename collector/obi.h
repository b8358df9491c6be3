/* SPDX-License-Identifier: MIT */
/*
 * The map in which OpenTelemetry's eBPF instrumentation (OBI) keeps the IDs of
 * the request that each thread works on, pinned for profilers to read.
 */
#ifndef WEFT_OBI_H
#define WEFT_OBI_H

#include "bpf/wire.h"
#include "store/weft.h"

struct weft_bpf;

#define OBI_PIN "/sys/fs/bpf/otel/traces_ctx_v1"

enum obi_state {
	OBI_ABSENT, /* nothing is pinned there */
	OBI_READY,
	OBI_EMPTY,     /* as it should be, but nothing is in it */
	OBI_DIFFERENT, /* something else than OBI's map, or of another shape */
	OBI_DENIED,    /* it cannot be opened */
};

struct obi_pin {
	enum obi_state state;
	int fd;          /* owned, where READY or EMPTY; else -1 */
	char found[256]; /* what is there, for people */
};

/* Parse auto, off or always. Returns NULL, or what is wrong. */
const char *obi_parse(const char *text, enum weft_obi *out);

/* Open the pin and look at its shape. Never fails: what it met is state. */
void obi_open(struct obi_pin *out);
void obi_close(struct obi_pin *pin);

/*
 * Have the kernel program read the pinned map; before the load. With ALWAYS
 * one is pinned where none is, so that OBI takes it when it starts. Where it
 * cannot be read says so, and has the program do without.
 */
int obi_prepare(struct weft_bpf *skel, enum weft_obi mode);

/* Whether a map is read, but gave no ID so far and has none just now. */
bool obi_is_silent(const struct weft_bpf *skel);

#endif
