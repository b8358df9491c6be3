/* SPDX-License-Identifier: MIT */
#include "collector/context/fallback.h"
#include "collector/context/go.h"
#include "collector/context/modules.h"
#include "collector/context/tls.h"

enum {
	LABELS_VERSION = 1
};

/* Elastic's "universal profiling integration", custom-labels' ABI. */
static const char elastic_variable[] =
	"elastic_apm_profiling_correlation_tls_v1";
static const char labels_variable[] = "custom_labels_current_set";
static const char labels_version[] = "custom_labels_abi_version";

/* Whether the labels are laid out as we know: no module says otherwise, and
 * one says so. */
static bool has_known_labels(const struct procfs *proc,
			     const struct modules *modules)
{
	bool is_known = false;

	for (size_t i = 0; i < modules->n; i++) {
		uint32_t version;
		uint64_t addr;

		if (!modules->module[i].has_code ||
		    module_find_object(proc, &modules->module[i],
				       labels_version, &addr))
			continue;
		if (procfs_read_memory(proc, addr, &version, sizeof(version)) ||
		    version != LABELS_VERSION)
			return false;
		is_known = true;
	}
	return is_known;
}

int context_find_fallback(const struct procfs *proc,
			  struct weft_context_entry *entry,
			  enum inspect_context_state *state)
{
	static struct modules modules;
	int rc = context_find_go(proc, entry, state);

	if (rc || *state != INSPECT_CONTEXT_NO_MAPPING)
		return rc;
	rc = modules_read(&modules, proc);
	if (rc)
		return rc;
	context_find_slots(proc, &modules, elastic_variable, entry, state);
	entry->source = WEFT_SOURCE_ELASTIC;
	if (*state != INSPECT_CONTEXT_NO_SYMBOL)
		return 0;
	context_find_slots(proc, &modules, labels_variable, entry, state);
	entry->source = WEFT_SOURCE_LABELS;
	if (*state == INSPECT_CONTEXT_NO_SYMBOL)
		*state = INSPECT_CONTEXT_NO_MAPPING;
	else if (!has_known_labels(proc, &modules))
		*state = INSPECT_CONTEXT_UNSUPPORTED;
	return 0;
}
