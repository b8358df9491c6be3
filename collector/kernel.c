/* SPDX-License-Identifier: MIT */
/*
 * Workload: some 200,000 symbols, read at start and when a module or BPF
 * program appears; looked up some thousand times per interval.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/grow.h"
#include "collector/kernel.h"

enum {
	KERNEL_MODULES_MAX = 8192,
	KERNEL_NO_MODULE = -1
};

struct symbol {
	uint64_t start;
	uint32_t name;  /* offset into text */
	int32_t module; /* index; KERNEL_NO_MODULE: the kernel itself */
};

struct module {
	char name[64];
	uint64_t start, end; /* 0, 0: not known (BPF programs, built-in) */
	struct binary *binary;
};

struct kernel {
	struct binaries *binaries; /* borrowed */
	int symbols_fd, modules_fd;
	struct symbol *symbols; /* owned, ascending */
	size_t n_symbols, symbols_room;
	struct module *modules; /* owned */
	size_t n_modules, modules_room;
	char *text; /* owned */
	size_t n_text, text_room;
	uint64_t text_start, text_end; /* _stext, _etext */
	struct binary *binary;         /* the kernel itself */
	bool missed;                   /* an address was not covered */
};

/* The whole of a file of the kernel's, NUL-terminated, owned by the caller. */
static char *read_all(int fd)
{
	char *data = NULL;
	size_t n = 0, room = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return NULL;
	for (;;) {
		ssize_t got;

		if (GROW(data, n + 65537, room))
			break;
		got = read(fd, data + n, room - n - 1);
		if (got < 0)
			break;
		n += got;
		data[n] = '\0';
		if (!got)
			return data;
	}
	free(data);
	return NULL;
}

static int32_t find_module(struct kernel *k, const char *name)
{
	struct module *m;

	/* Symbols come grouped by module: the last one is the likeliest. */
	for (size_t i = k->n_modules; i-- > 0;)
		if (!strcmp(k->modules[i].name, name))
			return i;
	if (k->n_modules >= KERNEL_MODULES_MAX ||
	    GROW(k->modules, k->n_modules + 1, k->modules_room))
		return KERNEL_NO_MODULE;
	m = &k->modules[k->n_modules];
	*m = (struct module){ 0 };
	snprintf(m->name, sizeof(m->name), "%s", name);
	return k->n_modules++;
}

/* "name size refcount users state 0xaddress", one a line. */
static void read_modules(struct kernel *k)
{
	char *all = read_all(k->modules_fd), *at = all, *line;

	while (all && (line = strsep(&at, "\n"))) {
		char name[64];
		unsigned long long size, start;
		int32_t i;

		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size,
			   &start) != 3)
			continue;
		i = find_module(k, name);
		if (i == KERNEL_NO_MODULE)
			break;
		k->modules[i].start = start;
		k->modules[i].end = start + size;
	}
	free(all);
}

/* "address type name[\t[module]]" */
static int read_symbol(struct kernel *k, char *line)
{
	char *end, *name, *module = NULL;
	uint64_t start = strtoull(line, &end, 16);
	char type;
	size_t length;

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	type = end[1];
	name = end + 3;
	end = strchr(name, '\t');
	if (end) {
		*end = '\0';
		module = end + 2;
		module[strcspn(module, "]")] = '\0';
	}
	if (!strcmp(name, "_stext"))
		k->text_start = start;
	else if (!strcmp(name, "_etext"))
		k->text_end = start;
	if (!strchr("tTwW", type) || !start)
		return 0;
	length = strlen(name) + 1;
	if (GROW(k->symbols, k->n_symbols + 1, k->symbols_room) ||
	    GROW(k->text, k->n_text + length, k->text_room))
		return -ENOMEM;
	memcpy(k->text + k->n_text, name, length);
	k->symbols[k->n_symbols++] = (struct symbol){
		.start = start,
		.name = k->n_text,
		.module = module ? find_module(k, module) : KERNEL_NO_MODULE,
	};
	k->n_text += length;
	return 0;
}

/* By address; of several names the one that sorts first, whatever the order
 * of the file, so that a function has one name in every recording. */
static int compare(const void *a, const void *b, void *text)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp((char *)text + x->name, (char *)text + y->name);
}

static int read_symbols(struct kernel *k)
{
	char *all = read_all(k->symbols_fd), *at = all, *line;
	int rc = all ? 0 : -EIO;

	k->n_symbols = k->n_text = k->n_modules = 0;
	read_modules(k);
	while (!rc && (line = strsep(&at, "\n")))
		rc = read_symbol(k, line);
	free(all);
	if (k->n_symbols)
		qsort_r(k->symbols, k->n_symbols, sizeof(*k->symbols), compare,
			k->text);
	return rc;
}

/* The build ID in a file of ELF notes: name "GNU", type 3. */
static void read_build_id(const char *path, struct inspect_file *file)
{
	struct {
		uint32_t name_size, size, type;
		char name[4];
		uint8_t id[INSPECT_BUILD_ID_MAX];
	} note;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, &note, sizeof(note));
	close(fd);
	if (n == sizeof(note) && note.name_size == 4 && note.type == 3 &&
	    note.size == sizeof(note.id) && !memcmp(note.name, "GNU", 4)) {
		memcpy(file->build_id, note.id, note.size);
		file->build_id_size = note.size;
	}
}

int kernel_open(struct kernel **out, struct binaries *binaries,
		struct weft_err *err)
{
	struct kernel *k = calloc(1, sizeof(*k));
	struct inspect_file file = { .path = "[kernel]" };
	int rc;

	*out = NULL;
	if (!k)
		return weft_fail(err, -ENOMEM,
				 "cannot read kernel symbols: out of memory");
	k->binaries = binaries;
	k->modules_fd = open("/proc/modules", O_RDONLY | O_CLOEXEC);
	k->symbols_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (k->symbols_fd < 0) {
		rc = weft_fail(err, -errno, "cannot open '/proc/kallsyms': %s",
			       strerror(errno));
		goto fail;
	}
	read_build_id("/sys/kernel/notes", &file);
	k->binary = binaries_file(binaries, STORE_KERNEL, &file);
	rc = read_symbols(k);
	if (rc) {
		rc = weft_fail(err, rc, "cannot read '/proc/kallsyms': %s",
			       strerror(-rc));
		goto fail;
	}
	*out = k;
	return 0;
fail:
	kernel_close(k);
	return rc;
}

void kernel_close(struct kernel *k)
{
	if (!k)
		return;
	if (k->modules_fd >= 0)
		close(k->modules_fd);
	if (k->symbols_fd >= 0)
		close(k->symbols_fd);
	free(k->symbols);
	free(k->modules);
	free(k->text);
	free(k);
}

bool kernel_is_hidden(const struct kernel *k)
{
	return !k->n_symbols;
}

static const struct symbol *symbol_at(const struct kernel *k, uint64_t addr)
{
	size_t low = 0, high = k->n_symbols;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (k->symbols[middle].start > addr)
			high = middle;
		else
			low = middle + 1;
	}
	if (!low)
		return NULL;
	/* The first of those with this start: see compare(). */
	while (low > 1 &&
	       k->symbols[low - 2].start == k->symbols[low - 1].start)
		low--;
	return &k->symbols[low - 1];
}

static struct binary *module_binary(struct kernel *k, struct module *m)
{
	struct inspect_file file = { 0 };
	char path[80], notes[128];

	if (m->binary)
		return m->binary;
	snprintf(path, sizeof(path), "[%s]", m->name);
	snprintf(notes, sizeof(notes),
		 "/sys/module/%s/notes/.note.gnu.build-id", m->name);
	read_build_id(notes, &file);
	file.path = path;
	m->binary = binaries_file(k->binaries, STORE_MODULE, &file);
	return m->binary;
}

/* A BPF program lies anywhere: it is a binary of its own, from its start. */
static void find_bpf(struct kernel *k, const struct symbol *s, uint64_t addr,
		     struct kernel_place *out)
{
	char path[80];
	struct inspect_file file = { .path = path };

	snprintf(path, sizeof(path), "[%s]", out->name);
	out->binary = binaries_file(k->binaries, STORE_MODULE, &file);
	out->offset = addr - s->start;
}

void kernel_find(struct kernel *k, uint64_t addr, struct kernel_place *out)
{
	const struct symbol *s = symbol_at(k, addr);
	struct module *m;

	*out = (struct kernel_place){
		.binary = k->binary,
		.offset = addr - k->text_start,
	};
	if (!s) {
		/* Without symbols the base is unknown, and the address itself
		 * must not leave the machine. */
		out->offset = 0;
		return;
	}
	out->name = k->text + s->name;
	if (s->module == KERNEL_NO_MODULE) {
		if (k->text_end && addr >= k->text_end &&
		    addr - s->start > 65536) {
			out->name = NULL;
			k->missed = true;
		}
		return;
	}
	m = &k->modules[s->module];
	if (!strcmp(m->name, "bpf")) {
		find_bpf(k, s, addr, out);
		return;
	}
	out->binary = module_binary(k, m);
	out->offset = addr - m->start;
	if (!m->start || addr >= m->end) {
		out->name = NULL;
		out->offset = m->start ? out->offset : 0;
		k->missed = true;
	}
}

void kernel_refresh(struct kernel *k)
{
	if (!k->missed)
		return;
	k->missed = false;
	/* Short of memory, what was read so far has to do. */
	(void)!read_symbols(k);
}
