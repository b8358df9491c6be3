/* SPDX-License-Identifier: MIT */
/* For probe.c alone: what is set of the kernel program before it is loaded. */
#ifndef WEFT_PROBE_CONFIG_H
#define WEFT_PROBE_CONFIG_H

#include "collector/probe.h"
#include "gen/weft.skel.h"

/* All but the keys of the hash. */
void probe_set_config(struct weft_config *c, const struct probe_opts *opts);

/* Have the programs loaded that the triggers need. */
void probe_choose_programs(struct weft_bpf *skel, const struct triggers *t);

/* Returns 0 or a negative errno. cpus: possible ones. */
int probe_size_maps(struct weft_bpf *skel, const struct probe_opts *opts,
		    uint32_t cpus) MUST_CHECK;

#endif
