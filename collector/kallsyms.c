/* SPDX-License-Identifier: MIT */
/* Workload: some 200,000 symbols, looked up some thousand times a second. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/kallsyms.h"

static int32_t find_module(struct kallsyms *k, const char *name)
{
	struct kallsyms_module *m;
	char cut[sizeof(m->name)];

	snprintf(cut, sizeof(cut), "%s", name);
	/* Symbols come grouped by module: the last one is the likeliest. */
	for (size_t i = k->n_modules; i-- > 0;)
		if (!strcmp(k->modules[i].name, cut))
			return (int32_t)i;
	if (k->n_modules >= KALLSYMS_MODULES_MAX ||
	    GROW(k->modules, k->n_modules + 1, k->modules_room))
		return KALLSYMS_NO_MODULE;
	m = &k->modules[k->n_modules];
	*m = (struct kallsyms_module){ 0 };
	memcpy(m->name, cut, sizeof(cut));
	return (int32_t)k->n_modules++;
}

/* "name size refcount users state 0xaddress", one a line. */
static void parse_modules(struct kallsyms *k, char *at)
{
	char *line;

	while ((line = strsep(&at, "\n"))) {
		char name[64];
		unsigned long long size, start;
		int32_t i;

		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size,
			   &start) != 3 ||
		    !start || size > UINT64_MAX - start)
			continue;
		i = find_module(k, name);
		if (i == KALLSYMS_NO_MODULE)
			break;
		k->modules[i].start = start;
		k->modules[i].end = start + size;
	}
}

/* Cut "[module]" off a line. Returns where its name is; NULL: there is none. */
static char *cut_module(char *name)
{
	char *module = strchr(name, '\t');

	if (!module)
		return NULL;
	*module++ = '\0';
	if (*module != '[')
		return NULL;
	module++;
	module[strcspn(module, "]")] = '\0';
	return module;
}

static int add(struct kallsyms *k, uint64_t start, const char *name,
	       const char *module)
{
	size_t length = strlen(name) + 1;
	int32_t index = module ? find_module(k, module) : KALLSYMS_NO_MODULE;

	/* Of a module that there is no room for: better no name than that it
	 * looks like the kernel's own. */
	if (module && index == KALLSYMS_NO_MODULE)
		return 0;
	if (length > KALLSYMS_NAME_MAX || k->n_text + length > UINT32_MAX)
		return 0;
	if (GROW(k->symbols, k->n_symbols + 1, k->symbols_room) ||
	    GROW(k->text, k->n_text + length, k->text_room))
		return -ENOMEM;
	memcpy(k->text + k->n_text, name, length);
	k->symbols[k->n_symbols++] = (struct kallsyms_symbol){
		.start = start,
		.name = (uint32_t)k->n_text,
		.module = index,
	};
	k->n_text += length;
	return 0;
}

/* "address type name[\t[module]]" */
static int parse_symbol(struct kallsyms *k, char *line)
{
	char *end, *name, *module;
	uint64_t start = strtoull(line, &end, 16);
	char type;

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	type = end[1];
	name = end + 3;
	module = cut_module(name);
	if (!module && !strcmp(name, "_stext"))
		k->text_start = start;
	else if (!module && !strcmp(name, "_etext"))
		k->text_end = start;
	if (!strchr("tTwW", type) || !start || !*name)
		return 0;
	return add(k, start, name, module);
}

static int compare(const void *a, const void *b, void *text)
{
	const struct kallsyms_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp((char *)text + x->name, (char *)text + y->name);
}

int kallsyms_parse(struct kallsyms *k, char *symbols, char *modules)
{
	char *line;
	int rc = 0;

	*k = (struct kallsyms){ 0 };
	if (modules)
		parse_modules(k, modules);
	while (!rc && symbols && (line = strsep(&symbols, "\n")))
		rc = parse_symbol(k, line);
	if (k->n_symbols)
		qsort_r(k->symbols, k->n_symbols, sizeof(*k->symbols), compare,
			k->text);
	return rc;
}

void kallsyms_release(struct kallsyms *k)
{
	free(k->symbols);
	free(k->modules);
	free(k->text);
	*k = (struct kallsyms){ 0 };
}

/* How many symbols start at or before addr. */
static size_t count_before(const struct kallsyms *k, uint64_t addr)
{
	size_t low = 0, high = k->n_symbols;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (k->symbols[middle].start > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct kallsyms_symbol *kallsyms_find(const struct kallsyms *k,
					    uint64_t addr)
{
	size_t n = count_before(k, addr);

	if (!n)
		return NULL;
	while (n > 1 && k->symbols[n - 2].start == k->symbols[n - 1].start)
		n--;
	return &k->symbols[n - 1];
}

uint64_t kallsyms_next_start(const struct kallsyms *k,
			     const struct kallsyms_symbol *symbol)
{
	size_t n = count_before(k, symbol->start);

	return n < k->n_symbols ? k->symbols[n].start : UINT64_MAX;
}

const char *kallsyms_name(const struct kallsyms *k,
			  const struct kallsyms_symbol *symbol)
{
	return k->text + symbol->name;
}

const struct kallsyms_module *
kallsyms_module_of(const struct kallsyms *k,
		   const struct kallsyms_symbol *symbol)
{
	return symbol->module == KALLSYMS_NO_MODULE
		       ? NULL
		       : &k->modules[symbol->module];
}

bool kallsyms_is_made(const struct kallsyms_module *module)
{
	return !strcmp(module->name, "bpf") ||
	       !strncmp(module->name, "__builtin__", 11);
}
