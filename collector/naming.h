/* SPDX-License-Identifier: MIT */
/*
 * Names for frames of files, each asked for once, when the frame is first
 * stored. They arrive later than the frames and are written in transactions of
 * their own, as are names that came with a frame (the kernel's, a JIT's).
 *
 * A frame of an ELF file gets all its functions at once, those that were
 * inlined there too, with lines: symbols are asked for first, then DWARF.
 * The function itself has its symbol's name where there is one, for that
 * tells which part or copy of it is there.
 */
#ifndef WEFT_NAMING_H
#define WEFT_NAMING_H

#include "collector/batch.h"
#include "collector/writer.h"

struct naming;

/* Without with_lines, symbols only. */
int naming_open(struct naming **out, struct inspect *inspect,
		struct writer *writer, bool with_lines,
		struct weft_err *err) MUST_CHECK;

/* Requests under way are forgotten: close the inspectors first. */
void naming_close(struct naming *n); /* NULL is fine */

/* A batch was stored: ask for the names of its new frames. A
 * writer_stored_fn's arguments. */
void naming_add(struct naming *n, const struct batch *b,
		const struct store_frame_row *rows, size_t n_rows);

/* Ask again for what the inspectors were too busy for, and hand what has
 * arrived to the writer. Call once per interval. */
void naming_tick(struct naming *n);

/* Wait no longer for lines: what symbols told is handed over. */
void naming_give_up(struct naming *n);

/* Frames whose names are still to come. */
size_t naming_waiting(const struct naming *n);

/* Tell whom to call when an answer has arrived. */
void naming_on_answer(struct naming *n, void (*fn)(void *ctx), void *ctx);

#endif
