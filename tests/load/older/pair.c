/* SPDX-License-Identifier: MIT */
/*
 * A program that tells its IDs in two ways at a time:
 *
 *	pair SECONDS [probe]
 *
 * built with -DFIRST=NAME -DSECOND=NAME and -DHAS_NAME of both; with "probe"
 * the function work_on() is told them too, before both. Its threads sign as
 * writer.c does, but the number's highest byte says by which way: 1, 2, and 3
 * for the function. From time to time the way that goes before the others
 * says that there is no request, while the others go on to name one.
 */
#include <string.h>

#include "tests/load/ctx_publish.h"
#include "tests/load/older/ids.h"
#include "tests/load/older/threads.h"
#include "tests/load/older/work.h"

#ifdef HAS_GO
#include "tests/load/older/go.h"
#endif
#ifdef HAS_ELASTIC
#include "tests/load/older/elastic.h"
#endif
#ifdef HAS_LABELS
#include "tests/load/older/labels.h"
#endif

enum {
	THREADS = 2,
	PAUSE_US = 5000,
	/* What is published is found within that time; until then the process
	 * may be known by the other way, which needs no word of its own. */
	FOUND_US = 700000
};

#ifdef HAS_OTEL
struct otel_writer {
	struct ctx_record record;
};

__thread struct ctx_record *otel_thread_ctx_v1;

static void otel_attach(struct otel_writer *w, const struct ids *ids)
{
	*(volatile uint8_t *)&w->record.valid = 0;
	BARRIER();
	memcpy(w->record.trace_id, ids->trace_bytes, 16);
	memcpy(w->record.span_id, ids->span_bytes, 8);
	BARRIER();
	*(volatile uint8_t *)&w->record.valid = 1;
	otel_thread_ctx_v1 = &w->record;
}

static void otel_detach(struct otel_writer *w)
{
	(void)w;
	otel_thread_ctx_v1 = NULL;
}
#endif

#ifdef HAS_OBI
#include "tests/load/older/obi.h"

struct obi_writer {
	char unused;
};

static void obi_attach(struct obi_writer *w, const struct ids *ids)
{
	(void)w;
	obi_put(ids);
}

static void obi_detach(struct obi_writer *w)
{
	obi_attach(w, NULL);
}
#endif

#define JOIN(a, b)  a##b
#define CALL(a, b)  JOIN(a, b)
#define FIRST_DO(x) CALL(FIRST, x)
#define LAST_DO(x)  CALL(SECOND, x)

static bool is_probed;

NAMED_FUNCTION static void work_on(const void *trace, const void *span)
{
	__asm__ volatile("" : : "r"(trace), "r"(span));
}

static void sign_as(struct ids *ids, uint64_t way, uint64_t n)
{
	sign(ids, way << 56 | n);
}

static void *run(void *arg)
{
	struct {
		struct FIRST_DO(_writer) first;
		struct LAST_DO(_writer) last;
	} *w = calloc(1, sizeof(*w));
	struct ids first, last, told;

	/* Before anything else, so that the process is known by it. */
	if (is_probed)
		work_on(NULL, NULL);
	for (uint64_t n = 1; w && !is_at_end(); n++) {
		sign_as(&first, 1, n);
		sign_as(&last, 2, n);
		sign_as(&told, 3, n);
		LAST_DO(_attach)(&w->last, &last);
		FIRST_DO(_attach)(&w->first, &first);
		if (is_probed)
			work_on(told.trace_bytes, told.span_bytes);
		work_for_one(n);
		if (is_probed)
			work_on(NULL, NULL);
		else
			FIRST_DO(_detach)(&w->first);
		work_for_nobody(n);
		LAST_DO(_detach)(&w->last);
		usleep(PAUSE_US);
	}
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t seconds =
		argument(argc, argv, 1, 1, 3600, 10, "pair [SECONDS [probe]]");
	struct ctx_payload *payload = calloc(1, sizeof(*payload));

	if (!payload)
		return 1;
	is_probed = argc > 2;
#ifdef HAS_OTEL
	ctx_describe(payload, "pair", NULL, 0);
	ctx_publish(NULL, payload);
#endif
	usleep(FOUND_US);
	end_in(seconds);
#ifdef HAS_GO
	__asm__ volatile("" : : "r"(&build_info));
#endif
#ifdef HAS_OBI
	if (obi_open() < 0)
		return 1;
#endif
	return run_threads(THREADS, run);
}
