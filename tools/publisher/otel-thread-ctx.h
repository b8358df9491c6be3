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
 * One C file, no dependency. Compile it into the program and link with
 * -Wl,--export-dynamic-symbol=otel_thread_ctx_v1, or profilers find the
 * variable only in programs that are not stripped. Elsewhere than on Linux on
 * x86-64 and aarch64 all functions do nothing and otc_init() says -ENOTSUP.
 */
#ifndef OTEL_THREAD_CTX_H
#define OTEL_THREAD_CTX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Announce that this process publishes thread contexts, under service_name
 * (UTF-8, at most 255 bytes, copied). Call it once, before other threads call
 * it and after the last fork() whose child does not exec; a forked child
 * publishes nothing until it calls otc_init() itself.
 *
 * Returns 0, or a negative errno: -EBUSY if the process publishes already,
 * through this file or another, or this thread has a context attached;
 * -EINVAL for a bad name; others from memfd_create, mmap and madvise. After
 * an error the functions below still work, only nobody looks.
 */
int otc_init(const char *service_name);

/*
 * Attach a context to this thread, in place of the one before: IDs in W3C
 * byte order, flags as in traceparent.
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

#ifdef __cplusplus
}
#endif

#endif
