/* SPDX-License-Identifier: MIT */
/*
 * Ask what an inspector would be asked, without one: functions and lines at
 * addresses of a file, read from standard input as hexadecimal numbers. The
 * answer is in the form of `addr2line -a -f -i`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "collector/elf/file.h"
#include "collector/inspect/ops.h"

struct batch {
	uint64_t address[INSPECT_NAMES_MAX], offset[INSPECT_NAMES_MAX];
	uint32_t n;
};

static struct elf_segment segments[ELF_SEGMENTS_MAX];
static size_t n_segments;

/* Prove the file as one without a build ID would be. */
static int describe(struct wire_request *head, const char *path)
{
	struct stat st;

	if (stat(path, &st)) {
		perror(path);
		return -1;
	}
	*head = (struct wire_request){
		.op = WIRE_LINES,
		.inode = st.st_ino,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.path_size = (uint32_t)strlen(path) + 1,
	};
	return 0;
}

static int read_segments(const struct wire_request *head, const char *path)
{
	struct elf_file file;

	if (elf_file_find(&file, head, path)) {
		fprintf(stderr, "%s: cannot be read as ELF\n", path);
		return -1;
	}
	n_segments = elf_file_segments(&file, segments);
	elf_file_close(&file);
	return 0;
}

static const char *text(const struct reply *reply, uint32_t at)
{
	return at == WIRE_NO_STRING ? "??" : reply->strings + at;
}

static void print(const struct batch *batch, const struct reply *reply)
{
	const struct wire_level *level = (const void *)reply->items;
	uint32_t next = 0;

	for (uint32_t i = 0; i < batch->n; i++) {
		printf("0x%016" PRIx64 "\n", batch->address[i]);
		for (; next < reply->n && level[next].at == i; next++) {
			const struct wire_level *l = &level[next];
			uint32_t name = l->linkage_name == WIRE_NO_STRING
						? l->name
						: l->linkage_name;

			printf("%s\n%s:%u\n", text(reply, name),
			       text(reply, l->file), l->line);
		}
	}
}

static int ask(struct batch *batch, struct wire_request *head, const char *path)
{
	struct request request = { .head = head,
				   .offsets = batch->offset,
				   .path = path };
	struct reply reply = { 0 };
	enum inspect_status status;

	head->n_offsets = batch->n;
	status = inspect_op_lines(&request, &reply);
	if (status == INSPECT_OK)
		print(batch, &reply);
	else
		fprintf(stderr, "%s: status %d\n", path, (int)status);
	free(reply.items);
	free(reply.strings);
	batch->n = 0;
	return status == INSPECT_OK ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct batch batch;
	struct wire_request head;
	uint64_t address;
	int rc = 0;

	if (argc != 2 || argv[1][0] != '/') {
		fprintf(stderr, "usage: ask_lines /PATH <ADDRESSES\n");
		return 2;
	}
	if (describe(&head, argv[1]) || read_segments(&head, argv[1]))
		return 1;
	while (!rc && scanf("%" SCNx64, &address) == 1) {
		batch.address[batch.n] = address;
		if (!elf_vaddr_to_offset(segments, n_segments, address,
					 &batch.offset[batch.n]))
			continue;
		if (++batch.n == INSPECT_NAMES_MAX)
			rc = ask(&batch, &head, argv[1]);
	}
	if (!rc && batch.n)
		rc = ask(&batch, &head, argv[1]);
	return rc ? 1 : 0;
}
