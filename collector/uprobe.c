/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/uprobe.h"

enum {
	ENOTSUPP = 524 /* of the kernel, not of user space */
};

bool uprobe_is_refused(int code)
{
	return code == ENOTSUPP || code == EOPNOTSUPP || code == EINVAL ||
	       code == EILSEQ || code == EIO;
}

/* The page of the file with that offset; MAP_FAILED: it cannot be had. */
static void *map_page(const char *path, uint64_t offset, size_t page)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	void *map;

	if (fd < 0)
		return MAP_FAILED;
	map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		   (off_t)(offset & ~((uint64_t)page - 1)));
	close(fd);
	return map;
}

/* The kernel looks at the instruction only when it puts the probe into a
 * mapping of the file, and where it cannot do so later nobody is told. So that
 * it does so now, we have a mapping ourselves; nothing of it is touched or run.
 * Not of a probe with a semaphore, which the kernel would look for here: its
 * instruction was made to be replaced. */
struct bpf_link *uprobe_attach(const struct bpf_program *program,
			       const char *path, uint64_t offset,
			       const struct bpf_uprobe_opts *opts)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = opts->ref_ctr_offset ? MAP_FAILED
					 : map_page(path, offset, page);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(
		program, -1, path, offset, opts);
	int code = errno;

	if (map != MAP_FAILED)
		munmap(map, page);
	errno = code;
	return link;
}
