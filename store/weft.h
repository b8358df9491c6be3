/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary that every room speaks: errors, messages to people, and
 * reading numbers that people typed. The lowest room: includes nothing of
 * ours.
 */
#ifndef WEFT_H
#define WEFT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WEFT_VERSION "0.1.0"

#define MUST_CHECK   __attribute__((warn_unused_result))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Exit statuses of both programs. */
enum weft_exit {
	WEFT_EXIT_OK = 0,
	WEFT_EXIT_FAILED = 1,
	WEFT_EXIT_USAGE = 2,
	WEFT_EXIT_NO_PERMISSION = 3,
	WEFT_EXIT_NOTHING_MATCHED = 4,
};

/* The status for a negative errno: NO_PERMISSION or FAILED. */
enum weft_exit weft_exit_for(int code);

/* A failure that a person will read: a negative errno and one sentence. */
struct weft_err {
	int code;
	char msg[384];
};

/*
 * Fill err, unless it holds an earlier failure: the deepest message wins.
 * err may be NULL. code must be negative; anything else becomes -EINVAL, so
 * that a failure path can never report success. Returns the code.
 */
int weft_fail(struct weft_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

enum weft_level {
	WEFT_ERROR, /* we stop */
	WEFT_WARN,  /* we go on; a number is affected */
	WEFT_INFO,  /* what a run is about to do and has done */
	WEFT_DEBUG,
};

/* Name the program in messages and set the least important level shown. */
void weft_log_init(const char *program, enum weft_level level);

/*
 * One line to stderr: "program: text". Foreign bytes in it are made safe for
 * a terminal. Only entry points, commands, collector/record.c and symbolize.c
 * call it.
 */
void weft_log(enum weft_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void weft_vlog(enum weft_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/*
 * Copy size bytes of foreign text into out (a string of at most out_size - 1
 * bytes) so that it is safe on a terminal: valid UTF-8 stays; control
 * characters (C0, DEL, C1), line and paragraph separators, bidirectional
 * controls and bytes that are not UTF-8 become \xNN. A backslash stays.
 * Never cuts within a character. Returns the length of out.
 *
 * This is the one function between every foreign name and a terminal.
 */
size_t weft_sanitize(char *out, size_t out_size, const char *text, size_t size);

/* Bytes of the valid UTF-8 character (RFC 3629) at text, and its code point; 0
 * where there is none: cut short, overlong, a surrogate, past U+10FFFF. */
size_t weft_decode(const unsigned char *text, size_t size, uint32_t *point);

/* Could this character change what a terminal shows beside itself? Those that
 * weft_sanitize() escapes. */
bool weft_is_unsafe(uint32_t point);

/* May escape sequences be written there: a terminal, and $TERM is not dumb. */
bool weft_is_terminal(int fd);

/* The user who called sudo, who may be root. false: we are not root, or nobody
 * did. */
bool weft_sudo_user(uid_t *uid, gid_t *gid);

/* Bytes as lower-case hexadecimal digits: out has room for 2 * size + 1. */
void weft_hex(char *out, const void *bytes, size_t size);

/*
 * Parse a whole decimal number without sign or blanks, within [min, max].
 * Returns 0, -EINVAL (not a number) or -ERANGE.
 */
int weft_parse_u64(const char *text, uint64_t min, uint64_t max,
		   uint64_t *out) MUST_CHECK;

/*
 * Parse a size in bytes: a number with an optional k, M or G (powers of
 * 1024, either case). Returns as weft_parse_u64().
 */
int weft_parse_size(const char *text, uint64_t min, uint64_t max,
		    uint64_t *out) MUST_CHECK;

/*
 * Parse seconds, with an optional decimal fraction, into nanoseconds within
 * [min_ns, max_ns]. Returns as weft_parse_u64().
 */
int weft_parse_seconds(const char *text, uint64_t min_ns, uint64_t max_ns,
		       uint64_t *out_ns) MUST_CHECK;

/*
 * The word of words (NULL-terminated) nearest to text by edit distance, or
 * NULL where none is near enough to be worth suggesting.
 */
const char *weft_nearest(const char *text, const char *const *words);

/* The last part of a path; of one that ends in a slash all of it. Borrowed. */
const char *weft_base_name(const char *path);

/* The path of a program of that name that would lie beside us. False: we do
 * not know where we are, or it does not fit. */
bool weft_find_beside(const char *name, char *out, size_t size) MUST_CHECK;

/* Replace us by the program of that name that lies beside us, else in $PATH.
 * Returns only where that failed, with errno set. */
void weft_exec_beside(const char *name, char *const *argv);

#endif
