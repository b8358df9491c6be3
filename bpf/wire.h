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
	WEFT_CALL_SLOTS = 4, /* of scratch per CPU, for programs of probes */
	WEFT_SCRATCH_BYTES = 128 * 1024, /* of one scratch, at most */
	WEFT_COMM_LEN = 16,
	WEFT_MAX_CONTEXT_SLOTS = 2,
	WEFT_HASH_WORDS = 256,       /* power of 2 above WEFT_MAX_FRAMES + 1 */
	WEFT_ATTRIBUTE_BYTES = 256,  /* that go with a sample; power of 2 */
	WEFT_SHAPE_VALUES_MAX = 256, /* that counts are told apart by */
	WEFT_SHAPE_VALUE_BYTES = 64,
};

/* In place of an event's number: it is not recorded. */
#define WEFT_NO_EVENT 0xffffffffU

/*
 * A process that neither pid reuse nor exec confuses. start_ns is boot time;
 * exec_seq is the kernel's self_exec_id: threads share it, exec raises it.
 */
struct weft_identity {
	__u64 start_ns;
	__u32 pid;
	__u32 exec_seq;
};

/* Names a stack within an epoch: a keyed hash over its addresses, whose first
 * word is odd. All zero: the stack found no room ("stack lost"); 0 and then
 * WEFT_KEY_NOT_TAKEN: nobody walked it. */
struct weft_stack_key {
	__u64 word[2];
};

enum {
	WEFT_KEY_NOT_TAKEN = 1
};

/* Why the walk over user frames ended. Stored, as walk_end_names has it;
 * append only. */
enum weft_walk_end {
	WEFT_END_NO_USER, /* no user stack to expect: kernel thread, a program
			     that is being replaced or ends, not asked for */
	WEFT_END_MARKED,  /* whole: the code is marked as a first function */
	WEFT_END_ROOT,    /* whole: frame pointer or return address 0 */
	WEFT_END_DEPTH,   /* WEFT_MAX_USER_FRAMES reached */
	WEFT_END_PENDING, /* the file's table is being built, or the list of the
			     process's mappings */
	WEFT_END_NO_MAPPING, /* return address in no executable mapping */
	WEFT_END_NO_FRAME, /* no rule, and no frame pointer that could be one */
	WEFT_END_BAD_RULE, /* a rule that cannot be expressed */
	WEFT_END_REGISTER, /* the rule needs a register that is not known */
	WEFT_END_FAULT,    /* stack memory not readable */
	WEFT_END_NOT_ABOVE, /* the caller's frame would not lie above */
	WEFT_END_COMPAT,    /* 32-bit program: only its leaf is known */
	WEFT_END_COUNT
};

/*
 * Unwind tables: for each byte of a file's code, how to find the caller. One
 * immutable map per file, of blocks of 4,096 words (16 KiB), made from
 * .eh_frame by an inspector:
 *
 *   index  from block 0: two words for each 4 KiB page of the file from
 *          first_page on: the word at which its rows begin, how many
 *   rules  from block rules_block: struct weft_rule, two words each
 *   rows   a word each: offset in the page << 20 | number of the rule. A row
 *          holds until the next. The first row of a page is for offset 0;
 *          the rows of a page lie within one block.
 *
 * Pages and offsets are of the file, not of its address space.
 */
enum {
	WEFT_TABLE_PAGE_BITS = 12,
	WEFT_TABLE_BLOCK_WORDS = 4096,
	WEFT_TABLE_ROW_SHIFT = 20,
	WEFT_TABLE_RULES_MAX = 1 << 16,
	WEFT_TABLES_MAX = 16384, /* files known at a time */
};

/* How the canonical frame address (CFA) is found: the caller's stack pointer.
 * The return address is at CFA - 8, but for HELD. */
enum weft_rule_kind {
	WEFT_RULE_NONE,      /* not described: use the frame pointer */
	WEFT_RULE_RSP,       /* rsp + offset */
	WEFT_RULE_RBP,       /* rbp + offset */
	WEFT_RULE_RBX,       /* rbx + offset */
	WEFT_RULE_REGISTER,  /* word aux of pt_regs + offset; only where all
				registers are known: a leaf, or under a signal */
	WEFT_RULE_PLT,       /* rsp + 8 + ((pc & 15) >= offset ? 8 : 0) */
	WEFT_RULE_RBP_DEREF, /* *(rbp + offset) + 8 * aux */
	WEFT_RULE_RSP_DEREF, /* *(rsp + offset) + 8 * aux */
	WEFT_RULE_HELD,      /* rsp + offset, but the return address is in word
				aux of pt_regs: as for REGISTER */
	WEFT_RULE_SIGNAL,    /* all registers from the ucontext at rsp */
	WEFT_RULE_END,       /* a first function: no caller */
	WEFT_RULE_BAD,       /* described, but not expressible here */
	WEFT_RULE_KINDS
};

/* Where the caller's rbp or rbx is. */
enum weft_rule_saved {
	WEFT_SAVED_NOT,       /* unchanged */
	WEFT_SAVED_MAX = 252, /* n up to this: at CFA - 8 n */
	WEFT_SAVED_AT_RBP,    /* at [rbp] */
	WEFT_SAVED_LOST,      /* not to be found */
};

struct weft_rule {
	__s32 offset;
	__u8 kind;     /* enum weft_rule_kind */
	__u8 rbp, rbx; /* enum weft_rule_saved */
	__u8 aux;
};

/* A file, with the content it has, as the kernel knows it. All zero: the
 * vDSO. */
struct weft_file_key {
	__u64 inode;
	__u32 dev; /* of the super block: major << 20 | minor */
	__u32 generation;
	__u64 changed; /* its ctime: a file may be written over */
};

enum weft_table_state {
	WEFT_TABLE_PENDING, /* asked for */
	WEFT_TABLE_NONE,    /* the file has none, or it found no room */
	WEFT_TABLE_READY,
};

/*
 * Where the kernel program cannot read the kernel's own tree of mappings: the
 * executable mappings of a process, as the collector knows them.
 */
struct weft_listed {
	__u64 start, end;          /* addresses */
	__u64 bias;                /* add to an address for the file offset */
	struct weft_file_key file; /* by WEFT_LISTED_DEV, or the vDSO's */
	__u32 is_anonymous;        /* no file, so no table, is behind it */
	__u32 pad;
};

enum {
	WEFT_LISTED_MAX = 256, /* of a process; power of 2 */
	WEFT_LISTS_MAX = 4096, /* processes */
};

/* The side-band names no inodes. A file's key is then the number of its binary
 * in the collector, plus 1, on this device, which is no file system's. */
#define WEFT_LISTED_DEV 0xffffffffU

struct weft_mapping_list {
	__u32 version; /* first: never used twice, by no process */
	__u32 n;
	/* Ascending, not overlapping; all 0 from n on. */
	struct weft_listed mapping[WEFT_LISTED_MAX];
};

/* What the kernel program knows of a file. */
struct weft_table {
	__u32 state;  /* enum weft_table_state */
	__u32 slot;   /* where its map is */
	__u32 serial; /* never used twice */
	__u32 first_page, n_pages;
	__u32 rules_block;
	__u32 used_epoch; /* when it was last looked up (not on every use) */
	__u32 pad;
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

/* A value of the attribute that counts are told apart by. */
struct weft_shape_value {
	__u32 size;
	__u8 bytes[WEFT_SHAPE_VALUE_BYTES]; /* zeros behind it */
};

/* In place of its number, where it was refused: too long, or too many. */
#define WEFT_SHAPE_OTHER 0xffffffffU

struct weft_count_key {
	struct weft_stack_key stack;
	struct weft_identity process;
	__u32 event;
	__u32 attribute; /* number of its value; 0: none */
};

struct weft_count {
	__u64 count;
	__u64 value; /* in the event's unit */
};

/* What one CPU counted of late, beside the table of counts: a sample that is
 * where another was costs one line of memory. */
enum {
	WEFT_RECENT_COUNTS = 256 /* power of 2 */
};

struct weft_recent {
	struct weft_count_key key;
	struct weft_count count; /* not in the table yet */
	__u64 pad;
};

struct weft_recents {
	struct weft_recent recent[WEFT_RECENT_COUNTS];
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
	WEFT_OPEN_AT_START, /* blocks and waits that began before recording */
	WEFT_OPEN_AT_END,   /* and those that it did not see the end of */
	WEFT_SHAPE_BY_FULL, /* counted as WEFT_SHAPE_OTHER */
	WEFT_STACK_OVER_SHARE, /* of STACK_LOST: the process had its share */
	WEFT_CONTEXT_OK,       /* one per enum weft_context_status, in order */
	WEFT_CONTEXT_LAST = WEFT_CONTEXT_OK + 15,
	WEFT_KERNEL_ENTRIES,
};

struct weft_ledger {
	struct weft_count entry[WEFT_KERNEL_ENTRIES];
};

/* Where a sample's trace ID came from. Stored; append only. */
enum weft_context_source {
	WEFT_SOURCE_NONE,
	WEFT_SOURCE_OTEL,    /* OTEP 4947's record */
	WEFT_SOURCE_GO,      /* pprof labels of the goroutine */
	WEFT_SOURCE_ELASTIC, /* the correlation record of Elastic's agents */
	WEFT_SOURCE_LABELS,  /* custom-labels of Polar Signals */
	WEFT_SOURCE_PROBE,   /* what --trace-probe saw on the thread */
	WEFT_SOURCE_OBI,     /* OBI's pinned map */
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
	WEFT_CTX_UNSUPPORTED, /* process publishes in a way that is not read */
	WEFT_CTX_MALFORMED,   /* a label's text is no ID */
	WEFT_CTX_COUNT
};

enum weft_context_kind {
	WEFT_CONTEXT_NONE, /* probed, nothing is read: do not ask again */
	WEFT_CONTEXT_STATIC,
	WEFT_CONTEXT_DTV,
};

/* One place where a thread's record pointer may be. */
struct weft_context_slot {
	__s64 offset;  /* from the thread pointer, or within the TLS block */
	__u32 module;  /* 0: offset is from the thread pointer */
	__u32 min_gen; /* glibc: least generation of the vector; 0: any */
};

/* Where Go keeps labels; differs by version. Offsets in bytes. */
struct weft_go_layout {
	__u16 curg;    /* in struct m: the goroutine that runs */
	__u16 labels;  /* in struct g */
	__u8 is_slice; /* the labels are a slice, not a map */
	__u8 pad[3];
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
	__u8 source; /* enum weft_context_source: what the slots hold */
	__u8 status; /* of NONE: enum weft_context_status, why */
	__u8 pad;
	struct weft_go_layout go; /* of source GO; slot[0] is that of g */
	/* Counted by the kernel program: how often it read by this entry, and
	 * how often what the entry points to was not readable. */
	__u32 reads, failed;
	/* Of config.shape_by: the key's number in records, plus 1 (0: it has
	 * none), and how many values the process has brought. */
	__u32 shape_number, shape_made;
};

enum weft_record_kind {
	WEFT_RECORD_SAMPLE = 1,
	WEFT_RECORD_EXAMPLE, /* measure_wire.h has it */
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

/* A thread, and where its thread-local memory is. */
struct weft_thread {
	__u64 pointer; /* 0: none */
	__u32 tid;
	__u32 pad;
};

/* A sample with the attributes of its thread's record; config.attributes says
 * that all samples are of this kind. */
struct weft_sample_attributes {
	struct weft_sample sample;
	__u32 size; /* of all the record has; only so many bytes are here */
	__u32 pad;
	/* OTEP 4947: entries of {number of the key, length, bytes} */
	__u8 bytes[WEFT_ATTRIBUTE_BYTES];
};

/* An executable mapping of a file by a target, as found at start. */
struct weft_mapped {
	struct weft_identity process;
	struct weft_file_key file;
	__u64 start, end;
};

/* Asked at load: what the program finds mapped at an address of ours. */
struct weft_proof {
	__u64 address;
	__u64 start, end, file_offset; /* of the mapping; all 0: none found */
};

enum weft_notice_kind {
	WEFT_NOTICE_FORK = 1, /* process = the child */
	WEFT_NOTICE_EXEC,     /* process = the new identity */
	WEFT_NOTICE_EXIT,     /* last thread is gone */
	WEFT_NOTICE_PROBE,    /* first detail sample of a process: find its
				 trace context */
	WEFT_NOTICE_TABLE,    /* a file without a table: build one */
	WEFT_NOTICE_MAPPINGS, /* a process whose mappings are not listed */
	WEFT_NOTICE_PUBLISH,  /* it is about to name a mapping: perhaps it
				 published trace context */
};

/* What the kernel tells the collector beside samples, in a ring of its own
 * so that a flood of samples cannot hide it. */
struct weft_notice {
	__u32 kind; /* enum weft_notice_kind */
	__u32 pad;
	__u64 boot_ns;
	struct weft_identity process;
	union {
		struct {
			struct weft_identity parent; /* FORK only */
			char comm[WEFT_COMM_LEN];
		};
		struct {
			struct weft_file_key file;
			__u64 start, end; /* of its mapping in the process */
		} table;                  /* TABLE */
	};
};

/* Labels whose value is an ID; of several the first in the list. All zero: no
 * label. Names are padded with 0. */
enum {
	WEFT_LABEL_BYTES = 16,
	WEFT_LABEL_NAMES = 8
};

struct weft_label_names {
	__u64 trace[WEFT_LABEL_NAMES][WEFT_LABEL_BYTES / 8];
	__u64 span[WEFT_LABEL_NAMES][WEFT_LABEL_BYTES / 8];
};

/* How an argument of --trace-probe tells an ID. */
enum weft_id_form {
	WEFT_FORM_NONE,
	WEFT_FORM_BYTES,  /* points to them */
	WEFT_FORM_HEX,    /* points to twice as many digits */
	WEFT_FORM_NUMBER, /* is it; for a trace ID its high half */
};

struct weft_trace_probe {
	__u8 trace_form; /* enum weft_id_form; NONE: there is no probe */
	__u8 trace_at;   /* number of the argument, from 0 */
	__u8 low_at;     /* of the low half, where the form is NUMBER */
	__u8 span_form, span_at;
	__u8 pad[3];
};

/* Whether the map that OBI pins is read. */
enum weft_obi {
	WEFT_OBI_OFF,
	WEFT_OBI_AUTO,   /* of processes that have nothing else */
	WEFT_OBI_ALWAYS, /* also where what else they have says: no request */
};

/* A value of that map; its key is pid << 32 | tid, of the host's namespace. */
enum {
	WEFT_OBI_ENTRIES = 16384
};

struct weft_obi_ids {
	__u8 trace_id[16] __attribute__((aligned(8)));
	__u8 span_id[8]; /* both in W3C byte order */
};

/* How a thread was when it left its CPU. */
enum weft_block_state {
	WEFT_BLOCK_PREEMPTED, /* R: it could have gone on */
	WEFT_BLOCK_SLEEPING,  /* S: until something happens, or a signal */
	WEFT_BLOCK_DISK,      /* D: until something happens */
	WEFT_BLOCK_STOPPED,   /* T: by a signal, or a debugger */
	WEFT_BLOCK_IDLE,      /* I: a kernel thread without work */
	WEFT_BLOCK_OTHER,     /* X: whatever else there is */
	WEFT_BLOCK_STATES
};

struct weft_event_config {
	__u64 period; /* of a counter */
	/* A value is chosen for detail with probability min(1, value / tau_ns);
	 * 0: by detail_chance. */
	__u64 tau_ns;
	__u64 weight_q32;   /* of those chosen by detail_chance */
	__u32 stack_chance; /* a random number at or below: take the stack */
	__u32 pad;
};

/* What holds for all objects of programs, in a map that they share. */
struct weft_shared {
	__u32 table_changes;       /* whatever was remembered of tables is
				      looked up again when it changed */
	__u32 mappings_are_listed; /* set once, before samples come: the lists
				      are used, not the tree */
	__u32 obi_was_read;        /* set once an ID came from there */
	__u32 shape_values_made;
};

#define WEFT_SHARED_SECTION ".data.shared"

/* Set once, before load. */
struct weft_config {
	__u32 filter;        /* 1: only what is in the maps of targets */
	__u32 filter_cgroup; /* 1: only tasks below the cgroup in its map */
	__u32 follow_children;
	__u32 user_stacks;
	__u32 kernel_stacks;
	__u32 detail_chance; /* a random 32-bit number below or at this picks */
	__u32 detail;        /* 0: no detail at all */
	__u32 attributes;    /* 1: samples come with those of their thread */
	__u32 only_requests; /* blocks of threads with an active trace only */
	__u32 block_states;  /* a bit each of those that off-cpu counts */
	__u64 min_block_ns;
	__u32 shape_by;        /* 1: counts are told apart by an attribute */
	__u32 obi;             /* enum weft_obi */
	__u64 ring_wake_bytes; /* wake the collector at this fill */
	struct weft_label_names labels;
	struct weft_trace_probe trace_probe;
	/* Numbers of events, or WEFT_NO_EVENT. */
	__u32 timer_event, off_cpu_event, run_queue_event, on_cpu_event;
	__u32 examples;   /* 1: measures take stacks or contexts */
	__u32 max_stacks; /* room in the table; of counts twice that */
	struct weft_event_config event[WEFT_MAX_EVENTS];
	/* Random; for each word of a stack, each lane's low and high half. */
	__u32 hash_key[WEFT_HASH_WORDS][2][2];
};

#endif
