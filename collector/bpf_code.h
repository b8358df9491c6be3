/* SPDX-License-Identifier: MIT */
/* How long the code of loaded BPF programs is, which /proc/kallsyms does not
 * say. */
#ifndef WEFT_BPF_CODE_H
#define WEFT_BPF_CODE_H

#include <stdint.h>

/* Call fn for the code of each function of each loaded BPF program, as far as
 * we may look (CAP_SYS_ADMIN). */
void bpf_code_each(void (*fn)(void *ctx, uint64_t start, uint32_t size),
		   void *ctx);

#endif
