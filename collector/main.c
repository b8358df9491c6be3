/* SPDX-License-Identifier: MIT */
/* weft-record: the recorder. */
#include "collector/record.h"

int main(int argc, char **argv)
{
	struct record_opts opts;
	int status = WEFT_EXIT_OK;

	weft_log_init("weft record", WEFT_INFO);
	switch (options_parse(argc, argv, &opts)) {
	case OPTIONS_DONE:
		break;
	case OPTIONS_REFUSED:
		status = WEFT_EXIT_USAGE;
		break;
	case OPTIONS_RECORD:
		weft_log_init("weft record", opts.log_level);
		status = record(&opts);
	}
	options_release(&opts);
	return status;
}
