/* SPDX-License-Identifier: MIT */
/* Inspectors, live: unwind tables, of the file that is mapped and no other. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "collector/elf/table.h"
#include "tests/unit/skip.h"
#include "tests/unit/t_collector_inspect.h"

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

static void ask_table(struct fixture *f, const struct inspect_file *file)
{
	f->left++;
	f->is_asking = true;
	assert_int_equal(inspect_table(f->in, file, on_table, f), 0);
	f->is_asking = false;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapped_file_has_an_unwind_table),
		cmocka_unit_test(the_vdso_has_an_unwind_table),
		cmocka_unit_test(a_table_is_of_the_inode_and_no_other_file),
		cmocka_unit_test(without_an_inode_a_tables_build_id_decides),
		cmocka_unit_test(on_an_overlay_only_roots_files_have_a_table),
	};

	/* A watchdog, not a measure. */
	alarm(120);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
