/* SPDX-License-Identifier: MIT */
/*
 * Run a program, or names_run() of a library, from a copy in memory that has
 * no path: from_memfd program|library NAME FILE [ARG...]. NAME is what
 * memfd_create() is given.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

static int copy(const char *name, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create(name, MFD_CLOEXEC);

	if (from < 0 || to < 0)
		return -1;
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	close(from);
	return to;
}

int main(int argc, char **argv)
{
	int (*run)(int argc, char **argv);
	char path[32];
	void *library;
	int fd;

	if (argc < 4)
		return 2;
	fd = copy(argv[2], argv[3]);
	if (fd < 0) {
		perror("from_memfd: cannot copy the file");
		return 1;
	}
	if (!strcmp(argv[1], "program")) {
		fexecve(fd, argv + 3, environ);
		perror("from_memfd: cannot execute the copy");
		return 1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "from_memfd: %s\n", dlerror());
		return 1;
	}
	*(void **)&run = dlsym(library, "names_run");
	return run ? run(argc - 3, argv + 3) : 1;
}
