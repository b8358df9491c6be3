/* SPDX-License-Identifier: MIT */
/*
 * What a process that parses foreign bytes can do once it has been taken over:
 * a child of confined_ask() tries it, and tells what the kernel said. Each try
 * would get another answer without the filter, and do no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/confined.h"
#include "collector/privilege.h"
#include "tests/unit/skip.h"
#include "tests/unit/t_collector_inspect.h"

static char place[64], file[128], new_file[128];
static pid_t tester;

static int enter_place(void **state)
{
	int fd;

	(void)state;
	tester = getpid();
	strcpy(place, "/tmp/t_confined.XXXXXX");
	if (!mkdtemp(place))
		return -1;
	snprintf(file, sizeof(file), "%s/file", place);
	snprintf(new_file, sizeof(new_file), "%s/new", place);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	return fd < 0 || write(fd, "data", 4) != 4 || close(fd);
}

static int leave_place(void **state)
{
	(void)state;
	(void)unlink(new_file);
	return unlink(file) || rmdir(place);
}

/* Each returns 0, or what was refused, and with what. */
static int code_of(long result)
{
	return result < 0 ? -errno : 0;
}

static int try_socket(void)
{
	return code_of(socket(AF_INET, SOCK_STREAM, 0));
}

static int try_unix_socket(void)
{
	return code_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int try_write(void)
{
	return code_of(open(file, O_WRONLY));
}

static int try_read_write(void)
{
	return code_of(open(file, O_RDWR));
}

static int try_truncate(void)
{
	return code_of(open(file, O_RDONLY | O_TRUNC));
}

static int try_create(void)
{
	return code_of(open(new_file, O_RDONLY | O_CREAT, 0600));
}

static int try_old_create(void)
{
	return code_of(syscall(SYS_creat, new_file, 0600));
}

static int try_unlink(void)
{
	return code_of(unlink(file));
}

static int try_rename(void)
{
	return code_of(rename(file, new_file));
}

static int try_chmod(void)
{
	return code_of(chmod(new_file, 0666));
}

static int try_exec(void)
{
	char *const argv[] = { new_file, NULL };

	return code_of(execv(new_file, argv));
}

static int try_fork(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	return code_of(pid);
}

static int try_kill(void)
{
	return code_of(kill(tester, 0));
}

/* The kernel sends what F_SETSIG says to whom F_SETOWN says. */
static int try_owner(void)
{
	return code_of(fcntl(STDERR_FILENO, F_SETOWN, tester));
}

static int try_ptrace(void)
{
	return code_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int try_limit_of_other(void)
{
	struct rlimit limit = { 1, 1 };

	return code_of(prlimit(tester, RLIMIT_CORE, &limit, NULL));
}

static const struct {
	const char *what;
	int (*act)(void);
} tries[] = {
	{ "socket(AF_INET)", try_socket },
	{ "socket(AF_UNIX)", try_unix_socket },
	{ "open(O_WRONLY)", try_write },
	{ "open(O_RDWR)", try_read_write },
	{ "open(O_TRUNC)", try_truncate },
	{ "open(O_CREAT)", try_create },
	{ "creat()", try_old_create },
	{ "unlink()", try_unlink },
	{ "rename()", try_rename },
	{ "chmod()", try_chmod },
	{ "execve()", try_exec },
	{ "fork()", try_fork },
	{ "kill()", try_kill },
	{ "fcntl(F_SETOWN)", try_owner },
	{ "ptrace()", try_ptrace },
	{ "prlimit() of another", try_limit_of_other },
};

struct answer {
	int code[ARRAY_LEN(tries)];
	int opened_anew; /* openat2() to write */
	int opened_sysctl;
	int read_rc; /* of what only its owner may read */
	char data[8];
	char status[4096]; /* /proc/self/status */
};

static int read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (n < 0)
		return -errno;
	out[n] = '\0';
	close(fd);
	return 0;
}

static void try_all(const void *question, int to)
{
	static const cap_value_t wanted[] = { CAP_DAC_READ_SEARCH };
	struct open_how how = { .flags = O_WRONLY };
	static struct answer a;

	(void)question;
	if (privilege_keep(wanted, ARRAY_LEN(wanted)))
		return;
	for (size_t i = 0; i < ARRAY_LEN(tries); i++)
		a.code[i] = tries[i].act();
	a.opened_anew = code_of(
		syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how)));
	a.opened_sysctl = code_of(syscall(SYS_openat2, AT_FDCWD,
					  "/proc/sys/kernel/core_pattern", &how,
					  sizeof(how)));
	a.read_rc = read_file(file, a.data, sizeof(a.data));
	if (read_file("/proc/self/status", a.status, sizeof(a.status)))
		return;
	(void)!write(to, &a, sizeof(a));
}

static const struct answer *ask(void)
{
	static struct answer a;
	const struct confined c = {
		.run = try_all,
		.answer_bytes = sizeof(a),
		.deadline_ms = 60000,
	};

	assert_int_equal(confined_ask(&c, &a), 0);
	return &a;
}

static void all_but_reading_is_refused(void **state)
{
	const struct answer *a;

	(void)state;
#ifdef PRIVILEGE_IS_SANITIZED
	SKIP_BECAUSE("sanitizers need more than the filter lets through");
#endif
	a = ask();
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		if (a->code[i] != -EPERM)
			fail_msg("%s: %s, not EPERM", tries[i].what,
				 a->code[i] ? strerror(-a->code[i])
					    : "allowed");
	}
	/* Nothing of it came to pass. */
	assert_int_equal(access(file, F_OK), 0);
	assert_int_not_equal(access(new_file, F_OK), 0);
}

static void a_file_of_its_owners_alone_is_read(void **state)
{
	const struct answer *a = ask();

	(void)state;
	assert_int_equal(a->read_rc, 0);
	assert_string_equal(a->data, "data");
}

/* The filter cannot see openat2()'s flags: there, who it is decides. */
static void root_cannot_write_its_own_files(void **state)
{
	(void)state;
	if (geteuid())
		SKIP_BECAUSE("needs root to be nobody");
	assert_int_equal(ask()->opened_anew, -EACCES);
}

/* There the kernel goes by the effective user ID: who writes to this one
 * chooses a program that root runs. */
static void root_cannot_set_the_kernel(void **state)
{
	(void)state;
	if (geteuid())
		SKIP_BECAUSE("needs root to be nobody");
	assert_int_equal(ask()->opened_sysctl, -EACCES);
}

/* What a line of a status of /proc says, in hexadecimal. */
static uint64_t field(const char *status, const char *name)
{
	const char *line = strstr(status, name);
	unsigned long value;

	if (!line || sscanf(line + strlen(name), " %lx", &value) != 1)
		fail_msg("no %s in:\n%s", name, status);
	return value;
}

/* most: a bit for each capability that it may have. */
static void expect_confined(const char *status, uint64_t most)
{
	assert_int_equal(field(status, "\nNoNewPrivs:"), 1);
	assert_int_equal(field(status, "\nCapEff:") & ~most, 0);
	assert_int_equal(field(status, "\nCapPrm:") & ~most, 0);
	assert_int_equal(field(status, "\nCapInh:"), 0);
	assert_int_equal(field(status, "\nCapAmb:"), 0);
#ifndef PRIVILEGE_IS_SANITIZED
	assert_int_equal(field(status, "\nSeccomp:"), 2);
#endif
	if (geteuid())
		return;
	assert_int_equal(field(status, "\nCapBnd:"), 0);
	if (!strstr(status, "\nUid:\t0\t65534\t0\t65534\n") ||
	    !strstr(status, "\nGid:\t0\t65534\t0\t65534\n"))
		fail_msg("not nobody:\n%s", status);
}

static void a_child_can_get_no_more(void **state)
{
	(void)state;
	expect_confined(ask()->status, 1ULL << CAP_DAC_READ_SEARCH);
}

static int first_child(int pid)
{
	char path[64], list[64];
	uint64_t child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	assert_int_equal(read_file(path, list, sizeof(list)), 0);
	list[strcspn(list, " ")] = '\0';
	assert_int_equal(weft_parse_u64(list, 1, INT32_MAX, &child), 0);
	return (int)child;
}

static void an_inspector_is_confined_as_well(void **state)
{
	const struct inspect_opts opts = { .workers = 1 };
	struct weft_identity who = identify(getpid());
	static char status[4096];
	struct fixture f;
	char path[64];

	(void)state;
	open_with(&f, &opts);
	ask_process(&f, &who);
	run_until_answered(&f);
	assert_int_equal(f.seen[INSPECT_OK], 1);
	snprintf(path, sizeof(path), "/proc/%d/status",
		 first_child(f.server_pid));
	assert_int_equal(read_file(path, status, sizeof(status)), 0);
	expect_confined(status, 1ULL << CAP_DAC_READ_SEARCH |
					1ULL << CAP_SYS_PTRACE |
					1ULL << CAP_CHECKPOINT_RESTORE);
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_but_reading_is_refused),
		cmocka_unit_test(a_file_of_its_owners_alone_is_read),
		cmocka_unit_test(root_cannot_write_its_own_files),
		cmocka_unit_test(root_cannot_set_the_kernel),
		cmocka_unit_test(a_child_can_get_no_more),
		cmocka_unit_test(an_inspector_is_confined_as_well),
	};

	/* A watchdog, not a measure. */
	alarm(120);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter_place, leave_place);
}
