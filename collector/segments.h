/* SPDX-License-Identifier: MIT */
/*
 * Where the code of each file lies: asked once per binary while recording, and
 * kept in the file for debug files that are found later and do not tell it.
 */
#ifndef WEFT_SEGMENTS_H
#define WEFT_SEGMENTS_H

#include "collector/binary.h"
#include "collector/name_list.h"

struct segments;

/* NULL: out of memory. */
struct segments *segments_open(struct inspect *in);

/* Before the inspectors are closed, or after: answers do not matter then.
 * NULL is fine. */
void segments_close(struct segments *s);

/* See that the segments of a binary are kept, if it has a build ID: nothing
 * else can prove a debug file. frame_id: one of its frames. */
void segments_want(struct segments *s, struct binary *binary, int64_t frame_id);

/* Move what was answered to the end of a list. */
void segments_take(struct segments *s, struct name_list *to);

#endif
