/* SPDX-License-Identifier: MIT */
/* All that is read of a target's ELF files. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size)
		read_elf(fd);
	close(fd);
	return 0;
}
