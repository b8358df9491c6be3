/* SPDX-License-Identifier: MIT */
/*
 * BPF programs that come and go: bpf_spin MILLISECONDS NAME... For each NAME
 * in turn a child of that name loads a program of that name, runs it for so
 * long, and unloads it. All have the same length, so that the next may get the
 * memory of the one before. Prints "NAME address" for each.
 */
#include <inttypes.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	STEPS = 3000,
	SETTLE_NS = 50000000 /* until the kernel has freed a program */
};

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* The name is part of the code too, so that each has its own tag. */
static int load(const char *name)
{
	static struct bpf_insn code[STEPS + 2];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)code,
		.insn_cnt = STEPS + 2,
		.license = (uintptr_t) "MIT",
	};

	code[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
				     .imm = name[strlen(name) - 1] };
	for (int i = 1; i <= STEPS; i++)
		code[i] =
			(struct bpf_insn){ .code = BPF_ALU64 | BPF_MUL | BPF_K,
					   .imm = 3 };
	code[STEPS + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return bpf(BPF_PROG_LOAD, &attr);
}

static void print_address(int fd, const char *name)
{
	uint64_t start = 0;
	struct bpf_prog_info info = {
		.nr_jited_ksyms = 1,
		.jited_ksyms = (uintptr_t)&start,
	};
	union bpf_attr attr = {
		.info.bpf_fd = (uint32_t)fd,
		.info.info_len = sizeof(info),
		.info.info = (uintptr_t)&info,
	};

	bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
	printf("%s %" PRIx64 "\n", name, start);
	fflush(stdout);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int run(const char *name, int64_t ms)
{
	uint8_t packet[64] = { 0 };
	int64_t end = now_ms() + ms;
	int fd = load(name);

	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0) {
		perror("bpf_spin: cannot load a program");
		return 1;
	}
	print_address(fd, name);
	while (now_ms() < end) {
		union bpf_attr attr = {
			.test.prog_fd = (uint32_t)fd,
			.test.data_in = (uintptr_t)packet,
			.test.data_size_in = sizeof(packet),
			.test.repeat = 1000,
		};

		if (bpf(BPF_PROG_TEST_RUN, &attr)) {
			perror("bpf_spin: cannot run a program");
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct timespec settle = { .tv_nsec = SETTLE_NS };
	int failed = 0;

	if (argc < 3)
		return 2;
	for (int i = 2; i < argc; i++) {
		pid_t child = fork();
		int status = 1;

		if (!child)
			_exit(run(argv[i], atoi(argv[1])));
		waitpid(child, &status, 0);
		failed |= status != 0;
		nanosleep(&settle, NULL);
	}
	return failed;
}
