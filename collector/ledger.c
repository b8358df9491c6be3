/* SPDX-License-Identifier: MIT */
#include "collector/ledger.h"

const char *const ledger_names[LEDGER_ENTRIES] = {
	[WEFT_FIRED] = "fired",
	[WEFT_COUNTED] = "counted",
	[WEFT_FILTERED] = "filtered",
	[WEFT_IDLE] = "idle",
	[WEFT_LOST_COUNTS_FULL] = "lost_counts_full",
	[WEFT_LOST_BUSY] = "lost_busy",
	[WEFT_SELECTED] = "selected",
	[WEFT_PASSED_OVER] = "passed_over",
	[WEFT_LOST_RING_FULL] = "lost_ring_full",
	[WEFT_LOST_RING_BUSY] = "lost_ring_busy",
	[WEFT_STACK_LOST] = "stack_lost",
	[WEFT_SIDEBAND_LOST] = "sideband_lost",
	[WEFT_OPEN_AT_START] = "open_at_start",
	[WEFT_OPEN_AT_END] = "open_at_end",
	[WEFT_SHAPE_BY_FULL] = "shape_by_full",
	[WEFT_STACK_OVER_SHARE] = "stack_over_share",
	[WEFT_CONTEXT_OK + WEFT_CTX_OK] = "context_ok",
	[WEFT_CONTEXT_OK + WEFT_CTX_NULL] = "context_null",
	[WEFT_CONTEXT_OK + WEFT_CTX_ZERO] = "context_zero",
	[WEFT_CONTEXT_OK + WEFT_CTX_UPDATING] = "context_updating",
	[WEFT_CONTEXT_OK + WEFT_CTX_UNTOUCHED] = "context_untouched",
	[WEFT_CONTEXT_OK + WEFT_CTX_HALF] = "context_half",
	[WEFT_CONTEXT_OK + WEFT_CTX_E_TP] = "context_e_tp",
	[WEFT_CONTEXT_OK + WEFT_CTX_E_DTV] = "context_e_dtv",
	[WEFT_CONTEXT_OK + WEFT_CTX_E_SLOT] = "context_e_slot",
	[WEFT_CONTEXT_OK + WEFT_CTX_E_RECORD] = "context_e_record",
	[WEFT_CONTEXT_OK + WEFT_CTX_SKIPPED_WORKER] = "context_skipped_worker",
	[WEFT_CONTEXT_OK + WEFT_CTX_NO_ENTRY] = "context_no_entry",
	[WEFT_CONTEXT_OK + WEFT_CTX_STALE_ENTRY] = "context_stale_entry",
	[WEFT_CONTEXT_OK + WEFT_CTX_UNSUPPORTED] = "context_unsupported",
	[WEFT_CONTEXT_OK + WEFT_CTX_MALFORMED] = "context_malformed",
	[WEFT_CONTEXT_OK + 15] = "reserved_15",
	[LEDGER_STORED] = "stored",
	[LEDGER_LOST_DISCARDED] = "lost_discarded",
	[LEDGER_LOST_COUNTS_DISCARDED] = "lost_counts_discarded",
	[LEDGER_TRUNCATED] = "truncated",
	[LEDGER_BROKEN] = "broken",
	[LEDGER_AMBIGUOUS_MAP] = "ambiguous_map",
	[LEDGER_PROBE_DEFERRED] = "probe_deferred",
	[LEDGER_THROTTLED] = "throttled",
	[LEDGER_CONTEXT_FAILING] = "context_failing",
	[LEDGER_ATTRIBUTES_REFUSED] = "attributes_refused",
	[LEDGER_ATTRIBUTES_UNKNOWN] = "attributes_unknown",
	[LEDGER_ATTRIBUTES_TRUNCATED] = "attributes_truncated",
	[LEDGER_TABLE_PENDING] = "table_pending",
	[LEDGER_TABLE_REFUSED] = "table_refused",
	[LEDGER_JIT_NOT_READ] = "jit_not_read",
	[LEDGER_DUE] = "due",
	[LEDGER_NOT_RUN] = "not_run",
};

const char *const context_source_names[WEFT_SOURCE_COUNT] = {
	[WEFT_SOURCE_NONE] = "none",     [WEFT_SOURCE_OTEL] = "otel",
	[WEFT_SOURCE_GO] = "go",         [WEFT_SOURCE_ELASTIC] = "elastic",
	[WEFT_SOURCE_LABELS] = "labels", [WEFT_SOURCE_PROBE] = "probe",
	[WEFT_SOURCE_OBI] = "obi",
};

const char *const context_status_names[WEFT_CTX_COUNT] = {
	[WEFT_CTX_OK] = "ok",
	[WEFT_CTX_NULL] = "null",
	[WEFT_CTX_ZERO] = "zero",
	[WEFT_CTX_UPDATING] = "updating",
	[WEFT_CTX_UNTOUCHED] = "untouched",
	[WEFT_CTX_HALF] = "half",
	[WEFT_CTX_E_TP] = "e_tp",
	[WEFT_CTX_E_DTV] = "e_dtv",
	[WEFT_CTX_E_SLOT] = "e_slot",
	[WEFT_CTX_E_RECORD] = "e_record",
	[WEFT_CTX_SKIPPED_WORKER] = "skipped_worker",
	[WEFT_CTX_NO_ENTRY] = "no_entry",
	[WEFT_CTX_STALE_ENTRY] = "stale_entry",
	[WEFT_CTX_UNSUPPORTED] = "unsupported",
	[WEFT_CTX_MALFORMED] = "malformed",
};

const char *const walk_end_names[WEFT_END_COUNT] = {
	[WEFT_END_NO_USER] = "no_user",
	[WEFT_END_MARKED] = "marked",
	[WEFT_END_ROOT] = "root",
	[WEFT_END_DEPTH] = "depth",
	[WEFT_END_PENDING] = "table_pending",
	[WEFT_END_NO_MAPPING] = "no_mapping",
	[WEFT_END_NO_FRAME] = "no_frame",
	[WEFT_END_BAD_RULE] = "bad_rule",
	[WEFT_END_REGISTER] = "register",
	[WEFT_END_FAULT] = "fault",
	[WEFT_END_NOT_ABOVE] = "not_above",
	[WEFT_END_COMPAT] = "compat",
};

int ledger_add_kernel(struct batch *b, uint32_t event,
		      const struct weft_ledger *kernel)
{
	int rc = 0;

	/* The last of them are reserved: there are no such statuses yet. */
	for (uint32_t i = 0; i < WEFT_CONTEXT_OK + WEFT_CTX_COUNT && !rc; i++)
		rc = batch_ledger(b, event, i, kernel->entry[i].count,
				  kernel->entry[i].value);
	for (uint32_t i = WEFT_KERNEL_ENTRIES; i < LEDGER_ENTRIES && !rc; i++)
		rc = i == LEDGER_THROTTLED
			     ? batch_ledger_unmeasured(b, event, i)
			     : batch_ledger(b, event, i, 0, 0);
	return rc;
}
