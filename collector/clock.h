/* SPDX-License-Identifier: MIT */
/* Clocks: samples carry boot time (CLOCK_BOOTTIME); people think in Unix
 * time. */
#ifndef WEFT_CLOCK_H
#define WEFT_CLOCK_H

#include <stdint.h>

uint64_t clock_boot_ns(void);
uint64_t clock_unix_ns(void);

/* What to add to boot time for Unix time, and how far off that may be. */
void clock_read_offset(int64_t *offset_ns, uint64_t *error_ns);

#endif
