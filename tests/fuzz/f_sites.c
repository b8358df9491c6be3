/* SPDX-License-Identifier: MIT */
/* Functions and USDT probes of an ELF file. The source is included: what is
 * asked of the child, without the child. */
#include "collector/probe_sites.c"

#include <stdlib.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"

static void look_for(const struct elf_file *file, const struct question *q)
{
	static struct answer answer;
	struct search s = { .q = q, .answer = &answer };

	answer = (struct answer){ 0 };
	(void)!find(&s, file);
	if (answer.sites.n > PROBE_SITES_MAX ||
	    strlen(answer.near) >= sizeof(answer.near))
		abort();
	words_release(&s.names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	struct file_key key = { .size = size };
	struct question q = { .name = "f" };
	struct elf_file file;

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size &&
	    !elf_file_open(&file, fd, &key)) {
		look_for(&file, &q);
		q.provider = "p";
		q.is_usdt = true;
		look_for(&file, &q);
		elf_file_close(&file);
	}
	close(fd);
	return 0;
}
