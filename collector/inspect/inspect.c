/* SPDX-License-Identifier: MIT */
/*
 * Which request is next, and who is told what came of it.
 *
 * A request is a job. Jobs wait in one queue; an idle inspector is given the
 * first, or one further back for the file that it parsed last. What is decided
 * without an inspector (barred, deferred) waits in the list of settled jobs
 * for the next turn of the loop, so that no callback runs within the call that
 * asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/inspect/crew.h"
#include "collector/inspect/owners.h"
#include "collector/inspect/trouble.h"

enum {
	LOOK_AHEAD = 64, /* jobs searched for one of the same file */
	PASSES_MAX = 16, /* times that the first job may be passed over */
};

static const uint64_t ns_per_ms = 1000000;

struct inspect {
	struct crew *crew; /* owned */
	uv_idle_t settle;
	struct inspect_opts opts;
	struct jobs waiting, settled;
	struct jobs lines; /* waiting; taken when nothing else waits */
	struct inspect_owners owners; /* whose lines are next */
	struct inspect_bars bars;
	struct inspect_bars told; /* whose trouble was told */
	inspect_trouble_fn *on_trouble;
	void *trouble_ctx; /* borrowed */
	inspect_other_fn *on_other;
	void *other_ctx; /* borrowed */
	struct inspect_totals totals;
	uint32_t passes; /* times that the first waiting job was passed over */
	bool is_closing;
	int open_parts; /* the crew, settle */
};

/* The callback may close in, whose memory stays until its parts are closed. */
static void call_back(struct inspect *in, struct job *job,
		      const struct inspect_answer *answer)
{
	in->totals.answers[answer->status]++;
	job_finish(job, answer);
}

static void on_settle(uv_idle_t *handle)
{
	struct inspect *in = handle->data;

	/* Those that callbacks add wait for the next turn. */
	for (size_t n = in->settled.n; n && !in->is_closing; n--) {
		struct job *job = jobs_take(&in->settled, &in->settled.first);
		struct inspect_answer answer = { .status = job->status };

		call_back(in, job, &answer);
	}
	if (!in->is_closing && !in->settled.n)
		uv_idle_stop(&in->settle);
}

static void settle_later(struct inspect *in, struct job *job,
			 enum inspect_status status)
{
	job->status = status;
	jobs_append(&in->settled, job);
	uv_idle_start(&in->settle, on_settle);
}

static struct job *take_waiting(struct inspect *in, struct jobs *jobs,
				struct job **link)
{
	struct job *job = jobs_take(jobs, link);

	if (jobs == &in->lines)
		inspect_owners_leave(&in->owners, job->owner);
	return job;
}

static void settle_all(struct inspect *in, struct jobs *jobs,
		       enum inspect_status status)
{
	while (jobs->first)
		settle_later(in, take_waiting(in, jobs, &jobs->first), status);
}

/* With no inspector and none coming, do not let requests wait for ever. */
static void defer_if_alone(struct inspect *in)
{
	enum inspect_status status =
		crew_is_lost(in->crew) ? INSPECT_CRASHED : INSPECT_DEFERRED;

	if (!crew_is_empty(in->crew))
		return;
	settle_all(in, &in->waiting, status);
	settle_all(in, &in->lines, status);
}

static struct job **choose_job(struct inspect *in, const struct worker *worker)
{
	struct job **link = &in->waiting.first;

	if (in->passes >= PASSES_MAX)
		return &in->waiting.first;
	for (int i = 0; *link && i < LOOK_AHEAD; i++) {
		if (inspect_target_is_same(&(*link)->target,
					   crew_last_of(worker)))
			return link;
		link = &(*link)->next;
	}
	return &in->waiting.first;
}

static uint64_t find_deadline(const struct inspect *in, const struct job *job)
{
	switch (job->request->op) {
	case WIRE_TABLE:
		return in->opts.table_deadline_ns;
	case WIRE_LINES:
		return in->opts.lines_deadline_ns;
	default:
		return in->opts.deadline_ns;
	}
}

/* Take a job; start it, unless it was barred since it was queued. */
static bool take_job(struct inspect *in, struct jobs *jobs, struct job **link,
		     struct worker *worker)
{
	struct job *job = take_waiting(in, jobs, link);

	if (inspect_bars_has(&in->bars, &job->target, uv_hrtime())) {
		settle_later(in, job, INSPECT_BARRED);
		return false;
	}
	crew_give(worker, job, find_deadline(in, job));
	return true;
}

/* The first request of the owner whose turn it is. */
static struct job **choose_lines(struct inspect *in)
{
	size_t owner = inspect_owners_choose(&in->owners);
	struct job **link = &in->lines.first;

	while ((*link)->owner != owner)
		link = &(*link)->next;
	return link;
}

/* Calls nobody back: runs within requests. */
static void dispatch(struct inspect *in)
{
	struct worker *worker;

	while (in->waiting.first && !in->is_closing) {
		struct job *job = in->waiting.first, **link;
		bool is_first;

		worker = crew_find_idle(in->crew, &job->target);
		if (!worker)
			return;
		link = choose_job(in, worker);
		is_first = *link == job;
		if (take_job(in, &in->waiting, link, worker))
			in->passes = is_first ? 0 : in->passes + 1;
	}
	while (in->lines.first && !in->is_closing &&
	       !crew_is_busy_with(in->crew, WIRE_LINES)) {
		struct job **link = choose_lines(in);

		worker = crew_find_idle(in->crew, &(*link)->target);
		if (!worker)
			return;
		(void)take_job(in, &in->lines, link, worker);
	}
}

/* The inspector hung or died of it. */
static bool is_barring(const struct inspect_answer *answer)
{
	return answer->status == INSPECT_TIMEOUT ||
	       answer->status == INSPECT_CRASHED;
}

/* A bar is told of each time; all else of a target once. */
static void tell_trouble(struct inspect *in, const struct job *job,
			 const struct inspect_answer *answer)
{
	struct inspect_target what = job->target;
	enum inspect_trouble kind;
	char text[TROUBLE_MAX];

	if (!in->on_trouble)
		return;
	kind = trouble_describe(text, job, answer);
	if (kind == INSPECT_TROUBLE_NONE)
		return;
	if (kind != INSPECT_TROUBLE_BARRED) {
		what.trouble = (uint8_t)kind;
		if (inspect_bars_has(&in->told, &what, 0))
			return;
		inspect_bars_add(&in->told, &what, UINT64_MAX);
	}
	in->on_trouble(in->trouble_ctx, kind, text);
}

static void tell_others(struct inspect *in, const struct job *job,
			const struct inspect_answer *answer)
{
	if (!in->on_other || job->request->op != WIRE_NAMES)
		return;
	for (size_t i = 0; i < job->request->n_places; i++) {
		const struct wire_other *other = &answer->of_names.other[i];

		if (other->error)
			in->on_other(in->other_ctx,
				     &(struct inspect_other){
					     .place = i,
					     .error = other->error,
					     .build_id = other->build_id,
					     .build_id_size =
						     other->build_id_size });
	}
	if (job->request->n_places && answer->linked)
		in->on_other(in->other_ctx,
			     &(struct inspect_other){
				     .linked = answer->linked,
				     .error = answer->of_names.linked_error });
}

static void on_over(void *ctx, struct job *job,
		    const struct inspect_answer *answer, uint64_t took_ns)
{
	struct inspect *in = ctx;

	if (job->request->op == WIRE_LINES)
		inspect_owners_charge(&in->owners, job->owner, took_ns);
	if (is_barring(answer))
		inspect_bars_add(&in->bars, &job->target,
				 uv_hrtime() + in->opts.bar_ns);
	else if (job->request->op == WIRE_NAMES &&
		 answer->owner != WIRE_NO_OWNER)
		inspect_owners_learn(&in->owners, &job->target, answer->owner);
	tell_trouble(in, job, answer);
	tell_others(in, job, answer);
	call_back(in, job, answer);
}

static void on_changed(void *ctx)
{
	struct inspect *in = ctx;

	dispatch(in);
	defer_if_alone(in);
}

static void part_closed(struct inspect *in)
{
	if (!--in->open_parts)
		free(in);
}

static void on_crew_closed(void *ctx)
{
	part_closed(ctx);
}

static void on_settle_closed(uv_handle_t *handle)
{
	part_closed(handle->data);
}

static void set_defaults(struct inspect_opts *opts)
{
	if (!opts->workers)
		opts->workers = 2;
	if (opts->workers > WIRE_WORKERS_MAX)
		opts->workers = WIRE_WORKERS_MAX;
	if (!opts->queue)
		opts->queue = 4096;
	if (!opts->deadline_ns)
		opts->deadline_ns = 2000 * ns_per_ms;
	if (!opts->table_deadline_ns)
		opts->table_deadline_ns = 10000 * ns_per_ms;
	if (!opts->lines_deadline_ns)
		opts->lines_deadline_ns = 10000 * ns_per_ms;
	if (!opts->bar_ns)
		opts->bar_ns = 3600 * 1000 * ns_per_ms;
}

int inspect_open(struct inspect **out, uv_loop_t *loop,
		 struct inspect_server server, const struct inspect_opts *opts,
		 struct weft_err *err)
{
	static const struct crew_calls calls = { on_over, on_changed,
						 on_crew_closed };
	struct inspect *in = calloc(1, sizeof(*in));
	int rc;

	*out = NULL;
	if (!in) {
		close(server.fd);
		return weft_fail(err, -ENOMEM,
				 "cannot watch the inspectors: out of memory");
	}
	if (opts)
		in->opts = *opts;
	set_defaults(&in->opts);
	jobs_init(&in->waiting);
	jobs_init(&in->lines);
	jobs_init(&in->settled);
	rc = crew_open(&in->crew, loop, server, in->opts.workers, &calls, in,
		       err);
	if (rc) {
		free(in);
		return rc;
	}
	uv_idle_init(loop, &in->settle);
	in->settle.data = in;
	in->open_parts = 2;
	*out = in;
	return 0;
}

void inspect_close(struct inspect *in)
{
	if (!in)
		return;
	in->is_closing = true;
	jobs_drop(&in->waiting);
	jobs_drop(&in->lines);
	jobs_drop(&in->settled);
	uv_close((uv_handle_t *)&in->settle, on_settle_closed);
	crew_close(in->crew);
}

void inspect_read_totals(const struct inspect *in, struct inspect_totals *out)
{
	*out = in->totals;
	out->replaced = crew_replaced(in->crew);
}

void inspect_on_trouble(struct inspect *in, inspect_trouble_fn *fn, void *ctx)
{
	in->on_trouble = fn;
	in->trouble_ctx = ctx;
}

void inspect_on_other(struct inspect *in, inspect_other_fn *fn, void *ctx)
{
	in->on_other = fn;
	in->other_ctx = ctx;
}

uint64_t inspect_cpu_ns(const struct inspect *in)
{
	return crew_cpu_ns(in->crew);
}

/* Whether there is room for one more of its owner's, so that there is some
 * for others; it then counts as waiting. */
static bool may_wait(struct inspect *in, struct job *job)
{
	job->owner = inspect_owners_find(&in->owners, &job->target);
	if (in->owners.owner[job->owner].waiting >= in->opts.queue / 2)
		return false;
	inspect_owners_wait(&in->owners, job->owner);
	return true;
}

int inspect_submit(struct inspect *in, const struct job_parts *parts,
		   union job_fn fn, void *ctx)
{
	struct job *job = job_new(parts, fn, ctx);
	struct jobs *jobs = parts->op == WIRE_LINES ? &in->lines : &in->waiting;

	if (!job)
		return -ENOMEM;
	if (inspect_bars_has(&in->bars, &job->target, uv_hrtime()))
		settle_later(in, job, INSPECT_BARRED);
	else if (jobs->n >= in->opts.queue ||
		 (jobs == &in->lines && !may_wait(in, job)))
		settle_later(in, job, INSPECT_DEFERRED);
	else
		jobs_append(jobs, job);
	dispatch(in);
	defer_if_alone(in);
	return 0;
}
