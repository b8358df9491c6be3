/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/mapping_lists.h"
#include "collector/table.h"

/* A process whose list was asked for; a pid has one, of its newest run. */
struct listed {
	struct weft_identity who;
	uint64_t content; /* hash of what the kernel program has */
	bool is_pushed;   /* it has something */
	bool is_stale;
	size_t index; /* in all */
};

struct mapping_lists {
	struct mapping_lists_opts opts;
	int fd; /* borrowed from the probe */
	struct table by_pid;
	struct listed *all[WEFT_LISTS_MAX]; /* owned */
	size_t n;
	bool any_stale;
	uint32_t version;              /* the last used */
	struct weft_mapping_list list; /* scratch */
	struct mapping_lists_totals totals;
};

int mapping_lists_open(struct mapping_lists **out,
		       const struct mapping_lists_opts *opts,
		       struct weft_err *err)
{
	struct mapping_lists *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return weft_fail(err, -ENOMEM,
				 "cannot list mappings: out of memory");
	l->opts = *opts;
	l->fd = probe_mapping_lists_fd(opts->probe);
	*out = l;
	return 0;
}

void mapping_lists_close(struct mapping_lists *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->all[i]);
	table_release(&l->by_pid);
	free(l);
}

static uint64_t hash_pid(uint32_t pid)
{
	return table_hash(&pid, sizeof(pid), 4);
}

static bool is_pid(const void *entry, const void *wanted)
{
	const struct listed *p = entry;

	return p->who.pid == *(const uint32_t *)wanted;
}

static struct listed *find(const struct mapping_lists *l, uint32_t pid)
{
	return table_find(&l->by_pid, hash_pid(pid), is_pid, &pid);
}

static void set_stale(struct mapping_lists *l, struct listed *p)
{
	p->is_stale = true;
	l->any_stale = true;
}

/* Take a list from the kernel program; absent already is as good. */
static void take_back(struct mapping_lists *l, struct listed *p)
{
	if (p->is_pushed)
		(void)bpf_map_delete_elem(l->fd, &p->who);
	p->is_pushed = false;
}

static void add(struct mapping_lists *l, const struct weft_identity *who)
{
	struct listed *p = l->n < WEFT_LISTS_MAX ? calloc(1, sizeof(*p)) : NULL;

	if (!p || table_add(&l->by_pid, hash_pid(who->pid), p)) {
		free(p);
		l->totals.refused++;
		return;
	}
	p->who = *who;
	p->index = l->n;
	l->all[l->n++] = p;
	set_stale(l, p);
}

static void on_asked(struct mapping_lists *l, const struct weft_identity *who)
{
	struct listed *p = find(l, who->pid);

	if (!p) {
		add(l, who);
		return;
	}
	if (memcmp(&p->who, who, sizeof(*who))) {
		take_back(l, p);
		p->who = *who;
	}
	set_stale(l, p);
}

/* A run is over. Others of its pid may have come since. */
static void on_over(struct mapping_lists *l, const struct weft_identity *who)
{
	struct listed *p = find(l, who->pid);

	if (!p || memcmp(&p->who, who, sizeof(*who)))
		return;
	take_back(l, p);
	table_remove(&l->by_pid, hash_pid(who->pid), p);
	l->all[p->index] = l->all[--l->n];
	l->all[p->index]->index = p->index;
	free(p);
}

static struct weft_file_key key_of(const struct binary *b)
{
	if (b->kind == STORE_VDSO)
		return (struct weft_file_key){ 0 };
	return (struct weft_file_key){
		.inode = (uint64_t)b->number + 1,
		.dev = WEFT_LISTED_DEV,
	};
}

static void want_table(struct mapping_lists *l, const struct binary *b)
{
	struct weft_file_key key = key_of(b);
	struct inspect_file file = b->file;

	/* One binary may be several inodes: what it is mapped from now need
	 * not be the one that was seen first. */
	if (file.build_id_size)
		file.inode = file.dev_major = file.dev_minor = 0;
	unwind_tables_want(l->opts.tables, &key, &file);
}

/* The kernel program met a file of a list without a table: it was retired,
 * or could not be built then. */
static void on_table(struct mapping_lists *l, const struct weft_file_key *key)
{
	const struct binary *b;

	if (key->dev != WEFT_LISTED_DEV)
		return;
	b = binaries_by_number(l->opts.binaries, key->inode - 1);
	if (b)
		want_table(l, b);
}

static void on_notice(struct mapping_lists *l, const struct weft_notice *n)
{
	struct weft_identity before = n->process;

	switch (n->kind) {
	case WEFT_NOTICE_MAPPINGS:
		on_asked(l, &n->process);
		break;
	case WEFT_NOTICE_TABLE:
		on_table(l, &n->table.file);
		break;
	case WEFT_NOTICE_EXEC:
		before.exec_seq--;
		on_over(l, &before);
		break;
	case WEFT_NOTICE_EXIT:
		on_over(l, &n->process);
		break;
	default:
		break;
	}
}

void mapping_lists_event(struct mapping_lists *l,
			 const struct sideband_event *e)
{
	struct listed *p;

	if (e->kind == SIDEBAND_NOTICE)
		on_notice(l, &e->notice);
	if (e->kind != SIDEBAND_MMAP)
		return;
	p = find(l, e->pid);
	if (p)
		set_stale(l, p);
}

void mapping_lists_distrust(struct mapping_lists *l)
{
	for (size_t i = 0; i < l->n; i++)
		set_stale(l, l->all[i]);
}

static struct weft_listed listed_of(const struct mapping *m)
{
	struct weft_listed out = { .start = m->start, .end = m->end };

	/* Where there was no room to tell files apart, none is known. */
	if (!m->binary || m->binary->kind == STORE_UNKNOWN) {
		out.is_anonymous = true;
		return out;
	}
	out.bias = m->file_offset - m->start;
	out.file = key_of(m->binary);
	return out;
}

static bool continues(const struct weft_listed *before,
		      const struct weft_listed *next)
{
	return before->end == next->start && before->bias == next->bias &&
	       before->is_anonymous == next->is_anonymous &&
	       !memcmp(&before->file, &next->file, sizeof(next->file));
}

/* Returns false where there is no room. */
static bool append(struct weft_mapping_list *list, const struct mapping *m)
{
	struct weft_listed next = listed_of(m);

	if (list->n && continues(&list->mapping[list->n - 1], &next)) {
		list->mapping[list->n - 1].end = next.end;
		return true;
	}
	if (list->n == WEFT_LISTED_MAX)
		return false;
	list->mapping[list->n++] = next;
	return true;
}

/* Make the list in l->list, without its version. */
static void make_list(struct mapping_lists *l, const struct proc *proc)
{
	struct maps all = { 0 };
	bool is_whole = !procs_list(proc, &all);

	memset(&l->list, 0, sizeof(l->list));
	for (size_t i = 0; i < all.n_now && is_whole; i++) {
		const struct binary *b = all.now[i].binary;

		is_whole = append(&l->list, &all.now[i]);
		if (b && b->kind == STORE_ELF)
			want_table(l, b);
	}
	maps_release(&all);
	l->totals.cut += !is_whole;
}

/* Returns false where it has to be tried again. */
static bool push(struct mapping_lists *l, struct listed *p,
		 const struct proc *proc)
{
	uint64_t content;

	make_list(l, proc);
	content = table_hash(l->list.mapping,
			     l->list.n * sizeof(l->list.mapping[0]), 5);
	/* A new version makes what CPUs remember of it useless. */
	if (p->is_pushed && p->content == content)
		return true;
	if (!++l->version)
		++l->version;
	l->list.version = l->version;
	if (bpf_map_update_elem(l->fd, &p->who, &l->list, BPF_ANY))
		return false;
	p->is_pushed = true;
	p->content = content;
	l->totals.pushed++;
	return true;
}

void mapping_lists_push(struct mapping_lists *l)
{
	if (!l->any_stale)
		return;
	l->any_stale = false;
	/* Downwards: the one that is taken out is replaced by the last. */
	for (size_t i = l->n; i-- > 0;) {
		struct listed *p = l->all[i];
		struct weft_identity who = p->who;
		struct proc *proc;

		if (!p->is_stale)
			continue;
		proc = procs_get(l->opts.procs, &who);
		if (!proc || proc->dead_ns) {
			on_over(l, &who);
			continue;
		}
		p->is_stale = procs_want_maps(l->opts.procs, proc) ||
			      !push(l, p, proc);
		l->any_stale |= p->is_stale;
	}
}

void mapping_lists_read(const struct mapping_lists *l,
			struct mapping_lists_totals *out)
{
	*out = l->totals;
}
