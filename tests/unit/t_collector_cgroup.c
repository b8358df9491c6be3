/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <mntent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/cgroup.h"
#include "tests/unit/skip.h"

/* Where cgroups (version 2) are; "": nowhere. */
static void find_root(char root[256])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	root[0] = '\0';
	while (mounts && !root[0] && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "cgroup2"))
			snprintf(root, 256, "%s", m->mnt_dir);
	if (mounts)
		endmntent(mounts);
}

/* Make one; 0: that is not possible here. */
static uint64_t make_cgroup(const char *root, const char *name, char path[512])
{
	struct stat st;

	snprintf(path, 512, "%s/%s", root, name);
	return *root && !mkdir(path, 0755) && !stat(path, &st) ? st.st_ino : 0;
}

static void a_cgroup_that_is_gone_keeps_its_path(void **state)
{
	char root[256], path[512], name[64], want[80];
	struct cgroups *c;
	struct stat st;
	uint64_t id;

	(void)state;
	/* What its owner calls it is kept as it is. */
	snprintf(name, sizeof(name), "weft \n\033[1m %d", getpid());
	snprintf(want, sizeof(want), "/%s", name);
	find_root(root);
	/* A cgroup's name has no newline: the kernel says so. */
	id = make_cgroup(root, name, path);
	if (!id && errno == EINVAL) {
		snprintf(name, sizeof(name), "weft \033[1m\xff %d", getpid());
		snprintf(want, sizeof(want), "/%s", name);
		id = make_cgroup(root, name, path);
	}
	if (!id)
		SKIP_BECAUSE("no tree of cgroups to make one in");
	c = cgroups_new();
	assert_non_null(c);
	assert_string_equal(cgroups_path(c, id), want);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(stat(root, &st), 0);
	assert_string_equal(cgroups_path(c, st.st_ino), "/");
	/* Another that is not known has the tree read again. */
	usleep(1100000);
	assert_null(cgroups_path(c, UINT64_MAX));
	assert_string_equal(cgroups_path(c, id), want);
	assert_string_equal(cgroups_path(c, st.st_ino), "/");
	cgroups_free(c);
}

static void an_id_that_is_nowhere_has_no_path(void **state)
{
	struct cgroups *c = cgroups_new();

	(void)state;
	assert_non_null(c);
	assert_null(cgroups_path(c, UINT64_MAX));
	assert_null(cgroups_path(c, 0));
	cgroups_free(c);
	cgroups_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cgroup_that_is_gone_keeps_its_path),
		cmocka_unit_test(an_id_that_is_nowhere_has_no_path),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
