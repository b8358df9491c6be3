/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>

#include "collector/privilege.h"
#include "collector/syscall_filter.h"

/* An allow-list: what is not thought of is refused, not let through. */
static const int allowed[] = {
	/* reading */
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(preadv),
	SCMP_SYS(lseek), SCMP_SYS(openat2), SCMP_SYS(close),
	SCMP_SYS(close_range), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs),
	SCMP_SYS(statfs), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64), SCMP_SYS(access), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(fadvise64), SCMP_SYS(readahead),
	SCMP_SYS(process_vm_readv),
	/* answering: descriptors that are open, and were opened by others */
	SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3),
	/* memory of its own */
	SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap),
	SCMP_SYS(mprotect), SCMP_SYS(madvise), SCMP_SYS(mincore),
	/* itself: rights can only be given up, limits only be lowered */
	SCMP_SYS(capget), SCMP_SYS(capset), SCMP_SYS(getpid), SCMP_SYS(gettid),
	SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(uname), SCMP_SYS(sysinfo),
	SCMP_SYS(getrandom), SCMP_SYS(futex), SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getcpu),
	SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall), SCMP_SYS(rseq), SCMP_SYS(set_robust_list),
	SCMP_SYS(exit), SCMP_SYS(exit_group)
};

/* Flags without which an open file cannot be changed, nor made. */
static const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;

/* Not those of fcntl() that have the kernel send signals: F_SETOWN may name any
 * process, F_SETSIG any signal. */
static const int fcntls[] = { F_GETFD, F_SETFD, F_GETFL, F_DUPFD,
			      F_DUPFD_CLOEXEC };

static int add_rules(scmp_filter_ctx filter)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(allowed) && !rc; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat),
				      1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, writes, 0));
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, writes, 0));
	for (size_t i = 0; i < ARRAY_LEN(fcntls) && !rc; i++)
		rc = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)fcntls[i]));
	/* Of no other process. */
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
				      SCMP_SYS(prlimit64), 1,
				      SCMP_A0(SCMP_CMP_EQ, 0));
	return rc;
}

int syscall_filter_apply(void)
{
#ifdef PRIVILEGE_IS_SANITIZED
	(void)add_rules;
	return 0;
#else
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = filter ? add_rules(filter) : -ENOMEM;

	if (!rc)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
#endif
}
