/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/attributes.h"
#include "collector/grow.h"
#include "collector/proc.h"
#include "collector/table.h"

enum {
	/* Runs whose mappings a child may look through, oldest last. */
	INHERIT_DEPTH_MAX = 32,
	/* Younger processes mostly end before anybody could look. */
	DETAILS_AGE_NS = 250000000,
};

struct procs {
	struct procs_opts opts;
	struct table by_who; /* identities that are known */
	struct table by_pid; /* the newest run of each pid */
	struct proc **all;   /* owned references */
	size_t n, room;
	uint32_t waiting;
	uint64_t refused;
};

/* What a request carries until its answer; owned by the request. */
struct asked {
	struct procs *procs;
	struct proc *proc; /* a reference */
	bool for_maps;
};

static uint64_t hash_who(const struct weft_identity *who)
{
	return table_hash(who, sizeof(*who), 1);
}

static uint64_t hash_pid(uint32_t pid)
{
	return table_hash(&pid, sizeof(pid), 2);
}

static bool is_who(const void *entry, const void *wanted)
{
	const struct proc *proc = entry;

	return !memcmp(&proc->who, wanted, sizeof(proc->who));
}

static bool is_pid(const void *entry, const void *wanted)
{
	const struct proc *proc = entry;

	return proc->who.pid == *(const uint32_t *)wanted;
}

static struct proc *newest(const struct procs *p, uint32_t pid)
{
	return table_find(&p->by_pid, hash_pid(pid), is_pid, &pid);
}

static void unref(struct proc *proc)
{
	while (proc && --proc->refs == 0) {
		struct proc *inherit = proc->inherit;

		maps_release(&proc->maps);
		free(proc->exe);
		free(proc->cgroup);
		free(proc->service);
		attributes_free(proc->attributes);
		free(proc);
		proc = inherit;
	}
}

int procs_open(struct procs **out, const struct procs_opts *opts,
	       struct weft_err *err)
{
	struct procs *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return weft_fail(err, -ENOMEM,
				 "cannot keep processes: out of memory");
	p->opts = *opts;
	*out = p;
	return 0;
}

void procs_close(struct procs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		unref(p->all[i]);
	table_release(&p->by_who);
	table_release(&p->by_pid);
	free(p->all);
	free(p);
}

static int learn(struct procs *p, struct proc *proc,
		 const struct weft_identity *who)
{
	proc->who = *who;
	return table_add(&p->by_who, hash_who(who), proc);
}

/* Make proc the newest run of its pid; the one before is over. */
static int make_newest(struct procs *p, struct proc *proc)
{
	uint64_t hash = hash_pid(proc->who.pid);
	struct proc *before = newest(p, proc->who.pid);

	if (before) {
		table_remove(&p->by_pid, hash, before);
		if (!before->dead_ns)
			before->dead_ns = proc->born_ns ? proc->born_ns : 1;
	}
	return table_add(&p->by_pid, hash, proc);
}

/* A new run; who.start_ns may be 0. NULL: no room. */
static struct proc *add(struct procs *p, const struct weft_identity *who,
			bool is_newest, uint64_t now_ns)
{
	struct proc *proc;
	int rc = 0;

	if (p->n >= PROCS_MAX || GROW(p->all, p->n + 1, p->room))
		goto refuse;
	proc = calloc(1, sizeof(*proc));
	if (!proc)
		goto refuse;
	proc->who.pid = who->pid;
	proc->refs = 1;
	proc->born_ns = now_ns;
	proc->changed = true;
	proc->maps_state = PROC_MAPS_UNKNOWN;
	p->all[p->n++] = proc;
	if (who->start_ns)
		rc = learn(p, proc, who);
	if (!rc && is_newest)
		rc = make_newest(p, proc);
	if (!rc)
		return proc;
	table_remove(&p->by_who, hash_who(&proc->who), proc);
	p->n--;
	unref(proc);
refuse:
	p->refused++;
	return NULL;
}

void procs_announce(struct procs *p, uint32_t pid)
{
	struct weft_identity who = { .pid = pid };

	if (!newest(p, pid))
		(void)add(p, &who, true, 0);
}

struct proc *procs_get(struct procs *p, const struct weft_identity *who)
{
	struct proc *proc = table_find(&p->by_who, hash_who(who), is_who, who);
	struct proc *now;

	if (proc)
		return proc;
	now = newest(p, who->pid);
	if (now && !now->who.start_ns)
		return learn(p, now, who) ? NULL : now;
	/* An older run than the newest known cannot be read any more. */
	if (now && (now->who.start_ns > who->start_ns ||
		    (now->who.start_ns == who->start_ns &&
		     now->who.exec_seq > who->exec_seq))) {
		proc = add(p, who, false, 0);
		if (proc) {
			proc->maps_state = PROC_MAPS_FAILED;
			proc->dead_ns = 1; /* goes once it is unused */
		}
		return proc;
	}
	return add(p, who, true, 0);
}

/* Rename; the kernel's names are at most 15 bytes and may be any. */
static void set_comm(struct proc *proc, const char *comm)
{
	if (!strncmp(proc->comm, comm, WEFT_COMM_LEN))
		return;
	memcpy(proc->comm, comm, WEFT_COMM_LEN);
	proc->comm[WEFT_COMM_LEN - 1] = '\0';
	proc->changed = true;
}

static void set_text(struct proc *proc, char **field, const char *text)
{
	char *copy;

	if (!text[0] || (*field && !strcmp(*field, text)))
		return;
	copy = strdup(text);
	if (!copy)
		return;
	free(*field);
	*field = copy;
	proc->changed = true;
}

/* perf: pid begins to be another program. Its identity follows by notice. */
static void on_exec(struct procs *p, const struct sideband_event *e)
{
	struct proc *before = newest(p, e->pid), *proc;
	uint32_t parent_pid = before ? before->parent_pid : 0;
	struct weft_identity who = { .pid = e->pid };

	if (!before && p->opts.only_known)
		return;
	if (before && before->who.start_ns && !before->dead_ns) {
		who = before->who;
		who.exec_seq++;
	}
	proc = add(p, &who, true, e->boot_ns);
	if (!proc)
		return;
	proc->maps_state = PROC_MAPS_COMPLETE;
	set_comm(proc, e->comm);
	proc->parent_pid = parent_pid;
}

/* What is read of a process is told before the exec that it came after: then it
 * is what the next program published. */
static void disown_context(struct procs *p, const struct weft_notice *n)
{
	struct weft_identity who = n->process;
	struct proc *before;

	who.exec_seq--;
	before = table_find(&p->by_who, hash_who(&who), is_who, &who);
	if (!before || before->context_ns < n->boot_ns)
		return;
	attributes_free(before->attributes);
	before->attributes = NULL;
	free(before->service);
	before->service = NULL;
}

static void on_exec_notice(struct procs *p, const struct weft_notice *n)
{
	struct proc *proc = newest(p, n->process.pid);

	disown_context(p, n);
	if (proc && !proc->who.start_ns)
		(void)learn(p, proc, &n->process);
	else if (!proc || memcmp(&proc->who, &n->process, sizeof(proc->who)))
		proc = add(p, &n->process, true, n->boot_ns);
	if (proc)
		set_comm(proc, n->comm);
}

static void on_fork_notice(struct procs *p, const struct weft_notice *n)
{
	struct proc *parent = procs_get(p, &n->parent);
	struct proc *child = add(p, &n->process, true, n->boot_ns);

	if (!child)
		return;
	set_comm(child, n->comm);
	child->parent_pid = n->parent.pid;
	if (!parent)
		return;
	if (parent->exe)
		set_text(child, &child->exe, parent->exe);
	if (parent->cgroup)
		set_text(child, &child->cgroup, parent->cgroup);
	/* Children of children without end must not keep them all: then what
	 * /proc shows of the child has to do. */
	if (parent->inherit_depth + 1 >= INHERIT_DEPTH_MAX)
		return;
	parent->refs++;
	child->inherit = parent;
	child->inherit_ns = n->boot_ns;
	child->inherit_depth = parent->inherit_depth + 1;
	child->maps_state = PROC_MAPS_COMPLETE;
}

static void on_notice(struct procs *p, const struct weft_notice *n)
{
	struct proc *proc;

	switch (n->kind) {
	case WEFT_NOTICE_FORK:
		on_fork_notice(p, n);
		break;
	case WEFT_NOTICE_EXEC:
		on_exec_notice(p, n);
		break;
	case WEFT_NOTICE_EXIT:
		proc = table_find(&p->by_who, hash_who(&n->process), is_who,
				  &n->process);
		if (proc)
			proc->dead_ns = n->boot_ns;
		break;
	default: /* probes are not ours */
		break;
	}
}

/* Paths of files that were unlinked, as the kernel shows them. */
static void cut_deleted(char *path)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path), tail = sizeof(suffix) - 1;

	if (length > tail && !strcmp(path + length - tail, suffix))
		path[length - tail] = '\0';
}

/* Is there a file behind it? Else it is JIT code, most likely. */
static bool is_anonymous(const char *path)
{
	return path[0] == '\0' || !strncmp(path, "//anon", 6) ||
	       (path[0] == '[' && strcmp(path, "[vdso]"));
}

static struct binary *binary_of(struct procs *p, const struct proc *proc,
				struct inspect_file *file)
{
	if (is_anonymous(file->path))
		return NULL;
	file->pid = proc->who.pid;
	file->start_ns = proc->who.start_ns;
	if (!strcmp(file->path, "[vdso]")) {
		/* The same in every process: no build ID, no inode. */
		struct inspect_file vdso = { .path = "[vdso]" };

		return binaries_file(p->opts.binaries, STORE_VDSO, &vdso);
	}
	return binaries_file(p->opts.binaries, STORE_ELF, file);
}

static void on_mmap(struct procs *p, const struct sideband_event *e)
{
	struct proc *proc = newest(p, e->pid);
	char path[SIDEBAND_PATH_MAX];
	struct inspect_file file = {
		.path = path,
		.map_start = e->mmap.start,
		.map_end = e->mmap.start + e->mmap.size,
		.inode = e->mmap.inode,
		.dev_major = e->mmap.dev_major,
		.dev_minor = e->mmap.dev_minor,
		.build_id_size = e->mmap.build_id_size,
	};
	struct mapping new = {
		.start = e->mmap.start,
		.end = e->mmap.start + e->mmap.size,
		.file_offset = e->mmap.file_offset,
		.from_ns = e->boot_ns,
		.to_ns = UINT64_MAX,
	};

	if (!proc)
		return;
	memcpy(file.build_id, e->mmap.build_id, sizeof(file.build_id));
	strncpy(path, e->mmap.path, sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	cut_deleted(path);
	new.binary = binary_of(p, proc, &file);
	if (new.binary &&new.binary->kind == STORE_VDSO)
		new.file_offset = 0;
	if (maps_add(&proc->maps, &new)) {
		p->refused++;
		return;
	}
	/* The first file that a new program maps is itself. */
	if (new.binary &&new.binary->kind == STORE_ELF && !proc->exe &&
	    !proc->inherit && proc->maps_state == PROC_MAPS_COMPLETE)
		set_text(proc, &proc->exe, path);
}

void procs_event(void *procs, const struct sideband_event *e)
{
	struct procs *p = procs;
	struct proc *proc;

	switch (e->kind) {
	case SIDEBAND_MMAP:
		on_mmap(p, e);
		break;
	case SIDEBAND_EXEC:
		on_exec(p, e);
		break;
	case SIDEBAND_COMM:
		proc = newest(p, e->pid);
		if (proc)
			set_comm(proc, e->comm);
		break;
	case SIDEBAND_NOTICE:
		on_notice(p, &e->notice);
		break;
	case SIDEBAND_KSYMBOL:
		break;
	}
}

/* Take over what /proc shows of the mappings. */
static void fill_maps(struct procs *p, struct proc *proc,
		      const struct inspect_process *got)
{
	for (size_t i = 0; i < got->n_mappings; i++) {
		const struct inspect_mapping *m = &got->mappings[i];
		struct inspect_file file = {
			.path = m->is_vdso ? "[vdso]" : m->path,
			.map_start = m->start,
			.map_end = m->end,
			.inode = m->inode,
			.dev_major = m->dev_major,
			.dev_minor = m->dev_minor,
			.build_id_size = m->build_id_size,
		};
		struct mapping old = {
			.start = m->start,
			.end = m->end,
			.file_offset = m->file_offset,
			.to_ns = UINT64_MAX,
		};

		memcpy(file.build_id, m->build_id, sizeof(file.build_id));
		if (!m->is_anonymous)
			old.binary = binary_of(p, proc, &file);
		if (m->is_vdso)
			old.file_offset = 0;
		if (maps_fill(&proc->maps, &old))
			p->refused++;
	}
}

static void on_process(void *ctx, enum inspect_status status,
		       const struct inspect_process *got)
{
	struct asked *asked = ctx;
	struct procs *p = asked->procs;
	struct proc *proc = asked->proc;

	/* It may have become another program while it was looked at. */
	if (status == INSPECT_OK && proc->dead_ns)
		status = INSPECT_GONE;
	if (status == INSPECT_OK) {
		if (asked->for_maps)
			fill_maps(p, proc, got);
		if (!proc->comm[0]) {
			char comm[WEFT_COMM_LEN] = { 0 };

			strncpy(comm, got->comm, sizeof(comm) - 1);
			set_comm(proc, comm);
		}
		set_text(proc, &proc->exe, got->exe);
		set_text(proc, &proc->cgroup, got->cgroup);
		if (got->parent_pid)
			proc->parent_pid = got->parent_pid;
		proc->inner_pid = got->inner_pid;
		proc->changed = true;
	}
	if (asked->for_maps) {
		if (status == INSPECT_OK)
			proc->maps_state = PROC_MAPS_COMPLETE;
		else if (status == INSPECT_DEFERRED)
			proc->maps_state = PROC_MAPS_UNKNOWN;
		else
			proc->maps_state = PROC_MAPS_FAILED;
		p->waiting--;
	}
	unref(proc);
	if (asked->for_maps)
		p->opts.on_answer(p->opts.ctx);
	free(asked);
}

static bool ask(struct procs *p, struct proc *proc, bool for_maps)
{
	struct asked *asked = malloc(sizeof(*asked));

	if (!asked)
		return false;
	*asked = (struct asked){ p, proc, for_maps };
	proc->refs++;
	proc->details_asked = true;
	if (!inspect_process(p->opts.inspect, &proc->who, on_process, asked))
		return true;
	unref(proc);
	free(asked);
	return false;
}

bool procs_want_maps(struct procs *p, struct proc *child)
{
	struct proc *proc = child;

	/* Those whose mappings it was born with must be known as well. */
	for (int i = 0; proc->inherit && i < INHERIT_DEPTH_MAX &&
			proc->maps_state == PROC_MAPS_COMPLETE;
	     i++)
		proc = proc->inherit;
	/* An ancestor that cannot be read: its child shows the same. */
	if (proc != child && proc->maps_state != PROC_MAPS_COMPLETE &&
	    proc->maps_state != PROC_MAPS_ASKED &&
	    (proc->dead_ns || proc->maps_state == PROC_MAPS_FAILED)) {
		child->maps_state = PROC_MAPS_UNKNOWN;
		proc = child;
	}
	if (proc->maps_state == PROC_MAPS_ASKED)
		return true;
	if (proc->maps_state != PROC_MAPS_UNKNOWN || !proc->who.start_ns)
		return false;
	if (proc->dead_ns || !ask(p, proc, true)) {
		proc->maps_state = PROC_MAPS_FAILED;
		return false;
	}
	proc->maps_state = PROC_MAPS_ASKED;
	p->waiting++;
	return true;
}

void procs_want_details(struct procs *p, struct proc *proc, uint64_t now_ns)
{
	if (proc->details_asked || proc->dead_ns || !proc->who.start_ns ||
	    now_ns < proc->born_ns + DETAILS_AGE_NS)
		return;
	(void)ask(p, proc, false);
}

uint32_t procs_waiting(const struct procs *p)
{
	return p->waiting;
}

enum maps_answer procs_find(const struct proc *proc, uint64_t addr,
			    uint64_t start_ns, uint64_t end_ns,
			    const struct mapping **out)
{
	*out = NULL;
	for (int i = 0; proc && i < INHERIT_DEPTH_MAX; i++) {
		enum maps_answer answer =
			maps_find(&proc->maps, addr, start_ns, end_ns, out);

		if (answer != MAPS_NONE)
			return answer;
		/* Of its parent's mappings: those at the time of the fork. */
		start_ns = end_ns = proc->inherit_ns;
		proc = proc->inherit;
	}
	return MAPS_NONE;
}

/* Of one run, what was there at a time (boot), where out has gaps. */
static int list_at(const struct maps *m, uint64_t at_ns, struct maps *out)
{
	int rc = 0;

	for (size_t i = 0; i < m->n_now && !rc; i++)
		if (m->now[i].from_ns < at_ns)
			rc = maps_fill(out, &m->now[i]);
	for (size_t i = 0; i < m->n_past && !rc; i++)
		if (m->past[i].from_ns < at_ns && m->past[i].to_ns > at_ns)
			rc = maps_fill(out, &m->past[i]);
	return rc;
}

int procs_list(const struct proc *proc, struct maps *out)
{
	uint64_t at_ns = UINT64_MAX;
	int rc = 0;

	for (int i = 0; proc && i < INHERIT_DEPTH_MAX && !rc; i++) {
		rc = list_at(&proc->maps, at_ns, out);
		/* Of its parent's mappings: those at the time of the fork. */
		at_ns = proc->inherit_ns;
		proc = proc->inherit;
	}
	return rc;
}

void procs_distrust(struct procs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct proc *proc = p->all[i];

		if (!proc->dead_ns && proc->maps_state == PROC_MAPS_COMPLETE) {
			/* What was replaced unseen must not stay. */
			maps_release(&proc->maps);
			proc->maps_state = PROC_MAPS_UNKNOWN;
		}
	}
}

void procs_sweep(struct procs *p, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct proc *proc = p->all[i];

		bool is_nobody = !proc->who.start_ns && proc->born_ns &&
				 proc->born_ns < before_ns;

		maps_prune(&proc->maps, before_ns);
		/* A run whose identity never came is as good as dead. */
		if ((!proc->dead_ns && !is_nobody) ||
		    proc->dead_ns >= before_ns || proc->used_ns >= before_ns) {
			p->all[kept++] = proc;
			continue;
		}
		if (proc->who.start_ns)
			table_remove(&p->by_who, hash_who(&proc->who), proc);
		table_remove(&p->by_pid, hash_pid(proc->who.pid), proc);
		unref(proc);
	}
	p->n = kept;
}

uint64_t procs_take_refused(struct procs *p)
{
	uint64_t refused = p->refused;

	p->refused = 0;
	return refused;
}
