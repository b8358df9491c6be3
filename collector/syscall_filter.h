/* SPDX-License-Identifier: MIT */
/* What a process that parses foreign bytes may ask of the kernel. */
#ifndef WEFT_SYSCALL_FILTER_H
#define WEFT_SYSCALL_FILTER_H

#include "store/weft.h"

/*
 * From now on and for good this process can read files and other processes'
 * memory (as far as its rights go), use the descriptors that it has, manage
 * its own memory, and end. All else fails with EPERM: sockets, opening a file
 * to write or making one, removing or renaming, exec, fork, signals to others,
 * ptrace. openat2() is left, whose flags no filter can see; what it may write
 * is for the user ID to prevent (privilege_read_as_nobody()).
 *
 * Sets no_new_privs. Under AddressSanitizer it does nothing. Returns 0 or a
 * negative errno: -ENOSYS where the kernel has no filters.
 */
int syscall_filter_apply(void) MUST_CHECK;

#endif
