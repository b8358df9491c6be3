/* SPDX-License-Identifier: MIT */
/*
 * What weft export writes: one writer for each format, all made of the walk in
 * query/profile.h. Each states what it does to names that its format, or the
 * terminals of those who read it, could not bear; all text is valid UTF-8.
 */
#ifndef WEFT_EXPORT_H
#define WEFT_EXPORT_H

#include <stdio.h>

#include "query/profile.h"

struct export
{
	struct report *report;
	struct frames *frames;
	struct profile_choice choice;
	char trace_hex[33]; /* of choice.trace, or "" */
	bool shape, detail; /* which forms: at least one; where the format has
			       room for one only, exactly one */
	uint64_t
		max_stacks; /* of folded, more become one; 0: all as they are */
	FILE *to;
};

/* Write all to x->to. Errors of x->to itself may be left to the caller to ask
 * for by ferror(); else 0 or a negative errno with err filled. */
typedef int export_fn(const struct export *x, struct weft_err *err);

export_fn export_folded;     /* sorted lines; see folded.h */
export_fn export_pprof;      /* gzip of perftools.profiles.Profile */
export_fn export_speedscope; /* JSON */
export_fn export_otlp;       /* ExportProfilesServiceRequest, v1development */
export_fn export_csv;        /* a row per count or sample; RFC 4180 */
export_fn export_json;       /* the same rows */

/* profile_walk() over the form at hand, of a format that has room for
 * one. */
int export_walk(const struct export *x, enum profile_order order,
		profile_fn *fn, void *ctx, struct weft_err *err) MUST_CHECK;

/* What a sample adds to sums: of shape its count and value, of detail what it
 * stands for. */
double export_count(const struct profile_sample *s);
double export_value(const struct profile_sample *s);

/* The whole number for a sum; what that takes or gives is owed to the next by
 * carry, so that the sum of all stays right. */
int64_t export_whole(double exact, double *carry);

/* What the values of the event are called where formats name them: "cpu" of
 * the CPU's timer, else the event's name with _ for -; and their unit. */
void export_event_type(const struct export *x, char out[64]);
const char *export_event_unit(const struct export *x);

/* What a binary is called where formats list mappings. Their addresses are
 * offsets in the file that was mapped, so all begin at 0; of what lay in no
 * file they are those of memory, up to the kernel's, so they end past all of
 * them. */
const char *export_mapping_name(const struct frames_binary *b);
#define EXPORT_MAPPING_LIMIT UINT64_MAX

/* An entry of the ledger as a comment: "fired=12". */
void export_ledger_text(const struct ledger_entry *e, char out[64]);

/* Fill err: out of memory, for the file at hand. */
int export_no_memory(const struct export *x, struct weft_err *err);

#endif
