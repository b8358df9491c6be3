/* SPDX-License-Identifier: MIT */
/* A section .gnu_debugdata: whatever it unpacks to, within limits. The source
 * is included: so no ELF file is needed around it. */
#include "collector/elf/debug.c"

#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file file = { .fd = memfd_create("input", MFD_CLOEXEC),
				 .key.size = size };
	GElf_Shdr shdr = { .sh_size = size };
	lzma_stream stream = LZMA_STREAM_INIT;
	struct unpacked out = { 0 };

	if (file.fd < 0)
		return 0;
	if (write(file.fd, data, size) == (ssize_t)size &&
	    lzma_stream_decoder(&stream, ELF_DEBUG_UNPACK_MEMORY, 0) ==
		    LZMA_OK) {
		(void)!unpack(&stream, &out, &file, &shdr);
		if (out.room > ELF_DEBUG_UNPACKED_MAX)
			abort();
	}
	lzma_end(&stream);
	free(out.bytes);
	close(file.fd);
	return 0;
}
