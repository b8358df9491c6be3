/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/measure/parse.h"

const char *const measure_aggregate_names[MEASURE_AGGREGATES + 1] = {
	[MEASURE_COUNT] = "count", [MEASURE_SUM] = "sum",
	[MEASURE_AVG] = "avg",     [MEASURE_MIN] = "min",
	[MEASURE_MAX] = "max",     [MEASURE_STATS] = "stats",
	[MEASURE_HIST] = "hist",   [MEASURE_LHIST] = "lhist",
};

/* Terms by the words for them, for suggestions; the last has none. */
static const char *const term_names[MEASURE_NUMBER + 1] = {
	[MEASURE_NONE] = "",         [MEASURE_COMM] = "comm",
	[MEASURE_PID] = "pid",       [MEASURE_TID] = "tid",
	[MEASURE_CPU] = "cpu",       [MEASURE_CGROUP] = "cgroup",
	[MEASURE_ARG] = "arg0",      [MEASURE_FIELD] = "args.FIELD",
	[MEASURE_RETVAL] = "retval", [MEASURE_ELAPSED] = "elapsed",
	[MEASURE_STACK] = "stack",   [MEASURE_ATTRIBUTE] = "attr.KEY",
};

static const char *const operator_names[MEASURE_OPERATORS] = {
	[MEASURE_EQ] = "==", [MEASURE_NE] = "!=", [MEASURE_LT] = "<",
	[MEASURE_LE] = "<=", [MEASURE_GT] = ">",  [MEASURE_GE] = ">=",
};

static const struct {
	const char *name;
	uint8_t size;
	bool is_signed;
} casts[] = {
	{ "int", 4, true },     { "int8", 1, true },
	{ "int16", 2, true },   { "int32", 4, true },
	{ "int64", 8, true },   { "unsigned", 4, false },
	{ "uint8", 1, false },  { "uint16", 2, false },
	{ "uint32", 4, false }, { "uint64", 8, false },
};

static const struct {
	const char *name;
	uint64_t factor;
} scales[] = {
	{ "", 1 },         { "ns", 1 },         { "us", 1000 },
	{ "ms", 1000000 }, { "s", 1000000000 }, { "k", 1 << 10 },
	{ "K", 1 << 10 },  { "M", 1 << 20 },    { "G", 1 << 30 },
};

struct parser {
	const char *at;
	struct weft_err *err;
};

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

/* What is wrong where the parser stands. */
static int wrong(struct parser *p, const char *what)
{
	skip_blanks(p);
	if (!*p->at)
		return weft_fail(p->err, -EINVAL, "measure: %s, at its end",
				 what);
	return weft_fail(p->err, -EINVAL, "measure: %s, at '%s'", what, p->at);
}

static bool take(struct parser *p, const char *sign)
{
	skip_blanks(p);
	if (strncmp(p->at, sign, strlen(sign)))
		return false;
	p->at += strlen(sign);
	return true;
}

static bool is_in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The next word; empty where there is none. -EINVAL: longer than the room. */
static int take_word(struct parser *p, char *out, size_t size)
{
	size_t n = 0;

	skip_blanks(p);
	while (is_in_word(p->at[n]))
		n++;
	if (n >= size)
		return wrong(p, "this word is too long");
	memcpy(out, p->at, n);
	out[n] = '\0';
	p->at += n;
	return 0;
}

/* A word that stands alone, as `by`; anything else stays. */
static bool take_keyword(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(p);
	if (strncmp(p->at, word, n) || is_in_word(p->at[n]))
		return false;
	p->at += n;
	return true;
}

static int unknown(struct parser *p, const char *what, const char *word,
		   const char *const *words, const char *all)
{
	const char *near = weft_nearest(word, words);

	if (near)
		return weft_fail(p->err, -EINVAL,
				 "measure: no %s '%s'; did you mean '%s'?",
				 what, word, near);
	return weft_fail(p->err, -EINVAL, "measure: no %s '%s'; there is %s",
			 what, word, all);
}

static int take_cast(struct parser *p, struct measure_operand *out)
{
	char word[16];
	int rc;

	if (!take(p, "("))
		return 0;
	rc = take_word(p, word, sizeof(word));
	for (size_t i = 0; i < ARRAY_LEN(casts) && !rc; i++) {
		if (strcmp(casts[i].name, word))
			continue;
		out->size = casts[i].size;
		out->is_signed = casts[i].is_signed;
		return take(p, ")") ? 0 : wrong(p, "expected ')'");
	}
	return rc ? rc
		  : wrong(p, "a cast is (int), (unsigned), or (int8) to "
			     "(uint64)");
}

static int name_term(struct parser *p, const char *word,
		     struct measure_operand *out)
{
	if (!strncmp(word, "args.", 5) && word[5]) {
		out->kind = MEASURE_FIELD;
		snprintf(out->field, sizeof(out->field), "%s", word + 5);
		return 0;
	}
	if (!strncmp(word, "arg", 3) && word[3] >= '0' &&
	    word[3] < '0' + MEASURE_ARGS && !word[4]) {
		out->kind = MEASURE_ARG;
		out->index = (uint8_t)(word[3] - '0');
		return 0;
	}
	if (!strncmp(word, "attr.", 5) && word[5]) {
		out->kind = MEASURE_ATTRIBUTE;
		snprintf(out->field, sizeof(out->field), "%s", word + 5);
		return 0;
	}
	for (int i = MEASURE_NONE + 1; i < MEASURE_NUMBER; i++) {
		if (i == MEASURE_ARG || i == MEASURE_FIELD ||
		    i == MEASURE_ATTRIBUTE || strcmp(term_names[i], word))
			continue;
		out->kind = i;
		return 0;
	}
	return unknown(
		p, "term", word, term_names + 1,
		"comm, pid, tid, cpu, cgroup, stack, attr.KEY, args.FIELD, "
		"arg0 to arg5, retval, elapsed");
}

static bool is_number(enum measure_term_kind kind)
{
	return kind != MEASURE_COMM && kind != MEASURE_STACK &&
	       kind != MEASURE_ATTRIBUTE;
}

static int take_term(struct parser *p, struct measure_operand *out)
{
	const char *from;
	char word[64];
	int rc;

	*out = (struct measure_operand){ .kind = MEASURE_NONE };
	skip_blanks(p);
	from = p->at;
	rc = take_cast(p, out);
	if (!rc)
		rc = take_word(p, word, sizeof(word));
	if (rc)
		return rc;
	if (!*word)
		return wrong(p, "expected a term, as args.count or pid");
	rc = name_term(p, word, out);
	snprintf(out->text, sizeof(out->text), "%.*s", (int)(p->at - from),
		 from);
	if (!rc && out->size && !is_number(out->kind))
		return weft_fail(p->err, -EINVAL,
				 "measure: %s is no number: it takes no cast",
				 term_names[out->kind]);
	return rc;
}

/* A number with sign and scale, as -5, 0x10, 4k or 10ms. */
static int take_number(struct parser *p, uint64_t *out, bool *is_negative)
{
	char word[40], *end;
	unsigned long long n;
	const char *from;
	int rc;

	*is_negative = take(p, "-");
	skip_blanks(p);
	from = p->at;
	rc = take_word(p, word, sizeof(word));
	if (rc)
		return rc;
	errno = 0;
	n = strtoull(word, &end, 0);
	if (end == word || errno) {
		p->at = from;
		return wrong(p, end == word ? "expected a number"
					    : "this number is too large");
	}
	for (size_t i = 0; i < ARRAY_LEN(scales); i++) {
		if (strcmp(scales[i].name, end))
			continue;
		if (n > UINT64_MAX / scales[i].factor ||
		    (*is_negative &&
		     n * scales[i].factor > (uint64_t)INT64_MAX + 1)) {
			p->at = from;
			return wrong(p, "this number is too large");
		}
		n *= scales[i].factor;
		*out = *is_negative ? -n : n;
		return 0;
	}
	p->at = from;
	return wrong(p, "expected a number, with ns, us, ms, s, k, M or G "
			"after it");
}

static int take_signed(struct parser *p, int64_t *out)
{
	const char *from = p->at;
	bool is_negative;
	uint64_t n;
	int rc = take_number(p, &n, &is_negative);

	if (rc)
		return rc;
	if (!is_negative && n > INT64_MAX) {
		p->at = from;
		return wrong(p, "this number is too large");
	}
	*out = (int64_t)n;
	return 0;
}

uint64_t measure_linear_buckets(const struct measure *m)
{
	uint64_t range = (uint64_t)m->linear_max - (uint64_t)m->linear_min;

	return (range - 1) / m->linear_step + 1;
}

/* The rest of lhist(VALUE, MIN, MAX, STEP). */
static int take_steps(struct parser *p, struct measure *m)
{
	int64_t step;
	int rc = take(p, ",") ? take_signed(p, &m->linear_min)
			      : wrong(p, "lhist(VALUE, MIN, MAX, STEP): "
					 "expected ', MIN'");

	if (!rc)
		rc = take(p, ",") ? take_signed(p, &m->linear_max)
				  : wrong(p, "expected ', MAX'");
	if (!rc)
		rc = take(p, ",") ? take_signed(p, &step)
				  : wrong(p, "expected ', STEP'");
	if (rc)
		return rc;
	if (step <= 0)
		return weft_fail(p->err, -EINVAL,
				 "measure: the step of lhist() is %lld; it "
				 "must be at least 1",
				 (long long)step);
	if (m->linear_max <= m->linear_min)
		return weft_fail(p->err, -EINVAL,
				 "measure: the maximum of lhist() (%lld) must "
				 "be above its minimum (%lld)",
				 (long long)m->linear_max,
				 (long long)m->linear_min);
	m->linear_step = (uint64_t)step;
	if (measure_linear_buckets(m) > MEASURE_LINEAR_MAX)
		return weft_fail(p->err, -EINVAL,
				 "measure: lhist() would have more than %d "
				 "buckets; take a larger step",
				 MEASURE_LINEAR_MAX);
	return 0;
}

static int take_value(struct parser *p, struct measure *m)
{
	int rc;

	if (!take(p, "("))
		return m->aggregate == MEASURE_COUNT
			       ? 0
			       : wrong(p, "expected '(' and what to add up, as "
					  "in sum(args.ret)");
	if (m->aggregate == MEASURE_COUNT)
		return take(p, ")") ? 0
				    : wrong(p, "count() counts events and "
					       "takes no value; expected ')'");
	rc = take_term(p, &m->value);
	if (rc)
		return rc;
	if (!is_number(m->value.kind))
		return weft_fail(p->err, -EINVAL,
				 "measure: %s is no number: it can be a key, "
				 "not a value",
				 m->value.text);
	if (m->aggregate == MEASURE_LHIST)
		rc = take_steps(p, m);
	if (rc)
		return rc;
	return take(p, ")") ? 0 : wrong(p, "expected ')'");
}

/* [NAME =] AGG */
static int take_aggregate(struct parser *p, struct measure *m)
{
	char word[sizeof(m->name)];
	int rc = take_word(p, word, sizeof(word));

	if (rc)
		return rc;
	skip_blanks(p);
	if (*word && p->at[0] == '=' && p->at[1] != '=') {
		p->at++;
		memcpy(m->name, word, sizeof(word));
		rc = take_word(p, word, sizeof(word));
	}
	if (rc)
		return rc;
	if (!*word)
		return wrong(p, "expected count, sum, avg, min, max, stats, "
				"hist or lhist");
	for (int i = 0; i < MEASURE_AGGREGATES; i++) {
		if (strcmp(measure_aggregate_names[i], word))
			continue;
		m->aggregate = i;
		if (!*m->name)
			memcpy(m->name, word, sizeof(word));
		return 0;
	}
	return unknown(p, "aggregate", word, measure_aggregate_names,
		       "count, sum, avg, min, max, stats, hist and lhist");
}

static int take_keys(struct parser *p, struct measure *m)
{
	if (!take_keyword(p, "by"))
		return 0;
	do {
		int rc;

		if (m->n_keys == MEASURE_KEYS_MAX)
			return wrong(p, "at most 4 keys");
		rc = take_term(p, &m->key[m->n_keys++]);
		if (rc)
			return rc;
	} while (take(p, ","));
	return 0;
}

static int take_path(struct parser *p, struct measure *m, const char *path)
{
	if (path[0] != '/')
		return weft_fail(p->err, -EINVAL,
				 "measure: '%s' must be a whole path, from /",
				 path);
	memcpy(m->where, path, strlen(path) + 1);
	return 0;
}

/* PATH:SYMBOL[+OFFSET]. The path may hold colons. */
static int split_symbol(struct parser *p, struct measure *m, char *rest)
{
	char *colon = strrchr(rest, ':'), *plus;
	uint64_t offset = 0;
	bool is_negative;

	if (!colon || colon == rest || !colon[1])
		return weft_fail(p->err, -EINVAL,
				 "measure: '%s' must be PATH:SYMBOL, as in "
				 "uprobe:/bin/bash:readline",
				 m->probe_text);
	*colon = '\0';
	plus = strchr(colon + 1, '+');
	if (plus) {
		struct parser number = { .at = plus + 1 };

		if (take_number(&number, &offset, &is_negative) || *number.at ||
		    is_negative)
			return weft_fail(p->err, -EINVAL,
					 "measure: '+%s' is no offset",
					 plus + 1);
		*plus = '\0';
	}
	m->offset = offset;
	memcpy(m->what, colon + 1, strlen(colon + 1) + 1);
	return take_path(p, m, rest);
}

/* PATH:PROVIDER:NAME, likewise. */
static int split_usdt(struct parser *p, struct measure *m, char *rest)
{
	char *name = strrchr(rest, ':'), *provider;

	if (name)
		*name++ = '\0';
	provider = strrchr(rest, ':');
	if (!provider || provider == rest || !provider[1] || !*name)
		return weft_fail(p->err, -EINVAL,
				 "measure: '%s' must be PATH:PROVIDER:NAME, as "
				 "`weft list usdt PATH` has them",
				 m->probe_text);
	*provider++ = '\0';
	memcpy(m->provider, provider, strlen(provider) + 1);
	memcpy(m->what, name, strlen(name) + 1);
	return take_path(p, m, rest);
}

static int split_probe(struct parser *p, struct measure *m)
{
	static const char *const kinds[MEASURE_PROBE_KINDS + 1] = {
		[MEASURE_TRACEPOINT] = "tracepoint",
		[MEASURE_UPROBE] = "uprobe",
		[MEASURE_URETPROBE] = "uretprobe",
		[MEASURE_USDT] = "usdt",
	};
	char copy[sizeof(m->probe_text)], *rest, *colon;
	int kind = 0;

	memcpy(copy, m->probe_text, sizeof(copy));
	rest = strchr(copy, ':');
	if (rest)
		*rest++ = '\0';
	while (kind < MEASURE_PROBE_KINDS && strcmp(kinds[kind], copy))
		kind++;
	if (!strcmp(copy, "kprobe") || !strcmp(copy, "kretprobe"))
		return weft_fail(p->err, -EINVAL,
				 "measure: '%s' is of events, not of measures: "
				 "count calls with `weft record -e %s`, or "
				 "measure a tracepoint",
				 m->probe_text, m->probe_text);
	if (kind == MEASURE_PROBE_KINDS)
		return unknown(p, "kind of probe", copy, kinds,
			       "tracepoint:CATEGORY:NAME, uprobe:PATH:SYMBOL, "
			       "uretprobe:PATH:SYMBOL and "
			       "usdt:PATH:PROVIDER:NAME");
	m->probe = kind;
	if (kind == MEASURE_USDT)
		return split_usdt(p, m, rest ? rest : copy + strlen(copy));
	if (kind != MEASURE_TRACEPOINT)
		return split_symbol(p, m, rest ? rest : copy + strlen(copy));
	colon = rest ? strchr(rest, ':') : NULL;
	if (!colon || colon == rest || !colon[1] || strchr(colon + 1, ':') ||
	    strchr(rest, '/'))
		return weft_fail(p->err, -EINVAL,
				 "measure: '%s' must be tracepoint:CATEGORY:"
				 "NAME, as in tracepoint:syscalls:"
				 "sys_enter_read",
				 m->probe_text);
	*colon = '\0';
	memcpy(m->where, rest, strlen(rest) + 1);
	memcpy(m->what, colon + 1, strlen(colon + 1) + 1);
	return 0;
}

static int take_probe(struct parser *p, struct measure *m)
{
	size_t n = 0;

	if (!take(p, "@"))
		return wrong(p, m->n_keys ? "expected ',' or '@ PROBE'"
					  : "expected 'by KEY' or '@ PROBE'");
	skip_blanks(p);
	while (p->at[n] && !isspace((unsigned char)p->at[n]))
		n++;
	if (!n)
		return wrong(p, "expected a probe, as tracepoint:syscalls:"
				"sys_enter_read");
	memcpy(m->probe_text, p->at, n);
	m->probe_text[n] = '\0';
	p->at += n;
	return split_probe(p, m);
}

static int take_comm(struct parser *p, struct measure_test *t)
{
	const char *end;
	size_t n;

	skip_blanks(p);
	if (t->op != MEASURE_EQ && t->op != MEASURE_NE)
		return wrong(p, "comm is compared by == or !=");
	end = *p->at == '"' ? strchr(p->at + 1, '"') : NULL;
	if (!end)
		return wrong(p, "expected a name in quotes, as \"bash\"");
	n = (size_t)(end - p->at) - 1;
	if (n >= sizeof(t->comm))
		return wrong(p, "the kernel keeps 15 bytes of a name");
	memcpy(t->comm, p->at + 1, n);
	p->at = end + 1;
	return 0;
}

static int take_test(struct parser *p, struct measure_test *t)
{
	/* Longer signs first: `<` is the beginning of `<=`. */
	static const enum measure_operator order[] = {
		MEASURE_EQ, MEASURE_NE, MEASURE_LE,
		MEASURE_GE, MEASURE_LT, MEASURE_GT,
	};
	size_t i = 0;
	int rc = take_term(p, &t->operand);

	if (rc)
		return rc;
	if (t->operand.kind == MEASURE_STACK ||
	    t->operand.kind == MEASURE_ATTRIBUTE)
		return weft_fail(p->err, -EINVAL,
				 "measure: %s can be a key; it cannot be "
				 "compared",
				 t->operand.text);
	while (i < ARRAY_LEN(order) && !take(p, operator_names[order[i]]))
		i++;
	if (i == ARRAY_LEN(order))
		return wrong(p, "expected ==, !=, <, <=, > or >=");
	t->op = order[i];
	if (t->operand.kind == MEASURE_COMM)
		return take_comm(p, t);
	return take_number(p, &t->number, &t->is_negative);
}

static int take_tests(struct parser *p, struct measure *m)
{
	if (!take_keyword(p, "if"))
		return 0;
	do {
		int rc;

		if (m->n_tests == MEASURE_CONDITIONS_MAX)
			return wrong(p, "at most 4 conditions");
		rc = take_test(p, &m->test[m->n_tests++]);
		if (rc)
			return rc;
	} while (take_keyword(p, "and") || take(p, "&&"));
	return 0;
}

/* The text as one line: blanks and line ends, but in quotes, are one space. */
static void copy_text(char *to, const char *text)
{
	bool is_quoted = false;

	for (; *text; text++) {
		if (*text == '"')
			is_quoted = !is_quoted;
		if (is_quoted || !isspace((unsigned char)*text))
			*to++ = *text;
		else if (text[1] && !isspace((unsigned char)text[1]))
			*to++ = ' ';
	}
	*to = '\0';
}

int measure_parse(const char *text, struct measure *out, struct weft_err *err)
{
	struct parser p = { .at = text, .err = err };
	int rc;

	*out = (struct measure){ .probe = MEASURE_TRACEPOINT };
	if (strlen(text) >= sizeof(out->text))
		return weft_fail(err, -EINVAL,
				 "measure: its text is longer than %zu bytes",
				 sizeof(out->text) - 1);
	copy_text(out->text, text);
	rc = take_aggregate(&p, out);
	if (!rc)
		rc = take_value(&p, out);
	if (!rc)
		rc = take_keys(&p, out);
	if (!rc)
		rc = take_probe(&p, out);
	if (!rc)
		rc = take_tests(&p, out);
	skip_blanks(&p);
	if (!rc && *p.at)
		rc = wrong(&p, out->n_tests ? "expected 'and' or the end"
					    : "expected 'if' or the end");
	return rc;
}
