/* SPDX-License-Identifier: MIT */
#include "truth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	BUFFER_BYTES = 1 << 20
}; /* seconds of requests between writes */

struct truth {
	FILE *file;
	char buffer[BUFFER_BYTES];
};

struct truth *truth_open(const char *path)
{
	struct truth *truth = malloc(sizeof(*truth));

	if (!truth)
		return NULL;
	truth->file = fopen(path, "we");
	if (!truth->file) {
		free(truth);
		return NULL;
	}
	setvbuf(truth->file, truth->buffer, _IOFBF, sizeof(truth->buffer));
	fputs("trace_id\troute\tcost\ttid\tstart_ns\tend_ns\tcpu_ns\n",
	      truth->file);
	return truth;
}

void truth_add(struct truth *truth, const struct truth_row *row)
{
	fprintf(truth->file,
		"%s\t%s\t%u\t%d\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
		row->trace_id, row->route, row->cost, row->tid,
		row->start_boot_ns, row->end_boot_ns, row->cpu_ns);
}

int truth_close(struct truth *truth)
{
	int failed, rc;

	if (!truth)
		return 0;
	failed = ferror(truth->file);
	rc = fclose(truth->file);
	free(truth);
	if (failed)
		errno = EIO;
	return rc != 0 || failed ? -1 : 0;
}
