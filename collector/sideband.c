/* SPDX-License-Identifier: MIT */
/*
 * Workload: a compile makes some thousand mmap records a second, a fork storm
 * ten times that; all are copied out of the rings at each drain, sorted, and
 * handed on. A ring holds about 8,000 records per CPU.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/grow.h"
#include "collector/sideband.h"

enum {
	RING_PAGES = 256,
	/* How late a record may become visible after its time stamp. */
	SETTLE_NS = 1000000,
	RECORD_MAX = 65536,
};

struct ring {
	uint32_t cpu;
	int fd;                            /* -1: not open */
	struct perf_event_mmap_page *page; /* NULL: not mapped */
};

/* An event whose path, if any, is an offset into text. */
struct pending {
	struct sideband_event event;
	size_t path;
	uint64_t order; /* keeps equal times as they came */
};

struct sideband {
	struct ring *rings; /* owned */
	uint32_t n_rings;
	size_t ring_bytes, page_bytes;
	struct perf_event_attr attr;
	struct ring_buffer *notices; /* owned */
	int epoll_fd;
	uint64_t lost, order;
	struct pending *pending; /* owned */
	size_t n_pending, pending_room;
	char *text; /* owned; paths of pending */
	size_t n_text, text_room;
	uint8_t *record; /* owned; one record that wraps around the ring */
	int failed;      /* first error while copying; -ENOMEM */
};

/* The trailer that sample_id_all puts at each record's end, for our
 * sample_type: TID, TIME, CPU. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

static void fill_attr(struct sideband *s, bool wakes_at_once)
{
	s->attr = (struct perf_event_attr){
		.size = sizeof(s->attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.ksymbol = 1,
		.watermark = 1,
		.wakeup_watermark = wakes_at_once ? 1 : s->ring_bytes / 4,
		.sample_type =
			PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
	};
}

static int open_event(struct sideband *s, uint32_t cpu)
{
	int fd = syscall(SYS_perf_event_open, &s->attr, -1, (int)cpu, -1,
			 PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int fail_open(uint32_t cpu, int rc, struct weft_err *err)
{
	const char *advice = "";

	if (rc == -EACCES || rc == -EPERM)
		advice = "; it needs CAP_PERFMON (or root)";
	else if (rc == -EMFILE || rc == -ENFILE)
		advice = "; raise the limit of open files (ulimit -n)";
	return weft_fail(err, rc == -EACCES ? -EPERM : rc,
			 "cannot follow mappings on CPU %u: %s%s", cpu,
			 strerror(-rc), advice);
}

/* Map the ring of r->fd, and have it watched. */
static int map_ring(struct sideband *s, struct ring *r, struct weft_err *err)
{
	struct epoll_event ready = { .events = EPOLLIN };
	void *page = mmap(NULL, s->page_bytes + s->ring_bytes,
			  PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	int rc;

	if (page == MAP_FAILED) {
		rc = -errno;
		return weft_fail(err, rc,
				 "cannot map the side-band ring of CPU %u: %s",
				 r->cpu, strerror(-rc));
	}
	r->page = page;
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, r->fd, &ready)) {
		rc = -errno;
		return weft_fail(err, rc, "cannot watch the side-band ring: %s",
				 strerror(-rc));
	}
	return 0;
}

static int open_ring(struct sideband *s, struct ring *r, struct weft_err *err)
{
	r->fd = open_event(s, r->cpu);
	if (r->fd < 0)
		return fail_open(r->cpu, r->fd, err);
	return map_ring(s, r, err);
}

static void close_ring(struct sideband *s, struct ring *r)
{
	if (r->page)
		munmap(r->page, s->page_bytes + s->ring_bytes);
	if (r->fd >= 0)
		close(r->fd);
	r->page = NULL;
	r->fd = -1;
}

static struct pending *add_pending(struct sideband *s, enum sideband_kind kind,
				   uint64_t boot_ns, uint32_t pid)
{
	struct pending *p;

	if (GROW(s->pending, s->n_pending + 1, s->pending_room)) {
		s->failed = -ENOMEM;
		s->lost++;
		return NULL;
	}
	p = &s->pending[s->n_pending++];
	*p = (struct pending){ .order = s->order++ };
	p->event.kind = kind;
	p->event.boot_ns = boot_ns;
	p->event.pid = pid;
	return p;
}

static int on_notice(void *ctx, void *data, size_t size)
{
	struct sideband *s = ctx;
	const struct weft_notice *n = data;
	struct pending *p;

	if (size < sizeof(*n))
		return 0;
	p = add_pending(s, SIDEBAND_NOTICE, n->boot_ns, n->process.pid);
	if (p)
		p->event.notice = *n;
	return 0;
}

int sideband_open(struct sideband **out, const struct sideband_opts *opts,
		  struct weft_err *err)
{
	struct sideband *s = calloc(1, sizeof(*s));
	struct epoll_event ready = { .events = EPOLLIN };
	int rc = -ENOMEM;

	*out = NULL;
	if (!s)
		return weft_fail(err, rc,
				 "cannot follow processes: out of memory");
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->page_bytes = sysconf(_SC_PAGESIZE);
	s->ring_bytes = RING_PAGES * s->page_bytes;
	fill_attr(s, opts->wakes_at_once);
	s->record = malloc(RECORD_MAX);
	s->rings = calloc(opts->cpus->n, sizeof(*s->rings));
	if (!s->record || !s->rings || s->epoll_fd < 0)
		goto fail;
	s->n_rings = opts->cpus->n;
	for (uint32_t i = 0; i < s->n_rings; i++)
		s->rings[i] =
			(struct ring){ .cpu = opts->cpus->cpu[i], .fd = -1 };
	for (uint32_t i = 0; i < s->n_rings; i++) {
		rc = open_ring(s, &s->rings[i], err);
		if (rc)
			goto fail;
	}
	s->notices = ring_buffer__new(opts->notices_fd, on_notice, s, NULL);
	if (!s->notices) {
		rc = -errno;
		goto fail;
	}
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD,
		      ring_buffer__epoll_fd(s->notices), &ready)) {
		rc = -errno;
		goto fail;
	}
	*out = s;
	return 0;
fail:
	sideband_close(s);
	return weft_fail(err, rc, "cannot follow processes: %s", strerror(-rc));
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	ring_buffer__free(s->notices);
	for (uint32_t i = 0; i < s->n_rings; i++)
		close_ring(s, &s->rings[i]);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s->rings);
	free(s->pending);
	free(s->text);
	free(s->record);
	free(s);
}

int sideband_fd(const struct sideband *s)
{
	return s->epoll_fd;
}

/* PERF_RECORD_MMAP2, perf_event_open(2). */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t build_id_size, reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char filename[];
};

/* Copy a text of at most room bytes. *out is where it is in s->text. */
static int add_text(struct sideband *s, const char *text, size_t room,
		    size_t *out)
{
	size_t length = strnlen(text, room);

	if (GROW(s->text, s->n_text + length + 1, s->text_room)) {
		s->failed = -ENOMEM;
		s->lost++;
		return -ENOMEM;
	}
	*out = s->n_text;
	memcpy(s->text + s->n_text, text, length);
	s->text[s->n_text + length] = '\0';
	s->n_text += length + 1;
	return 0;
}

static void take_mmap(struct sideband *s, const struct mmap2_record *r,
		      size_t size, uint64_t time)
{
	size_t path, room = size - sizeof(*r) - sizeof(struct trailer);
	struct pending *p;

	if (add_text(s, r->filename, room, &path))
		return;
	p = add_pending(s, SIDEBAND_MMAP, time, r->pid);
	if (!p)
		return;
	p->path = path;
	p->event.mmap.start = r->addr;
	p->event.mmap.size = r->len;
	p->event.mmap.file_offset = r->pgoff;
	if (!(r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		p->event.mmap.dev_major = r->maj;
		p->event.mmap.dev_minor = r->min;
		p->event.mmap.inode = r->ino;
	} else if (r->build_id_size <= SIDEBAND_BUILD_ID_MAX) {
		p->event.mmap.build_id_size = r->build_id_size;
		memcpy(p->event.mmap.build_id, r->build_id, r->build_id_size);
	}
}

/* PERF_RECORD_COMM */
struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

static void take_comm(struct sideband *s, const struct comm_record *r,
		      size_t size, uint64_t time)
{
	bool is_exec = r->header.misc & PERF_RECORD_MISC_COMM_EXEC;
	size_t room = size - sizeof(*r) - sizeof(struct trailer);
	struct pending *p;

	if (!is_exec && r->pid != r->tid)
		return; /* a thread's name comes with its samples */
	p = add_pending(s, is_exec ? SIDEBAND_EXEC : SIDEBAND_COMM, time,
			r->pid);
	if (p)
		memcpy(p->event.comm, r->comm,
		       strnlen(r->comm, room < WEFT_COMM_LEN - 1
						? room
						: WEFT_COMM_LEN - 1));
}

/* PERF_RECORD_KSYMBOL */
struct ksymbol_record {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[];
};

static void take_ksymbol(struct sideband *s, const struct ksymbol_record *r,
			 size_t size, uint64_t time)
{
	size_t path, room = size - sizeof(*r) - sizeof(struct trailer);
	struct pending *p;

	if (add_text(s, r->name, room, &path))
		return;
	p = add_pending(s, SIDEBAND_KSYMBOL, time, 0);
	if (!p)
		return;
	p->path = path;
	p->event.ksymbol.start = r->addr;
	p->event.ksymbol.size = r->len;
	p->event.ksymbol.is_gone =
		r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
}

static void take_record(struct sideband *s, const struct perf_event_header *h)
{
	struct trailer t;

	if (h->size < sizeof(*h) + sizeof(t))
		return;
	memcpy(&t, (const char *)h + h->size - sizeof(t), sizeof(t));
	switch (h->type) {
	case PERF_RECORD_MMAP2:
		if (h->size >= sizeof(struct mmap2_record) + sizeof(t))
			take_mmap(s, (const void *)h, h->size, t.time);
		break;
	case PERF_RECORD_COMM:
		if (h->size >= sizeof(struct comm_record) + sizeof(t))
			take_comm(s, (const void *)h, h->size, t.time);
		break;
	case PERF_RECORD_KSYMBOL:
		if (h->size >= sizeof(struct ksymbol_record) + sizeof(t))
			take_ksymbol(s, (const void *)h, h->size, t.time);
		break;
	case PERF_RECORD_LOST:
		/* struct { header; u64 id; u64 lost; trailer } */
		s->lost += ((const uint64_t *)(h + 1))[1];
		break;
	default:
		break;
	}
}

static void drain_ring(struct sideband *s, struct ring *r)
{
	const uint8_t *base = (const uint8_t *)r->page + s->page_bytes;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;

	while (tail < head) {
		size_t at = tail % s->ring_bytes;
		const struct perf_event_header *h = (const void *)(base + at);
		size_t whole = s->ring_bytes - at;
		size_t size = h->size;

		if (size < sizeof(*h) || size % 8 || size > head - tail)
			break; /* cannot be; and we would not advance */
		if (size > whole) {
			memcpy(s->record, h, whole);
			memcpy(s->record + whole, base, size - whole);
			h = (const void *)s->record;
		}
		take_record(s, h);
		tail += size;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->event.boot_ns != y->event.boot_ns)
		return x->event.boot_ns < y->event.boot_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Forget the first n pending events; their paths go once all are gone. */
static void forget(struct sideband *s, size_t n)
{
	s->n_pending -= n;
	if (s->n_pending)
		memmove(s->pending, s->pending + n,
			s->n_pending * sizeof(*s->pending));
	else
		s->n_text = 0;
}

int sideband_drain(struct sideband *s, uint64_t until_ns, sideband_fn *fn,
		   void *ctx, struct weft_err *err)
{
	uint64_t settled_ns = clock_boot_ns() - SETTLE_NS;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n_rings; i++) {
		if (s->rings[i].page)
			drain_ring(s, &s->rings[i]);
	}
	ring_buffer__consume(s->notices);
	if (s->n_pending)
		qsort(s->pending, s->n_pending, sizeof(*s->pending),
		      compare_pending);
	for (; n < s->n_pending; n++) {
		struct sideband_event *e = &s->pending[n].event;

		if (e->boot_ns > until_ns && e->boot_ns > settled_ns)
			break;
		if (e->kind == SIDEBAND_MMAP)
			e->mmap.path = s->text + s->pending[n].path;
		if (e->kind == SIDEBAND_KSYMBOL)
			e->ksymbol.name = s->text + s->pending[n].path;
		fn(ctx, e);
	}
	forget(s, n);
	if (s->failed) {
		int rc = s->failed;

		s->failed = 0;
		return weft_fail(err, rc, "cannot follow processes: %s",
				 strerror(-rc));
	}
	return 0;
}

const struct perf_event_attr *sideband_attr(const struct sideband *s)
{
	return &s->attr;
}

int sideband_replace(struct sideband *s, uint32_t cpu, int fd,
		     struct weft_err *err)
{
	for (uint32_t i = 0; i < s->n_rings; i++) {
		struct ring *r = &s->rings[i];

		if (r->cpu != cpu)
			continue;
		if (r->page)
			drain_ring(s, r);
		/* First: locked memory has a limit. */
		close_ring(s, r);
		s->lost++;
		r->fd = fd;
		return map_ring(s, r, err);
	}
	close(fd);
	return 0;
}

bool sideband_is_pending(const struct sideband *s)
{
	return s->n_pending > 0;
}

uint64_t sideband_take_lost(struct sideband *s)
{
	uint64_t lost = s->lost;

	s->lost = 0;
	return lost;
}
