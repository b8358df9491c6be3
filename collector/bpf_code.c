/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <unistd.h>

#include "collector/bpf_code.h"

enum {
	PROGRAMS_MAX = 65536,
	FUNCTIONS_MAX = 1024 /* of one program; the kernel has 256 */
};

static void tell(int fd, void (*fn)(void *ctx, uint64_t start, uint32_t size),
		 void *ctx)
{
	static uint64_t start[FUNCTIONS_MAX];
	static uint32_t size[FUNCTIONS_MAX];
	struct bpf_prog_info info = {
		.nr_jited_ksyms = FUNCTIONS_MAX,
		.jited_ksyms = (uintptr_t)start,
		.nr_jited_func_lens = FUNCTIONS_MAX,
		.jited_func_lens = (uintptr_t)size,
	};
	uint32_t info_size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &info_size))
		return;
	for (uint32_t i = 0; i < info.nr_jited_ksyms &&
			     i < info.nr_jited_func_lens && i < FUNCTIONS_MAX;
	     i++)
		if (start[i])
			fn(ctx, start[i], size[i]);
}

void bpf_code_each(void (*fn)(void *ctx, uint64_t start, uint32_t size),
		   void *ctx)
{
	uint32_t id = 0;

	for (int n = 0; n < PROGRAMS_MAX && !bpf_prog_get_next_id(id, &id);
	     n++) {
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue; /* unloaded meanwhile, or not ours to see */
		tell(fd, fn, ctx);
		close(fd);
	}
}
