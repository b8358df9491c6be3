/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/fd_message.h"

union space {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int fd_message_send(int socket, const void *data, size_t size, int fd)
{
	struct iovec iov = { (void *)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union space space = { 0 };
	struct cmsghdr *cmsg;
	int rc;

	if (fd >= 0) {
		msg.msg_control = space.bytes;
		msg.msg_controllen = sizeof(space.bytes);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	rc = sendmsg(socket, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

ssize_t fd_message_receive(int socket, void *data, size_t size, int flags,
			   int *fd)
{
	struct iovec iov = { data, size };
	union space space = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = space.bytes,
			      .msg_controllen = sizeof(space.bytes) };
	ssize_t n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg;

	*fd = -1;
	if (n < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET &&
	    cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(cmsg), sizeof(int));
	return n;
}
