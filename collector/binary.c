/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/binary.h"
#include "collector/grow.h"
#include "collector/table.h"

struct binaries {
	struct table by_key;
	struct binary **all; /* owned, as are its elements */
	size_t n, room;
	size_t n_of_runs; /* those of one program run: JIT and unknown code */
	struct binary last_resort;
};

int binaries_open(struct binaries **out, struct weft_err *err)
{
	struct binaries *b = calloc(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return weft_fail(err, -ENOMEM,
				 "cannot keep binaries: out of memory");
	b->last_resort.kind = STORE_UNKNOWN;
	b->last_resort.file.path = "";
	*out = b;
	return 0;
}

void binaries_close(struct binaries *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		free((char *)b->all[i]->file.path);
		free(b->all[i]);
	}
	table_release(&b->by_key);
	free(b->all);
	free(b);
}

static uint64_t key_hash(const struct binary *b)
{
	uint64_t h = table_hash(b->file.path, strlen(b->file.path), b->kind);

	if (b->kind == STORE_JIT || b->kind == STORE_UNKNOWN)
		return table_hash(&b->file.start_ns, sizeof(b->file.start_ns),
				  h + b->file.pid + b->exec_seq);
	if (b->file.build_id_size)
		return table_hash(b->file.build_id, b->file.build_id_size, h);
	return table_hash(&b->file.inode, sizeof(b->file.inode), h);
}

static bool is_same(const void *entry, const void *wanted)
{
	const struct binary *a = entry, *b = wanted;

	if (a->kind != b->kind || strcmp(a->file.path, b->file.path))
		return false;
	if (a->kind == STORE_JIT || a->kind == STORE_UNKNOWN)
		return a->file.pid == b->file.pid &&
		       a->file.start_ns == b->file.start_ns &&
		       a->exec_seq == b->exec_seq;
	if (a->file.build_id_size || b->file.build_id_size)
		return a->file.build_id_size == b->file.build_id_size &&
		       !memcmp(a->file.build_id, b->file.build_id,
			       a->file.build_id_size);
	return a->file.inode == b->file.inode &&
	       a->file.dev_major == b->file.dev_major &&
	       a->file.dev_minor == b->file.dev_minor;
}

static struct binary *add(struct binaries *b, const struct binary *wanted,
			  uint64_t hash)
{
	bool is_of_run =
		wanted->kind == STORE_JIT || wanted->kind == STORE_UNKNOWN;
	struct binary *new;

	/* Short runs without number must not take the room of files. */
	if (b->n >= BINARIES_MAX ||
	    (is_of_run && b->n_of_runs >= BINARIES_MAX / 4) ||
	    GROW(b->all, b->n + 1, b->room))
		return &b->last_resort;
	new = malloc(sizeof(*new));
	if (!new)
		return &b->last_resort;
	*new = *wanted;
	new->number = b->n;
	new->file.path = strdup(wanted->file.path);
	if (!new->file.path || table_add(&b->by_key, hash, new)) {
		free((char *)new->file.path);
		free(new);
		return &b->last_resort;
	}
	b->all[b->n++] = new;
	b->n_of_runs += is_of_run;
	return new;
}

static struct binary *find_or_add(struct binaries *b,
				  const struct binary *wanted)
{
	uint64_t hash = key_hash(wanted);
	struct binary *found = table_find(&b->by_key, hash, is_same, wanted);

	return found ? found : add(b, wanted, hash);
}

struct binary *binaries_file(struct binaries *b, enum store_binary_kind kind,
			     const struct inspect_file *file)
{
	struct binary wanted = { .kind = kind, .file = *file };
	struct binary *found = find_or_add(b, &wanted);

	/* Whoever maps it now is likelier to live when it is looked at. */
	if (found != &b->last_resort && file->pid) {
		found->file.pid = file->pid;
		found->file.start_ns = file->start_ns;
		found->file.map_start = file->map_start;
		found->file.map_end = file->map_end;
	}
	return found;
}

struct binary *binaries_process(struct binaries *b, enum store_binary_kind kind,
				const struct weft_identity *who)
{
	struct binary wanted = {
		.kind = kind,
		.exec_seq = who->exec_seq,
		.file = {
			.pid = who->pid,
			.start_ns = who->start_ns,
			.path = kind == STORE_JIT ? "[jit]" : "[unknown]",
		},
	};

	return find_or_add(b, &wanted);
}

struct binary *binaries_by_number(const struct binaries *b, uint64_t number)
{
	return number < b->n ? b->all[number] : NULL;
}

void binary_identity(const struct binary *b, char *out, size_t size)
{
	const struct inspect_file *f = &b->file;

	if (b->kind == STORE_JIT || b->kind == STORE_UNKNOWN)
		snprintf(out, size, "%u:%llu:%u", f->pid,
			 (unsigned long long)f->start_ns, b->exec_seq);
	else if (b->kind == STORE_ELF && !f->build_id_size)
		snprintf(out, size, "%u:%u:%llu", f->dev_major, f->dev_minor,
			 (unsigned long long)f->inode);
	else
		out[0] = '\0';
}

void binary_build_id(const struct binary *b, char *out, size_t size)
{
	size_t n = b->file.build_id_size, room = (size - 1) / 2;

	weft_hex(out, b->file.build_id, n < room ? n : room);
}
