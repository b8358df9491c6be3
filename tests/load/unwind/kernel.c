/* SPDX-License-Identifier: MIT */
/* Chains whose user part ends at the kernel's door, or in its vDSO. */
#include "chain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	BYTES = 4 << 20,
	PAGE = 4096
};

void chain_clock(unsigned int n)
{
	struct timespec now;

	(void)n;
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			clock_gettime(CLOCK_REALTIME, &now);
}

void chain_read(unsigned int n)
{
	static char block[64 << 10];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)n;
	while (chain_goes_on())
		if (read(zero, block, sizeof(block)) < 0)
			exit(1);
}

FRAME static void chain_touch_pages(volatile char *pages)
{
	for (int i = 0; i < BYTES; i += PAGE)
		pages[i] = 1;
}

void chain_touch(unsigned int n)
{
	(void)n;
	while (chain_goes_on()) {
		void *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED)
			exit(1);
		madvise(pages, BYTES, MADV_NOHUGEPAGE);
		chain_touch_pages(pages);
		munmap(pages, BYTES);
	}
}
