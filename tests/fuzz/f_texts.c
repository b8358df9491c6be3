/* SPDX-License-Identifier: MIT */
/* Texts of command lines, which scripts make of what is not theirs. The first
 * byte says which. */
#include <stdlib.h>
#include <string.h>

#include "collector/label_names.h"
#include "collector/measure/parse.h"
#include "collector/timer.h"
#include "collector/trace_probe.h"
#include "collector/trigger.h"
#include "tests/fuzz/fuzz.h"

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

static void read_measure(const char *text)
{
	static struct measure m;
	struct weft_err err = { 0 };

	if (measure_parse(text, &m, &err)) {
		check(err.msg[0] && strlen(err.msg) < sizeof(err.msg));
		return;
	}
	check(m.n_keys <= MEASURE_KEYS_MAX);
	check(m.n_tests <= MEASURE_CONDITIONS_MAX);
	if (m.aggregate == MEASURE_LHIST)
		check(measure_linear_buckets(&m) > 0);
}

static void read_trigger(char *text)
{
	struct triggers t = { 0 };
	struct weft_err err = { 0 };
	char *second = strchr(text, '\n');
	uint32_t states;

	/* Two of them: what is there already is not added again. */
	if (second)
		*second++ = '\0';
	if (!triggers_add(&t, text, &err) && second)
		(void)!triggers_add(&t, second, &err);
	check(t.n <= WEFT_MAX_EVENTS);
	for (uint32_t i = 0; i < t.n; i++)
		check(t.trigger[i].name && *trigger_unit(&t.trigger[i]));
	triggers_release(&t);
	(void)!trigger_parse_states(text, &states);
}

static void read_numbers(const char *text)
{
	struct cpu_list cpus;
	uint64_t number;

	if (!weft_parse_u64(text, 3, 1000, &number))
		check(number >= 3 && number <= 1000);
	if (!weft_parse_size(text, 4096, 1 << 30, &number))
		check(number >= 4096 && number <= 1 << 30);
	if (!weft_parse_seconds(text, 1000, UINT64_C(1) << 60, &number))
		check(number >= 1000 && number <= UINT64_C(1) << 60);
	if (!cpu_list_parse(text, &cpus))
		check(cpus.n > 0 && cpus.n <= ARRAY_LEN(cpus.cpu));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weft_label_names labels;
	struct trace_probe probe;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (*data % 5) {
	case 0:
		read_measure(text);
		break;
	case 1:
		read_trigger(text);
		break;
	case 2:
		read_numbers(text);
		break;
	case 3:
		(void)label_names_parse(text, &labels);
		break;
	default:
		(void)trace_probe_parse(text, &probe);
		break;
	}
	free(text);
	return 0;
}
