/* SPDX-License-Identifier: MIT */
/*
 * What processes have mapped executable, told to the kernel program where it
 * cannot read the kernel's own tree of mappings: a list for each process that
 * it asks for, replaced as a whole whenever the side-band shows a change. A
 * process that lives for milliseconds ends before its list is of use.
 */
#ifndef WEFT_MAPPING_LISTS_H
#define WEFT_MAPPING_LISTS_H

#include "collector/probe.h"
#include "collector/proc.h"
#include "collector/unwind_tables.h"

struct mapping_lists;

struct mapping_lists_opts {
	struct probe *probe; /* borrowed, as all here */
	struct procs *procs;
	const struct binaries *binaries;
	struct unwind_tables *tables;
};

struct mapping_lists_totals {
	uint64_t pushed;  /* lists, changed ones included */
	uint64_t cut;     /* of these, with more mappings than have room */
	uint64_t refused; /* processes for which there was no room */
};

int mapping_lists_open(struct mapping_lists **out,
		       const struct mapping_lists_opts *opts,
		       struct weft_err *err) MUST_CHECK;
void mapping_lists_close(struct mapping_lists *l); /* NULL is fine */

/* Take what concerns us of the side-band, after procs_event(). Nothing is
 * pushed yet. */
void mapping_lists_event(struct mapping_lists *l,
			 const struct sideband_event *event);

/* After procs_distrust(): look at all again. */
void mapping_lists_distrust(struct mapping_lists *l);

/* Push the lists that changed, and have tables built of the files on them;
 * those whose mappings are still being read stay for the next call. */
void mapping_lists_push(struct mapping_lists *l);

void mapping_lists_read(const struct mapping_lists *l,
			struct mapping_lists_totals *out);

#endif
