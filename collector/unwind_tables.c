/* SPDX-License-Identifier: MIT */
/*
 * A file's life: asked for by the kernel program (which marks it pending),
 * built by an inspector, published on a thread of libuv's (putting a map into
 * its slot waits until running programs have left), ready. When the limit is
 * reached, all that the kernel program remembers is made stale, so that two
 * intervals later the files in use can be told from the others; those go.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "collector/clock.h"
#include "collector/elf/table.h"
#include "collector/table.h"
#include "collector/unwind_tables.h"

enum {
	BLOCK_BYTES = WEFT_TABLE_BLOCK_WORDS * sizeof(uint32_t),
	/* More files than this make room, before the kernel's table is full. */
	FILES_HIGH = WEFT_TABLES_MAX / 4 * 3,
	/* Intervals until what is in use has been looked up again. */
	FLUSH_INTERVALS = 2,
	/* Between two attempts to make room: what is in use may not fit. */
	REST_INTERVALS = 10,
	DEV_MINOR_BITS = 20,
};

enum file_state {
	FILE_ASKED,
	FILE_PUBLISHING,
	FILE_READY,
	FILE_NONE,
	FILE_UNREAD,  /* what was there was not it, or did not answer */
	FILE_REFUSED, /* no room: without a table until there is some */
};

struct file {
	struct unwind_tables *t; /* borrowed */
	struct weft_file_key key;
	enum file_state state;
	uint32_t slot, n_blocks; /* 0: it has no slot */
	uint32_t index;          /* in t->all */
	uint32_t settled_tick;
	uint64_t asked_ns;
};

struct unwind_tables {
	struct unwind_tables_opts opts;
	int tables_fd, slots_fd; /* borrowed from the probe */
	struct table by_key;
	struct file *all[WEFT_TABLES_MAX]; /* owned */
	uint32_t n;
	uint32_t free_slots[WEFT_TABLES_MAX];
	uint32_t n_free_slots;
	uint32_t next_serial;
	uint32_t waiting;
	uint32_t tick; /* intervals so far */
	uint32_t n_unread;
	bool wants_room, is_flushed;
	uint32_t flush_epoch; /* of the last flush, if there was one */
	uint64_t refused_taken;
	struct unwind_tables_totals totals;
};

/* Kernel maps to fill and put into their slot, or slots to empty; neither may
 * hold up the loop. */
struct publication {
	uv_work_t work;
	struct file *file;
	struct weft_table table;
	uint32_t *words; /* owned */
	int rc;
};

struct retirement {
	uv_work_t work;
	struct unwind_tables *t;
	uint32_t n;
	uint32_t slots[];
};

static uint64_t key_hash(const struct weft_file_key *key)
{
	return table_hash(key, sizeof(*key), 0);
}

static bool is_key(const void *entry, const void *wanted)
{
	const struct file *f = entry;

	return !memcmp(&f->key, wanted, sizeof(f->key));
}

/* Set what the kernel program knows of a file. */
static int tell(struct unwind_tables *t, const struct weft_file_key *key,
		const struct weft_table *table)
{
	int rc = bpf_map_update_elem(t->tables_fd, key, table, BPF_ANY);

	probe_tables_changed(t->opts.probe);
	return rc;
}

/* Have the kernel program ask again when it meets the file. */
static void forget(struct file *f)
{
	struct unwind_tables *t = f->t;

	(void)bpf_map_delete_elem(t->tables_fd, &f->key);
	probe_tables_changed(t->opts.probe);
	t->n_unread -= f->state == FILE_UNREAD;
	table_remove(&t->by_key, key_hash(&f->key), f);
	t->all[f->index] = t->all[--t->n];
	t->all[f->index]->index = f->index;
	free(f);
}

static void settle(struct file *f, enum file_state state)
{
	static const struct weft_table none = { .state = WEFT_TABLE_NONE };
	struct unwind_tables *t = f->t;
	uint64_t took_ns = clock_boot_ns() - f->asked_ns;

	f->state = state;
	f->settled_tick = t->tick;
	if (state != FILE_READY)
		(void)tell(t, &f->key, &none);
	if (state == FILE_NONE)
		t->totals.none++;
	if (state == FILE_UNREAD)
		t->n_unread++;
	if (state == FILE_REFUSED) {
		t->totals.refused++;
		t->wants_room = true;
	}
	if (took_ns > t->totals.slowest_ns)
		t->totals.slowest_ns = took_ns;
	weft_log(WEFT_DEBUG, "file %u:%u inode %llu: %s after %.1f ms",
		 f->key.dev >> DEV_MINOR_BITS,
		 f->key.dev & ((1U << DEV_MINOR_BITS) - 1), f->key.inode,
		 state == FILE_READY ? "unwind table ready" : "no unwind table",
		 (double)took_ns / 1e6);
}

/* Make the map of a table and put it into its slot. */
static int fill_slot(int slots_fd, uint32_t slot, const uint32_t *words,
		     uint32_t n_blocks)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "weft_table",
				sizeof(uint32_t), BLOCK_BYTES, n_blocks, &opts);
	int rc = 0;

	if (fd < 0)
		return fd;
	for (uint32_t i = 0; i < n_blocks && !rc; i++)
		rc = bpf_map_update_elem(
			fd, &i, words + (size_t)i * WEFT_TABLE_BLOCK_WORDS,
			BPF_ANY);
	if (!rc)
		rc = bpf_map_update_elem(slots_fd, &slot, &fd, BPF_ANY);
	close(fd);
	return rc;
}

static void on_publish(uv_work_t *work)
{
	struct publication *p = work->data;

	p->rc = fill_slot(p->file->t->slots_fd, p->file->slot, p->words,
			  p->file->n_blocks);
}

static void free_slot(struct unwind_tables *t, uint32_t slot)
{
	t->free_slots[t->n_free_slots++] = slot;
}

static void on_published(uv_work_t *work, int status)
{
	struct publication *p = work->data;
	struct file *f = p->file;
	struct unwind_tables *t = f->t;

	if (!p->rc && !status)
		p->rc = tell(t, &f->key, &p->table);
	if (p->rc || status) {
		t->totals.bytes -= (uint64_t)f->n_blocks * BLOCK_BYTES;
		free_slot(t, f->slot);
		f->n_blocks = 0;
		settle(f, FILE_REFUSED);
	} else {
		t->totals.built++;
		settle(f, FILE_READY);
	}
	free(p->words);
	free(p);
	t->waiting--;
}

/* Begin to publish. Returns false where there is no room. */
static bool publish(struct file *f, const struct inspect_table *built)
{
	size_t bytes = (size_t)built->n_blocks * BLOCK_BYTES;
	struct unwind_tables *t = f->t;
	struct publication *p;

	if (!t->n_free_slots || t->totals.bytes + bytes > t->opts.max_bytes)
		return false;
	p = calloc(1, sizeof(*p));
	if (p)
		p->words = malloc(bytes);
	if (!p || !p->words) {
		free(p);
		return false;
	}
	memcpy(p->words, built->words, bytes);
	p->work.data = p;
	p->file = f;
	f->slot = t->free_slots[--t->n_free_slots];
	f->n_blocks = built->n_blocks;
	f->state = FILE_PUBLISHING;
	t->totals.bytes += bytes;
	p->table = (struct weft_table){
		.state = WEFT_TABLE_READY,
		.slot = f->slot,
		.serial = ++t->next_serial,
		.first_page = built->first_page,
		.n_pages = built->n_pages,
		.rules_block = built->rules_block,
	};
	uv_queue_work(t->opts.loop, &p->work, on_publish, on_published);
	return true;
}

static void on_table(void *ctx, enum inspect_status status,
		     const struct inspect_table *built)
{
	struct file *f = ctx;
	struct unwind_tables *t = f->t;

	if (status == INSPECT_GONE || status == INSPECT_DEFERRED) {
		forget(f);
		t->waiting--;
		return;
	}
	if (status == INSPECT_OK)
		t->totals.build_ns += built->build_ns;
	/* Only its own content says that a file has no table: a process can
	 * have mapped another one there by now, or have us wait in vain. */
	if (status != INSPECT_OK)
		settle(f, FILE_UNREAD);
	else if (!built->n_pages)
		settle(f, FILE_NONE);
	else if (publish(f, built))
		return;
	else
		settle(f, FILE_REFUSED);
	t->waiting--;
}

static struct file *add_file(struct unwind_tables *t,
			     const struct weft_file_key *key)
{
	struct file *f = t->n < WEFT_TABLES_MAX ? calloc(1, sizeof(*f)) : NULL;

	if (!f)
		return NULL;
	*f = (struct file){
		.t = t,
		.key = *key,
		.index = t->n,
		.asked_ns = clock_boot_ns(),
	};
	if (table_add(&t->by_key, key_hash(key), f)) {
		free(f);
		return NULL;
	}
	t->all[t->n++] = f;
	t->totals.files++;
	if (t->n > FILES_HIGH)
		t->wants_room = true;
	return f;
}

void unwind_tables_want(struct unwind_tables *t,
			const struct weft_file_key *key,
			const struct inspect_file *file)
{
	struct file *f;

	if (table_find(&t->by_key, key_hash(key), is_key, key))
		return;
	f = add_file(t, key);
	if (!f) {
		(void)bpf_map_delete_elem(t->tables_fd, key);
		return;
	}
	if (inspect_table(t->opts.inspect, file, on_table, f))
		forget(f);
	else
		t->waiting++;
}

void unwind_tables_want_mapped(struct unwind_tables *t,
			       const struct weft_file_key *key,
			       const struct weft_identity *process,
			       uint64_t start, uint64_t end)
{
	struct inspect_file file = {
		.pid = process->pid,
		.start_ns = process->start_ns,
		.map_start = start,
		.map_end = end,
		.path = "",
		.inode = key->inode,
		.dev_major = key->dev >> DEV_MINOR_BITS,
		.dev_minor = key->dev & ((1U << DEV_MINOR_BITS) - 1),
	};

	unwind_tables_want(t, key, &file);
}

uint32_t unwind_tables_waiting(const struct unwind_tables *t)
{
	return t->waiting;
}

static void on_retire(uv_work_t *work)
{
	struct retirement *r = work->data;

	for (uint32_t i = 0; i < r->n; i++)
		(void)bpf_map_delete_elem(r->t->slots_fd, &r->slots[i]);
}

static void on_retired(uv_work_t *work, int status)
{
	struct retirement *r = work->data;

	(void)status;
	for (uint32_t i = 0; i < r->n; i++)
		free_slot(r->t, r->slots[i]);
	free(r);
}

/* Whether no sample met the file since the flush. */
static bool is_unused(struct unwind_tables *t, const struct file *f)
{
	struct weft_table table;

	if (f->state == FILE_ASKED || f->state == FILE_PUBLISHING ||
	    bpf_map_lookup_elem(t->tables_fd, &f->key, &table))
		return false;
	return (int32_t)(table.used_epoch - t->flush_epoch) < 0;
}

/* Drop what is not in use, and let the refused try again. */
static void retire_unused(struct unwind_tables *t)
{
	struct retirement *r = malloc(sizeof(*r) + t->n * sizeof(r->slots[0]));

	if (!r)
		return;
	*r = (struct retirement){ .t = t };
	r->work.data = r;
	for (uint32_t i = t->n; i-- > 0;) {
		struct file *f = t->all[i];

		if (f->state != FILE_REFUSED && !is_unused(t, f))
			continue;
		if (f->n_blocks) {
			r->slots[r->n++] = f->slot;
			t->totals.bytes -= (uint64_t)f->n_blocks * BLOCK_BYTES;
			t->totals.retired++;
		}
		forget(f);
	}
	uv_queue_work(t->opts.loop, &r->work, on_retire, on_retired);
}

/* Let files that could not be read be asked for again. */
static void forget_unread(struct unwind_tables *t)
{
	for (uint32_t i = t->n; i-- > 0 && t->n_unread;) {
		struct file *f = t->all[i];

		if (f->state == FILE_UNREAD &&
		    t->tick - f->settled_tick >= REST_INTERVALS)
			forget(f);
	}
}

void unwind_tables_tick(struct unwind_tables *t, uint32_t epoch)
{
	t->tick++;
	forget_unread(t);
	if (!t->wants_room)
		return;
	if (!t->is_flushed) {
		if (t->flush_epoch && epoch - t->flush_epoch < REST_INTERVALS)
			return;
		t->is_flushed = true;
		t->flush_epoch = epoch;
		probe_tables_changed(t->opts.probe);
	} else if (epoch - t->flush_epoch >= FLUSH_INTERVALS) {
		t->is_flushed = false;
		t->wants_room = false;
		retire_unused(t);
	}
}

void unwind_tables_read(const struct unwind_tables *t,
			struct unwind_tables_totals *out)
{
	*out = t->totals;
}

uint64_t unwind_tables_take_refused(struct unwind_tables *t)
{
	uint64_t n = t->totals.refused - t->refused_taken;

	t->refused_taken = t->totals.refused;
	return n;
}

/* The vDSO is the kernel's, the same for all, and mapped into us. */
static int publish_vdso(struct unwind_tables *t)
{
	const Elf64_Ehdr *image = (void *)getauxval(AT_SYSINFO_EHDR);
	static const struct weft_file_key key = { 0 };
	struct weft_table table = { .state = WEFT_TABLE_NONE };
	struct elf_table built = { 0 };
	struct elf_file file;
	int rc;

	if (!image)
		return tell(t, &key, &table);
	rc = elf_file_open_memory(&file, (void *)image,
				  image->e_shoff + (size_t)image->e_shnum *
							   image->e_shentsize);
	if (rc)
		return rc;
	rc = elf_table_build(&built, &file);
	elf_file_close(&file);
	if (!rc && built.n_pages) {
		table = (struct weft_table){
			.state = WEFT_TABLE_READY,
			.slot = t->free_slots[--t->n_free_slots],
			.serial = ++t->next_serial,
			.first_page = built.first_page,
			.n_pages = built.n_pages,
			.rules_block = built.rules_block,
		};
		rc = fill_slot(t->slots_fd, table.slot, built.words,
			       built.n_blocks);
	}
	elf_table_release(&built);
	return rc ? rc : tell(t, &key, &table);
}

int unwind_tables_open(struct unwind_tables **out,
		       const struct unwind_tables_opts *opts,
		       struct weft_err *err)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));
	int rc;

	*out = NULL;
	if (!t)
		return weft_fail(err, -ENOMEM,
				 "cannot keep unwind tables: out of memory");
	t->opts = *opts;
	t->tables_fd = probe_tables_fd(opts->probe);
	t->slots_fd = probe_table_slots_fd(opts->probe);
	for (uint32_t i = WEFT_TABLES_MAX; i-- > 0;)
		free_slot(t, i);
	rc = publish_vdso(t);
	if (rc) {
		unwind_tables_close(t);
		return weft_fail(err, rc,
				 "cannot publish the vDSO's unwind table: %s",
				 strerror(-rc));
	}
	*out = t;
	return 0;
}

void unwind_tables_close(struct unwind_tables *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		free(t->all[i]);
	table_release(&t->by_key);
	free(t);
}
