/* SPDX-License-Identifier: MIT */
/*
 * The walk that every export is made of: what was counted (shape), or the
 * samples (detail), of a report's range, one by one, each with its process
 * and its stack as frames. Nothing of it is kept in memory; sorting beyond
 * what fits the page cache is done on disk.
 */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include "query/frames.h"
#include "query/report.h"

enum profile_form {
	PROFILE_SHAPE, /* exact; equal stacks of a process once */
	PROFILE_DETAIL
};

enum profile_order {
	PROFILE_BY_STACK, /* by process, thread, stack, trace, span, time */
	PROFILE_BY_TIME   /* of detail; shape comes by stack all the same */
};

/* Zero: all. */
struct profile_choice {
	int64_t trace; /* trace.id: detail only, for shape knows no traces */
	int64_t pid;
};

/* Strings are bytes as stored, borrowed for the call, "" where not known. */
struct profile_process {
	int64_t id, pid;
	const char *comm, *exe, *service;
};

struct profile_sample {
	struct profile_process process;
	int64_t stack_id;
	const uint32_t *frames; /* frames_of_stack(), borrowed */
	size_t n_frames;
	uint64_t count; /* shape: samples; detail: 1 */
	int64_t value;  /* sum, in the event's unit */
	/* The rest is of detail. */
	double weight; /* how many samples of shape it stands for; 1 of shape */
	int64_t tid, cpu;
	int64_t unix_ns;
	const char *thread;                /* its comm */
	const unsigned char *trace, *span; /* 16 and 8 bytes, or NULL */
};

/* 0: go on; else a negative errno with err filled, which ends the walk. */
typedef int profile_fn(void *ctx, const struct profile_sample *s,
		       struct weft_err *err);

/* Returns 0, also where nothing was chosen; what fn returned; or as
 * db_step(). */
int profile_walk(const struct report *r, const struct frames *frames,
		 const struct profile_choice *choice, enum profile_form form,
		 enum profile_order order, profile_fn *fn, void *ctx,
		 struct weft_err *err) MUST_CHECK;

/* 1: there is something to walk over; 0: nothing; else a negative errno. */
int profile_any(const struct report *r, const struct profile_choice *choice,
		enum profile_form form, struct weft_err *err) MUST_CHECK;

#endif
