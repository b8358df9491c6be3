/* SPDX-License-Identifier: MIT */
/*
 * What a measure is to its kernel program, and what crosses for it: the plan
 * (set before load, so that the verifier drops what it does not use), keys,
 * values, what was lost. Included by both sides, as wire.h.
 */
#ifndef WEFT_MEASURE_WIRE_H
#define WEFT_MEASURE_WIRE_H

#include "wire.h"

enum {
	MEASURE_KEYS_MAX = 4,
	MEASURE_CONDITIONS_MAX = 4,
	MEASURE_ARGS = 6,
	MEASURE_KEY_WORDS = 10, /* 64-bit words in a key; a stack takes 4, comm
				   2, all else 1 */
	MEASURE_LOG2_BUCKETS = 66,
	MEASURE_LINEAR_MAX = 1000, /* and one below, one above */
	/* Examples of a measure, in an interval, on a CPU. */
	MEASURE_EXAMPLES_MAX = 1024
};

/* The epoch before the first: attached, but nothing counts yet. */
static const __u32 MEASURE_NO_EPOCH = ~0U;

/* What of an event a term stands for. */
enum measure_term_kind {
	MEASURE_NONE,
	MEASURE_COMM, /* of the process's thread: the thread's */
	MEASURE_PID,
	MEASURE_TID,
	MEASURE_CPU,
	MEASURE_CGROUP,    /* id of the cgroup (version 2) */
	MEASURE_ARG,       /* an argument of the function or the system call */
	MEASURE_FIELD,     /* of the tracepoint's record */
	MEASURE_RETVAL,    /* of the function or the system call */
	MEASURE_ELAPSED,   /* ns from entry to return */
	MEASURE_STACK,     /* the process's identity, and the stack's key */
	MEASURE_ATTRIBUTE, /* of the thread's context, by number */
	MEASURE_NUMBER,    /* of the system call; typed as args.id */
	MEASURE_TERM_KINDS
};

struct measure_term {
	__u8 kind;      /* enum measure_term_kind */
	__u8 index;     /* ARG: which */
	__u8 size;      /* bytes: 1, 2, 4, 8 */
	__u8 is_signed; /* of a value shorter than 8 bytes, and in comparisons
			 */
	__u16 offset;   /* FIELD: in the record */
	__u16 word;     /* of a key: where in struct measure_key */
};

enum measure_operator {
	MEASURE_EQ,
	MEASURE_NE,
	MEASURE_LT,
	MEASURE_LE,
	MEASURE_GT,
	MEASURE_GE,
	MEASURE_OPERATORS
};

struct measure_condition {
	struct measure_term term;
	__u32 op; /* enum measure_operator */
	__u32 pad;
	__u64 number;             /* what it is compared with, as is_signed */
	char comm[WEFT_COMM_LEN]; /* the same, of COMM */
};

enum measure_buckets {
	MEASURE_NO_BUCKETS,
	MEASURE_LOG2,   /* below 0; 0; 1; [2, 4); ...; from 2^63 on */
	MEASURE_LINEAR, /* below min; steps; from max on */
};

struct measure_plan {
	__u32 n_keys, n_conditions;
	__u32 buckets; /* enum measure_buckets */
	__u32 n_buckets;
	__u32 has_value, keeps_extremes;
	__u32 uses_args; /* 1 << N: argument N */
	__u32 pairs;     /* entries are kept until their return comes */
	__s32 syscall;   /* only this one; -1: all */
	/* So many of each bucket, key, CPU and interval are sent as examples;
	 * of what has no buckets, each that is well above those before. */
	__u32 examples;
	__u32 number; /* of the measure */
	/* Words of the key at which a stack and an attribute begin, plus 1; 0:
	 * there is none. */
	__u32 stack_at, attribute_at;
	/* While the program runs nothing else on its CPU adds to the same: of
	 * a tracepoint's, which the kernel runs with preemption off, and not
	 * again from within itself. */
	__u32 is_alone;
	__s64 linear_min, linear_max;
	__u64 linear_step;
	struct measure_term value;
	struct measure_term key[MEASURE_KEYS_MAX];
	struct measure_condition condition[MEASURE_CONDITIONS_MAX];
};

/* The words in use are the first; a shorter key is what maps have. */
struct measure_key {
	__u64 word[MEASURE_KEY_WORDS];
};

/* Of one key on one CPU, with n_buckets counts. */
struct measure_value {
	__u64 count;
	__u64 sum; /* wraps */
	/* Of signed values the top bit is turned, so that all are in the order
	 * of unsigned numbers; the least is kept as its complement. So 0 is
	 * right for what has no value yet. */
	__u64 not_min, max;
	/* Or, of examples without buckets, one word: the last one's value. */
	__u64 bucket[];
};

/* Where events end that are not counted; counted ones are in the values. */
enum measure_entry {
	MEASURE_FIRED,
	MEASURE_FILTERED,   /* not of a target */
	MEASURE_NOT_MET,    /* a condition did not hold */
	MEASURE_KEYS_FULL,  /* no room for another key in the interval */
	MEASURE_BUSY,       /* the kernel's table did not take it */
	MEASURE_UNREADABLE, /* a field could not be read */
	MEASURE_ENTERED,    /* calls that began */
	MEASURE_NO_ENTRY,   /* returns whose call began before we looked */
	MEASURE_NO_RETURN,  /* calls of which no return was seen */
	MEASURE_CALLS_FULL, /* calls for which there was no room to wait */
	MEASURE_SELECTED,   /* chosen as an example */
	MEASURE_UNSENT,     /* chosen, but lost on the way */
	MEASURE_ENTRIES
};

struct measure_ledger {
	__u64 entry[MEASURE_ENTRIES];
};

/* A call that has not returned yet. */
struct measure_call_key {
	__u64 thread; /* pid << 32 | tid */
	__u64 sp;     /* where its return address lies; 0: a system call */
};

struct measure_call {
	__u64 thread_start_ns;
	__u64 entered_ns;
	__u64 arg[MEASURE_ARGS];
};

/* An event that was chosen as an example; in the ring of details. */
struct measure_example {
	/* Of kind WEFT_RECORD_EXAMPLE; event: the number of the measure. */
	struct weft_sample sample;
	__u32 bucket; /* 0 where there are none */
	__u32 pad;
	struct measure_key key;
};

#endif
