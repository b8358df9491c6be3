/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/probe_sites.h"
#include "collector/trace_probe.h"
#include "gen/weft.skel.h"

enum {
	THREADS_MAX = 65536, /* with a context at a time */
	CALL_ARGUMENTS = 6,  /* in registers */
	USDT_ARGUMENTS = 12,
};

static const char usdt_word[] = ":usdt:";

/* ---- the option */

/* Copy text up to end. False: empty, or too long. */
static bool copy(char *out, size_t room, const char *text, const char *end)
{
	size_t size = (size_t)(end - text);

	if (!size || size >= room)
		return false;
	memcpy(out, text, size);
	out[size] = '\0';
	return true;
}

/* The same of a path. Where libbpf sees no slash it looks in $PATH, and for
 * libraries: what is named is a file, the same for all who open it. */
static bool copy_path(char *out, size_t room, const char *text, const char *end)
{
	size_t skip = memchr(text, '/', (size_t)(end - text)) ? 0 : 2;

	memcpy(out, "./", 2);
	return copy(out + skip, room - skip, text, end);
}

/* The last colon before end; NULL: none. */
static const char *last_colon(const char *text, const char *end)
{
	return memrchr(text, ':', (size_t)(end - text));
}

/* Parse FORM@N into *form and *at. */
static bool parse_argument(const char *text, size_t size, uint64_t arguments,
			   __u8 *form, __u8 *at)
{
	static const struct {
		const char *word;
		enum weft_id_form form;
	} forms[] = {
		{ "ptr@", WEFT_FORM_BYTES },
		{ "hex@", WEFT_FORM_HEX },
		{ "u64@", WEFT_FORM_NUMBER },
	};
	uint64_t number;
	char digits[4];

	if (*form != WEFT_FORM_NONE)
		return false; /* given twice */
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t skip = strlen(forms[i].word);

		if (size <= skip || strncmp(text, forms[i].word, skip))
			continue;
		*form = (__u8)forms[i].form;
		if (!copy(digits, sizeof(digits), text + skip, text + size) ||
		    weft_parse_u64(digits, 0, arguments - 1, &number))
			return false;
		*at = (__u8)number;
		return true;
	}
	return false;
}

static bool parse_map(const char *text, uint64_t arguments,
		      struct weft_trace_probe *out)
{
	__u8 trace = WEFT_FORM_NONE, high = WEFT_FORM_NONE,
	     low = WEFT_FORM_NONE;
	struct {
		const char *key;
		__u8 *form, *at;
	} keys[] = {
		{ "trace=", &trace, &out->trace_at },
		{ "hi=", &high, &out->trace_at },
		{ "lo=", &low, &out->low_at },
		{ "span=", &out->span_form, &out->span_at },
	};
	bool is_last;

	do {
		size_t size = strcspn(text, ","), i = 0, skip = 0;

		while (i < ARRAY_LEN(keys)) {
			skip = strlen(keys[i].key);
			if (!strncmp(text, keys[i].key, skip))
				break;
			i++;
		}
		if (i == ARRAY_LEN(keys) ||
		    !parse_argument(text + skip, size - skip, arguments,
				    keys[i].form, keys[i].at))
			return false;
		is_last = !text[size];
		text += size + 1;
	} while (!is_last);
	out->trace_form = trace ? trace : high;
	if (trace)
		return trace != WEFT_FORM_NUMBER && !high && !low;
	return high == WEFT_FORM_NUMBER && low == WEFT_FORM_NUMBER;
}

const char *trace_probe_parse(const char *text, struct trace_probe *out)
{
	static const char shape[] =
		"--trace-probe takes BINARY:SYMBOL:MAP or BINARY:usdt:PROVIDER:NAME:MAP";
	static const char map[] =
		"--trace-probe: MAP names arguments from 0, as in trace=ptr@0,span=ptr@1 or trace=hex@0 or hi=u64@0,lo=u64@1,span=u64@2";
	const char *end = last_colon(text, text + strlen(text));
	const char *usdt = strstr(text, usdt_word);
	const char *symbol = end ? last_colon(text, end) : NULL;
	const char *rest;

	*out = (struct trace_probe){ 0 };
	if (!symbol || !copy(out->symbol, sizeof(out->symbol), symbol + 1, end))
		return shape;
	if (!usdt || usdt + strlen(usdt_word) > symbol) {
		if (!copy_path(out->binary, sizeof(out->binary), text, symbol))
			return shape;
		return parse_map(end + 1, CALL_ARGUMENTS, &out->map) ? NULL
								     : map;
	}
	rest = usdt + strlen(usdt_word);
	if (!copy_path(out->binary, sizeof(out->binary), text, usdt) ||
	    !copy(out->provider, sizeof(out->provider), rest, symbol))
		return shape;
	return parse_map(end + 1, USDT_ARGUMENTS, &out->map) ? NULL : map;
}

/* ---- the kernel program */

int trace_probe_prepare(struct weft_bpf *skel, const struct trace_probe *probe)
{
	bool is_wanted = probe->map.trace_form != WEFT_FORM_NONE;
	bool is_usdt = probe->provider[0];
	int rc = bpf_program__set_autoload(skel->progs.on_trace_call,
					   is_wanted && !is_usdt);

	if (!rc)
		rc = bpf_program__set_autoload(skel->progs.on_trace_usdt,
					       is_wanted && is_usdt);
	if (!rc && is_wanted)
		rc = bpf_map__set_max_entries(skel->maps.probe_contexts,
					      THREADS_MAX);
	return rc;
}

static int fail_attach(const struct trace_probe *p, int rc,
		       struct weft_err *err)
{
	char why[128];

	if (rc == -EPERM || rc == -EACCES)
		return weft_fail(
			err, -EPERM,
			"--trace-probe: no permission to probe '%s'; it needs CAP_PERFMON and CAP_SYS_ADMIN (or root)",
			p->binary);
	libbpf_strerror(rc, why, sizeof(why));
	return weft_fail(
		err, rc,
		"--trace-probe: cannot probe '%s' in '%s': %s; `weft record -v` shows what the kernel says",
		p->symbol, p->binary, why);
}

/* The file's symbols and notes are read by a process with few rights: a file
 * that is damaged, or lacks the place, is refused there. For the arguments of
 * a USDT probe libbpf reads it again. */
int trace_probe_attach(struct weft_bpf *skel, const struct trace_probe *p,
		       struct weft_err *err)
{
	bool is_usdt = p->provider[0];
	struct bpf_link **link = is_usdt ? &skel->links.on_trace_usdt
					 : &skel->links.on_trace_call;
	struct probe_sites sites;
	uint64_t offset = 0;
	int rc;

	if (p->map.trace_form == WEFT_FORM_NONE)
		return 0;
	rc = is_usdt ? probe_sites_of_usdt(p->binary, p->provider, p->symbol,
					   &sites, err)
		     : probe_sites_of_function(p->binary, p->symbol, &offset,
					       err);
	if (rc)
		return rc;
	*link = is_usdt ? bpf_program__attach_usdt(skel->progs.on_trace_usdt,
						   -1, p->binary, p->provider,
						   p->symbol, NULL)
			: bpf_program__attach_uprobe(skel->progs.on_trace_call,
						     false, -1, p->binary,
						     offset);
	return *link ? 0 : fail_attach(p, -errno, err);
}
