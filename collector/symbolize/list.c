/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/name_list.h"
#include "collector/symbolize/list.h"

/* Names collected before they are written. */
enum {
	FLUSH_NAMES = 4096
};

enum symbolize_rank symbolize_rank(const char *source)
{
	static const struct {
		const char *word;
		enum symbolize_rank rank;
	} ranks[] = {
		{ "symtab", RANK_SYMTAB },       { "build-id", RANK_SYMTAB },
		{ "debuglink", RANK_SYMTAB },    { "dwarf", RANK_DWARF },
		{ "minidebug", RANK_MINIDEBUG }, { "dynsym", RANK_DYNSYM },
	};

	if (!source)
		return RANK_NONE;
	for (size_t i = 0; i < ARRAY_LEN(ranks); i++)
		if (!strcmp(source, ranks[i].word))
			return ranks[i].rank;
	return RANK_FOREIGN;
}

struct symbolize_answer *symbolize_answer_new(uint32_t n)
{
	struct symbolize_answer *answer =
		calloc(1, sizeof(*answer) + n * sizeof(answer->level[0]));

	if (answer)
		answer->n = n;
	return answer;
}

void symbolize_answer_free(struct symbolize_answer *answer)
{
	if (!answer)
		return;
	for (uint32_t i = 0; i < answer->n; i++) {
		free(answer->level[i].name);
		free(answer->level[i].linkage_name);
		free(answer->level[i].file);
	}
	free(answer);
}

static bool has_lines(const struct symbolize_answer *answer)
{
	for (uint32_t i = 0; i < answer->n; i++)
		if (answer->level[i].line)
			return true;
	return false;
}

/* Is x better than y, which may be none? */
static bool is_better(const struct symbolize_answer *x,
		      const struct symbolize_answer *y)
{
	if (!y || x->rank != y->rank)
		return !y || x->rank > y->rank;
	if (x->n != y->n)
		return x->n > y->n;
	return has_lines(x) && !has_lines(y);
}

void symbolize_offer(struct symbolize_frame *frame,
		     struct symbolize_answer *answer)
{
	if (!is_better(answer, frame->answer)) {
		symbolize_answer_free(answer);
		return;
	}
	symbolize_answer_free(frame->answer);
	frame->answer = answer;
}

bool symbolize_is_settled(const struct symbolize_binary *binary)
{
	for (size_t i = 0; i < binary->n_wanted; i++) {
		const struct symbolize_answer *a = binary->wanted[i].answer;

		if (!a || a->rank < RANK_SYMTAB)
			return false;
	}
	return true;
}

bool symbolize_lacks_names(const struct symbolize_binary *binary)
{
	for (size_t i = 0; i < binary->n_wanted; i++) {
		const struct symbolize_frame *f = &binary->wanted[i];
		enum symbolize_rank rank = f->rank;

		if (f->answer && f->answer->rank > rank)
			rank = f->answer->rank;
		if (rank == RANK_NONE || (f->levels && rank < RANK_SYMTAB))
			return true;
	}
	return false;
}

/* ---- loading */

struct loading {
	struct symbolize_list *list;
	bool again;
};

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static struct symbolize_binary *add_binary(struct symbolize_list *list,
					   const struct store_known_frame *f)
{
	struct symbolize_binary *b;

	if (GROW(list->binaries, list->n + 1, list->room))
		return NULL;
	b = &list->binaries[list->n++];
	*b = (struct symbolize_binary){
		.id = f->binary_id,
		.path = copy(f->path),
		.build_id = copy(f->build_id),
		.identity = copy(f->identity),
	};
	if (!b->path || !b->identity || (f->build_id && !b->build_id))
		return NULL;
	return b;
}

static int add_frame(void *ctx, const struct store_known_frame *f)
{
	struct loading *loading = ctx;
	struct symbolize_list *list = loading->list;
	struct symbolize_binary *b =
		list->n ? &list->binaries[list->n - 1] : NULL;
	struct symbolize_frame *frame;

	if (!b || b->id != f->binary_id)
		b = add_binary(list, f);
	if (!b)
		return -ENOMEM;
	b->frames++;
	if (f->levels)
		b->named_before++;
	if (f->levels && !loading->again)
		return 0;
	if (GROW(b->wanted, b->n_wanted + 1, b->room))
		return -ENOMEM;
	frame = &b->wanted[b->n_wanted++];
	*frame = (struct symbolize_frame){
		.id = f->id,
		.address = f->address,
		.rank = symbolize_rank(f->source),
		.levels = f->levels,
		.has_lines = f->has_lines,
		.name = copy(f->name),
	};
	return f->name && !frame->name ? -ENOMEM : 0;
}

static int load_segments(struct symbolize_binary *b, struct store *store,
			 struct weft_err *err)
{
	struct store_segment rows[INSPECT_SEGMENTS_MAX];
	int rc = store_read_segments(store, b->id, rows, ARRAY_LEN(rows),
				     &b->n_segments, err);

	for (size_t i = 0; i < b->n_segments && !rc; i++)
		b->segments[i] = (struct inspect_segment){
			.offset = rows[i].file_offset,
			.size = rows[i].size,
			.address = rows[i].address,
		};
	return rc;
}

int symbolize_list_load(struct symbolize_list *list, struct store *store,
			bool again, struct weft_err *err)
{
	struct loading loading = { .list = list, .again = again };
	int rc;

	*list = (struct symbolize_list){ 0 };
	rc = store_each_frame(store, add_frame, &loading, err);
	if (rc)
		weft_fail(err, rc, "cannot list what to name: out of memory");
	for (size_t i = 0; i < list->n && !rc; i++)
		rc = load_segments(&list->binaries[i], store, err);
	return rc;
}

static void release_binary(struct symbolize_binary *b)
{
	for (size_t i = 0; i < b->n_wanted; i++) {
		free(b->wanted[i].name);
		symbolize_answer_free(b->wanted[i].answer);
	}
	free(b->wanted);
	free(b->path);
	free(b->build_id);
	free(b->identity);
	free(b->refused);
	for (size_t i = 0; i < b->n_others; i++)
		free(b->others[i].path);
	free(b->fetched);
	free(b->fetched_debug);
}

void symbolize_list_release(struct symbolize_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		release_binary(&list->binaries[i]);
	free(list->binaries);
	*list = (struct symbolize_list){ 0 };
}

/* ---- writing */

static int flush(struct name_list *names, struct store *store,
		 struct weft_err *err)
{
	int rc = store_replace_names(store, names->rows, names->n, names->text,
				     names->n_text, err);

	name_list_release(names);
	/* Keeps the log short; what it says is not of matter. */
	if (!rc)
		(void)store_checkpoint(store, NULL);
	return rc;
}

static void count_source(struct symbolize_binary *b, const char *word)
{
	for (size_t i = 0; i < SYMBOLIZE_SOURCES_MAX; i++) {
		if (!b->sources[i].word)
			b->sources[i].word = word;
		if (strcmp(b->sources[i].word, word))
			continue;
		b->sources[i].frames++;
		return;
	}
}

/* What was there is lost to none that knows less. */
static bool may_replace(const struct symbolize_frame *f)
{
	return f->answer && f->answer->rank >= f->rank &&
	       f->answer->n >= f->levels &&
	       (!f->has_lines || has_lines(f->answer));
}

/* Does it say more than, or other than, what was there? */
static bool is_news(const struct symbolize_frame *f)
{
	const struct symbolize_answer *a = f->answer;

	return a->rank > f->rank || a->n > f->levels ||
	       (has_lines(a) && !f->has_lines) ||
	       strcmp(f->name, a->level[a->n - 1].name) != 0;
}

static int write_frame(struct name_list *names, struct symbolize_binary *b,
		       const struct symbolize_frame *f)
{
	const struct symbolize_level *outermost =
		&f->answer->level[f->answer->n - 1];
	int rc = 0;

	for (uint32_t i = 0; i < f->answer->n && !rc; i++) {
		const struct symbolize_level *level = &f->answer->level[i];
		struct frame_name name = {
			.frame_id = f->id,
			.inline_depth = i,
			.line = level->line,
			.function_line = level->function_line,
			.name = level->name,
			.linkage_name = level->linkage_name,
			.file = level->file,
			.source = level->source,
		};

		rc = name_list_add(names, &name);
	}
	count_source(b, outermost->source);
	if (!f->levels)
		b->named++;
	else if (is_news(f))
		b->renamed++;
	return rc;
}

int symbolize_list_write(struct symbolize_list *list, struct store *store,
			 struct weft_err *err)
{
	struct name_list names = { 0 };
	int rc = 0;

	for (size_t i = 0; i < list->n && !rc; i++) {
		struct symbolize_binary *b = &list->binaries[i];

		for (size_t k = 0; k < b->n_wanted && !rc; k++) {
			if (may_replace(&b->wanted[k]))
				rc = write_frame(&names, b, &b->wanted[k]);
			if (rc)
				weft_fail(err, rc,
					  "cannot write names: out of memory");
			else if (names.n >= FLUSH_NAMES)
				rc = flush(&names, store, err);
		}
	}
	if (!rc && names.n)
		rc = flush(&names, store, err);
	name_list_release(&names);
	return rc;
}
