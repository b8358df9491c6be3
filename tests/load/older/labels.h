/* SPDX-License-Identifier: MIT */
/* custom-labels; OLDER_ABI is its version. */
#ifndef OLDER_LABELS_H
#define OLDER_LABELS_H

#include <string.h>

#include "tests/load/older/ids.h"

struct label_text {
	size_t size;
	const char *at;
};

struct labels_writer {
	struct {
		struct ids ids;
		struct {
			struct label_text key, value;
		} labels[4];
		struct {
			const void *labels;
			size_t count, capacity;
		} set;
	} both[2];
	unsigned turn;
};

#ifndef OLDER_ABI
#define OLDER_ABI 1
#endif
const uint32_t custom_labels_abi_version = OLDER_ABI;
__thread void *custom_labels_current_set;

static struct label_text label_text(const char *text)
{
	return (struct label_text){ strlen(text), text };
}

static void labels_attach(struct labels_writer *w, const struct ids *ids)
{
	unsigned turn = w->turn++ & 1;

	w->both[turn].ids = *ids;
	/* The first is a hole, of the two of one name the first counts. */
	w->both[turn].labels[0].key.at = NULL;
	w->both[turn].labels[1].key = label_text("trace_id");
	w->both[turn].labels[1].value = label_text(w->both[turn].ids.trace);
	w->both[turn].labels[2].key = label_text("span_id");
	w->both[turn].labels[2].value = label_text(w->both[turn].ids.span);
	w->both[turn].labels[3].key = label_text("trace_id");
	w->both[turn].labels[3].value =
		label_text("00000000000000000000000000000001");
	w->both[turn].set.labels = w->both[turn].labels;
	w->both[turn].set.count = 4;
	w->both[turn].set.capacity = 4;
	BARRIER();
	custom_labels_current_set = &w->both[turn].set;
}

static void labels_detach(struct labels_writer *w)
{
	(void)w;
	custom_labels_current_set = NULL;
}

#endif
