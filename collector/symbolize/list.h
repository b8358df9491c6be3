/* SPDX-License-Identifier: MIT */
/*
 * The frames that are to be named, by binary, with the best answer that there
 * is for each so far.
 *
 * Which of two answers is better goes by rank, then by the number of inline
 * levels, then by whether it has lines. An answer replaces the names that a
 * frame has only where none of these is less, so that names get better or
 * stay.
 */
#ifndef WEFT_SYMBOLIZE_LIST_H
#define WEFT_SYMBOLIZE_LIST_H

#include "collector/inspect/inspect.h"
#include "store/store.h"

/* By the source of the outermost level: how much of a file's code it can
 * name, and how well. */
enum symbolize_rank {
	RANK_NONE,
	RANK_DYNSYM,    /* what the file exports */
	RANK_MINIDEBUG, /* its functions, without those of size 0 */
	RANK_DWARF,     /* a function, but no symbol of it */
	RANK_SYMTAB,    /* symtab, build-id, debuglink: all symbols */
	RANK_FOREIGN    /* a word that we do not know: never replaced */
};

enum symbolize_rank symbolize_rank(const char *source);

/* One inline level, innermost first. Strings are owned but for source. */
struct symbolize_level {
	char *name, *linkage_name, *file; /* the last two may be NULL */
	const char *source;               /* static */
	uint32_t line, function_line;     /* 0: not known */
};

struct symbolize_answer {
	enum symbolize_rank rank;
	uint32_t n;
	struct symbolize_level level[];
};

struct symbolize_frame {
	int64_t id;
	uint64_t address;
	/* What the file has. */
	enum symbolize_rank rank;
	uint32_t levels;
	bool has_lines;
	char *name;                      /* owned; of the outermost level */
	struct symbolize_answer *answer; /* owned; NULL: none */
};

/* How looking for a binary's file ended; the better the later. */
enum symbolize_state {
	STATE_ABSENT,  /* nowhere */
	STATE_REFUSED, /* something is there, but it is not the file */
	STATE_STUCK,   /* an inspector hung, or died of it */
	STATE_SILENT,  /* a debug file that does not tell file offsets */
	STATE_VOUCHED, /* found, on the user's word */
	STATE_PROVEN,  /* found, by build ID or inode */
};

enum {
	SYMBOLIZE_SOURCES_MAX = 8
};

/* What is there in place of the file that is wanted, and not used. */
struct symbolize_other {
	char *path;     /* owned */
	int error;      /* of struct inspect_other */
	bool is_linked; /* by .gnu_debuglink */
	char build_id[2 * INSPECT_BUILD_ID_MAX + 1]; /* "": it has none */
};

enum {
	SYMBOLIZE_TRIES_MAX = 12, /* places where it is looked for */
	/* Each, and what a debug link there names. */
	SYMBOLIZE_OTHERS_MAX = 2 * SYMBOLIZE_TRIES_MAX
};

struct symbolize_binary {
	int64_t id;
	char *path, *build_id, *identity; /* owned; build_id may be NULL */
	size_t frames;                    /* all of its frames */
	size_t named_before, named, renamed;
	struct symbolize_frame *wanted; /* owned */
	size_t n_wanted, room;
	struct inspect_segment segments[INSPECT_SEGMENTS_MAX];
	size_t n_segments;
	enum symbolize_state state;
	char *refused; /* owned; where something else is */
	struct symbolize_other others[SYMBOLIZE_OTHERS_MAX];
	size_t n_others;
	char *fetched, *fetched_debug; /* owned; by debuginfod */
	bool was_fetched;              /* or tried to */
	struct {
		const char *word;
		size_t frames; /* named by it in this run */
	} sources[SYMBOLIZE_SOURCES_MAX];
};

struct symbolize_list {
	struct symbolize_binary *binaries; /* owned */
	size_t n, room;
};

/* Read what a file has; with again also frames that have names. */
int symbolize_list_load(struct symbolize_list *list, struct store *store,
			bool again, struct weft_err *err) MUST_CHECK;
void symbolize_list_release(struct symbolize_list *list);

/* An answer with room for n levels, all zero; NULL: no memory. */
struct symbolize_answer *symbolize_answer_new(uint32_t n);
void symbolize_answer_free(struct symbolize_answer *answer);

/* Offer an answer (consumed): the better one is kept. */
void symbolize_offer(struct symbolize_frame *frame,
		     struct symbolize_answer *answer);

/* Is there nothing better to be had for any of its frames? */
bool symbolize_is_settled(const struct symbolize_binary *binary);

/* Has it frames that have no name, not even an answer by now; or, of those
 * that have one, that may get a better one? */
bool symbolize_lacks_names(const struct symbolize_binary *binary);

/* Write the answers that are better than what the file has, and count. */
int symbolize_list_write(struct symbolize_list *list, struct store *store,
			 struct weft_err *err) MUST_CHECK;

#endif
