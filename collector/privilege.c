/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collector/privilege.h"

static bool has(cap_value_t capability)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t value = CAP_CLEAR;

	if (!caps)
		return false;
	cap_get_flag(caps, capability, CAP_EFFECTIVE, &value);
	cap_free(caps);
	return value == CAP_SET;
}

size_t privilege_lacks(struct privilege_lack out[PRIVILEGE_WANTED])
{
	static const struct {
		cap_value_t capability;
		struct privilege_lack lack;
	} wanted[PRIVILEGE_WANTED] = {
		{ CAP_SYS_PTRACE,
		  { "CAP_SYS_PTRACE",
		    "other users' processes have no names and no trace IDs" } },
		{ CAP_DAC_READ_SEARCH,
		  { "CAP_DAC_READ_SEARCH",
		    "programs that only their owner may read have no names" } },
		{ CAP_CHECKPOINT_RESTORE,
		  { "CAP_CHECKPOINT_RESTORE",
		    "files that were deleted or replaced while mapped have no names" } },
		{ CAP_SYSLOG,
		  { "CAP_SYSLOG", "kernel functions may have no names" } },
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (!has(wanted[i].capability))
			out[n++] = wanted[i].lack;
	return n;
}

/* What recordings lack where these are not there. */
static void warn(char out[PRIVILEGE_WARNING_SIZE])
{
	struct privilege_lack lacks[PRIVILEGE_WANTED];
	size_t n = privilege_lacks(lacks), used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && used < PRIVILEGE_WARNING_SIZE; i++)
		used += (size_t)snprintf(out + used,
					 PRIVILEGE_WARNING_SIZE - used,
					 "%swithout %s %s", used ? "; " : "",
					 lacks[i].name, lacks[i].cost);
}

/* The user who called sudo, if that is not root. */
static bool sudo_user(uid_t *uid, gid_t *gid)
{
	return weft_sudo_user(uid, gid) && *uid;
}

int privilege_check(char warning[PRIVILEGE_WARNING_SIZE], struct weft_err *err)
{
	static const struct {
		cap_value_t capability;
		const char *name, *why;
	} needed[] = {
		{ CAP_BPF, "CAP_BPF", "load its kernel program" },
		{ CAP_PERFMON, "CAP_PERFMON", "sample with it" },
	};

	uid_t uid;
	gid_t gid;

	warning[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!has(needed[i].capability) && !has(CAP_SYS_ADMIN))
			return weft_fail(
				err, -EPERM,
				"no permission: weft record needs %s to %s; run it as root, or with sudo",
				needed[i].name, needed[i].why);
	if (sudo_user(&uid, &gid) && (!has(CAP_SETUID) || !has(CAP_SETGID)))
		return weft_fail(
			err, -EPERM,
			"no permission: weft record needs CAP_SETUID and CAP_SETGID to become the user who called sudo; unset SUDO_UID to record as root");
	warn(warning);
	return 0;
}

static int become(uid_t uid, gid_t gid, struct weft_err *err)
{
	const struct passwd *user = getpwuid(uid);
	int rc = user ? initgroups(user->pw_name, gid) : setgroups(0, NULL);

	if (!rc)
		rc = setresgid(gid, gid, gid);
	if (!rc)
		rc = setresuid(uid, uid, uid);
	if (rc) {
		rc = -errno;
		return weft_fail(err, rc, "cannot become user %u: %s", uid,
				 strerror(-rc));
	}
	return 0;
}

int privilege_become_user(struct weft_err *err)
{
	uid_t uid;
	gid_t gid;

	return sudo_user(&uid, &gid) ? become(uid, gid, err) : 0;
}

uid_t privilege_user(void)
{
	uid_t uid;
	gid_t gid;

	return sudo_user(&uid, &gid) ? uid : getuid();
}

int privilege_keep(const cap_value_t *kept, int n)
{
	cap_t have = cap_get_proc();
	cap_t caps = cap_init();
	int rc = have && caps ? 0 : -ENOMEM;

	for (int i = 0; i < n && !rc; i++) {
		cap_flag_value_t value = CAP_CLEAR;

		if (cap_get_flag(have, kept[i], CAP_PERMITTED, &value) ||
		    value != CAP_SET)
			continue;
		if (cap_set_flag(caps, CAP_PERMITTED, 1, &kept[i], CAP_SET) ||
		    cap_set_flag(caps, CAP_EFFECTIVE, 1, &kept[i], CAP_SET))
			rc = -errno;
	}
	if (!rc && cap_set_proc(caps))
		rc = -errno;
	cap_free(have);
	cap_free(caps);
	return rc;
}

static bool is_among(cap_value_t capability, const cap_value_t *list, int n)
{
	for (int i = 0; i < n; i++) {
		if (list[i] == capability)
			return true;
	}
	return false;
}

void privilege_bound(const cap_value_t *most, int n)
{
	for (cap_value_t i = 0; i < cap_max_bits(); i++) {
		if (!is_among(i, most, n))
			(void)cap_drop_bound(i);
	}
}

void privilege_read_as_nobody(void)
{
	enum {
		NOBODY = 65534
	};

	if (geteuid() != 0)
		return;
	/* Effective IDs, and those of file systems with them. The real ones
	 * stay root's: so no process of nobody's may signal this one, which
	 * cannot change back without setresuid(), as its filter has it. */
	(void)setgroups(0, NULL);
	(void)setegid(NOBODY);
	(void)seteuid(NOBODY);
}

void privilege_limit(int resource, rlim_t most)
{
	struct rlimit both = { most, most };

	(void)setrlimit(resource, &both);
}

int privilege_confine(int fd, int to, const cap_value_t *kept, int n)
{
	int null;

	if (fd != to && dup2(fd, to) < 0)
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;
	for (int i = 0; i < to; i++) {
		if (dup2(null, i) < 0)
			return -errno;
	}
	if (close_range((unsigned)to + 1, ~0U, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	privilege_limit(RLIMIT_CORE, 0);
	privilege_limit(RLIMIT_FSIZE, 0);
	privilege_bound(NULL, 0);
	privilege_read_as_nobody();
	return privilege_keep(kept, n);
}

int privilege_raise_files(rlim_t least, struct weft_err *err)
{
	static const rlim_t enough = 65536;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 0; /* what lacks is told by who opens it */
	if (files.rlim_max < least)
		return weft_fail(err, -EMFILE,
				 "cannot record with a limit of %llu open "
				 "files: it takes about %llu; raise the hard "
				 "limit (ulimit -Hn)",
				 (unsigned long long)files.rlim_max,
				 (unsigned long long)least);
	if (files.rlim_cur < enough) {
		files.rlim_cur =
			files.rlim_max < enough ? files.rlim_max : enough;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return 0;
}

void privilege_limit_memory(rlim_t most)
{
#ifdef PRIVILEGE_IS_SANITIZED
	(void)most;
#else
	privilege_limit(RLIMIT_AS, most);
#endif
}

int privilege_drop(struct weft_err *err)
{
	/* CAP_BPF alone makes maps: of unwind tables, as they are built. Root
	 * writes where it was told to, whoever owns the directory, and ends
	 * the program after `--`. */
	static const cap_value_t kept[] = { CAP_BPF, CAP_DAC_OVERRIDE,
					    CAP_FOWNER, CAP_CHOWN, CAP_KILL };
	const int n_kept_by_users = 1;
	uid_t uid;
	gid_t gid;
	int rc = 0;

	/* Nor does what we run later (weft-symbolize) get more. */
	privilege_bound(kept, ARRAY_LEN(kept));
	if (sudo_user(&uid, &gid)) {
		/* Permitted capabilities would go with the user. */
		prctl(PR_SET_KEEPCAPS, 1);
		rc = become(uid, gid, err);
		prctl(PR_SET_KEEPCAPS, 0);
		if (rc)
			return rc;
	}
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	rc = privilege_keep(kept,
			    geteuid() ? n_kept_by_users : (int)ARRAY_LEN(kept));
	/* Inspectors and tests may look at us, as at any process. */
	prctl(PR_SET_DUMPABLE, 1);
	if (rc)
		return weft_fail(err, rc, "cannot drop privileges: %s",
				 strerror(-rc));
	return 0;
}
