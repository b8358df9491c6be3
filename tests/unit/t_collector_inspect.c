/* SPDX-License-Identifier: MIT */
/*
 * Inspectors, live: against this process, children of ours, and a child whose
 * memory never answers (a page that userfaultfd serves and nobody fills).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/elf/table.h"
#include "collector/inspect/inspect.h"
#include "tests/unit/skip.h"
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
};

static struct fixture *open_with(struct fixture *f,
				 const struct inspect_opts *opts)
{
	struct inspect_server server;
	struct weft_err err = { 0 };

	*f = (struct fixture){ 0 };
	assert_int_equal(inspect_fork(&server, &err), 0);
	f->server_pid = server.pid;
	assert_int_equal(uv_loop_init(&f->loop), 0);
	assert_int_equal(inspect_open(&f->in, &f->loop, server, opts, &err), 0);
	return f;
}

static void close_all(struct fixture *f)
{
	inspect_close(f->in);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
}

static void run_until_answered(struct fixture *f)
{
	while (f->left)
		uv_run(&f->loop, UV_RUN_ONCE);
}

static void answered(struct fixture *f, enum inspect_status status)
{
	assert_false(f->is_asking);
	assert_true(f->left);
	f->left--;
	f->seen[status]++;
}

/* The identity of a process as /proc shows it. */
static struct weft_identity identify(pid_t pid)
{
	return (struct weft_identity){ .pid = (uint32_t)pid,
				       .start_ns = start_ns(pid) };
}

static void on_process(void *ctx, enum inspect_status status,
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

static void on_names(void *ctx, enum inspect_status status,
		     const struct inspect_name *names, size_t n)
{
	struct fixture *f = ctx;

	answered(f, status);
	snprintf(f->name, sizeof(f->name), "%s",
		 n && names[0].name ? names[0].name : "");
}

static void on_lines(void *ctx, enum inspect_status status,
		     const struct inspect_level *levels, size_t n)
{
	struct fixture *f = ctx;

	answered(f, status);
	f->n_levels = n;
	if (!n)
		return;
	snprintf(f->name, sizeof(f->name), "%s", levels[0].name);
	snprintf(f->outer, sizeof(f->outer), "%s", levels[n - 1].name);
	snprintf(f->file, sizeof(f->file), "%s", levels[0].file);
	assert_int_equal(levels[n - 1].start + f->mapping.start -
				 f->mapping.file_offset,
			 f->look_for);
}

static void on_context(void *ctx, enum inspect_status status,
		       const struct inspect_context *context)
{
	struct fixture *f = ctx;

	answered(f, status);
	if (context)
		f->state = context->state;
}

static void on_table(void *ctx, enum inspect_status status,
		     const struct inspect_table *table)
{
	struct fixture *f = ctx;
	struct elf_table view;

	answered(f, status);
	f->table = (struct inspect_table){ 0 };
	if (!table)
		return;
	f->table = *table;
	f->table.words = NULL;
	view = (struct elf_table){
		.first_page = table->first_page,
		.n_pages = table->n_pages,
		.rules_block = table->rules_block,
		.words = (uint32_t *)table->words,
	};
	f->kind_here = elf_table_find(&view, f->look_for - f->mapping.start +
						     f->mapping.file_offset)
			       .kind;
}

static void ask_process(struct fixture *f, const struct weft_identity *who)
{
	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_process(f->in, who, on_process, f), 0);
	f->is_asking = false;
}

static void ask_context(struct fixture *f, const struct weft_identity *who)
{
	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_context(f->in, who, on_context, f), 0);
	f->is_asking = false;
}

/* The file of the mapping found before. */
static struct inspect_file to_file(const struct fixture *f,
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

static void ask_table(struct fixture *f, const struct inspect_file *file)
{
	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_table(f->in, file, on_table, f), 0);
	f->is_asking = false;
}

/* Name the function at an address of ours, in the mapping found before. */
static void ask_name(struct fixture *f, const struct weft_identity *who,
		     uintptr_t address)
{
	struct inspect_file file = to_file(f, who);
	uint64_t offset = address - f->mapping.start + f->mapping.file_offset;

	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_names(f->in, &file, &offset, 1, on_names, f),
			 0);
	f->is_asking = false;
}

static void a_process_and_its_functions_are_named(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 1);
	assert_true(f.mapping.end);
	ask_name(&f, &who, (uintptr_t)on_process + 1);
	run_until_answered(&f);
	assert_string_equal(f.name, "on_process");
	close_all(&f);
}

/* Lines of the function that begins at an address of ours. */
static void ask_lines(struct fixture *f, const struct weft_identity *who,
		      uintptr_t address)
{
	struct inspect_file file = to_file(f, who);
	uint64_t offset = address - f->mapping.start + f->mapping.file_offset;

	f->left++;
	f->is_asking = true;
	f->look_for = address;
	assert_int_equal(inspect_lines(f->in, &file, &offset, 1, on_lines, f),
			 0);
	f->is_asking = false;
}

static void a_function_has_its_lines(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	for (int i = 0; i < 3; i++) {
		f.n_levels = 0;
		ask_lines(&f, &who, (uintptr_t)on_process);
		ask_lines(&f, &who, (uintptr_t)on_process);
		run_until_answered(&f);
		assert_true(f.n_levels >= 1);
		assert_string_equal(f.outer, "on_process");
		assert_non_null(strstr(f.file, "t_collector_inspect.c"));
	}
	assert_int_equal(f.seen[INSPECT_OK], 7);
	close_all(&f);
}

static void who_fails_at_lines_keeps_its_names(void **state)
{
	struct inspect_opts opts = { .lines_deadline_ns = 1 };
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, &opts);
	ask_process(&f, &who);
	run_until_answered(&f);
	ask_lines(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_TIMEOUT], 1);
	ask_name(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 2);
	assert_string_equal(f.name, "on_process");
	ask_lines(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_BARRED], 1);
	close_all(&f);
}

static void a_file_that_is_not_the_mapped_one_is_refused(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	f.mapping.build_id_size = 20;
	f.mapping.build_id[0] ^= 1;
	ask_name(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 1);
	/* Without a build ID the inode decides. */
	f.mapping.build_id_size = 0;
	f.mapping.inode++;
	ask_name(&f, &who, (uintptr_t)on_process);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 2);
	close_all(&f);
}

static void a_mapped_file_has_an_unwind_table(void **state)
{
	struct weft_identity who = identify(getpid());
	struct inspect_file file;
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	f.look_for = (uintptr_t)on_table;
	ask_process(&f, &who);
	run_until_answered(&f);
	file = to_file(&f, &who);
	file.build_id_size = 0;
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 2);
	assert_true(f.table.n_pages && f.table.n_rows);
	assert_true(f.table.build_ns);
	/* On the first instruction of a function all is on the stack. */
	assert_int_equal(f.kind_here, WEFT_RULE_RSP);
	/* Without the mapping, its path will do. */
	file.map_start = file.map_end = 0;
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 3);
	assert_true(f.table.n_pages);
	close_all(&f);
}

static void the_vdso_has_an_unwind_table(void **state)
{
	struct inspect_file file = { .path = "[vdso]" };
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 1);
	assert_true(f.table.n_pages && f.table.n_rows);
	close_all(&f);
}

/* A build ID is what its owner says; a table is for all who map the inode. */
static void a_table_is_of_the_inode_and_no_other_file(void **state)
{
	struct weft_identity who = identify(getpid());
	struct inspect_file file;
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	file = to_file(&f, &who);
	file.inode++;
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 1);
	file.inode--;
	file.dev_minor++;
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 2);
	close_all(&f);
}

/* The lists of mappings are of side-band that tells nothing else. */
static void without_an_inode_a_tables_build_id_decides(void **state)
{
	struct weft_identity who = identify(getpid());
	struct inspect_file file;
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	file = to_file(&f, &who);
	file.inode = file.dev_major = file.dev_minor = 0;
	file.build_id_size = 0;
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 1);
	if (!f.mapping.build_id_size) {
		close_all(&f);
		SKIP_BECAUSE("this program has no build ID");
	}
	file.build_id_size = f.mapping.build_id_size;
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 2);
	assert_true(f.table.n_pages);
	file.build_id[0] ^= 1;
	ask_table(&f, &file);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_REFUSED], 2);
	close_all(&f);
}

/* Mount an overlay over one directory that holds a copy of this program, in a
 * mount namespace of our own. Returns 0 where it cannot be had. */
static bool mount_overlay(const char *dir)
{
	char command[1024];

	if (unshare(CLONE_NEWNS))
		return false;
	snprintf(command, sizeof(command),
		 "mount --make-rprivate / && cd %s && mkdir l u w m && "
		 "cp /proc/%d/exe l/f && mount -t overlay overlay "
		 "-o lowerdir=l,upperdir=u,workdir=w m",
		 dir, getpid());
	return !system(command);
}

/* Ask for the table of what is mapped there, by the kernel's numbers. */
static enum inspect_status ask_overlay(struct fixture *f, int lower, int merged)
{
	struct weft_identity who = identify(getpid());
	struct inspect_file file = { .pid = who.pid, .start_ns = who.start_ns };
	void *code =
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, merged, 0);
	struct stat st;

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(fstat(lower, &st), 0);
	file.path = "";
	file.inode = st.st_ino;
	file.dev_major = major(st.st_dev);
	file.dev_minor = minor(st.st_dev);
	file.map_start = (uintptr_t)code;
	file.map_end = file.map_start + 4096;
	memset(f->seen, 0, sizeof(f->seen));
	ask_table(f, &file);
	run_until_answered(f);
	munmap(code, 4096);
	return f->seen[INSPECT_OK] ? INSPECT_OK : INSPECT_REFUSED;
}

static void on_an_overlay_only_roots_files_have_a_table(void **state)
{
	char dir[] = "/tmp/weft-inspect-XXXXXX", command[64];
	int lower, merged;
	struct fixture f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	if (!mount_overlay(dir)) {
		snprintf(command, sizeof(command), "rm -rf %s", dir);
		assert_int_equal(system(command), 0);
		SKIP_BECAUSE("no overlay can be mounted here");
	}
	open_with(&f, NULL);
	snprintf(command, sizeof(command), "%s/l/f", dir);
	lower = open(command, O_RDONLY | O_CLOEXEC);
	snprintf(command, sizeof(command), "%s/m/f", dir);
	merged = open(command, O_RDONLY | O_CLOEXEC);
	assert_true(lower >= 0 && merged >= 0);
	assert_int_equal(ask_overlay(&f, lower, merged), INSPECT_OK);
	assert_true(f.table.n_pages);
	/* Another's. */
	assert_int_equal(fchown(lower, 1000, 1000), 0);
	assert_int_equal(ask_overlay(&f, lower, merged), INSPECT_REFUSED);
	assert_int_equal(fchown(lower, 0, 0), 0);
	assert_int_equal(ask_overlay(&f, lower, merged), INSPECT_OK);
	/* Of a mount that is not where the inspectors are. */
	snprintf(command, sizeof(command), "umount -l %s/m", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(ask_overlay(&f, lower, merged), INSPECT_REFUSED);
	close(lower);
	close(merged);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
	close_all(&f);
}

static void a_pid_that_is_anothers_now_is_gone(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	who.start_ns += 20000000;
	ask_process(&f, &who);
	ask_context(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_GONE], 2);
	close_all(&f);
}

static void three_thousand_requests_are_all_answered(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	for (int i = 0; i < 3000; i++)
		ask_name(&f, &who, (uintptr_t)on_names);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 3001);
	close_all(&f);
}

static void beyond_the_ceiling_requests_are_deferred(void **state)
{
	struct inspect_opts opts = { .workers = 1, .queue = 10 };
	struct weft_identity who = identify(getpid());
	struct inspect_totals totals;
	struct fixture f;

	(void)state;
	open_with(&f, &opts);
	for (int i = 0; i < 100; i++)
		ask_process(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_DEFERRED], 90);
	assert_int_equal(f.seen[INSPECT_OK], 10);
	inspect_read_totals(f.in, &totals);
	assert_int_equal(totals.answers[INSPECT_DEFERRED], 90);
	close_all(&f);
}

static void lines_leave_room_for_other_requests(void **state)
{
	struct inspect_opts opts = { .workers = 1, .queue = 10 };
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, &opts);
	ask_process(&f, &who);
	run_until_answered(&f);
	/* One of them is under way. Half of the queue is for other owners. */
	for (int i = 0; i < 20; i++)
		ask_lines(&f, &who, (uintptr_t)on_process);
	for (int i = 0; i < 10; i++)
		ask_process(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_DEFERRED], 14);
	assert_int_equal(f.seen[INSPECT_OK], 17);
	close_all(&f);
}

static void closing_drops_what_is_outstanding(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	for (int i = 0; i < 100; i++)
		ask_process(&f, &who);
	uv_run(&f.loop, UV_RUN_NOWAIT);
	f.left = 0; /* a callback would fail in answered() */
	close_all(&f);
}

static void without_the_server_every_request_is_answered(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	ask_process(&f, &who);
	run_until_answered(&f);
	kill(f.server_pid, SIGKILL);
	/* Its inspectors die with it, in their own time. */
	while (!f.seen[INSPECT_CRASHED]) {
		ask_process(&f, &who);
		run_until_answered(&f);
	}
	for (int i = 0; i < 10; i++) {
		ask_process(&f, &who);
		run_until_answered(&f);
	}
	close_all(&f);
}

/*
 * A child that names a page like a process context and lets userfaultfd serve
 * it, which nobody does: to read the page is to wait until killed. Returns
 * its pid, 0 where this cannot be had here.
 */
static pid_t start_stuck(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct uffdio_api api = { .api = UFFD_API };
		int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		int memory = memfd_create("OTEL_CTX", MFD_CLOEXEC);
		struct uffdio_register range = {
			.mode = UFFDIO_REGISTER_MODE_MISSING
		};
		void *page;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd < 0 || memory < 0 || ftruncate(memory, 4096) ||
		    ioctl(fd, UFFDIO_API, &api))
			_exit(1);
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			    memory, 0);
		range.range.start = (uintptr_t)page;
		range.range.len = 4096;
		if (page == MAP_FAILED || ioctl(fd, UFFDIO_REGISTER, &range) ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_target_that_never_answers_costs_only_itself(void **state)
{
	struct inspect_opts opts = { .workers = 1, .deadline_ns = 200000000 };
	struct weft_identity who = identify(getpid()), stuck;
	struct inspect_totals totals;
	struct fixture f;
	pid_t pid;

	(void)state;
	open_with(&f, &opts);
	pid = start_stuck();
	if (!pid) {
		close_all(&f);
		SKIP_BECAUSE("no userfaultfd here");
	}
	stuck = identify(pid);
	ask_context(&f, &stuck);
	ask_context(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_TIMEOUT], 1);
	assert_int_equal(f.seen[INSPECT_OK], 1);
	assert_int_equal(f.state, INSPECT_CONTEXT_NO_MAPPING);
	/* And is not asked about again. */
	ask_context(&f, &stuck);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_BARRED], 1);
	inspect_read_totals(f.in, &totals);
	assert_int_equal(totals.replaced, 1);
	end(pid);
	close_all(&f);
}

static void a_bar_ends(void **state)
{
	struct inspect_opts opts = { .workers = 1,
				     .deadline_ns = 50000000,
				     .bar_ns = 1 };
	struct weft_identity stuck;
	struct fixture f;
	pid_t pid;

	(void)state;
	open_with(&f, &opts);
	pid = start_stuck();
	if (!pid) {
		close_all(&f);
		SKIP_BECAUSE("no userfaultfd here");
	}
	stuck = identify(pid);
	for (int i = 0; i < 3; i++) {
		ask_context(&f, &stuck);
		run_until_answered(&f);
	}
	assert_int_equal(f.seen[INSPECT_TIMEOUT], 3);
	end(pid);
	close_all(&f);
}

/* The only child of the fork server; 0 while there is none. */
static pid_t find_inspector(int server)
{
	char path[64];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", server,
		 server);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid;
}

static void on_kill(uv_timer_t *timer)
{
	struct fixture *f = timer->data;
	pid_t pid = find_inspector(f->server_pid);

	if (pid)
		kill(pid, SIGKILL);
}

static void an_inspector_that_dies_is_replaced(void **state)
{
	struct inspect_opts opts = { .workers = 1, .deadline_ns = 60000000000 };
	struct weft_identity who = identify(getpid()), stuck;
	struct fixture f;
	uv_timer_t timer;
	pid_t pid;

	(void)state;
	open_with(&f, &opts);
	pid = start_stuck();
	if (!pid) {
		close_all(&f);
		SKIP_BECAUSE("no userfaultfd here");
	}
	ask_context(&f, &who);
	run_until_answered(&f);
	stuck = identify(pid);
	ask_context(&f, &stuck);
	ask_context(&f, &who);
	/* The first is under way; its inspector dies of it, so to speak. */
	uv_timer_init(&f.loop, &timer);
	timer.data = &f;
	uv_timer_start(&timer, on_kill, 50, 0);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_CRASHED], 1);
	assert_int_equal(f.seen[INSPECT_OK], 2);
	uv_close((uv_handle_t *)&timer, NULL);
	end(pid);
	close_all(&f);
}

static void cpu_time_counts_ended_inspectors(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;

	(void)state;
	open_with(&f, NULL);
	for (int i = 0; i < 500; i++)
		ask_process(&f, &who);
	run_until_answered(&f);
	/* Half a thousand process reads take more than one clock tick. */
	assert_true(inspect_cpu_ns(f.in) > 0);
	close_all(&f);
}

/* Put the first page of this program into a file. */
static int copy_self(int fd)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char page[4096];
	bool is_done = read(self, page, sizeof(page)) == sizeof(page) &&
		       pwrite(fd, page, sizeof(page), 0) == sizeof(page);

	close(self);
	return is_done ? 0 : -1;
}

static void code_in_a_memfd_is_anonymous_unless_it_is_elf(void **state)
{
	struct weft_identity who = identify(getpid());
	struct fixture f;
	int fd = memfd_create("jit", MFD_CLOEXEC);
	void *code;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	open_with(&f, NULL);
	f.look_for = (uintptr_t)code;
	ask_process(&f, &who);
	run_until_answered(&f);
	assert_true(f.mapping.is_anonymous);
	assert_string_equal(f.path, "");
	/* Its file is kept as known, so the ELF one is another. */
	munmap(code, 4096);
	close(fd);
	fd = memfd_create("library", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(copy_self(fd), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	f.look_for = (uintptr_t)code;
	ask_process(&f, &who);
	run_until_answered(&f);
	assert_false(f.mapping.is_anonymous);
	assert_string_equal(f.path, "/memfd:library");
	munmap(code, 4096);
	close(fd);
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_and_its_functions_are_named),
		cmocka_unit_test(a_function_has_its_lines),
		cmocka_unit_test(who_fails_at_lines_keeps_its_names),
		cmocka_unit_test(a_file_that_is_not_the_mapped_one_is_refused),
		cmocka_unit_test(a_mapped_file_has_an_unwind_table),
		cmocka_unit_test(the_vdso_has_an_unwind_table),
		cmocka_unit_test(a_table_is_of_the_inode_and_no_other_file),
		cmocka_unit_test(without_an_inode_a_tables_build_id_decides),
		cmocka_unit_test(on_an_overlay_only_roots_files_have_a_table),
		cmocka_unit_test(a_pid_that_is_anothers_now_is_gone),
		cmocka_unit_test(three_thousand_requests_are_all_answered),
		cmocka_unit_test(beyond_the_ceiling_requests_are_deferred),
		cmocka_unit_test(lines_leave_room_for_other_requests),
		cmocka_unit_test(closing_drops_what_is_outstanding),
		cmocka_unit_test(without_the_server_every_request_is_answered),
		cmocka_unit_test(a_target_that_never_answers_costs_only_itself),
		cmocka_unit_test(a_bar_ends),
		cmocka_unit_test(an_inspector_that_dies_is_replaced),
		cmocka_unit_test(cpu_time_counts_ended_inspectors),
		cmocka_unit_test(code_in_a_memfd_is_anonymous_unless_it_is_elf),
	};

	/* A watchdog, not a measure. */
	alarm(120);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
