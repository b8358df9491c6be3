/* SPDX-License-Identifier: MIT */
/*
 * What threads have attached just now, read while they run. The kernel program
 * reads on the thread itself; from here a record can change under our hands,
 * so it counts only if it reads the same twice.
 */
#include <string.h>

#include "collector/inspect/ops.h"
#include "collector/inspect/proc.h"

enum {
	TRIES_MAX = 3,
	VALID_AT = 24,
	FLAGS_AT = 25,
	RECORD_BYTES = 28 /* OTEP 4947, up to its attributes */
};

/* Where the variable of a thread is. The vector is laid out as in
 * bpf/context.bpf.h. */
static enum weft_context_status
find_variable(const struct procfs *proc, const struct weft_context_entry *entry,
	      const struct weft_context_slot *slot, uint64_t pointer,
	      uint64_t *out)
{
	uint64_t dtv, head[3], block;

	*out = pointer + (uint64_t)slot->offset;
	if (!slot->module)
		return WEFT_CTX_OK;
	if (procfs_read_memory(proc, pointer + (uint64_t)entry->dtv_offset,
			       &dtv, sizeof(dtv)) ||
	    procfs_read_memory(proc, dtv - 16, head, sizeof(head)))
		return WEFT_CTX_E_DTV;
	if ((entry->is_glibc ? head[0] : head[2]) < slot->module ||
	    (entry->is_glibc && head[2] < slot->min_gen))
		return WEFT_CTX_UNTOUCHED;
	if (procfs_read_memory(proc,
			       dtv + (uint64_t)slot->module * entry->dtv_stride,
			       &block, sizeof(block)))
		return WEFT_CTX_E_DTV;
	*out = block + (uint64_t)slot->offset;
	return block && block != UINT64_MAX ? WEFT_CTX_OK : WEFT_CTX_UNTOUCHED;
}

static bool is_zero(const uint8_t *id, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (id[i])
			return false;
	}
	return true;
}

static enum weft_context_status judge(const uint8_t bytes[RECORD_BYTES],
				      struct wire_record *out)
{
	bool no_trace = is_zero(bytes, 16), no_span = is_zero(bytes + 16, 8);

	if (no_trace != no_span)
		return WEFT_CTX_HALF;
	if (no_trace)
		return WEFT_CTX_ZERO;
	memcpy(out->trace_id, bytes, sizeof(out->trace_id));
	memcpy(out->span_id, bytes + 16, sizeof(out->span_id));
	out->trace_flags = bytes[FLAGS_AT];
	return WEFT_CTX_OK;
}

static enum weft_context_status
read_variable(const struct procfs *proc, uint64_t addr, struct wire_record *out)
{
	uint8_t first[RECORD_BYTES], second[RECORD_BYTES];
	uint64_t record, again;

	for (int i = 0; i < TRIES_MAX; i++) {
		if (procfs_read_memory(proc, addr, &record, sizeof(record)))
			return WEFT_CTX_E_SLOT;
		if (!record)
			return WEFT_CTX_NULL;
		if (record & 1 ||
		    procfs_read_memory(proc, record, first, sizeof(first)) ||
		    procfs_read_memory(proc, record, second, sizeof(second)))
			return WEFT_CTX_E_RECORD;
		if (procfs_read_memory(proc, addr, &again, sizeof(again)))
			return WEFT_CTX_E_SLOT;
		if (again == record && first[VALID_AT] == 1 &&
		    !memcmp(first, second, sizeof(first)))
			return judge(first, out);
	}
	return WEFT_CTX_UPDATING;
}

/* The first slot with a usable record wins, as when sampling. */
static void read_thread(const struct procfs *proc,
			const struct weft_context_entry *entry,
			uint64_t pointer, struct wire_record *out)
{
	enum weft_context_status status = WEFT_CTX_E_TP;
	uint64_t addr;

	for (int i = 0; pointer && i < entry->n_slots; i++) {
		status = find_variable(proc, entry, &entry->slot[i], pointer,
				       &addr);
		if (status == WEFT_CTX_OK)
			status = read_variable(proc, addr, out);
		if (status == WEFT_CTX_OK)
			break;
	}
	out->status = status;
}

enum inspect_status inspect_op_records(const struct request *request,
				       struct reply *reply)
{
	enum inspect_status status = inspect_op_context(request, reply);
	const struct weft_context_entry *entry = &reply->own.context.entry;
	struct procfs proc;
	int rc;

	if (status != INSPECT_OK ||
	    reply->own.context.state != INSPECT_CONTEXT_FOUND ||
	    entry->source != WEFT_SOURCE_OTEL)
		return status;
	rc = procfs_open(&proc, &request->head->process);
	if (rc)
		return inspect_to_status(rc);
	for (uint32_t i = 0; i < request->head->n_offsets && !rc; i++) {
		struct wire_record record = { 0 };

		read_thread(&proc, entry, request->offsets[i], &record);
		rc = reply_add(reply, &record, sizeof(record));
	}
	if (!rc)
		rc = procfs_check(&proc, request->head->process.start_ns);
	procfs_close(&proc);
	return inspect_to_status(rc);
}
