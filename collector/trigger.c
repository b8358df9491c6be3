/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/trigger.h"

enum {
	STACKS_N_MAX = 1000000,
	NAME_MAX_BYTES = 200 /* of an event's name */
};

/* Long waits must fit in 32 bits of ns: the kernel program multiplies. */
static const uint64_t tau_max_ns = 4000000000;

static const struct counter {
	const char *name;
	uint32_t type;
	uint64_t config;
} counters[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_EMULATION_FAULTS },
};

/* Those with a prefix, and how many words follow it. */
static const struct prefix {
	const char *word;
	enum trigger_kind kind;
	const char *form;
} prefixes[] = {
	{ "tracepoint:", TRIGGER_TRACEPOINT, "tracepoint:CATEGORY:NAME" },
	{ "uprobe:", TRIGGER_UPROBE, "uprobe:PATH:SYMBOL[+OFFSET]" },
	{ "uretprobe:", TRIGGER_URETPROBE, "uretprobe:PATH:SYMBOL" },
	{ "usdt:", TRIGGER_USDT, "usdt:PATH:PROVIDER:NAME" },
	{ "kprobe:", TRIGGER_KPROBE, "kprobe:SYMBOL[+OFFSET]" },
	{ "kretprobe:", TRIGGER_KRETPROBE, "kretprobe:SYMBOL" },
};

const char *const *trigger_counter_names(bool needs_pmu)
{
	static const char *names[2][ARRAY_LEN(counters) + 1];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		if ((counters[i].type == PERF_TYPE_HARDWARE) == needs_pmu)
			names[needs_pmu][n++] = counters[i].name;
	return names[needs_pmu];
}

bool trigger_is_perf_event(const struct trigger *t)
{
	return t->kind == TRIGGER_TIMER || t->kind == TRIGGER_COUNTER;
}

bool trigger_is_call(const struct trigger *t)
{
	return t->kind >= TRIGGER_TRACEPOINT;
}

bool trigger_is_by_size(const struct trigger *t)
{
	return t->kind == TRIGGER_OFF_CPU || t->kind == TRIGGER_RUN_QUEUE ||
	       t->kind == TRIGGER_ON_CPU;
}

const char *trigger_unit(const struct trigger *t)
{
	switch (t->kind) {
	case TRIGGER_TIMER:
	case TRIGGER_OFF_CPU:
	case TRIGGER_RUN_QUEUE:
	case TRIGGER_ON_CPU:
		return "ns";
	case TRIGGER_COUNTER:
		return "events";
	default:
		return "calls";
	}
}

uint32_t triggers_find(const struct triggers *t, enum trigger_kind kind)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->trigger[i].kind == kind)
			return i;
	return WEFT_NO_EVENT;
}

bool triggers_any(const struct triggers *t,
		  bool (*is)(const struct trigger *trigger))
{
	for (uint32_t i = 0; i < t->n; i++)
		if (is(&t->trigger[i]))
			return true;
	return false;
}

static void trigger_release(struct trigger *t)
{
	free(t->name);
	free(t->path);
	free(t->scope);
	free(t->symbol);
	*t = (struct trigger){ 0 };
}

void triggers_release(struct triggers *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		trigger_release(&t->trigger[i]);
	t->n = 0;
}

int trigger_parse_states(const char *text, uint32_t *out)
{
	static const char letters[] = "RSDTIX"; /* as enum weft_block_state */

	_Static_assert(sizeof(letters) - 1 == WEFT_BLOCK_STATES,
		       "a letter for each state");
	*out = 0;
	for (; *text; text++) {
		const char *at = strchr(letters, *text);

		if (*text == ',' && *out && text[1])
			continue;
		if (!at)
			return -EINVAL;
		*out |= 1U << (at - letters);
	}
	return *out ? 0 : -EINVAL;
}

/* The last `,KEY=VALUE` of text, cut off; NULL: there is none. */
static char *cut_option(char *text)
{
	char *comma = strrchr(text, ',');

	if (!comma || !strchr(comma, '='))
		return NULL;
	*comma = '\0';
	return comma + 1;
}

static int take_option(struct trigger *t, char **name, char *option,
		       struct weft_err *err)
{
	static const char *const keys[] = { "name", "period", "stacks", "tau",
					    NULL };
	char *value = strchr(option, '=');
	const char *near;
	int rc = 0;

	*value++ = '\0';
	if (!strcmp(option, "name")) {
		/* It becomes the event's name when all has been read. */
		*name = value;
		rc = *value ? 0 : -EINVAL;
	} else if (!strcmp(option, "period")) {
		rc = weft_parse_u64(value, 1, INT64_MAX, &t->period);
	} else if (!strcmp(option, "stacks")) {
		rc = strncmp(value, "1/", 2)
			     ? -EINVAL
			     : weft_parse_u64(value + 2, 1, STACKS_N_MAX,
					      &t->stacks_n);
	} else if (!strcmp(option, "tau")) {
		rc = weft_parse_seconds(value, 0, tau_max_ns, &t->tau_ns);
	} else {
		near = weft_nearest(option, keys);
		return weft_fail(
			err, -EINVAL,
			"-e knows no option '%s'%s%s%s (there are name=WORD, period=N, stacks=1/N, tau=SECONDS)",
			option, near ? "; did you mean '" : "",
			near ? near : "", near ? "'?" : "");
	}
	if (rc)
		return weft_fail(
			err, -EINVAL,
			"-e: %s cannot be '%s' (name=WORD, period=N, stacks=1/N with N up to 1000000, tau=SECONDS up to 4)",
			option, value);
	return 0;
}

/* Split "SYMBOL+OFFSET": a number after the last plus. */
static int take_offset(char *symbol, uint64_t *offset)
{
	char *plus = strrchr(symbol, '+');
	char *end;

	if (!plus || plus == symbol || plus[1] < '0' || plus[1] > '9')
		return 0;
	errno = 0;
	*offset = strtoull(plus + 1, &end, 0);
	if (errno || *end)
		return -EINVAL;
	*plus = '\0';
	return 0;
}

static int copy(char **to, const char *from, struct weft_err *err)
{
	*to = strdup(from);
	return *to ? 0 : weft_fail(err, -ENOMEM, "out of memory");
}

/* Where libbpf sees no slash it looks in $PATH, and for libraries: what is
 * named is a file, the same for all who open it. */
static int copy_path(char **to, const char *from, struct weft_err *err)
{
	if (strchr(from, '/'))
		return copy(to, from, err);
	if (asprintf(to, "./%s", from) < 0)
		*to = NULL;
	return *to ? 0 : weft_fail(err, -ENOMEM, "out of memory");
}

static int fail_form(const struct prefix *p, const char *text,
		     struct weft_err *err)
{
	return weft_fail(err, -EINVAL, "-e takes %s; not '%s%s'", p->form,
			 p->word, text);
}

/* What stands after the last colon, cut off; NULL: there is none. */
static char *cut_last(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

/* What follows the prefix; a path may hold colons, what follows it does not.
 */
static int take_call(struct trigger *t, const struct prefix *p,
		     const char *text, struct weft_err *err)
{
	bool has_path = p->kind == TRIGGER_UPROBE ||
			p->kind == TRIGGER_URETPROBE || p->kind == TRIGGER_USDT;
	bool has_scope =
		p->kind == TRIGGER_TRACEPOINT || p->kind == TRIGGER_USDT;
	char *symbol, *scope, *rest = NULL;
	int rc = copy(&rest, text, err);

	if (rc)
		return rc;
	/* From the end; rest stays what comes first, whatever that is. */
	symbol = has_path || has_scope ? cut_last(rest) : rest;
	scope = has_path && has_scope ? cut_last(rest) : rest;
	if (!symbol || !*symbol || !scope || !*scope || !*rest)
		goto wrong;
	t->kind = p->kind;
	if (p->kind == TRIGGER_UPROBE || p->kind == TRIGGER_KPROBE)
		rc = take_offset(symbol, &t->offset);
	if (rc)
		goto wrong;
	rc = copy(&t->symbol, symbol, err);
	if (!rc && has_path)
		rc = copy_path(&t->path, rest, err);
	if (!rc && has_scope)
		rc = copy(&t->scope, scope, err);
	free(rest);
	return rc;
wrong:
	free(rest);
	return fail_form(p, text, err);
}

/* A raw event of the PMU, as perf has them: r and hexadecimal digits. */
static bool is_raw(const char *text, uint64_t *config)
{
	char *end;

	if (text[0] != 'r' || strlen(text) > 17 ||
	    strspn(text + 1, "0123456789abcdefABCDEF") != strlen(text) - 1)
		return false;
	*config = strtoull(text + 1, &end, 16);
	return end > text + 1;
}

static int fail_unknown(const char *text, struct weft_err *err)
{
	const char *names[ARRAY_LEN(counters) + 6] = { "cpu-clock", "on-cpu",
						       "off-cpu", "run-queue",
						       "wall" };
	const char *near;
	size_t n = 5;

	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		names[n++] = counters[i].name;
	near = weft_nearest(text, names);
	if (!near && strchr(text, ':')) {
		for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
			if (!strncmp(text, prefixes[i].word, 2))
				near = prefixes[i].form;
	}
	return weft_fail(err, -EINVAL,
			 "-e knows no event '%s'%s%s%s (`weft list events`)",
			 text, near ? "; did you mean '" : "", near ? near : "",
			 near ? "'?" : "");
}

/* What a name without its options means. */
static int understand(struct trigger *t, const char *text, struct weft_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		size_t size = strlen(prefixes[i].word);

		if (!strncmp(text, prefixes[i].word, size))
			return take_call(t, &prefixes[i], text + size, err);
	}
	if (!strcmp(text, "cpu-clock")) {
		t->kind = TRIGGER_TIMER;
		return 0;
	}
	if (!strcmp(text, "off-cpu")) {
		t->kind = TRIGGER_OFF_CPU;
		return 0;
	}
	if (!strcmp(text, "run-queue")) {
		t->kind = TRIGGER_RUN_QUEUE;
		return 0;
	}
	if (!strcmp(text, "on-cpu")) {
		t->kind = TRIGGER_ON_CPU;
		return 0;
	}
	t->kind = TRIGGER_COUNTER;
	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		if (strcmp(text, counters[i].name))
			continue;
		t->perf_type = counters[i].type;
		t->perf_config = counters[i].config;
		return 0;
	}
	t->perf_type = PERF_TYPE_RAW;
	return is_raw(text, &t->perf_config) ? 0 : fail_unknown(text, err);
}

/* Options that the kind of trigger has no use for are mistakes. */
static int check(const struct trigger *t, struct weft_err *err)
{
	if (t->period && t->kind != TRIGGER_COUNTER)
		return weft_fail(err, -EINVAL,
				 "-e: period=N is for counters, not for '%s'",
				 t->name);
	if (t->stacks_n != 1 && !trigger_is_call(t))
		return weft_fail(err, -EINVAL,
				 "-e: stacks=1/N is for calls, not for '%s'",
				 t->name);
	if (t->tau_ns != TRIGGER_TAU_DEFAULT && !trigger_is_by_size(t))
		return weft_fail(
			err, -EINVAL,
			"-e: tau=SECONDS is for on-cpu, off-cpu, run-queue and wall, not for '%s'",
			t->name);
	if (strlen(t->name) > NAME_MAX_BYTES)
		return weft_fail(
			err, -EINVAL,
			"-e: the name '%.40s...' has more than %d bytes; give another with ,name=WORD",
			t->name, NAME_MAX_BYTES);
	return 0;
}

static const struct trigger *find_name(const struct triggers *t,
				       const char *name)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (!strcmp(t->trigger[i].name, name))
			return &t->trigger[i];
	return NULL;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Whether two make the same samples. */
static bool is_same(const struct trigger *a, const struct trigger *b)
{
	return a->kind == b->kind && is_same_text(a->path, b->path) &&
	       is_same_text(a->scope, b->scope) &&
	       is_same_text(a->symbol, b->symbol) && a->offset == b->offset &&
	       a->perf_type == b->perf_type &&
	       a->perf_config == b->perf_config && a->period == b->period &&
	       a->stacks_n == b->stacks_n && a->tau_ns == b->tau_ns;
}

/* text: changed on the way. */
static int add(struct triggers *all, char *text, struct weft_err *err)
{
	struct trigger t = { .stacks_n = 1, .tau_ns = TRIGGER_TAU_DEFAULT };
	char *option, *name = NULL;
	const struct trigger *there;
	int rc = 0;

	while (!rc && (option = cut_option(text)))
		rc = take_option(&t, &name, option, err);
	if (!rc)
		rc = copy(&t.name, name ? name : text, err);
	if (!rc)
		rc = understand(&t, text, err);
	if (!rc)
		rc = check(&t, err);
	there = rc ? NULL : find_name(all, t.name);
	if (there && is_same(there, &t)) {
		trigger_release(&t);
		return 0;
	}
	if (there)
		rc = weft_fail(
			err, -EINVAL,
			"two different events are called '%s'; give one of them ,name=WORD, or leave it out",
			t.name);
	if (!rc && t.kind < TRIGGER_TRACEPOINT && t.kind != TRIGGER_COUNTER &&
	    triggers_find(all, t.kind) != WEFT_NO_EVENT)
		rc = weft_fail(err, -EINVAL, "-e %s is asked for twice", text);
	if (!rc && all->n == WEFT_MAX_EVENTS)
		rc = weft_fail(err, -EINVAL,
			       "one recording has at most %d events",
			       WEFT_MAX_EVENTS);
	if (rc) {
		trigger_release(&t);
		return rc;
	}
	all->trigger[all->n++] = t;
	return 0;
}

int triggers_add(struct triggers *t, const char *text, struct weft_err *err)
{
	static const char *const of_wall[] = { "cpu-clock", "on-cpu",
					       "run-queue", "off-cpu" };
	size_t length = strcspn(text, ",");
	bool is_wall = length == 4 && !strncmp(text, "wall", length);
	char *words;
	int rc = 0;

	if (is_wall && strstr(text, ",name="))
		return weft_fail(
			err, -EINVAL,
			"-e: wall is four events, which have their own names; name=WORD is for one");
	for (size_t i = 0; i < (is_wall ? ARRAY_LEN(of_wall) : 1) && !rc; i++) {
		/* The timer has no tau. */
		const char *rest = i ? text + length : "";

		if (!is_wall)
			words = strdup(text);
		else if (asprintf(&words, "%s%s", of_wall[i], rest) < 0)
			words = NULL;
		if (!words)
			return weft_fail(err, -ENOMEM, "out of memory");
		rc = add(t, words, err);
		free(words);
	}
	return rc;
}
