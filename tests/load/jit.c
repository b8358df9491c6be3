/* SPDX-License-Identifier: MIT */
/*
 * A JIT compiler of one function: it writes code to memory, tells of it in
 * /tmp/perf-PID.map, and runs it for a number of seconds; then it puts another
 * function at the same address, and tells of that.
 *
 *   swap   the second line follows the first
 *   grow   the same, and a line of some other function every 100 ms
 *   anew   the file is written anew, with only the second line
 *   late   the first function is never told of
 *
 * The functions are called NAME_first and NAME_second. Prints its pid, the
 * code's address, and the boot times between which the code changed.
 */
#include "burn.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CODE_SIZE = 4096,
	LINE_NS = 100000000,
};

static const char usage[] = "jit swap|grow|anew|late SECONDS NAME";

typedef uint64_t code_fn(uint64_t value, uint64_t steps);

struct jit {
	uint8_t *code;
	const char *mode, *name;
	char path[64];
	unsigned lines;
};

/* A loop with a frame: to multiply and to count down. Both functions are of
 * the same instructions, so that samples fall on the same addresses. */
static void compile(uint8_t *code, uint32_t factor)
{
	static const uint8_t loop[] = {
		0x55,                         /* push %rbp */
		0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
		0x48, 0x69, 0xff, 0, 0, 0, 0, /* imul $factor, %rdi, %rdi */
		0x48, 0xff, 0xce,             /* dec %rsi */
		0x75, 0xf4,                   /* jne to the imul */
		0x48, 0x89, 0xf8,             /* mov %rdi, %rax */
		0x5d,                         /* pop %rbp */
		0xc3,                         /* ret */
	};

	memcpy(code, loop, sizeof(loop));
	memcpy(code + 7, &factor, sizeof(factor));
}

/* Lines are written whole: who reads sees all of one or nothing. */
static void tell(struct jit *j, const uint8_t *code, const char *what,
		 int flags)
{
	int fd = open(j->path, O_WRONLY | O_CREAT | O_APPEND | flags, 0644);
	char line[256];
	int n = snprintf(line, sizeof(line), "%lx %x %s_%s\n",
			 (unsigned long)code, CODE_SIZE, j->name, what);

	if (fd < 0 || write(fd, line, (size_t)n) != n) {
		perror("jit: cannot write its map");
		exit(1);
	}
	close(fd);
}

static void run(struct jit *j, uint64_t seconds)
{
	code_fn *call;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t end = now + seconds * 1000000000, line = now;

	/* Through memory: C has no way from data to code. */
	memcpy(&call, &j->code, sizeof(call));
	for (; now < end; now = clock_ns(CLOCK_MONOTONIC)) {
		burn_result += call(burn_result | 1, 200000);
		if (strcmp(j->mode, "grow") != 0 || now < line)
			continue;
		line += LINE_NS;
		tell(j, j->code + (uint64_t)CODE_SIZE * ++j->lines, "other", 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t seconds = argument(argc, argv, 2, 1, 3600, 3, usage);
	struct jit j = { .mode = argc > 1 ? argv[1] : "",
			 .name = argc > 3 ? argv[3] : "jit" };
	uint64_t before;

	if (!strstr(" swap grow anew late ", j.mode) || !j.mode[0]) {
		fprintf(stderr, "usage: %s\n", usage);
		return 2;
	}
	snprintf(j.path, sizeof(j.path), "/tmp/perf-%d.map", (int)getpid());
	unlink(j.path);
	j.code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (j.code == MAP_FAILED) {
		perror("jit: cannot map memory for code");
		return 1;
	}
	compile(j.code, 0x9e3779b1);
	if (strcmp(j.mode, "late") != 0)
		tell(&j, j.code, "first", 0);
	run(&j, seconds);
	before = clock_ns(CLOCK_BOOTTIME);
	compile(j.code, 0x85ebca77);
	tell(&j, j.code, "second", strcmp(j.mode, "anew") ? 0 : O_TRUNC);
	printf("%d %lu %llu %llu\n", (int)getpid(), (unsigned long)j.code,
	       (unsigned long long)before,
	       (unsigned long long)clock_ns(CLOCK_BOOTTIME));
	fflush(stdout);
	run(&j, seconds);
	unlink(j.path);
	return 0;
}
