/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "query/follow.h"
#include "store/weft.h"

enum {
	PATH_BYTES = 4096
};

static const uint64_t second_ns = 1000000000;

static struct follow_state look_at(const char *path, const char *suffix)
{
	char name[PATH_BYTES];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	if (stat(name, &st))
		return (struct follow_state){ 0 };
	return (struct follow_state){
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed_ns = (uint64_t)st.st_mtim.tv_sec * second_ns +
			      (uint64_t)st.st_mtim.tv_nsec,
	};
}

static bool is_same(struct follow_state a, struct follow_state b)
{
	return a.inode == b.inode && a.size == b.size &&
	       a.changed_ns == b.changed_ns;
}

void follow_look(struct follow *f)
{
	f->file = look_at(f->path, "");
	f->log = look_at(f->path, "-wal");
}

bool follow_wait(const struct follow *f)
{
	const struct timespec every = {
		.tv_sec = (time_t)(f->every_ns / second_ns),
		.tv_nsec = (long)(f->every_ns % second_ns),
	};
	struct follow now = *f;
	bool is_written;

	do {
		/* Asked first: what was written before it ended is seen. */
		is_written = follow_is_written(f->path);
		nanosleep(&every, NULL);
		follow_look(&now);
		if (!is_same(now.file, f->file) || !is_same(now.log, f->log))
			return true;
	} while (is_written);
	return false;
}

bool follow_is_written(const char *path)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char name[PATH_BYTES];
	bool is_held;
	int fd;

	snprintf(name, sizeof(name), "%s.lock", path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return errno != ENOENT;
	is_held = fcntl(fd, F_OFD_GETLK, &whole) || whole.l_type != F_UNLCK;
	close(fd);
	return is_held;
}

void follow_begin_block(bool is_first)
{
	if (weft_is_terminal(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	else if (!is_first)
		putchar('\n');
}
