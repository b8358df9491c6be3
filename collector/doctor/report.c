/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/doctor/doctor.h"
#include "collector/ledger.h"

enum {
	THREADS_SHOWN = 20
};

static const char *const words[DOCTOR_STATES] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARN] = "warn",
	[DOCTOR_FAIL] = "FAIL",
	[DOCTOR_SKIPPED] = "-",
};

static const char *const json_words[DOCTOR_STATES] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARN] = "warn",
	[DOCTOR_FAIL] = "fail",
	[DOCTOR_SKIPPED] = "skipped",
};

void doctor_add(struct doctor_report *report, const char *name,
		enum doctor_state state, const char *cost, const char *advice,
		const char *fmt, ...)
{
	struct doctor_check *check = &report->checks[report->n];
	char text[sizeof(check->found)];
	va_list ap;

	if (report->n == DOCTOR_CHECKS_MAX)
		return;
	report->n++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*check = (struct doctor_check){
		.name = name, .state = state, .cost = cost, .advice = advice
	};
	weft_sanitize(check->found, sizeof(check->found), text, strlen(text));
}

static void print_threads(const struct doctor_report *report)
{
	size_t shown = 0;
	char trace[33], span[17];

	if (!report->n_threads)
		return;
	printf("\n    TID  CONTEXT    TRACE                             SPAN\n");
	for (size_t i = 0; i < report->n_threads; i++) {
		const struct doctor_thread *t = &report->threads[i];

		if (shown++ == THREADS_SHOWN) {
			printf("%zu more; --json prints all\n",
			       report->n_threads - i);
			break;
		}
		printf("%7u  %-9s", t->tid,
		       context_status_names[t->record.status]);
		if (t->record.status == WEFT_CTX_OK) {
			weft_hex(trace, t->record.trace_id, 16);
			weft_hex(span, t->record.span_id, 8);
			printf("  %s  %s", trace, span);
		}
		putchar('\n');
	}
}

void doctor_print(const struct doctor_report *report)
{
	for (size_t i = 0; i < report->n; i++) {
		const struct doctor_check *check = &report->checks[i];

		printf("%-4s  %-14s  %s\n", words[check->state], check->name,
		       check->found);
		if (check->cost)
			printf("%24scosts: %s\n", "", check->cost);
		if (check->advice)
			printf("%24sdo: %s\n", "", check->advice);
	}
	print_threads(report);
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *thread_json(const struct doctor_thread *t)
{
	char trace[33] = "", span[17] = "";
	bool is_ok = t->record.status == WEFT_CTX_OK;

	weft_hex(trace, t->record.trace_id, 16);
	weft_hex(span, t->record.span_id, 8);
	return json_pack("{s:I, s:s, s:o, s:o}", "tid", (json_int_t)t->tid,
			 "context", context_status_names[t->record.status],
			 "trace_id", text_or_null(is_ok ? trace : NULL),
			 "span_id", text_or_null(is_ok ? span : NULL));
}

void doctor_print_json(const struct doctor_report *report)
{
	json_t *checks = json_array(), *threads = json_array(), *all;

	for (size_t i = 0; i < report->n; i++) {
		const struct doctor_check *check = &report->checks[i];

		json_array_append_new(checks,
				      json_pack("{s:s, s:s, s:s, s:o, s:o}",
						"check", check->name, "state",
						json_words[check->state],
						"found", check->found, "costs",
						text_or_null(check->cost), "do",
						text_or_null(check->advice)));
	}
	for (size_t i = 0; i < report->n_threads; i++)
		json_array_append_new(threads,
				      thread_json(&report->threads[i]));
	all = json_pack("{s:s, s:s, s:o, s:o, s:o}", "report", "doctor",
			"weft_version", WEFT_VERSION, "pid",
			report->pid ? json_integer(report->pid) : json_null(),
			"checks", checks, "threads", threads);
	if (all)
		json_dumpf(all, stdout, JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(all);
}
