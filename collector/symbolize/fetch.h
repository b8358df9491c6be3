/* SPDX-License-Identifier: MIT */
/* Fetching debug files, and programs, from debuginfod servers. */
#ifndef WEFT_SYMBOLIZE_FETCH_H
#define WEFT_SYMBOLIZE_FETCH_H

#include "collector/symbolize/list.h"

/*
 * For each binary with a build ID that could be named better: have its debug
 * file, and the program where that was not found, in libdebuginfod's cache.
 * Which servers is asked by $DEBUGINFOD_URLS. The binaries say what came of
 * it; that nothing came is no error, but servers that could not be asked are
 * told in the log. Returns a negative errno only where fetching is impossible.
 */
int symbolize_fetch(struct symbolize_list *list, const volatile int *stop,
		    struct weft_err *err) MUST_CHECK;

#endif
