/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "query/named.h"

/* A word of the file's goes to terminals and into keys: what we never write
 * is '?'. */
static void copy_word(char out[NAMED_WORD_MAX], const char *word)
{
	size_t i;

	for (i = 0; i + 1 < NAMED_WORD_MAX && word[i]; i++)
		out[i] = (word[i] >= 'a' && word[i] <= 'z') || word[i] == '-'
				 ? word[i]
				 : '?';
	out[i] = '\0';
}

uint8_t named_source(struct named *named, const char *word)
{
	size_t i;

	if (!word)
		return 0;
	for (i = 0; i < named->n; i++)
		if (!strncmp(named->sources[i].word, word, NAMED_WORD_MAX - 1))
			return (uint8_t)(i + 1);
	if (named->n == NAMED_SOURCES_MAX)
		return NAMED_SOURCES_MAX;
	if (named->n + 1 == NAMED_SOURCES_MAX)
		word = "other";
	copy_word(named->sources[named->n].word, word);
	return (uint8_t)++named->n;
}

void named_add(struct named *named, uint8_t source, const struct tally *more)
{
	if (!source)
		return;
	tally_add(&named->all, more);
	tally_add(&named->sources[source - 1].tally, more);
}

/* Indexes of those that named any sample, the largest share first. */
static size_t sort(const struct named *named, size_t order[NAMED_SOURCES_MAX])
{
	size_t n = 0, i, at;

	for (i = 0; i < named->n; i++) {
		if (!named->sources[i].tally.count)
			continue;
		for (at = n++; at > 0; at--) {
			size_t before = order[at - 1];

			if (named->sources[before].tally.weight >=
			    named->sources[i].tally.weight)
				break;
			order[at] = before;
		}
		order[at] = i;
	}
	return n;
}

void named_print(const struct named *named, const struct tally *all, FILE *to)
{
	size_t order[NAMED_SOURCES_MAX];
	size_t n = sort(named, order), i;

	fprintf(to, "named %.1f %% of samples",
		100 * tally_share(&named->all, all));
	for (i = 0; i < n; i++)
		fprintf(to, "%s%s %.1f", i ? ", " : " (",
			named->sources[order[i]].word,
			100 * tally_share(&named->sources[order[i]].tally,
					  all));
	fprintf(to, n ? ")\n" : "\n");
}

void named_json(const struct named *named, const struct tally *all,
		struct json *j)
{
	size_t order[NAMED_SOURCES_MAX];
	size_t n = sort(named, order), i;

	json_real(j, "named_share", tally_share(&named->all, all));
	json_object(j, "named_by");
	for (i = 0; i < n; i++)
		json_real(j, named->sources[order[i]].word,
			  tally_share(&named->sources[order[i]].tally, all));
	json_end_object(j);
}
