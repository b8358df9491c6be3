/* SPDX-License-Identifier: MIT */
/* The rows of a batch that are few, and that no batch is too full for: what the
 * timers did, and where all ended. */
#include <errno.h>

#include "collector/batch_rows.h"

int batch_cpu(struct batch *b, const struct store_cpu *cpu)
{
	for (size_t i = 0; i < b->cpus.n; i++) {
		struct store_cpu *row = &b->cpus.row[i];
		uint64_t due = row->due + cpu->due;

		if (row->cpu != cpu->cpu || row->event != cpu->event)
			continue;
		if (due)
			row->period = (row->period * row->due +
				       cpu->period * cpu->due) /
				      due;
		row->due = due;
		row->fired += cpu->fired;
		row->throttled += cpu->throttled;
		row->has_throttled &= cpu->has_throttled;
		return 0;
	}
	if (GROW(b->cpus.row, b->cpus.n + 1, b->cpus.room))
		return -ENOMEM;
	b->cpus.row[b->cpus.n++] = *cpu;
	return 0;
}

static struct store_ledger *ledger_row(struct batch *b, uint32_t event,
				       uint32_t entry)
{
	for (size_t i = 0; i < b->ledger.n; i++)
		if (b->ledger.row[i].event == event &&
		    b->ledger.row[i].entry == entry)
			return &b->ledger.row[i];
	if (GROW(b->ledger.row, b->ledger.n + 1, b->ledger.room))
		return NULL;
	b->ledger.row[b->ledger.n] = (struct store_ledger){
		.event = event,
		.entry = entry,
	};
	return &b->ledger.row[b->ledger.n++];
}

int batch_ledger(struct batch *b, uint32_t event, uint32_t entry,
		 uint64_t count, uint64_t value)
{
	struct store_ledger *row = ledger_row(b, event, entry);

	if (!row)
		return -ENOMEM;
	row->measured = true;
	row->count += count;
	row->value += value;
	return 0;
}

int batch_ledger_unmeasured(struct batch *b, uint32_t event, uint32_t entry)
{
	return ledger_row(b, event, entry) ? 0 : -ENOMEM;
}
