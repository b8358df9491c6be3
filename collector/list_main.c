/* SPDX-License-Identifier: MIT */
/* weft-list: what can be recorded: events, tracepoints, functions of files and
 * their built-in probes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/probe_sites.h"
#include "collector/tracepoints.h"
#include "collector/trigger.h"

static void print_help(void)
{
	printf("usage: weft list [events | tracepoints | symbols PATH | usdt PATH]\n\n"
	       "What `weft record -e` can take. Without a word, events.\n\n"
	       "  events        by name, and the forms of those that name a place\n"
	       "  tracepoints   of this kernel, as CATEGORY:NAME (needs root)\n"
	       "  symbols PATH  functions of a program or library\n"
	       "  usdt PATH     probes built into it, as PROVIDER:NAME\n\n"
	       "exit status: 0 done, 1 failed, 2 usage, 3 no permission, 4 there are none\n");
}

static int refuse(const char *what)
{
	weft_log(WEFT_ERROR, "%s", what);
	fprintf(stderr,
		"usage: weft list [events | tracepoints | symbols PATH | usdt PATH]\n");
	return WEFT_EXIT_USAGE;
}

static void print_names(const char *const *names)
{
	while (*names)
		printf("  %s\n", *names++);
}

static int list_events(void)
{
	bool has_pmu = !access("/sys/bus/event_source/devices/cpu", F_OK);
	bool has_kprobes =
		!access("/sys/bus/event_source/devices/kprobe", F_OK);

	printf("cpu-clock           a period of a CPU's time (the default)\n"
	       "on-cpu              a thread ran, and for how long\n"
	       "off-cpu             a thread was blocked, and for how long\n"
	       "run-queue           a thread waited for a CPU\n"
	       "wall                these four\n"
	       "tracepoint:CATEGORY:NAME          `weft list tracepoints`\n"
	       "uprobe:PATH:SYMBOL[+OFFSET]       `weft list symbols PATH`\n"
	       "uretprobe:PATH:SYMBOL\n"
	       "usdt:PATH:PROVIDER:NAME           `weft list usdt PATH`\n"
	       "kprobe:SYMBOL[+OFFSET], kretprobe:SYMBOL%s\n"
	       "\ncounters of the kernel (-c PERIOD, default 1):\n",
	       has_kprobes ? "" : "           (not in this kernel)");
	print_names(trigger_counter_names(false));
	printf("\ncounters of the CPU (-c PERIOD, default 1000000)%s:\n",
	       has_pmu ? "" : ": this machine has none of them");
	print_names(trigger_counter_names(true));
	printf("  rNNN (hexadecimal, as the CPU's manual has it)\n");
	return WEFT_EXIT_OK;
}

static void print_name(void *ctx, const char *name)
{
	(void)ctx;
	puts(name);
}

static int finish(int rc, const struct weft_err *err)
{
	if (!rc)
		return WEFT_EXIT_OK;
	weft_log(WEFT_ERROR, "%s", err->msg);
	if (rc == -ENODATA)
		return WEFT_EXIT_NOTHING_MATCHED;
	return rc == -EPERM ? WEFT_EXIT_NO_PERMISSION : WEFT_EXIT_FAILED;
}

static int list_tracepoints(void)
{
	struct weft_err err = { 0 };
	int fd = tracepoints_open(&err);
	int rc = fd < 0 ? fd : tracepoints_each(fd, print_name, NULL, &err);

	if (fd >= 0)
		close(fd);
	return finish(rc, &err);
}

int main(int argc, char **argv)
{
	static const char *const words[] = { "events", "tracepoints", "symbols",
					     "usdt", NULL };
	const char *word = argc > 1 ? argv[1] : words[0];
	struct weft_err err = { 0 };
	char text[256];
	const char *near;

	weft_log_init("weft list", WEFT_INFO);
	if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
		print_help();
		return WEFT_EXIT_OK;
	}
	if (argc == 3 && !strcmp(word, "symbols"))
		return finish(probe_sites_print_functions(argv[2], &err), &err);
	if (argc == 3 && !strcmp(word, "usdt"))
		return finish(probe_sites_print_usdt(argv[2], &err), &err);
	if (argc > 2)
		return refuse("too many words");
	if (!strcmp(word, "symbols") || !strcmp(word, "usdt"))
		return refuse("which file? give its path");
	if (!strcmp(word, "events"))
		return list_events();
	if (!strcmp(word, "tracepoints"))
		return list_tracepoints();
	near = weft_nearest(word, words);
	snprintf(text, sizeof(text), "cannot list '%s'%s%s%s", word,
		 near ? "; did you mean '" : "", near ? near : "",
		 near ? "'?" : "");
	return refuse(text);
}
