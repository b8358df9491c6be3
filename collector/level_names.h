/* SPDX-License-Identifier: MIT */
/* A frame's names out of its symbol and its DWARF: one rule for what is
 * recorded and for what weft symbolize adds. */
#ifndef WEFT_LEVEL_NAMES_H
#define WEFT_LEVEL_NAMES_H

#include "collector/inspect/inspect.h"
#include "collector/name_list.h"

/*
 * The names of a frame with n levels by DWARF, innermost first; at most
 * INSPECT_LEVELS_MAX count. The outermost is called as the symbol says, where
 * that has a name: it is what is really there (.cold, .part). A level that
 * nothing names is left out; the others are told, for each is right alone.
 * Texts stay those of symbol and levels. Returns how many names.
 */
size_t level_names(struct frame_name out[INSPECT_LEVELS_MAX],
		   const struct frame_name *symbol,
		   const struct inspect_level *levels, size_t n);

#endif
