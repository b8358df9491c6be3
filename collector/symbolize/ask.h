/* SPDX-License-Identifier: MIT */
/* Asking inspectors for the names of a list's frames. */
#ifndef WEFT_SYMBOLIZE_ASK_H
#define WEFT_SYMBOLIZE_ASK_H

#include "collector/symbolize/list.h"
#include "collector/symbolize/symbolize.h"

/*
 * Look for the file of each binary, and offer its frames the names that it
 * has. With only_fetched those binaries only of which something was fetched.
 * Starts inspectors of its own. *stop (set by a signal) ends it early, with
 * what there is.
 */
int symbolize_ask(struct symbolize_list *list,
		  const struct symbolize_opts *opts, bool only_fetched,
		  const volatile int *stop, struct weft_err *err) MUST_CHECK;

#endif
