/* SPDX-License-Identifier: MIT */
/*
 * What the tests of live inspectors share: a server with its inspectors, what
 * they last answered, and what is asked of them in more than one file.
 */
#ifndef T_COLLECTOR_INSPECT_H
#define T_COLLECTOR_INSPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/inspect/inspect.h"
#include "tests/unit/only_child.h"
#include "tests/unit/start_ns.h"

struct fixture {
	uv_loop_t loop;
	struct inspect *in;
	int server_pid;
	uintptr_t look_for; /* an address whose mapping is wanted */
	size_t left;        /* callbacks to come */
	size_t seen[INSPECT_STATUSES];
	char name[256];              /* the last that was given */
	char outer[256], file[4096]; /* of the last lines */
	size_t n_levels;
	struct inspect_mapping mapping; /* the last that was chosen */
	char path[4096];
	enum inspect_context_state state;
	struct inspect_table table; /* the last; without its words */
	uint32_t kind_here;         /* what the last table says of look_for */
	bool is_asking;             /* within a request */
	char trouble[512];          /* the last that was told */
	size_t troubles;
};

static inline void on_trouble(void *ctx, enum inspect_trouble kind,
			      const char *sentence)
{
	struct fixture *f = ctx;

	(void)kind;
	snprintf(f->trouble, sizeof(f->trouble), "%s", sentence);
	f->troubles++;
}

static inline struct fixture *open_with(struct fixture *f,
					const struct inspect_opts *opts)
{
	struct inspect_server server;
	struct weft_err err = { 0 };

	*f = (struct fixture){ 0 };
	assert_int_equal(inspect_fork(&server, &err), 0);
	f->server_pid = server.pid;
	assert_int_equal(uv_loop_init(&f->loop), 0);
	assert_int_equal(inspect_open(&f->in, &f->loop, server, opts, &err), 0);
	inspect_on_trouble(f->in, on_trouble, f);
	return f;
}

static inline void close_all(struct fixture *f)
{
	inspect_close(f->in);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
}

static inline void run_until_answered(struct fixture *f)
{
	while (f->left)
		uv_run(&f->loop, UV_RUN_ONCE);
}

static inline void answered(struct fixture *f, enum inspect_status status)
{
	assert_false(f->is_asking);
	assert_true(f->left);
	f->left--;
	f->seen[status]++;
}

/* The identity of a process as /proc shows it. */
static inline struct weft_identity identify(pid_t pid)
{
	return (struct weft_identity){ .pid = (uint32_t)pid,
				       .start_ns = start_ns(pid) };
}

static inline void on_process(void *ctx, enum inspect_status status,
			      const struct inspect_process *process)
{
	struct fixture *f = ctx;
	uintptr_t here = f->look_for ? f->look_for : (uintptr_t)on_process;

	answered(f, status);
	if (status != INSPECT_OK) {
		assert_null(process);
		return;
	}
	assert_int_equal(process->parent_pid, getppid());
	assert_true(process->n_mappings > 1);
	assert_non_null(strstr(process->exe, "t_collector_inspect"));
	for (size_t i = 0; i < process->n_mappings; i++) {
		const struct inspect_mapping *m = &process->mappings[i];

		if (here < m->start || here >= m->end)
			continue;
		f->mapping = *m;
		snprintf(f->path, sizeof(f->path), "%s", m->path);
		f->mapping.path = f->path;
	}
}

static inline void on_context(void *ctx, enum inspect_status status,
			      const struct inspect_context *context)
{
	struct fixture *f = ctx;

	answered(f, status);
	if (context)
		f->state = context->state;
}

static inline void ask_process(struct fixture *f,
			       const struct weft_identity *who)
{
	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_process(f->in, who, on_process, f), 0);
	f->is_asking = false;
}

static inline void ask_context(struct fixture *f,
			       const struct weft_identity *who)
{
	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_context(f->in, who, on_context, f), 0);
	f->is_asking = false;
}

/* The file of the mapping found before. */
static inline struct inspect_file to_file(const struct fixture *f,
					  const struct weft_identity *who)
{
	struct inspect_file file = {
		.pid = who->pid,
		.start_ns = who->start_ns,
		.map_start = f->mapping.start,
		.map_end = f->mapping.end,
		.path = f->path,
		.inode = f->mapping.inode,
		.dev_major = f->mapping.dev_major,
		.dev_minor = f->mapping.dev_minor,
		.build_id_size = f->mapping.build_id_size,
	};

	memcpy(file.build_id, f->mapping.build_id, sizeof(file.build_id));
	return file;
}

#endif
