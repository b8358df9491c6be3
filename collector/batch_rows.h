/* SPDX-License-Identifier: MIT */
/* A batch from within: what batch.c and batch_ledger.c share. */
#ifndef WEFT_BATCH_ROWS_H
#define WEFT_BATCH_ROWS_H

#include "collector/batch.h"
#include "collector/batch_metrics.h"
#include "collector/grow.h"
#include "collector/table.h"

/* An array of rows with an index by content. */
#define ROWS(type)                  \
	struct {                    \
		type *row;          \
		size_t n, room;     \
		struct table index; \
	}

struct frame_note {
	struct binary *binary;
	store_text name, linkage_name;
	const char *source; /* static */
};

struct batch {
	struct store_interval interval;
	char *text;
	size_t n_text, text_room;
	ROWS(struct store_process) processes;
	ROWS(struct store_thread) threads;
	ROWS(struct store_binary) binaries;
	ROWS(struct store_frame) frames;
	ROWS(struct store_stack) stacks;
	ROWS(struct store_count) counts;
	ROWS(struct store_sample) samples;
	ROWS(struct store_cpu) cpus;
	ROWS(struct store_ledger) ledger;
	ROWS(struct store_attribute) attributes;
	ROWS(struct store_has) sample_has;
	ROWS(struct store_has) process_has;
	struct batch_metrics metrics;
	uint32_t *stack_frames;
	size_t n_stack_frames, stack_frames_room;
	const struct binary **binary_of; /* one per row of binaries */
	size_t binary_of_room;
	struct frame_note *notes; /* one per frame */
	size_t notes_room;
};

/* It takes BATCH_BYTES_MAX: nothing that is new finds room any more. */
bool batch_is_full(const struct batch *b);

#endif
