/* SPDX-License-Identifier: MIT */
/*
 * What the kernel tells beside samples, in the order in which it happened:
 * perf's records of mappings, new programs and code that the kernel makes
 * (one ring per CPU), and the notices of our own hooks, merged by time.
 */
#ifndef WEFT_SIDEBAND_H
#define WEFT_SIDEBAND_H

#include "bpf/wire.h"
#include "collector/timer.h"
#include "store/weft.h"

struct sideband;
struct perf_event_attr;

enum {
	SIDEBAND_BUILD_ID_MAX = 20,
	SIDEBAND_PATH_MAX = 4096
};

enum sideband_kind {
	SIDEBAND_MMAP,    /* an executable mapping appeared */
	SIDEBAND_EXEC,    /* perf: the process became another program */
	SIDEBAND_COMM,    /* the process (not a thread) renamed itself */
	SIDEBAND_KSYMBOL, /* the kernel made code, or freed it */
	SIDEBAND_NOTICE,  /* from our hooks */
};

struct sideband_event {
	enum sideband_kind kind;
	uint64_t boot_ns;
	uint32_t pid;
	union {
		struct {
			uint64_t start, size, file_offset, inode;
			uint32_t dev_major, dev_minor;
			uint8_t build_id[SIDEBAND_BUILD_ID_MAX];
			uint8_t build_id_size; /* 0: inode and dev are set */
			const char *path;      /* borrowed; "" if none */
		} mmap;
		struct {
			uint64_t start;
			uint32_t size;
			bool is_gone;
			const char *name; /* borrowed */
		} ksymbol;
		char comm[WEFT_COMM_LEN]; /* EXEC, COMM */
		struct weft_notice notice;
	};
};

typedef void sideband_fn(void *ctx, const struct sideband_event *event);

struct sideband_opts {
	const struct cpu_list *cpus; /* whose rings; borrowed for the call */
	int notices_fd;              /* the notice ring's map; borrowed */
	bool wakes_at_once; /* with each record, not when a ring fills up */
};

int sideband_open(struct sideband **out, const struct sideband_opts *opts,
		  struct weft_err *err) MUST_CHECK;
void sideband_close(struct sideband *s); /* NULL is fine */

/* How each ring's event is opened. Borrowed. */
const struct perf_event_attr *sideband_attr(const struct sideband *s);

/*
 * A CPU was off and is back: fd (consumed) is a new event of it, opened by
 * sideband_attr(), whose ring takes the old one's place. What happened there
 * meanwhile counts as lost. Nothing where the CPU has no ring.
 */
int sideband_replace(struct sideband *s, uint32_t cpu, int fd,
		     struct weft_err *err) MUST_CHECK;

/* Becomes readable when a ring fills up, or something is asked for. Borrowed.
 */
int sideband_fd(const struct sideband *s);

/*
 * Hand out the events in order of time: all up to until_ns (boot), by when
 * the caller knows that none can still be under way, and what is old enough.
 * Newer ones stay until the next call.
 */
int sideband_drain(struct sideband *s, uint64_t until_ns, sideband_fn *fn,
		   void *ctx, struct weft_err *err) MUST_CHECK;

/* Events stayed: call sideband_drain() again in a millisecond or two. */
bool sideband_is_pending(const struct sideband *s);

/* Records that the kernel could not deliver since the last call. Mappings
 * known so far may be wrong then: read them again. */
uint64_t sideband_take_lost(struct sideband *s);

#endif
