/* SPDX-License-Identifier: MIT */
/* The fork server's inside: what it runs in the processes that it makes. */
#ifndef WEFT_INSPECT_SERVER_H
#define WEFT_INSPECT_SERVER_H

/* Answer requests on fd, one at a time, until it closes. Does not return.
 * Privileges and limits are those of the caller. */
_Noreturn void inspect_serve(int fd);

#endif
