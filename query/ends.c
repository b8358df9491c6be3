/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "query/ends.h"
#include "store/weft.h"

static const char *const status_words[ENDS_STATUSES] = {
	[ENDS_COMPLETE] = "complete", [ENDS_TRUNCATED] = "truncated",
	[ENDS_BROKEN] = "broken",     [ENDS_LOST] = "lost",
	[ENDS_NO_USER] = "no_user",   [ENDS_NOT_TAKEN] = "not_taken",
};

/* The first stands for NULL, the second for words of another version. */
enum {
	NOT_KNOWN,
	OTHER
};

static const struct {
	const char *word, *text;
} reasons[] = {
	{ NULL, NULL },
	{ "other", "a reason that this weft does not know" },
	{ "no_user", "no user stack: a kernel thread, a program being replaced "
		     "or ending, or not asked for" },
	{ "marked", "reached a first function: the stack is whole" },
	{ "root", "reached a frame without a caller: the stack is whole" },
	{ "depth", "more frames than are recorded" },
	{ "table_pending", "the unwind table of a file was still being built: "
			   "common in the first moments of a program" },
	{ "no_mapping", "a return address outside all code: a damaged or "
			"unusual stack, or code that was unmapped" },
	{ "no_frame", "code without unwind rules and without a frame pointer: "
		      "a JIT, assembly, or a table that found no room" },
	{ "bad_rule", "an unwind rule that the kernel side cannot express" },
	{ "register", "the unwind rule needs a register whose value is not "
		      "known there" },
	{ "fault", "stack memory was not readable at that moment" },
	{ "not_above", "the caller's frame would not lie above: a stack that "
		       "was switched, or a wrong rule" },
	{ "compat", "a 32-bit program: only its innermost frame is known" },
};

_Static_assert(ARRAY_LEN(reasons) <= ENDS_REASONS_MAX, "room for each reason");

enum ends_status ends_parse_status(const char *word)
{
	enum ends_status i;

	for (i = 0; word && i < ENDS_STATUSES; i++)
		if (!strcmp(word, status_words[i]))
			return i;
	return ENDS_BROKEN;
}

unsigned ends_parse_reason(const char *word)
{
	unsigned i;

	if (!word)
		return NOT_KNOWN;
	for (i = OTHER; i < ARRAY_LEN(reasons); i++)
		if (!strcmp(word, reasons[i].word))
			return i;
	return OTHER;
}

void ends_add(struct ends *e, enum ends_status status, unsigned reason,
	      const struct tally *more)
{
	tally_add(&e->status[status], more);
	if (status == ENDS_BROKEN)
		e->broken[reason] += more->weight;
}

void ends_merge(struct ends *to, const struct ends *more)
{
	size_t i;

	for (i = 0; i < ENDS_STATUSES; i++)
		tally_add(&to->status[i], &more->status[i]);
	for (i = 0; i < ENDS_REASONS_MAX; i++)
		to->broken[i] += more->broken[i];
}

struct tally ends_all(const struct ends *e)
{
	struct tally all = { 0 };
	enum ends_status i;

	for (i = 0; i < ENDS_NO_USER; i++)
		tally_add(&all, &e->status[i]);
	return all;
}

const char *ends_reason(const struct ends *e, double *share)
{
	size_t i, most = NOT_KNOWN;

	for (i = OTHER; i < ARRAY_LEN(reasons); i++)
		if (e->broken[i] > 0 &&
		    (most == NOT_KNOWN || e->broken[i] > e->broken[most]))
			most = i;
	*share = most ? e->broken[most] / e->status[ENDS_BROKEN].weight : 0;
	return reasons[most].word;
}

const char *ends_explain(const char *reason)
{
	return reasons[ends_parse_reason(reason)].text;
}

const char *ends_percent(struct figure *to, const struct ends *e,
			 enum ends_status status)
{
	struct tally all = ends_all(e);

	return figure_percent(to, e->status[status].weight, all.weight);
}

void ends_describe(const struct ends *e, char *out, size_t size)
{
	struct tally all = ends_all(e);
	struct figure complete, truncated, broken, lost, count;
	const char *reason;
	char most[64] = "", rest[96] = "";
	double share;

	if (all.count == 0) {
		snprintf(out, size, "no sample has a user stack");
		return;
	}
	reason = ends_reason(e, &share);
	if (reason)
		snprintf(most, sizeof(most), " (most: %s)", reason);
	if (e->status[ENDS_LOST].count)
		snprintf(rest, sizeof(rest), ", %s %% lost",
			 ends_percent(&lost, e, ENDS_LOST));
	snprintf(out, size,
		 "%s %% complete, %s %% truncated, %s %% broken%s%s, of %s "
		 "samples with a user stack",
		 ends_percent(&complete, e, ENDS_COMPLETE),
		 ends_percent(&truncated, e, ENDS_TRUNCATED),
		 ends_percent(&broken, e, ENDS_BROKEN), most, rest,
		 figure_count(&count, (double)all.count));
}

void ends_json(const struct ends *e, struct json *j)
{
	struct tally all = ends_all(e);
	enum ends_status status;
	char key[32];
	size_t i;

	json_int(j, "user_samples", (int64_t)all.count);
	json_int(j, "no_user_samples", (int64_t)e->status[ENDS_NO_USER].count);
	for (status = 0; status < ENDS_NO_USER; status++) {
		snprintf(key, sizeof(key), "%s_share", status_words[status]);
		if (all.count)
			json_real(j, key,
				  tally_share(&e->status[status], &all));
		else
			json_null(j, key);
	}
	json_object(j, "broken_by_share");
	for (i = OTHER; i < ARRAY_LEN(reasons); i++)
		if (e->broken[i] > 0)
			json_real(j, reasons[i].word,
				  e->broken[i] / e->status[ENDS_BROKEN].weight);
	json_end_object(j);
}
