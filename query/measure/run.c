/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "query/cli.h"
#include "query/measure/run.h"

enum {
	ARGS_MAX = 64,
	NS_PER_S = 1000000000
};

struct arguments {
	char *argv[ARGS_MAX]; /* borrowed, but for texts of ours */
	size_t n;
};

static void add(struct arguments *a, const char *option, const char *value)
{
	if (!value || a->n + 3 > ARGS_MAX)
		return;
	if (option)
		a->argv[a->n++] = (char *)(uintptr_t)option;
	a->argv[a->n++] = (char *)(uintptr_t)value;
}

/* Never returns. */
static void exec_record(const struct measure_run *run, const char *path)
{
	struct arguments a = { .n = 0 };
	uint64_t interval_ns = run->every_ns && run->every_ns < NS_PER_S
				       ? run->every_ns
				       : NS_PER_S;
	char **argv, interval[32], examples[24];
	size_t n = 0;

	snprintf(interval, sizeof(interval), "%" PRIu64 ".%09" PRIu64,
		 interval_ns / NS_PER_S, interval_ns % NS_PER_S);
	a.n = 1; /* the program */
	add(&a, NULL, "--no-samples");
	add(&a, NULL, "-q");
	add(&a, "-o", path);
	add(&a, "--interval", interval);
	add(&a, "-p", run->pid);
	add(&a, "-t", run->tid);
	add(&a, "--cgroup", run->cgroup);
	add(&a, "-d", run->duration);
	add(&a, "--max-keys", run->max_keys);
	snprintf(examples, sizeof(examples), "%" PRIu64, run->examples);
	add(&a, "--examples", run->examples ? examples : NULL);
	for (size_t i = 0; i < run->n_text; i++)
		add(&a, "--measure", run->text[i]);
	while (run->command && run->command[n])
		n++;
	argv = calloc(a.n + n + 2, sizeof(*argv));
	if (!argv)
		_exit(WEFT_EXIT_FAILED);
	memcpy(argv, a.argv, a.n * sizeof(*argv));
	if (n) {
		argv[a.n] = (char *)(uintptr_t) "--";
		memcpy(argv + a.n + 1, run->command, n * sizeof(*argv));
	}
	_exit(cli_exec("weft-record", argv));
}

/* A directory for the file, which the user who called sudo may write to, as
 * weft-record becomes that user. */
static int make_place(char *dir, size_t size, struct weft_err *err)
{
	const char *tmp = getenv("TMPDIR"), *uid = getenv("SUDO_UID");
	uint64_t owner;

	snprintf(dir, size, "%s/weft-measure-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return weft_fail(err, -errno, "cannot make '%s': %s", dir,
				 strerror(errno));
	if (geteuid() == 0 && uid &&
	    !weft_parse_u64(uid, 1, UINT32_MAX - 1, &owner) &&
	    chown(dir, (uid_t)owner, (gid_t)-1))
		return weft_fail(err, -errno, "cannot give away '%s': %s", dir,
				 strerror(errno));
	return 0;
}

static void remove_place(const char *dir, const char *path)
{
	static const char *const more[] = { "", "-wal", "-shm", "-journal",
					    ".lock" };
	char name[4200];

	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		snprintf(name, sizeof(name), "%s%s", path, more[i]);
		unlink(name);
	}
	rmdir(dir);
}

/* Wait for the child, printing now and then. Returns its wait status. */
static int watch(const struct measure_run *run, pid_t child, const char *path,
		 const sigset_t *waited)
{
	struct timespec every = {
		.tv_sec = (time_t)(run->every_ns / NS_PER_S),
		.tv_nsec = (long)(run->every_ns % NS_PER_S),
	};
	int status = 0;

	while (waitpid(child, &status, WNOHANG) != child) {
		struct weft_err err = { 0 };
		siginfo_t info = { 0 };
		int got = sigtimedwait(waited, &info,
				       run->every_ns ? &every : NULL);

		/* ^C reaches it by itself. */
		if (got == SIGTERM || got == SIGHUP)
			kill(child, got);
		if (got >= 0 || errno != EAGAIN)
			continue;
		(void)!run->print(run->ctx, path, false, &err);
		/* Nobody reads any more. What else is to come of it goes on. */
		if (ferror(stdout) && !run->output && !run->command)
			kill(child, SIGTERM);
	}
	return status;
}

static int finish(const struct measure_run *run, int status, const char *path)
{
	struct weft_err err = { 0 };
	int code = WIFEXITED(status) ? WEXITSTATUS(status)
				     : 128 + WTERMSIG(status);

	/* Where weft-record failed it has said why, and there is no file. */
	if (access(path, F_OK))
		return code ? code : WEFT_EXIT_FAILED;
	if (run->print(run->ctx, path, true, &err))
		return cli_fail(&err);
	/* Where it could not be printed, that is the failure. */
	return cli_finish() && !code ? WEFT_EXIT_FAILED : code;
}

int measure_run(const struct measure_run *run)
{
	char dir[4096] = "", path[4130];
	struct weft_err err = { 0 };
	sigset_t waited, before;
	pid_t child;
	int status;

	if (!run->output && make_place(dir, sizeof(dir), &err))
		return cli_fail(&err);
	snprintf(path, sizeof(path), "%s%s", run->output ? run->output : dir,
		 run->output ? "" : "/measure.db");
	sigemptyset(&waited);
	sigaddset(&waited, SIGCHLD);
	sigaddset(&waited, SIGINT);
	sigaddset(&waited, SIGTERM);
	sigaddset(&waited, SIGHUP);
	sigprocmask(SIG_BLOCK, &waited, &before);
	child = fork();
	if (!child) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		exec_record(run, path);
	}
	status = child > 0 ? watch(run, child, path, &waited) : 1 << 8;
	status = finish(run, status, path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (*dir)
		remove_place(dir, path);
	return status;
}
