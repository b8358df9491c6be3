/* SPDX-License-Identifier: MIT */
/*
 * A file that is asked for by -o OUT. A database is not written over: it is a
 * recording, or somebody's; nor is a link followed in a directory that others
 * may write to. Half of an output is none.
 */
#ifndef WEFT_OUTPUT_H
#define WEFT_OUTPUT_H

#include <stdio.h>

#include "store/weft.h"

/* Returns 0 with *to to be closed by output_close(), or a negative errno with
 * err filled. */
int output_open(FILE **to, const char *path, struct weft_err *err) MUST_CHECK;

/* Close it; rc is how writing went. Returns rc, or where that is 0 how storing
 * went, with err filled. Where it failed the file is taken away; what is no
 * file of its own, but a link to one, is left empty. */
int output_close(FILE *to, const char *path, int rc, struct weft_err *err);

#endif
