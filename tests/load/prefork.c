/* SPDX-License-Identifier: MIT */
/*
 * prefork N LIBRARY LIBRARY: N children, one after the other, born without
 * exec. Each loads one of the libraries in turn, where its siblings had the
 * other, and is named after it; then it spins in its function spin().
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TURNS = 30000000
};

static int child(const char *name, const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	void (*spin)(unsigned long) = NULL;

	(void)prctl(PR_SET_NAME, name);
	if (handle)
		*(void **)&spin = dlsym(handle, "spin");
	if (!spin) {
		fprintf(stderr, "prefork: %s\n", dlerror());
		return 1;
	}
	spin(TURNS);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: prefork N LIBRARY LIBRARY\n");
		return 2;
	}
	for (int i = 0; i < atoi(argv[1]); i++) {
		pid_t pid = fork();
		int status = 1;

		if (!pid)
			_exit(child(i % 2 ? "second" : "first",
				    argv[2 + i % 2]));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			failed = 1;
	}
	return failed;
}
