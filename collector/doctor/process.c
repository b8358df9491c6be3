/* SPDX-License-Identifier: MIT */
/*
 * One process, in the steps in which its context is found: what fails makes
 * the steps after it pointless. The process's memory is read by inspectors;
 * where its threads have theirs is asked of the kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/doctor/doctor.h"
#include "collector/doctor/threads.h"
#include "collector/ledger.h"
#include "collector/target.h"

static const char *const steps[] = { "process", "mapping", "schema",
				     "symbol",  "slot",    "live record" };

enum step {
	STEP_PROCESS,
	STEP_MAPPING,
	STEP_SCHEMA,
	STEP_SYMBOL,
	STEP_SLOT,
	STEP_LIVE
};

static const char none_cost[] = "its samples have no trace ID";

struct visit {
	struct doctor_report *report;
	struct weft_thread threads[DOCTOR_THREADS_MAX];
	size_t n_threads;
	struct weft_err threads_err;
	struct inspect *inspect;
};

static void fail(struct doctor_report *r, enum step step, const char *advice,
		 const char *found)
{
	doctor_add(r, steps[step], DOCTOR_FAIL, none_cost, advice, "%s", found);
}

static void pass(struct doctor_report *r, enum step step, const char *found)
{
	doctor_add(r, steps[step], DOCTOR_OK, NULL, NULL, "%s", found);
}

static void skip_from(struct doctor_report *r, enum step step)
{
	for (; step <= STEP_LIVE; step++)
		doctor_add(r, steps[step], DOCTOR_SKIPPED, NULL, NULL,
			   "not reached");
}

/* Why nothing was read at all. */
static void explain_status(struct doctor_report *r, enum inspect_status status)
{
	switch (status) {
	case INSPECT_GONE:
		r->is_not_there = true;
		doctor_add(r, steps[STEP_MAPPING], DOCTOR_FAIL, NULL, NULL,
			   "the process ended while it was looked at");
		break;
	case INSPECT_REFUSED:
		r->is_not_allowed = true;
		doctor_add(
			r, steps[STEP_MAPPING], DOCTOR_FAIL, none_cost,
			"run weft doctor as root, or with sudo; if it is root already, a sandbox or a security module forbids it",
			"its memory cannot be read: no permission");
		break;
	default:
		doctor_add(
			r, steps[STEP_MAPPING], DOCTOR_FAIL, none_cost,
			"try again; if it stays so, the process serves pages of its memory itself (userfaultfd, FUSE), or its mappings are too many",
			"reading its memory did not end in time");
	}
	skip_from(r, STEP_SCHEMA);
}

static void explain_slot(struct doctor_report *r,
			 const struct weft_context_entry *entry)
{
	const struct weft_context_slot *slot = &entry->slot[0];

	if (slot->module)
		doctor_add(r, steps[STEP_SLOT], DOCTOR_OK, NULL, NULL,
			   "block of module %u of each thread, + %lld",
			   slot->module, (long long)slot->offset);
	else
		doctor_add(r, steps[STEP_SLOT], DOCTOR_OK, NULL, NULL,
			   "at thread pointer %+lld", (long long)slot->offset);
}

/* It publishes in an older way, which needs no mapping. */
static void explain_other(struct doctor_report *r,
			  const struct inspect_context *context)
{
	doctor_add(r, steps[STEP_MAPPING], DOCTOR_SKIPPED, NULL, NULL,
		   "none that is read; it publishes in another way");
	doctor_add(r, steps[STEP_SCHEMA], DOCTOR_SKIPPED, NULL, NULL,
		   "not needed");
	if (context->state == INSPECT_CONTEXT_UNSUPPORTED) {
		fail(r, STEP_SYMBOL,
		     "update weft, or have the process publish OTEP 4947",
		     "it is Go, or keeps contexts in another way, of a version that is not known");
		return;
	}
	doctor_add(r, steps[STEP_SYMBOL], DOCTOR_OK, NULL, NULL,
		   "contexts of source '%s'",
		   context_source_names[context->entry.source]);
	explain_slot(r, &context->entry);
}

/* How far its context was found. */
static void explain_state(struct doctor_report *r,
			  const struct inspect_context *context,
			  bool has_rights)
{
	enum inspect_context_state state = context->state;

	if (state == INSPECT_CONTEXT_UNSUPPORTED ||
	    (state == INSPECT_CONTEXT_FOUND &&
	     context->entry.source != WEFT_SOURCE_OTEL)) {
		explain_other(r, context);
		return;
	}
	if (state == INSPECT_CONTEXT_NO_MAPPING) {
		fail(r, STEP_MAPPING,
		     "call otc_init() in it, after the last fork (tools/publisher/README.md), or have its SDK or agent publish OTEP 4719; weft record --trace-probe takes IDs from a function that is told them",
		     "it publishes no process context (no mapping OTEL_CTX)");
		return;
	}
	if (state == INSPECT_CONTEXT_BAD_HEADER) {
		fail(r, STEP_MAPPING,
		     "its publisher writes another version of OTEP 4719 than 2, or is broken: update it",
		     "a mapping OTEL_CTX is there, but what it holds is not a process context");
		return;
	}
	if (state == INSPECT_CONTEXT_CHANGING) {
		fail(r, STEP_MAPPING,
		     "try again; if it stays so, its publisher died within an update",
		     "a mapping OTEL_CTX is there, but is being changed");
		return;
	}
	doctor_add(r, steps[STEP_MAPPING], DOCTOR_OK, NULL, NULL,
		   *context->service ? "process context of service '%s'"
				     : "process context without a service%s",
		   context->service);
	if (state == INSPECT_CONTEXT_UNKNOWN_SCHEMA) {
		doctor_add(
			r, steps[STEP_SCHEMA], DOCTOR_FAIL, none_cost,
			"weft reads tls_v1 and tlsdesc_v1_dev; nodejs_v1 needs a walk through V8, which it does not do",
			*context->schema ? "its schema is '%s'"
					 : "it names no schema%s",
			context->schema);
		return;
	}
	doctor_add(r, steps[STEP_SCHEMA], DOCTOR_OK, NULL, NULL, "'%s'",
		   context->schema);
	if (state == INSPECT_CONTEXT_NO_SYMBOL && !has_rights) {
		/* Files are opened by /proc/PID/map_files, which takes them. */
		r->is_not_allowed = true;
		doctor_add(r, steps[STEP_SYMBOL], DOCTOR_SKIPPED, NULL,
			   "run weft doctor as root, or with sudo",
			   "the files that it has loaded cannot be opened");
		return;
	}
	if (state == INSPECT_CONTEXT_NO_SYMBOL)
		fail(r, STEP_SYMBOL,
		     "link it with -Wl,--export-dynamic-symbol=otel_thread_ctx_v1, or do not strip it",
		     "no file that it has loaded defines otel_thread_ctx_v1");
	else
		pass(r, STEP_SYMBOL, "otel_thread_ctx_v1 is defined");
	if (state == INSPECT_CONTEXT_UNRESOLVED)
		fail(r, STEP_SLOT,
		     "try again when the program has started; a library that is only reached by dlsym() should refer to the variable in code of its own",
		     "where each thread has it cannot be told (yet)");
	else if (state == INSPECT_CONTEXT_FOUND)
		explain_slot(r, &context->entry);
}

static void explain_live(struct visit *v, size_t n,
			 enum weft_context_source source)
{
	struct doctor_report *r = v->report;
	size_t ok = 0, broken = 0;

	for (size_t i = 0; i < n; i++) {
		enum weft_context_status s = r->threads[i].record.status;

		ok += s == WEFT_CTX_OK;
		broken += s == WEFT_CTX_HALF || s == WEFT_CTX_E_RECORD;
	}
	if (source != WEFT_SOURCE_OTEL)
		doctor_add(
			r, steps[STEP_LIVE], DOCTOR_SKIPPED, NULL,
			"weft record -p, then weft loss: what became of its samples",
			"contexts of this source are only read when sampled");
	else if (v->threads_err.code)
		doctor_add(r, steps[STEP_LIVE], DOCTOR_SKIPPED, NULL,
			   "run weft doctor as root, or with sudo", "%s",
			   v->threads_err.msg);
	else if (!n)
		doctor_add(
			r, steps[STEP_LIVE], DOCTOR_SKIPPED, NULL, NULL,
			"it has no threads that can be asked: it ended, or the number is a thread's, not a process's");
	else if (broken && !ok)
		doctor_add(
			r, steps[STEP_LIVE], DOCTOR_FAIL, none_cost,
			"its publisher is broken: a record is 28 bytes or more, readable, at an even address, with both IDs or none",
			"%zu of %zu threads have a record that cannot be used",
			broken, n);
	else if (!ok)
		doctor_add(
			r, steps[STEP_LIVE], DOCTOR_WARN,
			"samples of threads without a record have no trace ID",
			"ask again under load; then see whether otc_set() is called on the threads that do the work",
			"none of %zu threads has a context just now", n);
	else
		doctor_add(r, steps[STEP_LIVE], DOCTOR_OK, NULL, NULL,
			   "%zu of %zu threads have a context just now", ok, n);
}

static void on_records(void *ctx, enum inspect_status status,
		       const struct inspect_context *context,
		       const struct inspect_record *records, size_t n)
{
	struct visit *v = ctx;
	struct doctor_report *r = v->report;
	size_t before = r->n;

	inspect_close(v->inspect);
	if (status != INSPECT_OK) {
		explain_status(r, status);
		return;
	}
	explain_state(r, context, !v->threads_err.code);
	if (context->state != INSPECT_CONTEXT_FOUND) {
		skip_from(r, (enum step)(STEP_MAPPING + (r->n - before)));
		return;
	}
	for (size_t i = 0; i < n && i < v->n_threads; i++)
		r->threads[i] =
			(struct doctor_thread){ v->threads[i].tid, records[i] };
	r->n_threads = n < v->n_threads ? n : v->n_threads;
	explain_live(v, r->n_threads,
		     (enum weft_context_source)context->entry.source);
}

/* Returns 0 where it is a process, -ESRCH where no more can be said. */
static int find_process(struct doctor_report *r, uint32_t pid, uint64_t *ticks)
{
	int rc = target_start(pid, ticks);

	if (rc == -ESRCH) {
		r->is_not_there = true;
		doctor_add(r, steps[STEP_PROCESS], DOCTOR_FAIL, NULL,
			   "`pgrep -a NAME` finds the pid of a program",
			   "there is no process %u", pid);
		skip_from(r, STEP_MAPPING);
	} else if (!rc && target_is_kernel(pid)) {
		doctor_add(
			r, steps[STEP_PROCESS], DOCTOR_FAIL, none_cost,
			"nothing: weft record has its stacks; requests are known of programs alone",
			"%u is a thread of the kernel: it runs no program that could publish trace contexts",
			pid);
		skip_from(r, STEP_MAPPING);
		rc = -ESRCH;
	} else if (!rc) {
		doctor_add(r, steps[STEP_PROCESS], DOCTOR_OK, NULL, NULL,
			   "process %u is there", pid);
	}
	return rc;
}

static int ask(struct visit *v, uint32_t pid, uint64_t ticks, uv_loop_t *loop,
	       struct inspect_server server, struct weft_err *err)
{
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct weft_identity who = { .pid = pid, .start_ns = ticks * tick_ns };
	const struct inspect_opts opts = { .workers = 1 };
	uint64_t pointers[DOCTOR_THREADS_MAX];
	int rc = inspect_open(&v->inspect, loop, server, &opts, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < v->n_threads; i++)
		pointers[i] = v->threads[i].pointer;
	rc = inspect_records(v->inspect, &who, pointers, v->n_threads,
			     on_records, v);
	if (rc) {
		inspect_close(v->inspect);
		return weft_fail(err, rc, "cannot ask about process %u: %s",
				 pid, strerror(-rc));
	}
	return 0;
}

int doctor_process(struct doctor_report *report, uint32_t pid,
		   struct weft_err *err)
{
	static struct visit visit;
	struct inspect_server server;
	uint64_t ticks;
	uv_loop_t loop;
	int rc;

	report->pid = pid;
	visit = (struct visit){ .report = report };
	rc = find_process(report, pid, &ticks);
	if (rc == -ESRCH)
		return 0;
	if (rc)
		return weft_fail(err, rc, "cannot look at process %u: %s", pid,
				 strerror(-rc));
	rc = threads_read(pid, visit.threads, DOCTOR_THREADS_MAX,
			  &visit.n_threads, &visit.threads_err);
	if (rc)
		visit.n_threads = 0;
	rc = inspect_fork(&server, err);
	if (rc)
		return rc;
	uv_loop_init(&loop);
	rc = ask(&visit, pid, ticks, &loop, server, err);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return rc;
}
