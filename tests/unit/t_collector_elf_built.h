/* SPDX-License-Identifier: MIT */
/* Programs that a test compiles for itself, and ELF files opened as the
 * inspectors do. */
#ifndef T_COLLECTOR_ELF_BUILT_H
#define T_COLLECTOR_ELF_BUILT_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/elf/file.h"

static char built_dir[64];

static inline int built_set_up(void **state)
{
	(void)state;
	snprintf(built_dir, sizeof(built_dir), "/tmp/weft-elf-XXXXXX");
	return mkdtemp(built_dir) ? 0 : -1;
}

static inline int built_tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", built_dir);
	return system(command);
}

static inline const char *built_path(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", built_dir, name);
	return path[turn];
}

static inline void built_write(const char *name, const char *text)
{
	FILE *file = fopen(built_path(name), "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Read what was built, at most room bytes. Returns how many; 0: none. */
static inline size_t built_read(const char *name, void *to, size_t room)
{
	FILE *file = fopen(built_path(name), "re");
	size_t n;

	if (!file)
		return 0;
	n = fread(to, 1, room, file);
	fclose(file);
	return n;
}

/* Run a shell command in the directory. Returns whether it succeeded. */
static inline bool built_run(const char *command)
{
	char line[4096];

	snprintf(line, sizeof(line), "cd %s && { %s; } >log 2>&1", built_dir,
		 command);
	return system(line) == 0;
}

static inline bool built_has(const char *program)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s", program);
	return built_run(command);
}

static inline int built_open(struct elf_file *file, const char *path)
{
	struct file_key key;
	int reference = elf_open_reference(AT_FDCWD, path, 0, &key), rc;

	if (reference < 0)
		return reference;
	rc = elf_file_open(file, reference, &key);
	close(reference);
	return rc;
}

#endif
