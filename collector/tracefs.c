/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/tracefs.h"
#include "store/weft.h"

/* A mount of our own that is nowhere in the file tree: containers often have
 * none, and to mount one for all to see is not ours to do. */
static int open_unmounted(void)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC);
	int root;

	if (fs < 0)
		return -errno;
	root = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0)
		       ? -1
		       : fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (root < 0)
		root = -errno;
	close(fs);
	return root;
}

int tracefs_open(const char *path)
{
	static const char *const roots[] = { "/sys/kernel/tracing",
					     "/sys/kernel/debug/tracing",
					     NULL };
	int fd = -1;

	for (size_t i = 0; i < ARRAY_LEN(roots) && fd < 0; i++) {
		int root = roots[i] ? open(roots[i],
					   O_PATH | O_DIRECTORY | O_CLOEXEC)
				    : open_unmounted();

		if (root < 0)
			continue;
		fd = openat(root, path, O_RDONLY | O_CLOEXEC);
		close(root);
	}
	return fd < 0 ? -ENOENT : fd;
}

static int open_event(const char *category, const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	char text[TRACEFS_NAME_MAX + sizeof("events//id")] = "";
	uint64_t id;
	int fd;

	snprintf(text, sizeof(text), "events/%s/%s/id", category, name);
	fd = tracefs_open(text);
	if (fd < 0)
		return fd;
	memset(text, 0, sizeof(text));
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	text[strcspn(text, "\n")] = '\0';
	if (weft_parse_u64(text, 1, UINT32_MAX, &id))
		return -EPROTO;
	attr.config = id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

struct bpf_link *tracefs_attach(const struct bpf_program *program,
				const char *category, const char *name)
{
	int fd = open_event(category, name);
	struct bpf_link *link;
	int code;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	link = bpf_program__attach_perf_event(program, fd);
	if (link)
		return link; /* it owns the event */
	code = errno;
	close(fd);
	errno = code;
	return NULL;
}
