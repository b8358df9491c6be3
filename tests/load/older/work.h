/* SPDX-License-Identifier: MIT */
/* Work whose function says whether it is for a request. */
#ifndef OLDER_WORK_H
#define OLDER_WORK_H

#include "tests/load/burn.h"

NAMED_FUNCTION static void work_for_nobody(uint64_t n)
{
	burn_result += burn_steps(n, 100000);
	KEEP_FRAME();
}

NAMED_FUNCTION static void work_for_one(uint64_t n)
{
	burn_result += burn_steps(n, 200000);
	KEEP_FRAME();
}

#endif
