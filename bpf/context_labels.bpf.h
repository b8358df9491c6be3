/* SPDX-License-Identifier: MIT */
/*
 * IDs out of labels that a program attaches to its thread or goroutine: Go's
 * pprof labels, and custom-labels v1 of Polar Signals. Both are lists of a
 * name and a value; config.labels says which names hold an ID. Layouts as the
 * Go runtime and custom-labels' customlabels.h have them; what does not fit
 * in the limits below is not found, which is no ID, never a wrong one.
 */
#ifndef WEFT_CONTEXT_LABELS_BPF_H
#define WEFT_CONTEXT_LABELS_BPF_H

#include "trace_id.h"
#include "wire.h"

enum {
	LABELS_MAX = 16, /* of a list */
	LABEL_VALUE_MAX = 1 << 30,
	NO_RANK = WEFT_LABEL_NAMES,

	GO_G_M = 48, /* in struct g: its struct m, in all versions */
	GO_BUCKET_SLOTS = 8,
	GO_BUCKET_BYTES = 272, /* 8 bytes of hashes, 8 keys, 8 values, next */
	GO_BUCKET_VALUES = 8 + GO_BUCKET_SLOTS * 16,
	GO_BUCKETS_MAX = 16,
	GO_HASH_MIN = 5, /* below: the slot is empty, or was moved */
};

/* Text in the target. */
struct label_text {
	__u64 at, size;
};

/* What reading labels goes by. On the stack, for loops have it as context. */
struct labels {
	__u64 at;          /* of the list, or of a map's buckets */
	__u64 hashes;      /* of the bucket that is being read */
	__u32 trace_rank;  /* places of the names that were found in the */
	__u32 span_rank;   /* list of names; NO_RANK: none */
	__u8 is_go;        /* order of words in a list */
	__u8 is_bad;       /* memory that cannot be read */
	__u8 is_malformed; /* the trace's value is no ID */
	__u8 has_span;
	__u8 pad[4];
	__u8 trace_id[ID_TRACE_BYTES] __attribute__((aligned(8)));
	__u8 span_id[ID_SPAN_BYTES];
};

static __always_inline __u32
rank_of(const volatile __u64 names[WEFT_LABEL_NAMES][WEFT_LABEL_BYTES / 8],
	const __u64 name[WEFT_LABEL_BYTES / 8])
{
	for (__u32 i = 0; i < WEFT_LABEL_NAMES; i++) {
		if (names[i][0] == name[0] && names[i][1] == name[1])
			return i;
	}
	return NO_RANK;
}

/* One label. Of two with the same name the first counts. Not static, so that
 * the verifier looks at it once and not for each way that leads here; for its
 * sake pointers are checked, too. */
__noinline int take_label(struct labels *l, const struct label_text *key,
			  const struct label_text *value)
{
	__u64 name[WEFT_LABEL_BYTES / 8] = { 0 };
	__u8 text[ID_TEXT_BYTES] = { 0 };
	__u32 key_size, size, trace, span;

	if (!l || !key || !value)
		return 0;
	key_size = key->size;
	size = value->size;
	if (!key->at || key->size - 1 >= WEFT_LABEL_BYTES ||
	    value->size - 1 >= LABEL_VALUE_MAX)
		return 0;
	barrier_var(key_size);
	key_size = ((key_size - 1) & (WEFT_LABEL_BYTES - 1)) + 1;
	if (bpf_probe_read_user(name, key_size, (const void *)key->at)) {
		l->is_bad = 1;
		return 0;
	}
	trace = rank_of(config.labels.trace, name);
	span = rank_of(config.labels.span, name);
	if (trace >= l->trace_rank && span >= l->span_rank)
		return 0;
	if (size > ID_TEXT_BYTES) {
		l->is_malformed |= trace < l->trace_rank;
		return 0;
	}
	barrier_var(size);
	size = ((size - 1) & (ID_TEXT_BYTES - 1)) + 1;
	if (bpf_probe_read_user(text, size, (const void *)value->at)) {
		l->is_bad = 1;
		return 0;
	}
	if (trace < l->trace_rank) {
		l->trace_rank = trace;
		l->is_malformed = !id_parse_trace(text, size, l->trace_id);
	} else {
		l->span_rank = span;
		l->has_span = id_parse_span(text, size, l->span_id);
	}
	return 0;
}

/* The label at a place of a list of {name, value}. */
static long list_step(__u32 i, struct labels *l)
{
	__u64 words[4];
	struct label_text key, value;

	if (bpf_probe_read_user(words, sizeof(words),
				(const void *)(l->at + i * sizeof(words)))) {
		l->is_bad = 1;
		return 1;
	}
	/* Go: pointer, length; custom-labels: length, pointer. */
	key.at = l->is_go ? words[0] : words[1];
	key.size = l->is_go ? words[1] : words[0];
	value.at = l->is_go ? words[2] : words[3];
	value.size = l->is_go ? words[3] : words[2];
	take_label(l, &key, &value);
	return 0;
}

/* A slot of a map of Go, counted through its buckets. */
static long map_step(__u32 i, struct labels *l)
{
	__u64 slot = i % GO_BUCKET_SLOTS;
	__u64 bucket = l->at + (__u64)(i / GO_BUCKET_SLOTS) * GO_BUCKET_BYTES;
	struct label_text key, value;

	if (!slot && bpf_probe_read_user(&l->hashes, sizeof(l->hashes),
					 (const void *)bucket)) {
		l->is_bad = 1;
		return 1;
	}
	if ((l->hashes >> 8 * slot & 0xff) < GO_HASH_MIN)
		return 0;
	if (bpf_probe_read_user(&key, sizeof(key),
				(const void *)(bucket + 8 + slot * 16)) ||
	    bpf_probe_read_user(
		    &value, sizeof(value),
		    (const void *)(bucket + GO_BUCKET_VALUES + slot * 16))) {
		l->is_bad = 1;
		return 1;
	}
	take_label(l, &key, &value);
	return 0;
}

/* What was found, into the sample. */
static __always_inline __u8 labels_end(const struct labels *l,
				       struct weft_sample *s, __u8 source)
{
	if (l->is_bad)
		return WEFT_CTX_E_RECORD;
	if (l->is_malformed)
		return WEFT_CTX_MALFORMED;
	if (l->trace_rank == NO_RANK && l->has_span) {
		/* Some name the span alone; of use to who has the spans. */
		__builtin_memcpy(s->span_id, l->span_id, sizeof(s->span_id));
		s->context_source = source;
		return WEFT_CTX_HALF;
	}
	if (l->trace_rank == NO_RANK)
		return WEFT_CTX_ZERO;
	if (all_zero(l->trace_id, 2))
		return WEFT_CTX_ZERO;
	__builtin_memcpy(s->trace_id, l->trace_id, sizeof(s->trace_id));
	if (l->has_span)
		__builtin_memcpy(s->span_id, l->span_id, sizeof(s->span_id));
	s->context_source = source;
	return WEFT_CTX_OK;
}

static __always_inline void labels_begin(struct labels *l, bool is_go)
{
	__builtin_memset(l, 0, sizeof(*l));
	l->trace_rank = NO_RANK;
	l->span_rank = NO_RANK;
	l->is_go = is_go;
}

static __always_inline void read_list(struct labels *l, __u64 at, __u64 n)
{
	l->at = at;
	bpf_loop(n > LABELS_MAX ? LABELS_MAX : n, list_step, l, 0);
}

/* custom-labels v1: the slot points to {storage, count, capacity}. */
static __always_inline __u8 read_custom_labels(__u64 slot_address,
					       struct weft_sample *s)
{
	__u64 set, head[2];
	struct labels l;

	if (bpf_probe_read_user(&set, sizeof(set), (const void *)slot_address))
		return WEFT_CTX_E_SLOT;
	if (!set)
		return WEFT_CTX_NULL;
	if (bpf_probe_read_user(head, sizeof(head), (const void *)set))
		return WEFT_CTX_E_RECORD;
	labels_begin(&l, false);
	read_list(&l, head[0], head[1]);
	return labels_end(&l, s, WEFT_SOURCE_LABELS);
}

/* Read all slots of a map: {count, flags and log2 of buckets, buckets}. */
static __always_inline bool read_go_map(struct labels *l, __u64 at)
{
	struct {
		__u64 count;
		__u8 flags, log2_buckets;
		__u8 rest[6];
		__u64 buckets;
	} head;
	__u64 map;

	if (bpf_probe_read_user(&map, sizeof(map), (const void *)at))
		return false;
	if (!map)
		return true;
	if (bpf_probe_read_user(&head, sizeof(head), (const void *)map) ||
	    head.log2_buckets > 4)
		return false;
	l->at = head.buckets;
	if (head.count)
		bpf_loop(GO_BUCKET_SLOTS << (head.log2_buckets & 7), map_step,
			 l, 0);
	return true;
}

/*
 * Labels of the goroutine that runs on the thread. It is found by way of the
 * thread's own structure (m), for the slot may hold a goroutine of the
 * scheduler or of signals.
 */
static __always_inline __u8 read_go(const struct weft_context_entry *e,
				    __u64 slot_address, struct weft_sample *s)
{
	__u64 g, m, running, at, head[2];
	struct labels l;

	if (bpf_probe_read_user(&g, sizeof(g), (const void *)slot_address))
		return WEFT_CTX_E_SLOT;
	if (!g)
		return WEFT_CTX_NULL; /* not a thread of Go's */
	if (bpf_probe_read_user(&m, sizeof(m), (const void *)(g + GO_G_M)) ||
	    bpf_probe_read_user(&running, sizeof(running),
				(const void *)(m + e->go.curg)))
		return WEFT_CTX_E_RECORD;
	if (!running)
		return WEFT_CTX_NULL;
	if (bpf_probe_read_user(&at, sizeof(at),
				(const void *)(running + e->go.labels)))
		return WEFT_CTX_E_RECORD;
	if (!at)
		return WEFT_CTX_NULL;
	labels_begin(&l, true);
	if (!e->go.is_slice) {
		if (!read_go_map(&l, at))
			return WEFT_CTX_E_RECORD;
	} else {
		if (bpf_probe_read_user(head, sizeof(head), (const void *)at))
			return WEFT_CTX_E_RECORD;
		read_list(&l, head[0], head[1]);
	}
	return labels_end(&l, s, WEFT_SOURCE_GO);
}

#endif
