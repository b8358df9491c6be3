/* SPDX-License-Identifier: MIT */
/* weft record --debuginfod: names that a recording lacks, once it is closed. */
#ifndef WEFT_SYMBOLIZE_AFTER_H
#define WEFT_SYMBOLIZE_AFTER_H

#include "store/weft.h"

/* Run weft-symbolize --debuginfod on the file, and wait for it. Its report
 * goes to stderr. That nothing was found is no error. */
int symbolize_after(const char *file, struct weft_err *err) MUST_CHECK;

#endif
