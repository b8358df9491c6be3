/* SPDX-License-Identifier: MIT */
/*
 * Names for the frames of a recording that is closed: from the files that its
 * binaries were, wherever these are now. What is opened and parsed, is so in
 * inspectors, as while recording.
 */
#ifndef WEFT_SYMBOLIZE_H
#define WEFT_SYMBOLIZE_H

#include "store/weft.h"

struct symbolize_opts {
	const char *file;
	const char *symfs;     /* NULL: none */
	const char *debug_dir; /* never NULL */
	bool use_debuginfod;
	bool again; /* also frames that have names */
	bool json;
	enum weft_level log_level;
};

/* Name what can be named, and print how that went. Returns the exit status
 * (enum weft_exit). */
int symbolize(const struct symbolize_opts *opts);

#endif
