/* SPDX-License-Identifier: MIT */
/*
 * A file system of one file, `program`, a copy of FILE. After SIGUSR1 it
 * never answers again: whoever asks it anything waits until it is killed.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t is_stuck;
static const char *source;

static void on_usr1(int number)
{
	(void)number;
	is_stuck = 1;
}

static void answer_or_not(void)
{
	while (is_stuck)
		pause();
}

static int stuck_getattr(const char *path, struct stat *st,
			 struct fuse_file_info *fi)
{
	(void)fi;
	answer_or_not();
	if (!strcmp(path, "/")) {
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
		return 0;
	}
	if (strcmp(path, "/program"))
		return -ENOENT;
	if (stat(source, st))
		return -errno;
	st->st_mode = S_IFREG | 0755;
	return 0;
}

static int stuck_open(const char *path, struct fuse_file_info *fi)
{
	(void)fi;
	answer_or_not();
	return strcmp(path, "/program") ? -ENOENT : 0;
}

static int stuck_read(const char *path, char *out, size_t size, off_t offset,
		      struct fuse_file_info *fi)
{
	FILE *f;
	size_t n;

	(void)path;
	(void)fi;
	answer_or_not();
	f = fopen(source, "re");
	if (!f)
		return -errno;
	if (fseeko(f, offset, SEEK_SET)) {
		fclose(f);
		return -EIO;
	}
	n = fread(out, 1, size, f);
	fclose(f);
	return n;
}

static const struct fuse_operations operations = {
	.getattr = stuck_getattr,
	.open = stuck_open,
	.read = stuck_read,
};

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_usr1 };
	char *fuse_argv[] = { argv[0], (char *)"-f", argc > 1 ? argv[1] : NULL,
			      NULL };

	if (argc != 3) {
		fprintf(stderr, "usage: stuck_fs MOUNTPOINT FILE\n");
		return 2;
	}
	source = argv[2];
	sigaction(SIGUSR1, &action, NULL);
	return fuse_main(3, fuse_argv, &operations, NULL);
}
