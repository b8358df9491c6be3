/* SPDX-License-Identifier: MIT */
/* Texts of /proc/PID: status, cgroup, links. The source is included: what
 * takes a cgroup's path out of its text is its own. */
#include "collector/inspect/process.c"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *found;
	size_t length;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	(void)procfs_find_number(text, "\nPPid:\t");
	(void)procfs_find_number(text, "\nNSpid:\t");
	found = find_cgroup(text);
	if (strchr(found, '\n') || strlen(found) > size)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	length = procfs_strip_deleted(text, strlen(text));
	if (length != strlen(text))
		abort();
	free(text);
	return 0;
}
