/* SPDX-License-Identifier: MIT */
/* A message of fixed size between two of our processes, and a file descriptor
 * with it (SCM_RIGHTS, unix(7)). */
#ifndef WEFT_FD_MESSAGE_H
#define WEFT_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#include "store/weft.h"

/* Send size bytes, and fd, if it is not negative; it is closed here, whatever
 * comes of it. Returns 0 or a negative errno. */
int fd_message_send(int socket, const void *data, size_t size, int fd);

/* Receive a message into data; flags as of recvmsg(). Returns its bytes or a
 * negative errno. *fd: what came with it, the caller's now; -1: nothing. */
ssize_t fd_message_receive(int socket, void *data, size_t size, int flags,
			   int *fd) MUST_CHECK;

#endif
