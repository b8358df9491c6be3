/* SPDX-License-Identifier: MIT */
/*
 * The kernel program of one measure: aggregates by key, in a table per epoch
 * that the collector empties. Loaded once for each measure, with its plan as
 * constants: the verifier drops what the plan does not use. Which of the entry
 * points is loaded says what the measure is attached to.
 *
 * Programs of uprobes can be preempted, also by another thread that runs the
 * same one on the same CPU. So what is per CPU is still added to by atomic
 * instructions there (bump()), and nothing is kept in scratch memory.
 */
#include "measure_wire.h"

const volatile struct weft_config config;
const volatile struct measure_plan plan;

/* Written by the collector, read once at each entry. */
volatile __u32 current_epoch;

#include "example.bpf.h"
#include "target.bpf.h"

/* Sizes of key and value, and how many, are set before load. */
struct value_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct measure_key));
	__uint(value_size, sizeof(struct measure_value));
};

struct value_map values_0 SEC(".maps"), values_1 SEC(".maps");

/* A value of nothing, for new keys: never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct measure_value));
} nothing SEC(".maps");

/* Calls that have not returned. Full: calls_full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct measure_call_key);
	__type(value, struct measure_call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEFT_EPOCHS);
	__type(key, __u32);
	__type(value, struct measure_ledger);
} measure_ledgers SEC(".maps");

/* A power of 2, so that the verifier sees the bound; MEASURE_ARGS are used. */
enum {
	ARG_SLOTS = 8
};

/* What is known of an event when it is measured. */
struct moment {
	void *record; /* of the tracepoint */
	__u64 arg[ARG_SLOTS];
	__u64 retval, number, elapsed;
};

/* Add to what is this CPU's; returns what it was. */
static __always_inline __u64 bump(__u64 *n, __u64 by)
{
	__u64 before;

	if (!plan.is_alone)
		return __sync_fetch_and_add(n, by);
	before = *n;
	*n = before + by;
	return before;
}

static __always_inline int end_in(__u32 epoch, enum measure_entry entry)
{
	__u32 slot = epoch % WEFT_EPOCHS;
	struct measure_ledger *l = bpf_map_lookup_elem(&measure_ledgers, &slot);

	if (l)
		bump(&l->entry[entry], 1);
	return 0;
}

/* Chosen as an example; false: there were too many in the interval. */
static __always_inline bool select(__u32 epoch)
{
	__u32 slot = epoch % WEFT_EPOCHS;
	struct measure_ledger *l = bpf_map_lookup_elem(&measure_ledgers, &slot);

	return l && bump(&l->entry[MEASURE_SELECTED], 1) < MEASURE_EXAMPLES_MAX;
}

static __always_inline __u64 narrow(__u64 v,
				    const volatile struct measure_term *t)
{
	__u32 spare = 64 - 8 * t->size;

	if (t->size >= 8)
		return v;
	v <<= spare & 63;
	return t->is_signed ? (__u64)((__s64)v >> (spare & 63))
			    : v >> (spare & 63);
}

/* A term that is a number. False: it cannot be read. */
static __always_inline bool number_of(const volatile struct measure_term *t,
				      struct moment *m, __u64 *out)
{
	__u64 v = 0;

	switch (t->kind) {
	case MEASURE_PID:
		v = bpf_get_current_pid_tgid() >> 32;
		break;
	case MEASURE_TID:
		v = (__u32)bpf_get_current_pid_tgid();
		break;
	case MEASURE_CPU:
		v = bpf_get_smp_processor_id();
		break;
	case MEASURE_CGROUP:
		v = bpf_get_current_cgroup_id();
		break;
	case MEASURE_ARG:
		v = m->arg[t->index % ARG_SLOTS];
		break;
	case MEASURE_FIELD:
		if (bpf_probe_read_kernel(&v, t->size & 15,
					  m->record + t->offset))
			return false;
		break;
	case MEASURE_RETVAL:
		v = m->retval;
		break;
	case MEASURE_NUMBER:
		v = m->number;
		break;
	case MEASURE_ELAPSED:
		v = m->elapsed;
		break;
	}
	*out = narrow(v, t);
	return true;
}

static __always_inline bool compare(__u64 a, __u32 op, __u64 b, bool is_signed)
{
	bool less = is_signed ? (__s64)a < (__s64)b : a < b;

	switch (op) {
	case MEASURE_EQ:
		return a == b;
	case MEASURE_NE:
		return a != b;
	case MEASURE_LT:
		return less;
	case MEASURE_LE:
		return less || a == b;
	case MEASURE_GT:
		return !less && a != b;
	default:
		return !less;
	}
}

static __always_inline bool is_comm(const volatile struct measure_condition *c)
{
	union {
		char comm[WEFT_COMM_LEN];
		__u64 word[2];
	} now = {};
	const volatile __u64 *word = (const volatile __u64 *)c->comm;

	bpf_get_current_comm(now.comm, sizeof(now.comm));
	return (now.word[0] == word[0] && now.word[1] == word[1]) ==
	       (c->op == MEASURE_EQ);
}

static __always_inline bool holds(const volatile struct measure_condition *c,
				  struct moment *m)
{
	__u64 v;

	if (c->term.kind == MEASURE_COMM)
		return is_comm(c);
	return number_of(&c->term, m, &v) &&
	       compare(v, c->op, c->number, c->term.is_signed);
}

static __always_inline bool put_key(struct measure_key *key,
				    const volatile struct measure_term *t,
				    struct moment *m)
{
	__u32 word = t->word;

	if (word > MEASURE_KEY_WORDS - 2)
		return false;
	if (t->kind == MEASURE_STACK || t->kind == MEASURE_ATTRIBUTE)
		return true; /* by put_thread() */
	if (t->kind == MEASURE_COMM)
		return !bpf_get_current_comm(&key->word[word], WEFT_COMM_LEN);
	return number_of(t, m, &key->word[word]);
}

static __always_inline __u32 log2_bucket(__u64 v)
{
	__u32 bits = 0;

	if (plan.value.is_signed && (__s64)v < 0)
		return 0;
	if (!v)
		return 1;
	for (__u32 step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			bits += step;
		}
	}
	return 2 + bits;
}

static __always_inline __u32 linear_bucket(__u64 v)
{
	if (plan.value.is_signed
		    ? (__s64)v < plan.linear_min
		    : plan.linear_min > 0 && v < (__u64)plan.linear_min)
		return 0;
	if (plan.value.is_signed
		    ? (__s64)v >= plan.linear_max
		    : plan.linear_max <= 0 || v >= (__u64)plan.linear_max)
		return plan.n_buckets - 1;
	return 1 + (v - plan.linear_min) / plan.linear_step;
}

/* Make *most at least v. False: others kept changing it. */
static __always_inline bool raise(__u64 *most, __u64 v)
{
	for (int i = 0; i < 8; i++) {
		__u64 old = *(volatile __u64 *)most;

		if (v <= old)
			return true;
		if (plan.is_alone) {
			*most = v;
			return true;
		}
		if (__sync_val_compare_and_swap(most, old, v) == old)
			return true;
	}
	return false;
}

/* Of values without buckets, whether this one is an example: if it is above the
 * last by a sixteenth. So they are few, and the greatest of an interval is at
 * most so much above the last. */
static __always_inline bool stands_out(struct measure_value *all, __u64 v)
{
	__u64 last = *(volatile __u64 *)&all->bucket[0];

	if ((plan.value.is_signed && (__s64)v <= 0) || v <= last + (last >> 4))
		return false;
	*(volatile __u64 *)&all->bucket[0] = v;
	return true;
}

/* Count in the bucket; whether it is an example: the first few of each are. */
static __always_inline bool add_to_bucket(struct measure_value *all,
					  __u32 bucket)
{
	if (bucket >= plan.n_buckets)
		return false;
	return bump(&all->bucket[bucket], 1) < plan.examples;
}

/* Add a value; *bucket is where, *is_example whether it is one. */
static __always_inline bool add(struct measure_value *all, __u64 v,
				__u32 *bucket_out, bool *is_example)
{
	/* Signed numbers in the order of unsigned ones. */
	__u64 rank = plan.value.is_signed ? v ^ 1ULL << 63 : v;
	__u32 bucket = 0;

	if (plan.keeps_extremes &&
	    (!raise(&all->not_min, ~rank) || !raise(&all->max, rank)))
		return false;
	bump(&all->count, 1);
	if (plan.has_value)
		bump(&all->sum, v);
	if (plan.buckets == MEASURE_LOG2)
		bucket = log2_bucket(v);
	else if (plan.buckets == MEASURE_LINEAR)
		bucket = linear_bucket(v);
	barrier_var(bucket);
	*bucket_out = bucket;
	if (plan.buckets)
		*is_example = add_to_bucket(all, bucket);
	else if (plan.examples)
		*is_example = stands_out(all, v);
	return true;
}

static __always_inline struct measure_value *
value_find(__u32 epoch, const struct measure_key *key)
{
	struct measure_value *v;

	if (epoch % WEFT_EPOCHS == 0)
		return bpf_map_lookup_elem(&values_0, key);
	v = bpf_map_lookup_elem(&values_1, key);
	/* Else the compiler makes one call of the two, to a map that is known
	 * only when it runs, and the kernel cannot make it a direct one. */
	barrier_var(v);
	return v;
}

/* The key's value on this CPU; NULL: noted why not. */
static __always_inline struct measure_value *
value_of(__u32 epoch, const struct measure_key *key)
{
	struct measure_value *v = value_find(epoch, key);
	__u32 zero = 0;
	void *first;
	long rc;

	if (v)
		return v;
	first = bpf_map_lookup_elem(&nothing, &zero);
	if (!first)
		return NULL; /* cannot be: an array has all its slots */
	rc = epoch % WEFT_EPOCHS
		     ? bpf_map_update_elem(&values_1, key, first, BPF_NOEXIST)
		     : bpf_map_update_elem(&values_0, key, first, BPF_NOEXIST);
	v = value_find(epoch, key);
	if (!v)
		end_in(epoch,
		       rc == -KERN_E2BIG ? MEASURE_KEYS_FULL : MEASURE_BUSY);
	return v;
}

/* Where an event happened: stacks are taken in different ways. */
enum place {
	IN_KERNEL,
	IN_USER
};

/* An event of a target. */
static __always_inline int measure(void *ctx, enum place place, __u32 epoch,
				   struct moment *m)
{
	struct measure_key key = {};
	struct chosen c = { .epoch = epoch, .key = &key };
	struct measure_value *all;
	bool is_example = false;
	__u64 v = 0;

#pragma unroll
	for (int i = 0; i < MEASURE_CONDITIONS_MAX; i++)
		if (i < plan.n_conditions && !holds(&plan.condition[i], m))
			return end_in(epoch, MEASURE_NOT_MET);
#pragma unroll
	for (int i = 0; i < MEASURE_KEYS_MAX; i++)
		if (i < plan.n_keys && !put_key(&key, &plan.key[i], m))
			return end_in(epoch, MEASURE_UNREADABLE);
	if (plan.has_value && !number_of(&plan.value, m, &v))
		return end_in(epoch, MEASURE_UNREADABLE);
	if ((plan.stack_at || plan.attribute_at) &&
	    !(place == IN_KERNEL ? put_from_kernel(ctx, epoch, &key)
				 : put_from_user(ctx, epoch, &key)))
		return end_in(epoch, MEASURE_BUSY);
	all = value_of(epoch, &key);
	if (all && !add(all, v, &c.bucket, &is_example))
		return end_in(epoch, MEASURE_BUSY);
	if (!plan.examples || !is_example)
		return 0;
	c.value = v;
	if (!select(epoch) || !(place == IN_KERNEL ? send_from_kernel(ctx, &c)
						   : send_from_user(ctx, &c)))
		return end_in(epoch, MEASURE_UNSENT);
	return 0;
}

static __always_inline bool is_wanted(__u32 epoch)
{
	if (epoch == MEASURE_NO_EPOCH)
		return false;
	end_in(epoch, MEASURE_FIRED);
	if (is_target(bpf_get_current_task_btf()))
		return true;
	end_in(epoch, MEASURE_FILTERED);
	return false;
}

/* A call begins: remember when, and with what, until it returns. */
static __always_inline int enter(__u64 sp, const __u64 *arg)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct measure_call_key key = {
		.thread = bpf_get_current_pid_tgid(),
		.sp = sp,
	};
	struct measure_call call = { .thread_start_ns = task->start_boottime };
	__u32 epoch = current_epoch;
	long rc;

	if (epoch == MEASURE_NO_EPOCH || !is_target(task))
		return 0;
	call.entered_ns = bpf_ktime_get_ns();
	end_in(epoch, MEASURE_ENTERED);
	if (plan.uses_args)
		__builtin_memcpy(call.arg, arg, sizeof(call.arg));
	rc = bpf_map_update_elem(&calls, &key, &call, BPF_NOEXIST);
	if (rc == -KERN_EEXIST) {
		/* The one that was there was left by longjmp(), or the like. */
		end_in(epoch, MEASURE_NO_RETURN);
		rc = bpf_map_update_elem(&calls, &key, &call, BPF_ANY);
	}
	if (rc)
		end_in(epoch, MEASURE_CALLS_FULL);
	return 0;
}

/* A call returns. False: its beginning is not known. */
static __always_inline bool leave(__u64 sp, struct moment *m)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct measure_call_key key = {
		.thread = bpf_get_current_pid_tgid(),
		.sp = sp,
	};
	struct measure_call *call = bpf_map_lookup_elem(&calls, &key);
	__u64 now = bpf_ktime_get_ns();

	if (!call || call->thread_start_ns != task->start_boottime)
		return false;
	m->elapsed = now - call->entered_ns;
	if (plan.uses_args)
		__builtin_memcpy(m->arg, call->arg, sizeof(call->arg));
	bpf_map_delete_elem(&calls, &key);
	return true;
}

/* Arguments from registers; the fourth is where they differ: of a function in
 * rcx, of a system call in r10. */
static __always_inline void read_arguments(const struct pt_regs *regs,
					   __u64 fourth, __u64 *arg)
{
	arg[0] = regs->rdi;
	arg[1] = regs->rsi;
	arg[2] = regs->rdx;
	arg[3] = fourth;
	arg[4] = regs->r8;
	arg[5] = regs->r9;
}

/* The numbers of 32-bit system calls mean others. */
static __always_inline bool is_syscall(long number)
{
	return plan.syscall < 0 ||
	       (number == plan.syscall &&
		!kern_is_compat(bpf_get_current_task_btf()));
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long number)
{
	struct moment m = { .number = number };
	__u32 epoch = current_epoch;

	if (!is_syscall(number))
		return 0;
	if (plan.uses_args)
		read_arguments(regs, regs->r10, m.arg);
	if (plan.pairs)
		return enter(0, m.arg);
	return is_wanted(epoch) ? measure(ctx, IN_KERNEL, epoch, &m) : 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long retval)
{
	struct moment m = { .retval = retval, .number = regs->orig_rax };
	__u32 epoch = current_epoch;

	if (!is_syscall(regs->orig_rax) || !is_wanted(epoch))
		return 0;
	/* But for rax the registers are still those of the beginning. */
	if (plan.uses_args)
		read_arguments(regs, regs->r10, m.arg);
	if (plan.pairs && !leave(0, &m))
		return end_in(epoch, MEASURE_NO_ENTRY);
	return measure(ctx, IN_KERNEL, epoch, &m);
}

/* A tracepoint of which no field is read: others than this program's kind
 * would make the kernel skip the timer's while they run. */
SEC("raw_tp")
int on_raw(void *ctx)
{
	struct moment m = {};
	__u32 epoch = current_epoch;

	return is_wanted(epoch) ? measure(ctx, IN_KERNEL, epoch, &m) : 0;
}

/* One of which fields are read, as its format file has them. */
SEC("tp")
int on_tracepoint(void *ctx)
{
	struct moment m = { .record = ctx };
	__u32 epoch = current_epoch;

	return is_wanted(epoch) ? measure(ctx, IN_KERNEL, epoch, &m) : 0;
}

SEC("uprobe")
int on_entry(struct pt_regs *ctx)
{
	struct moment m = {};
	__u32 epoch = current_epoch;

	if (plan.uses_args)
		read_arguments(ctx, ctx->rcx, m.arg);
	if (plan.pairs)
		return enter(ctx->rsp, m.arg);
	return is_wanted(epoch) ? measure(ctx, IN_USER, epoch, &m) : 0;
}

SEC("uretprobe")
int on_return(struct pt_regs *ctx)
{
	struct moment m = { .retval = ctx->rax };
	__u32 epoch = current_epoch;

	if (!is_wanted(epoch))
		return 0;
	/* The return address has been popped. */
	if (plan.pairs && !leave(ctx->rsp - sizeof(__u64), &m))
		return end_in(epoch, MEASURE_NO_ENTRY);
	return measure(ctx, IN_USER, epoch, &m);
}

/* A probe that is built into the program: its arguments may lie anywhere. */
SEC("usdt")
int on_usdt(struct pt_regs *ctx)
{
	struct moment m = {};
	__u32 epoch = current_epoch;

	if (!is_wanted(epoch))
		return 0;
#pragma unroll
	for (int i = 0; i < MEASURE_ARGS; i++) {
		long value = 0;

		if (!(plan.uses_args & 1U << i))
			continue;
		if (bpf_usdt_arg(ctx, i, &value))
			return end_in(epoch, MEASURE_UNREADABLE);
		m.arg[i] = value;
	}
	return measure(ctx, IN_USER, epoch, &m);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
