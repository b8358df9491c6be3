/* SPDX-License-Identifier: MIT */
/* Feeds files, or all files of directories, to a fuzz entry point: what a
 * fuzzer once found stays found, without the fuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

enum {
	INPUT_MAX = 1 << 24
};

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "re");
	/* Of the input's own size, so that a sanitizer sees its end. */
	uint8_t *all = malloc(INPUT_MAX), *data;
	size_t size;

	if (!file || !all) {
		perror(path);
		return 1;
	}
	size = fread(all, 1, INPUT_MAX, file);
	fclose(file);
	data = malloc(size + !size);
	if (!data)
		return 1;
	memcpy(data, all, size);
	free(all);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

static int replay_directory(const char *path, int *n)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char name[4096];
	int failed = 0;

	if (!dir) {
		perror(path);
		return 1;
	}
	while (1) {
		entry = readdir(dir);
		if (!entry)
			break;
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		failed |= replay_file(name);
		++*n;
	}
	closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0, n = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode)) {
			failed |= replay_directory(argv[i], &n);
		} else {
			failed |= replay_file(argv[i]);
			n++;
		}
	}
	printf("%d inputs\n", n);
	return failed || !n;
}
