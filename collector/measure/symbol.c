/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/confined.h"
#include "collector/elf/symbols.h"
#include "collector/measure/symbol.h"
#include "collector/privilege.h"

enum {
	DEADLINE_MS = 10000,
	NAMES_MAX = 1 << 18 /* looked at for a suggestion */
};

struct question {
	int fd; /* of the file */
	const char *symbol;
};

/* What the reading process tells. */
struct answer {
	int32_t rc;
	uint32_t n_functions; /* that the file names */
	uint64_t offset, size;
	char near[128]; /* empty: none */
};

static void suggest(const struct symbols *symbols, const char *symbol,
		    struct answer *a)
{
	const char **names = calloc(NAMES_MAX + 1, sizeof(*names));
	const char *near;

	if (!names)
		return;
	a->n_functions = (uint32_t)symbols_names(symbols, names, NAMES_MAX);
	near = weft_nearest(symbol, names);
	if (near)
		snprintf(a->near, sizeof(a->near), "%.*s",
			 (int)strcspn(near, "@"), near);
	free(names);
}

static void look(const struct question *q, struct answer *a)
{
	struct elf_file file;
	struct file_key key;
	struct symbols *symbols = NULL;
	struct symbol_name found;
	char path[32];
	int reference;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", q->fd);
	reference = elf_open_reference(AT_FDCWD, path, 0, &key);
	a->rc = reference < 0 ? reference
			      : elf_file_open(&file, reference, &key);
	if (a->rc)
		return;
	a->rc = symbols_load(&symbols, &file);
	if (a->rc)
		return;
	if (symbols_find_by_name(symbols, q->symbol, &found)) {
		a->offset = found.start;
		a->size = found.end - found.start;
		if (symbols_has_several(symbols, q->symbol))
			a->rc = -ENOTUNIQ;
		return;
	}
	a->rc = -ENOENT;
	if (symbols_loss(symbols).what)
		a->rc = -EPROTO;
	suggest(symbols, q->symbol, a);
}

/* In a process of its own. */
static void run(const void *question, int to)
{
	static const cap_value_t wanted[] = { CAP_DAC_READ_SEARCH };
	const struct question *q = question;
	struct answer a = { .rc = -EPROTO };

	if (!privilege_keep(wanted, ARRAY_LEN(wanted)))
		look(q, &a);
	(void)!write(to, &a, sizeof(a));
}

/* Returns what the process told, or why it did not. */
static int ask(const struct question *q, struct answer *a)
{
	const struct confined c = {
		.run = run,
		.question = q,
		.answer_bytes = sizeof(*a),
		.deadline_ms = DEADLINE_MS,
	};
	int rc = confined_ask(&c, a);

	a->near[sizeof(a->near) - 1] = '\0';
	return rc;
}

static int fail_symbol(const char *path, const char *symbol,
		       const struct answer *a, struct weft_err *err)
{
	switch (a->rc) {
	case -ENOENT:
		if (!a->n_functions)
			return weft_fail(
				err, a->rc,
				"no function '%s' in '%s': it is stripped of all symbols",
				symbol, path);
		if (*a->near)
			return weft_fail(
				err, a->rc,
				"no function '%s' in '%s'; did you mean '%s'?",
				symbol, path, a->near);
		return weft_fail(
			err, a->rc,
			"no function '%s' among the %u that '%s' names (`weft list symbols %s`)",
			symbol, a->n_functions, path, path);
	case -ENOTUNIQ:
		return weft_fail(
			err, a->rc,
			"'%s' has several functions '%s'; say which by another name, or with +OFFSET from one before it",
			path, symbol);
	case -ENOEXEC:
		return weft_fail(
			err, a->rc,
			"'%s' is not a program or library of this machine (64-bit ELF)",
			path);
	case -EPROTO:
		return weft_fail(
			err, a->rc,
			"no function '%s' in what could be read of '%s': its symbols are cut off, damaged, or too many",
			symbol, path);
	default:
		return weft_fail(err, a->rc,
				 "cannot read the symbols of '%s': %s", path,
				 strerror(-a->rc));
	}
}

int measure_symbol(const char *path, const char *symbol,
		   struct measure_place *out, struct weft_err *err)
{
	struct answer a = { .rc = 0 };
	struct file_key key;
	int reference = elf_open_reference(AT_FDCWD, path, 0, &key);
	char again[32];
	int rc;

	*out = (struct measure_place){ .fd = -1 };
	if (reference < 0)
		return weft_fail(err, reference, "cannot probe '%s': %s", path,
				 reference == -EINVAL ? "it is no regular file"
						      : strerror(-reference));
	snprintf(again, sizeof(again), "/proc/self/fd/%d", reference);
	out->fd = open(again, O_RDONLY | O_CLOEXEC);
	rc = out->fd < 0 ? -errno
			 : ask(&(struct question){ out->fd, symbol }, &a);
	close(reference);
	if (rc)
		weft_fail(err, rc, "cannot read the symbols of '%s': %s", path,
			  strerror(-rc));
	else if (a.rc)
		rc = fail_symbol(path, symbol, &a, err);
	if (rc && out->fd >= 0) {
		close(out->fd);
		out->fd = -1;
	}
	out->offset = a.offset;
	out->size = a.size;
	return rc;
}
