/* SPDX-License-Identifier: MIT */
/* weft-record: the recorder. */
#include "collector/record.h"

int main(int argc, char **argv)
{
	struct record_opts opts;

	weft_log_init("weft record", WEFT_INFO);
	switch (options_parse(argc, argv, &opts)) {
	case OPTIONS_DONE:
		return WEFT_EXIT_OK;
	case OPTIONS_REFUSED:
		return WEFT_EXIT_USAGE;
	case OPTIONS_RECORD:
		break;
	}
	weft_log_init("weft record", opts.log_level);
	return record(&opts);
}
