/* SPDX-License-Identifier: MIT */
/*
 * What stands in the way: of recording on this machine, or of seeing one
 * process's trace context. A report is a list of checks, each with what was
 * found, what it costs where it is not as it should be, and what to do.
 */
#ifndef WEFT_DOCTOR_H
#define WEFT_DOCTOR_H

#include "collector/inspect/inspect.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WARN,    /* works, but something is missing */
	DOCTOR_FAIL,    /* does not work */
	DOCTOR_SKIPPED, /* could not be looked at, or what is before it failed
			 */
	DOCTOR_STATES
};

enum {
	DOCTOR_CHECKS_MAX = 24,
	DOCTOR_THREADS_MAX = INSPECT_NAMES_MAX
};

struct doctor_check {
	const char *name;
	enum doctor_state state;
	char found[512];    /* safe on a terminal */
	const char *cost;   /* static; NULL where nothing is wrong */
	const char *advice; /* static; NULL likewise */
};

/* A thread of the process and what it has attached. */
struct doctor_thread {
	uint32_t tid;
	struct inspect_record record;
};

struct doctor_report {
	struct doctor_check checks[DOCTOR_CHECKS_MAX];
	size_t n;
	struct doctor_thread threads[DOCTOR_THREADS_MAX];
	size_t n_threads;
	uint32_t pid;        /* 0: the machine's report */
	bool is_not_there;   /* no such process */
	bool is_not_allowed; /* we may not look, or not record */
};

/* Add a check. cost and advice are static text, or NULL. */
void doctor_add(struct doctor_report *report, const char *name,
		enum doctor_state state, const char *cost, const char *advice,
		const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Check the machine for what weft record needs. Loads the kernel program,
 * which then is not attached to anything. */
void doctor_machine(struct doctor_report *report);

/* Its part: events that a default recording does not need. */
void doctor_events(struct doctor_report *report, bool may_open);

/*
 * Check whether trace contexts of process pid can be seen. Call while
 * single-threaded: it forks the inspectors. Returns 0, or a negative errno
 * where we could not even try.
 */
int doctor_process(struct doctor_report *report, uint32_t pid,
		   struct weft_err *err) MUST_CHECK;

/* Print it, to stdout. */
void doctor_print(const struct doctor_report *report);
void doctor_print_json(const struct doctor_report *report);

#endif
