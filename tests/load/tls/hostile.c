/* SPDX-License-Identifier: MIT */
/*
 * Programs whose context is a trap, each for its reader in the kernel or for
 * the one that looks for it. Its argument says which:
 *
 *	stuck		the payload is on a page that never arrives
 *	absent		so is the record
 *	pointers	records at odd, kernel, non-canonical, absent addresses
 *	vector		a thread vector of the program's own making
 *	mappings	60,000 of them
 *	sizes		a payload that lies about its size, of random bytes
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "tests/load/tls/signed.h"

enum {
	PAGE = 4096
};

void **ctx_slot(void);

/* A page that is there, but never comes. */
static char *make_stuck_page(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {
		.range = { (uint64_t)(uintptr_t)page, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range)) {
		perror("# userfaultfd");
		exit(1);
	}
	return page;
}

static void burn_with(void *record, uint64_t ms)
{
	*ctx_slot() = record;
	burn(ms);
}

static void try_pointers(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uintptr_t bad[] = {
		1,
		(uintptr_t)pages + 9,
		0xffff888000000000,
		0xffffffff81000000,
		0x8000000000000000,
		0x00ff000000000000,
		(uintptr_t)pages + PAGE - 26, /* ends behind the edge */
		(uintptr_t)pages + PAGE,
		UINTPTR_MAX - 1,
	};
	struct ctx_record *edge;
	uint64_t end = now_ns() + long_ms() * 1000000;

	memset(pages, 1, PAGE);
	munmap(pages + PAGE, PAGE);
	while (now_ns() < end) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
			burn_with((void *)bad[i], 5);
	}
	/* This one is right, but for its attributes. */
	edge = (struct ctx_record *)(void *)(pages + PAGE - 28);
	edge->attrs_size = 65535;
	edge->valid = 1;
	ctx_sign(edge, (uint32_t)getpid(), (uint32_t)getpid(), 1);
	burn_with(edge, 100);
}

/* Nothing that uses the thread's own vector may be called in between. */
static void fake_vector(void)
{
	static uint64_t vector[8194];
	uint64_t end = now_ns() + long_ms() * 1000000, own;

	vector[0] = 4096;
	vector[2] = UINT32_MAX;
	for (int i = 4; i < 8194; i += 2)
		vector[i] = 0xffff888000000000;
	while (now_ns() < end) {
#if defined(__x86_64__)
		__asm__ volatile("mov %%fs:8, %0" : "=r"(own));
		__asm__ volatile("mov %0, %%fs:8" : : "r"(vector + 2));
		for (volatile int i = 0; i < 10000000; i++)
			;
		__asm__ volatile("mov %0, %%fs:8" : : "r"(own));
#else
		(void)own;
#endif
	}
}

static void map_much(void)
{
	static struct ctx_record record;

	for (int i = 0; i < 60000; i++) {
		/* Neighbours that differ stay apart. */
		if (mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
	}
	publish("mappings");
	burn_signed(&record, ctx_slot(), 1, long_ms());
}

static void lie_about_sizes(void)
{
	static struct ctx_payload payload;
	struct ctx_header *header;

	for (size_t i = 0; i < sizeof(payload.bytes); i++)
		payload.bytes[i] = (uint8_t)rand();
	payload.size = 60000;
	header = ctx_publish(NULL, &payload);
	header->payload = payload.bytes + sizeof(payload.bytes) - 16;
	ctx_name(header);
	burn(long_ms());
}

static void never_answer(void)
{
	static struct ctx_payload payload;
	struct ctx_header *header;

	ctx_describe(&payload, "stuck", NULL, 0);
	header = ctx_publish(NULL, &payload);
	header->payload = make_stuck_page();
	ctx_name(header);
	burn(long_ms());
}

int main(int argc, char **argv)
{
	const char *trap = argc > 1 ? argv[1] : "";

	if (!strcmp(trap, "stuck")) {
		never_answer();
	} else if (!strcmp(trap, "sizes")) {
		lie_about_sizes();
	} else if (!strcmp(trap, "mappings")) {
		map_much();
	} else {
		publish(trap);
		if (!strcmp(trap, "absent"))
			burn_with(make_stuck_page(), long_ms());
		else if (!strcmp(trap, "pointers"))
			try_pointers();
		else
			fake_vector();
	}
	return 0;
}
