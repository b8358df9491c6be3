/* SPDX-License-Identifier: MIT */
/* What recording needs of privilege, and giving up what it needs no more. */
#ifndef WEFT_PRIVILEGE_H
#define WEFT_PRIVILEGE_H

#include "store/weft.h"

#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/types.h>

enum {
	PRIVILEGE_WARNING_SIZE = 512,
	PRIVILEGE_WANTED = 4
};

/* A right that recording can do without. */
struct privilege_lack {
	const char *name; /* as CAP_SYSLOG */
	const char *cost; /* what is missing without it */
};

/* Which of these we do not have; how many. */
size_t privilege_lacks(struct privilege_lack out[PRIVILEGE_WANTED]);

/*
 * Check that recording is possible at all. -EPERM names the missing
 * capability. Where it is possible but something will be missing, warning is
 * one line that says what, and for lack of which; else "".
 */
int privilege_check(char warning[PRIVILEGE_WARNING_SIZE],
		    struct weft_err *err) MUST_CHECK;

/*
 * Once the kernel program and the timers are there: become the user who
 * called sudo, if one did, and keep only the capabilities that the loop needs
 * (none for that user; for root, those that let it write where it was told
 * to). The inspectors are processes of their own and keep theirs.
 */
int privilege_drop(struct weft_err *err) MUST_CHECK;

/* Become the user who called sudo for good, without any capability; nothing
 * where nobody did. For the program after `--`. */
int privilege_become_user(struct weft_err *err) MUST_CHECK;

/* Of these capabilities keep those that we have, and no others; n 0: none. For
 * processes of ours that need fewer. Returns 0 or a negative errno. */
int privilege_keep(const cap_value_t *kept, int n) MUST_CHECK;

/* From now on no exec can give this process a capability but these; n 0: none.
 * That takes CAP_SETPCAP, without it all stays as it was: so call it before
 * privilege_keep(), and set no_new_privs, too. */
void privilege_bound(const cap_value_t *most, int n);

/* Where we are root: be nobody to who looks at effective user IDs, as file
 * systems and /proc/sys do, so that a file of root's can be read by capability,
 * but not written by owning it. Clears the effective capabilities;
 * privilege_keep(), which has to follow, brings back what it keeps. And it
 * clears what PR_SET_PDEATHSIG has set. */
void privilege_read_as_nobody(void);

/* Lower a limit (RLIMIT_...), for good. That cannot fail. */
void privilege_limit(int resource, rlim_t most);

/*
 * A process of ours that was just forked needs little: of what is open only
 * fd, which becomes number to, with /dev/null below it; no right by exec; no
 * core, no file written; of the capabilities those kept. Returns 0 or a
 * negative errno, with part of it done.
 */
int privilege_confine(int fd, int to, const cap_value_t *kept,
		      int n) MUST_CHECK;

/*
 * Allow more open files, as far as the hard limit goes. Returns 0, or -EMFILE
 * where that is below least. Programs that are started already keep theirs.
 */
int privilege_raise_files(rlim_t least, struct weft_err *err) MUST_CHECK;

/* Built with a sanitizer, as gcc and clang say it: that reserves terabytes of
 * addresses, and makes system calls of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PRIVILEGE_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PRIVILEGE_IS_SANITIZED 1
#endif
#endif

/* Lower the limit of addresses, in bytes; not where a sanitizer needs them. */
void privilege_limit_memory(rlim_t most);

/* Who started us: the user who called sudo, if one did. */
uid_t privilege_user(void);

#endif
