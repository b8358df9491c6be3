/* SPDX-License-Identifier: MIT */
/*
 * `weft` without a command: what is in the recording at hand, and what to ask
 * next; without one, how to begin. The recording at hand is $WEFT_DB, else
 * weft.db.
 */
#ifndef WEFT_OVERVIEW_H
#define WEFT_OVERVIEW_H

/* Print it, to stdout. Returns the exit status: having none is no failure. */
int overview(void);

#endif
