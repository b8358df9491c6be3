/* SPDX-License-Identifier: MIT */
/*
 * The text of a measure, taken apart:
 *
 *   [NAME =] AGG[(VALUE[, MIN, MAX, STEP])] [by KEY[, KEY...]] @ PROBE
 *   [if TERM OP NUMBER [and ...]]
 *
 * Nothing is looked up here: whether probe, fields and symbols exist is
 * plan.h's to find out.
 */
#ifndef WEFT_MEASURE_PARSE_H
#define WEFT_MEASURE_PARSE_H

#include "bpf/measure_wire.h"
#include "store/weft.h"

#include <limits.h>

enum measure_aggregate {
	MEASURE_COUNT,
	MEASURE_SUM,
	MEASURE_AVG,
	MEASURE_MIN,
	MEASURE_MAX,
	MEASURE_STATS,
	MEASURE_HIST,
	MEASURE_LHIST,
	MEASURE_AGGREGATES
};

extern const char *const measure_aggregate_names[MEASURE_AGGREGATES + 1];

enum measure_probe_kind {
	MEASURE_TRACEPOINT, /* CATEGORY:NAME */
	MEASURE_UPROBE,     /* PATH:SYMBOL[+OFFSET] */
	MEASURE_URETPROBE,  /* PATH:SYMBOL */
	MEASURE_USDT,       /* PATH:PROVIDER:NAME */
	MEASURE_PROBE_KINDS
};

/* A term as it was typed. */
struct measure_operand {
	enum measure_term_kind kind;
	uint8_t index;  /* ARG */
	char field[64]; /* FIELD, ATTRIBUTE: its name */
	uint8_t size;   /* bytes by a cast, as in (int)retval; 0: none */
	bool is_signed; /* by the cast */
	char text[80];  /* as it reads */
};

struct measure_test {
	struct measure_operand operand;
	enum measure_operator op;
	uint64_t number; /* two's complement where is_negative */
	bool is_negative;
	char comm[WEFT_COMM_LEN]; /* of COMM */
};

struct measure {
	char text[512]; /* as it was given */
	char name[48];  /* as given, else the aggregate's */
	enum measure_aggregate aggregate;
	struct measure_operand value; /* kind MEASURE_NONE: count */
	int64_t linear_min, linear_max;
	uint64_t linear_step;
	struct measure_operand key[MEASURE_KEYS_MAX];
	size_t n_keys;
	struct measure_test test[MEASURE_CONDITIONS_MAX];
	size_t n_tests;
	enum measure_probe_kind probe;
	char probe_text[512];
	/* Of probe: category and event, or path and symbol. */
	char where[512];
	char what[512];
	char provider[512]; /* of USDT */
	uint64_t offset;    /* from the symbol */
};

/* Of lhist(): how many there are from its minimum to its maximum. */
uint64_t measure_linear_buckets(const struct measure *m);

/* Returns 0, or -EINVAL with err saying what is wrong, where, and what would
 * be right. */
int measure_parse(const char *text, struct measure *out,
		  struct weft_err *err) MUST_CHECK;

#endif
