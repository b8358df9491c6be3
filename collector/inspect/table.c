/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "collector/elf/table.h"
#include "collector/inspect/names.h"

static uint64_t cpu_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int build(struct elf_table *table, const struct elf_file *file)
{
	int rc = elf_table_build(table, file);

	if (rc != -ENOMEM)
		return rc;
	elf_table_release(table);
	inspect_drop_kept();
	return elf_table_build(table, file);
}

enum inspect_status inspect_op_table(const struct request *request,
				     struct reply *reply)
{
	struct wire_table *own = &reply->own.table;
	uint64_t start_ns = cpu_ns();
	struct elf_table table;
	struct elf_file file;
	int rc;

	rc = !strcmp(request->path, "[vdso]")
		     ? inspect_open_vdso(&file)
		     : elf_file_find(&file, request->head, request->path);
	if (rc)
		return inspect_to_status(rc);
	rc = build(&table, &file);
	elf_file_close(&file);
	if (rc) {
		elf_table_release(&table);
		return inspect_to_status(rc);
	}
	reply->own_size = sizeof(*own);
	*own = (struct wire_table){
		.first_page = table.first_page,
		.n_pages = table.n_pages,
		.rules_block = table.rules_block,
		.n_rows = table.n_rows,
		.build_ns = cpu_ns() - start_ns,
	};
	/* The words are the reply's now. */
	reply_own_items(reply, table.words,
			(size_t)table.n_blocks * WIRE_TABLE_BLOCK_BYTES,
			table.n_blocks);
	return INSPECT_OK;
}
