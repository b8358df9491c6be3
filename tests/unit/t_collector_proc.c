/* SPDX-License-Identifier: MIT */
/* What cmocka.h needs comes before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "collector/proc.h"

enum {
	PARENT = 100,
	CHILD,
	GRANDCHILD
};

struct fixture {
	struct binaries *binaries;
	struct procs *procs;
	uint64_t now_ns;
};

static void on_answer(void *ctx)
{
	(void)ctx;
}

static int set_up(void **state)
{
	static struct fixture f;
	struct procs_opts opts = { .on_answer = on_answer };
	struct weft_err err = { 0 };

	f = (struct fixture){ .now_ns = 1000 };
	assert_int_equal(binaries_open(&f.binaries, &err), 0);
	opts.binaries = f.binaries;
	assert_int_equal(procs_open(&f.procs, &opts, &err), 0);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	procs_close(f->procs);
	binaries_close(f->binaries);
	return 0;
}

static struct weft_identity who(uint32_t pid)
{
	return (struct weft_identity){ .start_ns = pid, .pid = pid };
}

/* A new program, which from here on is followed by the side-band alone. */
static void exec(struct fixture *f, uint32_t pid)
{
	struct sideband_event e = {
		.kind = SIDEBAND_EXEC,
		.boot_ns = ++f->now_ns,
		.pid = pid,
	};

	procs_event(f->procs, &e);
	e.kind = SIDEBAND_NOTICE;
	e.boot_ns = ++f->now_ns;
	e.notice = (struct weft_notice){
		.kind = WEFT_NOTICE_EXEC,
		.boot_ns = e.boot_ns,
		.process = who(pid),
	};
	procs_event(f->procs, &e);
}

static void fork_of(struct fixture *f, uint32_t parent, uint32_t child)
{
	struct sideband_event e = {
		.kind = SIDEBAND_NOTICE,
		.boot_ns = ++f->now_ns,
		.pid = child,
	};

	e.notice = (struct weft_notice){
		.kind = WEFT_NOTICE_FORK,
		.boot_ns = e.boot_ns,
		.process = who(child),
		.parent = who(parent),
	};
	procs_event(f->procs, &e);
}

static void map(struct fixture *f, uint32_t pid, uint64_t start, uint64_t end,
		const char *path)
{
	struct sideband_event e = {
		.kind = SIDEBAND_MMAP,
		.boot_ns = ++f->now_ns,
		.pid = pid,
		.mmap = {
			.start = start,
			.size = end - start,
			.file_offset = start,
			.inode = 1,
			.path = path,
		},
	};

	procs_event(f->procs, &e);
}

/* What the list says, as "start-end path;" for each. */
static void expect(struct fixture *f, uint32_t pid, const char *want)
{
	struct weft_identity w = who(pid);
	const struct proc *proc = procs_get(f->procs, &w);
	struct maps list = { 0 };
	char got[1024] = "";

	assert_int_equal(procs_list(proc, &list), 0);
	for (size_t i = 0; i < list.n_now; i++) {
		const struct mapping *m = &list.now[i];
		size_t at = strlen(got);

		/* Each keeps its place in its file. */
		assert_int_equal(m->file_offset, m->start);
		snprintf(got + at, sizeof(got) - at, "%llx-%llx %s;",
			 (unsigned long long)m->start,
			 (unsigned long long)m->end,
			 m->binary ? m->binary->file.path : "anonymous");
	}
	maps_release(&list);
	assert_string_equal(got, want);
}

/* That of a run is told at `ns`. */
static void exec_of(struct fixture *f, const struct weft_identity *run,
		    uint64_t ns)
{
	struct sideband_event e = {
		.kind = SIDEBAND_NOTICE,
		.boot_ns = ns,
		.pid = run->pid,
		.notice = { .kind = WEFT_NOTICE_EXEC,
			    .boot_ns = ns,
			    .process = *run },
	};

	procs_event(f->procs, &e);
}

/* An inspector's answer overtakes the news of an exec. */
static void what_the_next_program_published_is_not_the_lasts(void **state)
{
	struct fixture *f = *state;
	struct weft_identity first = who(CHILD), second = first, third = first;
	struct proc *proc;

	second.exec_seq = 1;
	third.exec_seq = 2;
	exec_of(f, &first, 10);
	proc = procs_get(f->procs, &first);
	proc->service = strdup("read before");
	proc->context_ns = 19;
	exec_of(f, &second, 20);
	proc = procs_get(f->procs, &second);
	proc->service = strdup("read after");
	proc->context_ns = 31;
	exec_of(f, &third, 30);
	assert_string_equal(procs_get(f->procs, &first)->service,
			    "read before");
	assert_null(procs_get(f->procs, &second)->service);
}

static void a_program_has_what_it_mapped_in_order(void **state)
{
	struct fixture *f = *state;

	exec(f, PARENT);
	expect(f, PARENT, "");
	map(f, PARENT, 0x5000, 0x6000, "/lib");
	map(f, PARENT, 0x1000, 0x2000, "/program");
	map(f, PARENT, 0x3000, 0x4000, "//anon");
	expect(f, PARENT,
	       "1000-2000 /program;3000-4000 anonymous;5000-6000 /lib;");
}

static void what_was_mapped_over_is_not_listed(void **state)
{
	struct fixture *f = *state;

	exec(f, PARENT);
	map(f, PARENT, 0x1000, 0x5000, "/old");
	map(f, PARENT, 0x2000, 0x3000, "/new");
	expect(f, PARENT, "1000-2000 /old;2000-3000 /new;3000-5000 /old;");
}

static void a_child_has_what_its_parent_had_at_the_fork(void **state)
{
	struct fixture *f = *state;

	exec(f, PARENT);
	map(f, PARENT, 0x1000, 0x2000, "/program");
	map(f, PARENT, 0x3000, 0x4000, "/before");
	fork_of(f, PARENT, CHILD);
	map(f, PARENT, 0x3000, 0x4000, "/after");
	map(f, PARENT, 0x5000, 0x6000, "/later");
	expect(f, CHILD, "1000-2000 /program;3000-4000 /before;");
	expect(f, PARENT,
	       "1000-2000 /program;3000-4000 /after;5000-6000 /later;");
}

static void a_childs_own_mappings_hide_what_it_inherited(void **state)
{
	struct fixture *f = *state;

	exec(f, PARENT);
	map(f, PARENT, 0x1000, 0x4000, "/program");
	fork_of(f, PARENT, CHILD);
	map(f, CHILD, 0x2000, 0x3000, "/own");
	expect(f, CHILD,
	       "1000-2000 /program;2000-3000 /own;3000-4000 /program;");
	expect(f, PARENT, "1000-4000 /program;");
}

static void a_grandchild_has_what_both_had(void **state)
{
	struct fixture *f = *state;

	exec(f, PARENT);
	map(f, PARENT, 0x1000, 0x2000, "/program");
	fork_of(f, PARENT, CHILD);
	map(f, CHILD, 0x3000, 0x4000, "/childs");
	fork_of(f, CHILD, GRANDCHILD);
	map(f, CHILD, 0x5000, 0x6000, "/later");
	expect(f, GRANDCHILD, "1000-2000 /program;3000-4000 /childs;");
}

static void a_new_program_has_nothing_of_the_old(void **state)
{
	struct fixture *f = *state;
	struct weft_identity new = who(PARENT);
	struct maps list = { 0 };

	exec(f, PARENT);
	map(f, PARENT, 0x1000, 0x2000, "/program");
	exec(f, PARENT);
	new.exec_seq++;
	assert_int_equal(procs_list(procs_get(f->procs, &new), &list), 0);
	assert_int_equal(list.n_now, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_program_has_what_it_mapped_in_order),
		CASE(what_was_mapped_over_is_not_listed),
		CASE(a_child_has_what_its_parent_had_at_the_fork),
		CASE(a_childs_own_mappings_hide_what_it_inherited),
		CASE(a_grandchild_has_what_both_had),
		CASE(a_new_program_has_nothing_of_the_old),
		CASE(what_the_next_program_published_is_not_the_lasts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
