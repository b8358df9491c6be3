/* SPDX-License-Identifier: MIT */
/* The text of /proc/PID/maps, read as it is read there. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/inspect/proc.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct procfs_mapping *m)
{
	if (m->start >= m->end || m->path_size != strlen(m->path))
		abort();
}

static void parse_line(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct procfs_mapping mapping;

	if (!line)
		return;
	memcpy(line, data, size);
	line[size] = '\0';
	if (procfs_maps_parse(line, &mapping))
		check(&mapping);
	free(line);
}

static void read_text(const uint8_t *data, size_t size)
{
	static struct procfs_maps maps;
	struct procfs_mapping mapping;

	maps = (struct procfs_maps){ .fd = memfd_create("maps", MFD_CLOEXEC) };
	if (maps.fd < 0)
		return;
	if (write(maps.fd, data, size) == (ssize_t)size &&
	    !lseek(maps.fd, 0, SEEK_SET)) {
		while (procfs_maps_next(&maps, &mapping) > 0)
			check(&mapping);
	}
	procfs_maps_close(&maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_line(data, size);
	read_text(data, size);
	return 0;
}
