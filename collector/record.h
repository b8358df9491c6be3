/* SPDX-License-Identifier: MIT */
/* One recording from open to close. */
#ifndef WEFT_RECORD_H
#define WEFT_RECORD_H

#include "collector/options.h"

/* Record as asked and say what happened. Returns the exit status. */
int record(const struct record_opts *opts);

#endif
