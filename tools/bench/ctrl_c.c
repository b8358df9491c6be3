/* SPDX-License-Identifier: MIT */
/*
 * A recorder from its start to the answer, as somebody at a terminal has it:
 *
 *   ctrl_c READY SECONDS LOOK ANSWER COMMAND...
 *
 * COMMAND is started, let record for so long from when it is ready, and
 * interrupted. READY is how to know: "notify", it says so to $NOTIFY_SOCKET, as
 * weft-record does; "events", it has perf events open. Just before the
 * interrupt the shell runs LOOK, with the process's number as $0; when it has
 * ended, ANSWER, whose output is thrown away. Either may be empty. Prints, by
 * tabs:
 *
 *   ms from start to ready; ms from the interrupt to COMMAND's end;
 *   ms that ANSWER took; ms of CPU time of COMMAND with all that it waited
 *   for; its greatest memory in kB, of all its processes (what they share
 *   shared out among them), looked at every half second.
 *
 * COMMAND is killed, and the status is 124, where it does not end in time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/weft.h"

enum {
	READY_MS = 60000,
	END_MS = 20000,
	POLL_MS = 5,
	MEMORY_MS = 500,
	DEPTH_MAX = 8,
	STATUS_LATE = 124
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void rest_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Have what is started say when it is ready. Returns a socket. */
static int listen_for_ready(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char text[sizeof(name.sun_path)];
	int n = snprintf(text, sizeof(text), "@weft-bench-%d", getpid());

	memcpy(name.sun_path + 1, text + 1, (size_t)n - 1);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			     (size_t)n)) ||
	    setenv("NOTIFY_SOCKET", text, 1)) {
		perror("ctrl_c: cannot make a socket");
		exit(1);
	}
	return fd;
}

static bool was_told(int fd)
{
	char text[256];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, "READY=1");
}

static bool has_events(pid_t pid)
{
	static const char event[] = "anon_inode:[perf_event]";
	char path[64], target[64];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *all;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	all = opendir(path);
	if (!all)
		return false;
	while (!found && (entry = readdir(all))) {
		n = readlinkat(dirfd(all), entry->d_name, target,
			       sizeof(target));
		found = n == sizeof(event) - 1 &&
			!memcmp(target, event, (size_t)n);
	}
	closedir(all);
	return found;
}

static uint64_t pss_kb(pid_t pid)
{
	unsigned long long kb = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Pss: %llu kB", &kb) == 1)
			break;
	fclose(file);
	return kb;
}

/* Of a process and all below it. */
static uint64_t tree_kb(pid_t pid, int depth)
{
	uint64_t sum = pss_kb(pid);
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = depth < DEPTH_MAX ? fopen(path, "re") : NULL;
	if (!file)
		return sum;
	while (fscanf(file, "%d", &child) == 1)
		sum += tree_kb(child, depth + 1);
	fclose(file);
	return sum;
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0) {
		perror("ctrl_c: cannot start a process");
		exit(1);
	}
	return pid;
}

/* Returns the time when it was ready. fd: where it says so; -1: it does not. */
static double wait_ready(pid_t pid, int fd)
{
	double end = now_ms() + READY_MS;
	int status;

	while (fd < 0 ? !has_events(pid) : !was_told(fd)) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			fprintf(stderr,
				"ctrl_c: it ended before it recorded\n");
			exit(1);
		}
		if (now_ms() > end) {
			fprintf(stderr, "ctrl_c: it does not get ready\n");
			kill(pid, SIGKILL);
			exit(1);
		}
		rest_ms(POLL_MS);
	}
	return now_ms();
}

static uint64_t watch(pid_t pid, double until_ms)
{
	uint64_t most = 0, kb;
	double left;

	while ((left = until_ms - now_ms()) > 0) {
		kb = tree_kb(pid, 0);
		most = kb > most ? kb : most;
		left = until_ms - now_ms();
		if (left > 0)
			rest_ms(left < MEMORY_MS ? (long)left + 1 : MEMORY_MS);
	}
	return most;
}

/* Returns its wait status, or -1 where it had to be killed. */
static int end(pid_t pid, struct rusage *used)
{
	double latest = now_ms() + END_MS;
	bool late = false;
	pid_t ended;
	int status;

	kill(pid, SIGINT);
	while ((ended = wait4(pid, &status, WNOHANG, used)) != pid) {
		if (ended < 0)
			return -1;
		if (!late && now_ms() > latest)
			late = !kill(pid, SIGKILL);
		rest_ms(1);
	}
	return late ? -1 : status;
}

/* Returns how long it took, in ms. */
static double run(char *text, pid_t pid)
{
	char shell[] = "/bin/sh", option[] = "-c", number[16];
	char *command[] = { shell, option, text, number, NULL };
	double begin = now_ms();
	int status;

	if (!*text)
		return 0;
	snprintf(number, sizeof(number), "%d", pid);
	if (waitpid(start(command), &status, 0) < 0 || status) {
		fprintf(stderr, "ctrl_c: it failed: %s\n", text);
		exit(1);
	}
	return now_ms() - begin;
}

int main(int argc, char **argv)
{
	double begin, ready, interrupt, ended;
	struct rusage used;
	uint64_t seconds, kb;
	int status;
	int fd = -1;
	pid_t pid;

	if (argc < 6 || weft_parse_u64(argv[2], 1, 3600, &seconds)) {
		fprintf(stderr, "usage: ctrl_c notify|events SECONDS LOOK "
				"ANSWER COMMAND...\n");
		return 2;
	}
	if (!strcmp(argv[1], "notify"))
		fd = listen_for_ready();
	begin = now_ms();
	pid = start(argv + 5);
	ready = wait_ready(pid, fd);
	kb = watch(pid, ready + (double)seconds * 1e3);
	(void)run(argv[3], pid);
	interrupt = now_ms();
	status = end(pid, &used);
	ended = now_ms();
	if (status > 0 && WIFSIGNALED(status) && WTERMSIG(status) != SIGINT) {
		fprintf(stderr, "ctrl_c: %s crashed: signal %d\n", argv[5],
			WTERMSIG(status));
		return 1;
	}
	printf("%.1f\t%.1f\t%.1f\t%.1f\t%llu\n", ready - begin,
	       ended - interrupt, status < 0 ? 0 : run(argv[4], pid),
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) /
			       1e3,
	       (unsigned long long)kb);
	return status < 0 ? STATUS_LATE : 0;
}
