/* SPDX-License-Identifier: MIT */
/* What a thread's record says in attributes; keys by what the first bytes say
 * that the process has. */
#include <stdlib.h>
#include <string.h>

#include "collector/attributes.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct batch *b)
{
	struct store_batch view;

	batch_view(b, &view);
	for (size_t i = 0; i < view.n_sample_attributes; i++) {
		uint32_t at = view.sample_attributes[i].attribute;
		const char *value;

		if (at >= view.n_attributes)
			abort();
		value = view.text + view.attributes[at].value;
		for (size_t k = 0; value[k]; k++) {
			if ((unsigned char)value[k] < ' ')
				abort(); /* a terminal would act on it */
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct inspect_context_text texts[] = {
		{ .is_key = true, .key = "http.route", .value = "" },
		{ .is_key = true, .key = "a\x1b[2J", .value = "" },
		{ .is_key = true, .key = "", .value = "" },
		{ .is_key = true, .key = "a\x1b[2J", .value = "" },
		{ .key = "\xff\xfe", .value = "\xe2\x80\xae" },
	};
	struct inspect_context context = { .texts = texts };
	const struct store_sample sample = { .weight = 1 };
	struct attributes_lost lost = { 0 };
	struct attributes *a = NULL;
	struct batch *b;
	uint8_t *bytes;

	if (!size)
		return 0;
	context.n_texts = data[0] % (ARRAY_LEN(texts) + 1);
	b = batch_new();
	bytes = malloc(size);
	if (b && bytes && !attributes_update(&a, &context) &&
	    !batch_sample(b, &sample)) {
		memcpy(bytes, data + 1, size - 1);
		attributes_of_sample(a, b, bytes, size - 1, 1, &lost);
		attributes_of_sample(a, b, bytes, size - 1, UINT64_MAX, &lost);
		check(b);
	}
	free(bytes);
	batch_free(b);
	attributes_free(a);
	return 0;
}
