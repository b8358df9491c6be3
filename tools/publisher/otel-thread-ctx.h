/* SPDX-License-Identifier: MIT */
/*
 * Tell profilers which request this thread works on.
 *
 *	#include <otel-thread-ctx.h>
 *	otc_init("checkout");                   once, at start
 *	otc_set_traceparent(header);            a request starts on this thread
 *	otc_clear();                            and ends
 *
 * An OpenTelemetry thread context (OTEP 4947) and the process context that
 * announces it (OTEP 4719). A profiler reads both from outside: setting the
 * context is a few stores into thread-local memory, no call into the kernel,
 * no allocation, no lock.
 *
 * One C file, C11 or C++11, no dependency but POSIX threads. Compile it into
 * the program and link with
 * -Wl,--export-dynamic-symbol=otel_thread_ctx_v1, or profilers find the
 * variable only in programs that are not stripped; pkg-config
 * otel-thread-ctx says so too. Elsewhere than on Linux on x86-64 and aarch64
 * all functions do nothing and otc_init() says -ENOTSUP. README.md beside
 * this file is about fork, coroutines, thread pools and builds.
 *
 * Not for signal handlers: they may run in the middle of these functions.
 */
#ifndef OTEL_THREAD_CTX_H
#define OTEL_THREAD_CTX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	OTC_NAME_MAX = 255,   /* bytes of a service's name */
	OTC_KEYS_MAX = 256,   /* of one process */
	OTC_KEY_MAX = 128,    /* bytes of a key's name */
	OTC_VALUE_MAX = 255,  /* bytes of an attribute's value */
	OTC_ATTRS_BYTES = 100 /* of a record: its values, and 2 for each */
};

/*
 * A context. Each thread has one of its own, so only what moves between
 * threads (coroutines, fibers) or nests needs others: keep one per coroutine,
 * all zero at first, and never touch its fields but through otc_swap().
 */
struct otc_record {
	uint8_t trace_id[16]; /* W3C byte order */
	uint8_t span_id[8];
	uint8_t valid; /* 1: the rest may be read */
	uint8_t trace_flags;
	uint16_t attrs_size; /* bytes used of attrs */
	uint8_t attrs[OTC_ATTRS_BYTES];
};

/*
 * Announce that this process publishes thread contexts, under service_name
 * (UTF-8, at most OTC_NAME_MAX bytes, copied). Call it once, after the last
 * fork() whose child does not exec; a forked child publishes nothing until it
 * calls otc_init() itself.
 *
 * Returns 0, or a negative errno: -EBUSY if the process publishes already,
 * through this file or another, or this thread has a context attached;
 * -EINVAL for a bad name; others from memfd_create, mmap and madvise. After
 * an error the functions below still work, only nobody looks.
 */
int otc_init(const char *service_name);

/*
 * Attach a context to this thread, in place of the one before and of its
 * attributes: IDs in W3C byte order, flags as in traceparent.
 *
 * Returns 0, or -EINVAL if an ID is all zero. Then the thread has no context:
 * not the one before either, which belongs to another request.
 */
int otc_set(const uint8_t trace_id[16], const uint8_t span_id[8],
	    uint8_t flags);

/* The same from 32 and 16 lower-case hex digits; -EINVAL also for others. */
int otc_set_hex(const char *trace_id, const char *span_id, uint8_t flags);

/*
 * The same from the value of a W3C traceparent header. The span ID is the one
 * in the header: that of the caller, if the service has no span of its own.
 * Of the flags, those that W3C has defined (sampled, random) are kept.
 */
int otc_set_traceparent(const char *value);

/* Detach the context of this thread. */
void otc_clear(void);

/*
 * The index of an attribute's name, which is 1 to OTC_KEY_MAX bytes of UTF-8
 * and copied. A new one is published; that takes a lock and system calls, so
 * ask once, at start, before otc_init() or after.
 *
 * Returns 0 to OTC_KEYS_MAX - 1, always the same for a name, or a negative
 * errno: -EINVAL, -ENOSPC (too many), -ENOMEM, -ENOTSUP.
 */
int otc_key(const char *name);

/*
 * Add an attribute to the context of this thread, until the next otc_set().
 * Values should be few in kind, as routes are: they are text (UTF-8), size
 * bytes of it, copied. Of a key that is added again the last value counts,
 * but the earlier ones keep their room.
 *
 * Returns 0, or a negative errno: -ENOENT if there is no context to add to,
 * or nothing was published by otc_init(), -EINVAL for a key that is no index
 * of ours or size above OTC_VALUE_MAX, -ENOSPC where it does not fit any
 * more; nothing is cut.
 */
int otc_attr(int key, const void *value, size_t size);

/*
 * Make record the one that this thread works with: its context, if it has
 * one, is attached, and otc_set(), otc_attr() and otc_clear() change it from
 * now on. NULL is the thread's own record.
 *
 * A coroutine's runtime calls otc_swap(&coroutine->record) where it goes on,
 * on whichever thread, and otc_swap(NULL) where it stops. The record is
 * borrowed: swap it out before it is freed or goes on elsewhere.
 *
 * Returns what was worked with before: NULL for the thread's own.
 */
struct otc_record *otc_swap(struct otc_record *record);

#ifdef __cplusplus
} /* extern "C" */

namespace otc
{

/*
 * A context from here to the end of the block, then again the one before.
 * On the stack, and not across a point where a coroutine may change threads.
 */
class scope
{
      public:
	scope(const uint8_t trace_id[16], const uint8_t span_id[8],
	      uint8_t flags)
	    : record_(), before_(otc_swap(&record_)),
	      error_(otc_set(trace_id, span_id, flags))
	{
	}
	explicit scope(const char *traceparent)
	    : record_(), before_(otc_swap(&record_)),
	      error_(otc_set_traceparent(traceparent))
	{
	}
	~scope()
	{
		otc_swap(before_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

	/* 0, or why the block has no context: -EINVAL. */
	int error() const
	{
		return error_;
	}

      private:
	struct otc_record record_;
	struct otc_record *before_;
	int error_;
};

} /* namespace otc */
#endif

#endif
