/* SPDX-License-Identifier: MIT */
/* Names of labels (Go's, or of custom-labels) whose value is a trace or span
 * ID. */
#ifndef WEFT_LABEL_NAMES_H
#define WEFT_LABEL_NAMES_H

#include "bpf/wire.h"

/* Those that are in use out there. */
void label_names_default(struct weft_label_names *out);

/*
 * Parse TRACE[,TRACE...][:SPAN[,SPAN...]], or "off": none. The first of a list
 * that a thread has counts. Returns NULL, or what is wrong with it.
 */
const char *label_names_parse(const char *text, struct weft_label_names *out);

#endif
