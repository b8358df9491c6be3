/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/doctor/threads.h"
#include "gen/threads.skel.h"

static int read_all(int fd, struct weft_thread *out, size_t max, size_t *n)
{
	size_t fill = 0, room = max * sizeof(*out);
	ssize_t size;

	while (fill < room) {
		size = read(fd, (char *)out + fill, room - fill);
		if (size < 0 && errno == EAGAIN)
			continue;
		if (size < 0)
			return -errno;
		if (size == 0)
			break;
		fill += (size_t)size;
	}
	*n = fill / sizeof(*out);
	return 0;
}

static int run(struct threads_bpf *skel, struct weft_thread *out, size_t max,
	       size_t *n)
{
	struct bpf_link *link =
		bpf_program__attach_iter(skel->progs.list_threads, NULL);
	int fd, rc;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	rc = fd < 0 ? -errno : read_all(fd, out, max, n);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return rc;
}

int threads_read(uint32_t pid, struct weft_thread *out, size_t max, size_t *n,
		 struct weft_err *err)
{
	struct threads_bpf *skel;
	int rc;

	*n = 0;
	libbpf_set_print(NULL);
	skel = threads_bpf__open();
	if (!skel)
		return weft_fail(err, -errno,
				 "cannot open the program that lists threads");
	skel->rodata->wanted_pid = pid;
	rc = threads_bpf__load(skel);
	if (!rc)
		rc = run(skel, out, max, n);
	threads_bpf__destroy(skel);
	if (rc)
		return weft_fail(err, rc, "cannot list the threads of %u: %s",
				 pid, strerror(-rc));
	return 0;
}
