/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/demangle.h"

/* Where output goes. A name can expand exponentially, and the demangler goes
 * on when its callback has enough; so we leave it by longjmp(). It allocates
 * nothing on the C++ side; a Rust name so long may leak a few bytes. */
struct sink {
	char *out;
	size_t used;
	bool is_full;
	jmp_buf leave;
};

static struct sink sink;

static void on_text(const char *text, size_t size, void *opaque)
{
	(void)opaque;
	if (size >= DEMANGLE_OUTPUT_MAX - sink.used) {
		sink.is_full = true;
		longjmp(sink.leave, 1);
	}
	/* An empty piece may come as NULL. */
	if (size)
		memcpy(sink.out + sink.used, text, size);
	sink.used += size;
}

typedef int demangle_fn(const char *mangled, int options,
			demangle_callbackref callback, void *opaque);

static size_t run(demangle_fn *fn, const char *name, char *out)
{
	int done;

	sink.out = out;
	sink.used = 0;
	sink.is_full = false;
	if (setjmp(sink.leave))
		return 0;
	/* Without DMGL_NO_RECURSE_LIMIT: deep nesting is refused. */
	done = fn(name, DMGL_PARAMS | DMGL_ANSI, on_text, NULL);
	if (!done || sink.is_full)
		return 0;
	out[sink.used] = '\0';
	return sink.used;
}

/* Remove each ".llvm." with the digits after it. */
static void drop_llvm(char *name)
{
	char *at = name;

	for (;;) {
		char *end;

		at = strstr(at, ".llvm.");
		if (!at)
			return;
		for (end = at + 6; isdigit((unsigned char)*end);)
			end++;
		memmove(at, end, strlen(end) + 1);
	}
}

enum {
	RUST_HASH_SIZE = 20
};

/* 17h<16 hex digits>E: the hash that ends a Rust name of the old kind. */
static bool is_rust_hash(const char *at)
{
	return !strncmp(at, "17h", 3) &&
	       strspn(at + 3, "0123456789abcdef") == 16 && at[19] == 'E';
}

/*
 * Where a Rust name ends: at its NUL, or at the dot of a suffix that a compiler
 * put after it. NULL: it is no Rust name. Those of the old kind have dots
 * within.
 */
static char *find_rust_end(char *name)
{
	if (!strncmp(name, "_R", 2))
		return name + strcspn(name, ".");
	if (strncmp(name, "_ZN", 3))
		return NULL;
	for (char *at = name; (at = strstr(at, "17h")); at++) {
		char *end = at + RUST_HASH_SIZE;

		if (is_rust_hash(at) && (!*end || *end == '.'))
			return end;
	}
	return NULL;
}

/* The Rust demangler knows no suffixes but its own. */
static size_t run_rust(char *name, char *end, char *out)
{
	char dot = *end;
	size_t length;
	int more;

	*end = '\0';
	length = run(rust_demangle_callback, name, out);
	*end = dot;
	if (!length || !dot)
		return length;
	more = snprintf(out + length, DEMANGLE_OUTPUT_MAX - length,
			" [clone %s]", end);
	length += (size_t)more;
	return length < DEMANGLE_OUTPUT_MAX ? length : 0;
}

size_t demangle(const char *name, char out[DEMANGLE_OUTPUT_MAX])
{
	static char copy[DEMANGLE_INPUT_MAX + 1];
	size_t size = strnlen(name, sizeof(copy));
	size_t length = 0;
	char *end;

	if (size >= sizeof(copy))
		return 0;
	memcpy(copy, name, size + 1);
	drop_llvm(copy);
	end = find_rust_end(copy);
	if (end)
		length = run_rust(copy, end, out);
	if (!length && !strncmp(copy, "_Z", 2))
		length = run(cplus_demangle_v3_callback, copy, out);
	if (length)
		return length;
	/* Not mangled, but perhaps cut. */
	length = strlen(copy);
	if (length == size || length >= DEMANGLE_OUTPUT_MAX)
		return 0;
	memcpy(out, copy, length + 1);
	return length;
}
