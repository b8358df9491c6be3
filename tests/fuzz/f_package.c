/* SPDX-License-Identifier: MIT */
/* Packages of split DWARF: their indexes, and units taken out of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/elf/package.h"
#include "tests/fuzz/fuzz.h"

enum {
	UNIT_MAX = 1 << 20
};

static void read_unit(const struct elf_package *package, uint64_t id)
{
	struct elf_package_unit unit;
	uint64_t sum = 0;

	if (!elf_package_read(package, id, UNIT_MAX, &unit)) {
		for (size_t i = 0; i < ELF_IMAGE_PARTS; i++) {
			for (size_t k = 0; k < unit.part[i].size; k++)
				sum += unit.part[i].data[k];
		}
	}
	elf_package_unit_release(&unit);
	if (sum > (uint64_t)UNIT_MAX * 255)
		abort(); /* more than was asked for */
}

/* The input ends with the ID that is asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_key key = { 0 };
	struct elf_package *package;
	struct elf_file file;
	uint64_t id;
	int fd;

	if (size < sizeof(id))
		return 0;
	size -= sizeof(id);
	memcpy(&id, data + size, sizeof(id));
	fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	key.size = size;
	if (write(fd, data, size) == (ssize_t)size &&
	    !elf_file_open(&file, fd, &key)) {
		if (!elf_package_open(&package, &file)) {
			read_unit(package, id);
			read_unit(package, 1);
			elf_package_close(package);
		}
		elf_file_close(&file);
	}
	close(fd);
	return 0;
}
