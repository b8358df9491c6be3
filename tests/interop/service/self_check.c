/* SPDX-License-Identifier: MIT */
/* The publisher looks at itself, where no reader of ours runs: what its
 * variable points at, what it says of where that is, what a child has. With
 * an argument it runs under an emulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <otel-thread-ctx.h>

extern _Thread_local const uint8_t *volatile otel_thread_ctx_v1;

static int failed;

static void check(const char *claim, int holds)
{
	printf("%s - %s\n", holds ? "ok" : "not ok", claim);
	fflush(stdout);
	failed |= !holds;
}

static uintptr_t thread_pointer(void)
{
	uintptr_t pointer;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	return pointer;
}

/* The header of the process context; NULL: none. */
static const uint8_t *find_context(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	const uint8_t *at = NULL;
	char line[512];

	while (maps && !at && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "OTEL_CTX"))
			at = (const uint8_t *)strtoull(line, NULL, 16);
	}
	if (maps)
		fclose(maps);
	return at;
}

/* KeyValue { 1: key, 2: AnyValue { 3: varint } }: right after the key. */
static int64_t told_offset(const uint8_t *header)
{
	static const char key[] = "weft.thread_ctx.tp_offset";
	const uint8_t *payload, *at;
	uint64_t address, value = 0;
	uint32_t size;

	memcpy(&size, header + 12, sizeof(size));
	memcpy(&address, header + 24, sizeof(address));
	payload = (const uint8_t *)(uintptr_t)address;
	at = memmem(payload, size, key, sizeof(key) - 1);
	if (!at)
		return 0;
	at += sizeof(key) - 1 + 3; /* field and size of the value; its field */
	for (int shift = 0; shift < 64; shift += 7) {
		value |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80))
			break;
	}
	return (int64_t)value;
}

int main(int argc, char **argv)
{
	const uint8_t trace[16] = { 1, 2, 3 }, span[8] = { 4, 5 };
	const uint8_t *header, *record;
	int status = -1;
	pid_t child;

	(void)argv;
	check("otc_init() publishes", otc_init("self") == 0);
	header = find_context();
	check("the mapping can be found by its name", header != NULL);
	check("and is a process context",
	      header && !memcmp(header, "OTEL_CTX\2\0\0\0", 12));
	check("a context is set", otc_set(trace, span, 1) == 0);
	record = otel_thread_ctx_v1;
	check("the record is the standard's",
	      record && !memcmp(record, trace, 16) &&
		      !memcmp(record + 16, span, 8) && record[24] == 1 &&
		      record[25] == 1);
	check("the variable is where it says",
	      header && told_offset(header) != 0 &&
		      thread_pointer() + (uintptr_t)told_offset(header) ==
			      (uintptr_t)&otel_thread_ctx_v1);
	child = fork();
	if (child == 0)
		_exit((otel_thread_ctx_v1 ? 1 : 0) | (find_context() ? 2 : 0));
	waitpid(child, &status, 0);
	check("a child has no context of its parent's",
	      WIFEXITED(status) && !(WEXITSTATUS(status) & 1));
	/* The emulator passes MADV_DONTFORK over. */
	check("nor its mapping",
	      argc > 1 || (WIFEXITED(status) && !WEXITSTATUS(status)));
	otc_clear();
	check("and it is cleared", !otel_thread_ctx_v1);
	return failed;
}
