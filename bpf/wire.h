/* SPDX-License-Identifier: MIT */
/*
 * What crosses between the kernel program and the collector: map keys and
 * values, ring records, configuration, ledger entries. Included by both
 * sides; fixed width, natural alignment, no implicit padding.
 */
#ifndef WEFT_WIRE_H
#define WEFT_WIRE_H

#ifdef __bpf__
#include "kern.h"
#else
#include <linux/types.h>
#endif

enum {
	WEFT_MAX_USER_FRAMES = 127,
	WEFT_MAX_KERNEL_FRAMES = 63,
	WEFT_MAX_FRAMES = WEFT_MAX_USER_FRAMES + WEFT_MAX_KERNEL_FRAMES,
	WEFT_MAX_EVENTS = 8, /* triggers in one recording */
	WEFT_MAX_CPUS = 512,
	WEFT_EPOCHS = 2,
	WEFT_COMM_LEN = 16,
	WEFT_MAX_CONTEXT_SLOTS = 2,
	WEFT_HASH_WORDS = 256, /* power of 2 above WEFT_MAX_FRAMES + 1 */
};

/*
 * A process that neither pid reuse nor exec confuses. start_ns is boot time;
 * exec_seq is the kernel's self_exec_id: threads share it, exec raises it.
 */
struct weft_identity {
	__u64 start_ns;
	__u32 pid;
	__u32 exec_seq;
};

/* Names a stack within an epoch: a keyed hash over its addresses. All zero:
 * the stack found no room ("stack lost"). */
struct weft_stack_key {
	__u64 word[2];
};

/* Why the walk over user frames ended. */
enum weft_walk_end {
	WEFT_END_NO_USER,   /* kernel thread, or user frames not asked for */
	WEFT_END_ROOT,      /* frame pointer 0: the first frame */
	WEFT_END_DEPTH,     /* WEFT_MAX_USER_FRAMES reached */
	WEFT_END_LOW,       /* frame pointer below the first page */
	WEFT_END_FAULT,     /* frame not readable */
	WEFT_END_NOT_ABOVE, /* frame pointer does not point a little up the
			       stack */
	WEFT_END_UNALIGNED,
	WEFT_END_NO_RETURN, /* return address 0 */
	WEFT_END_COUNT
};

struct weft_stack {
	__u16 n_kernel;
	__u16 n_user;
	__u8 user_end; /* enum weft_walk_end */
	__u8 kernel_truncated;
	__u8 user_leaf_exact; /* 1: first user frame is an interrupted pc, not
				 a return address */
	__u8 pad;
	__u64 address[WEFT_MAX_FRAMES]; /* kernel, then user; leaf first */
};

struct weft_count_key {
	struct weft_stack_key stack;
	struct weft_identity process;
	__u32 event;
	__u32 pad;
};

struct weft_count {
	__u64 count;
	__u64 value; /* in the event's unit */
};

/*
 * Where firings and choices end. The kernel counts the first group; the
 * collector adds the second. WEFT_LEDGER_NAMES in collector/ledger.c has the
 * names of the contract in this order.
 */
enum weft_ledger_entry {
	WEFT_FIRED,
	WEFT_COUNTED,
	WEFT_FILTERED,
	WEFT_IDLE,
	WEFT_LOST_COUNTS_FULL,
	WEFT_LOST_BUSY,
	WEFT_SELECTED,
	WEFT_PASSED_OVER,
	WEFT_LOST_RING_FULL,
	WEFT_LOST_RING_BUSY,
	WEFT_STACK_LOST,
	WEFT_SIDEBAND_LOST, /* a notice found no room in its ring */
	WEFT_CONTEXT_OK,    /* one per enum weft_context_status, in order */
	WEFT_CONTEXT_LAST = WEFT_CONTEXT_OK + 15,
	WEFT_KERNEL_ENTRIES,
};

struct weft_ledger {
	struct weft_count entry[WEFT_KERNEL_ENTRIES];
};

/* Where a sample's trace ID came from. Stored; append only. */
enum weft_context_source {
	WEFT_SOURCE_NONE,
	WEFT_SOURCE_OTEL,
	WEFT_SOURCE_COUNT
};

/* How reading the trace context of a detail sample ended. Stored; append
 * only, at most 16. */
enum weft_context_status {
	WEFT_CTX_OK,
	WEFT_CTX_NULL,           /* no record attached to the thread */
	WEFT_CTX_ZERO,           /* record without an active trace */
	WEFT_CTX_UPDATING,       /* record being changed (valid != 1) */
	WEFT_CTX_UNTOUCHED,      /* thread never used the variable */
	WEFT_CTX_HALF,           /* one ID zero, the other not */
	WEFT_CTX_E_TP,           /* no thread pointer */
	WEFT_CTX_E_DTV,          /* dynamic thread vector not readable */
	WEFT_CTX_E_SLOT,         /* thread-local variable not readable */
	WEFT_CTX_E_RECORD,       /* record not readable, or pointer odd */
	WEFT_CTX_SKIPPED_WORKER, /* kernel thread or io_uring worker */
	WEFT_CTX_NO_ENTRY,       /* process not known to publish */
	WEFT_CTX_STALE_ENTRY,    /* what is known is of another process */
	WEFT_CTX_COUNT
};

enum weft_context_kind {
	WEFT_CONTEXT_NONE, /* probed, publishes nothing: do not ask again */
	WEFT_CONTEXT_STATIC,
	WEFT_CONTEXT_DTV,
};

/* One place where a thread's record pointer may be. */
struct weft_context_slot {
	__s64 offset;  /* from the thread pointer, or within the TLS block */
	__u32 module;  /* 0: offset is from the thread pointer */
	__u32 min_gen; /* glibc: least generation of the vector; 0: any */
};

/* What the kernel program needs to know of a process to read its threads'
 * trace context. Written by the collector, from an inspector's answer. */
struct weft_context_entry {
	struct weft_identity process;
	struct weft_context_slot slot[WEFT_MAX_CONTEXT_SLOTS];
	__u8 kind; /* enum weft_context_kind */
	__u8 n_slots;
	__s8 dtv_offset; /* of the vector's pointer from the thread pointer */
	__u8 dtv_stride;
	__u8 is_glibc;
	__u8 pad[3];
};

enum weft_record_kind {
	WEFT_RECORD_SAMPLE = 1,
};

/* A detail sample. No stack body: the key joins it to the epoch's stacks. */
struct weft_sample {
	__u32 kind; /* WEFT_RECORD_SAMPLE */
	__u32 epoch;
	__u64 boot_ns;
	struct weft_identity process;
	__u64 thread_start_ns;
	__u32 tid;
	__u32 cpu;
	struct weft_stack_key stack;
	__u64 value;
	__u64 weight_q32; /* 1 / probability, times 2^32 */
	__u32 event;
	__u8 trace_flags;
	__u8 context_source; /* enum weft_context_source */
	__u8 context_status; /* enum weft_context_status */
	__u8 pad;
	__u8 trace_id[16]; /* W3C byte order */
	__u8 span_id[8];
	char thread_comm[WEFT_COMM_LEN];
};

enum weft_notice_kind {
	WEFT_NOTICE_FORK = 1, /* process = the child */
	WEFT_NOTICE_EXEC,     /* process = the new identity */
	WEFT_NOTICE_EXIT,     /* last thread is gone */
	WEFT_NOTICE_PROBE,    /* first detail sample of a process: find its
				 trace context */
};

/* What the kernel tells the collector beside samples, in a ring of its own
 * so that a flood of samples cannot hide it. */
struct weft_notice {
	__u32 kind; /* enum weft_notice_kind */
	__u32 pad;
	__u64 boot_ns;
	struct weft_identity process;
	struct weft_identity parent; /* FORK only */
	char comm[WEFT_COMM_LEN];
};

/* Set once, before load. */
struct weft_config {
	__u32 filter;        /* 1: only what is in the maps of targets */
	__u32 filter_cgroup; /* 1: only tasks below the cgroup in its map */
	__u32 follow_children;
	__u32 user_stacks;
	__u32 kernel_stacks;
	__u32 detail_chance; /* a random 32-bit number below or at this picks */
	__u32 detail;        /* 0: no detail at all */
	__u32 pad;
	__u64 weight_q32;
	__u64 ring_wake_bytes; /* wake the collector at this fill */
	/* Random; for each word of a stack, each lane's low and high half. */
	__u32 hash_key[WEFT_HASH_WORDS][2][2];
};

#endif
