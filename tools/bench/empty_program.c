/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's statistics of a BPF program cost by themselves: a program
 * that does nothing, at 997 Hz on every CPU. empty_program SECONDS prints the
 * mean ns that the kernel says it ran.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CPUS_MAX = 512,
	PERIOD_NS = 1000000000 / 997
};

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int load(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.license = (uintptr_t) "GPL",
		.prog_name = "empty",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* Offline CPUs are passed over. Returns 0, or -1 with errno set. */
static int attach(int program, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return 0;
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program);
}

static int print_cost(int program)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = {
		.info.bpf_fd = (uint32_t)program,
		.info.info_len = sizeof(info),
		.info.info = (uintptr_t)&info,
	};

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) || !info.run_cnt) {
		fprintf(stderr, "empty_program: it never ran\n");
		return 1;
	}
	printf("%.1f\n", (double)info.run_time_ns / (double)info.run_cnt);
	return 0;
}

int main(int argc, char **argv)
{
	union bpf_attr stats = { .enable_stats.type = BPF_STATS_RUN_TIME };
	int program;

	if (argc != 2)
		return 2;
	program = load();
	if (program < 0 || bpf(BPF_ENABLE_STATS, &stats) < 0) {
		perror("empty_program: cannot load and time a program");
		return 1;
	}
	for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (attach(program, cpu)) {
			perror("empty_program: cannot attach a program");
			return 1;
		}
	}
	sleep((unsigned int)atoi(argv[1]));
	return print_cost(program);
}
