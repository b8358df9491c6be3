/* SPDX-License-Identifier: MIT */
/* Leave a test whose means are missing here, and say why. (cmocka's skip()
 * prints "not ok # SKIP", which prove counts as a failure.) */
#ifndef TESTS_SKIP_H
#define TESTS_SKIP_H

#define SKIP_BECAUSE(reason)                              \
	do {                                              \
		print_message("# skipped: %s\n", reason); \
		return;                                   \
	} while (0)

#endif
