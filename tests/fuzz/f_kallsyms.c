/* SPDX-License-Identifier: MIT */
/* The texts of /proc/kallsyms and, after a NUL, of /proc/modules. */
#include <stdlib.h>
#include <string.h>

#include "collector/kallsyms.h"
#include "tests/fuzz/fuzz.h"

static void look(const struct kallsyms *k, uint64_t addr)
{
	const struct kallsyms_symbol *s = kallsyms_find(k, addr);
	const struct kallsyms_module *m;

	if (!s)
		return;
	if (s->start > addr || kallsyms_next_start(k, s) < s->start ||
	    !*kallsyms_name(k, s) ||
	    strlen(kallsyms_name(k, s)) >= KALLSYMS_NAME_MAX)
		abort();
	m = kallsyms_module_of(k, s);
	if (m && (m->end < m->start || strlen(m->name) >= sizeof(m->name)))
		abort();
	(void)(m && kallsyms_is_made(m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 2);
	struct kallsyms k;
	char *modules;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	modules = text + strlen(text) + 1;
	if (!kallsyms_parse(&k, text,
			    modules <= text + size ? modules : NULL)) {
		for (size_t i = 0; i < k.n_symbols; i++) {
			look(&k, k.symbols[i].start);
			look(&k, k.symbols[i].start - 1);
		}
		look(&k, 0);
		look(&k, UINT64_MAX);
	}
	kallsyms_release(&k);
	free(text);
	return 0;
}
