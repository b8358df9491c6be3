/* SPDX-License-Identifier: MIT */
/*
 * Workload: files of some 200,000 lines, read at start and when something
 * came or went that the side-band does not tell; addresses looked up some
 * thousand times per interval.
 *
 * What the kernel makes itself ("images": BPF programs, trampolines) comes and
 * goes at any time, and its memory is used again: it is kept over time, like
 * the mappings of processes. Modules are seen to come and go once per
 * interval.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/bpf_code.h"
#include "collector/grow.h"
#include "collector/kallsyms.h"
#include "collector/kernel.h"
#include "collector/maps.h"

enum {
	/* How far code reaches past the last symbol that is known of it: from
	 * the kernel's last function, and from an image of unknown length. */
	TAIL_MAX = 65536,
	IMAGE_GUESS = 4096,
	PAUSE_MAX = 64 /* intervals */
};

struct module {
	struct binary *binary; /* NULL: not looked up yet */
	uint64_t from_ns;      /* when it was last seen not to be there */
};

struct kernel {
	struct binaries *binaries; /* borrowed */
	int symbols_fd, modules_fd;
	struct kallsyms symbols;
	struct module *modules; /* owned; one per module of symbols */
	struct maps images;
	struct binary *binary;      /* the kernel itself */
	uint64_t checked_ns;        /* when modules were last looked at */
	uint64_t gone_ns;           /* when one was last found to be gone */
	bool missed;                /* an address was not covered */
	bool is_distrusted;         /* images may be wrong */
	uint32_t pause, next_pause; /* intervals until a miss counts again */
	char name[KALLSYMS_NAME_MAX];
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

static int parse_files(struct kernel *k, struct kallsyms *out, bool symbols)
{
	char *symbols_text = symbols ? read_all(k->symbols_fd) : NULL;
	char *modules_text = k->modules_fd < 0 ? NULL : read_all(k->modules_fd);
	int rc = -EIO;

	*out = (struct kallsyms){ 0 };
	if (!symbols || symbols_text)
		rc = kallsyms_parse(out, symbols_text, modules_text);
	free(symbols_text);
	free(modules_text);
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

/* An image is a binary of its own, from its start. */
static struct binary *image_binary(struct kernel *k, const char *name)
{
	char path[KALLSYMS_NAME_MAX + 2];
	struct inspect_file file = { .path = path };

	snprintf(path, sizeof(path), "[%s]", name);
	return binaries_file(k->binaries, STORE_MODULE, &file);
}

static int add_image(struct kernel *k, uint64_t start, uint64_t size,
		     const char *name, uint64_t from_ns)
{
	struct mapping image = {
		.start = start,
		.end = size > UINT64_MAX - start ? UINT64_MAX : start + size,
		.binary = image_binary(k, name),
		.from_ns = from_ns,
		.to_ns = UINT64_MAX,
	};

	return maps_add(&k->images, &image);
}

/* The image that begins there now; NULL: none does. */
static const struct mapping *image_at(const struct kernel *k, uint64_t start)
{
	const struct mapping *m;

	return maps_find(&k->images, start, UINT64_MAX - 1, UINT64_MAX, &m) ==
				       MAPS_FOUND &&
			       m->start == start
		       ? m
		       : NULL;
}

/* All of it goes, also what of its length was guessed. */
static int remove_image(struct kernel *k, uint64_t start, uint64_t size,
			uint64_t to_ns)
{
	const struct mapping *m = image_at(k, start);
	uint64_t end = start + size;

	return maps_remove(&k->images, start, m && m->end > end ? m->end : end,
			   to_ns);
}

/* With which image a call of bpf_code_each() is concerned. */
struct listing {
	struct kernel *k;
	uint64_t from_ns;
};

static void on_bpf_code(void *ctx, uint64_t start, uint32_t size)
{
	const struct listing *l = ctx;
	const struct kallsyms *symbols = &l->k->symbols;
	const struct kallsyms_symbol *s = kallsyms_find(symbols, start);
	const struct kallsyms_module *m =
		s && s->start == start ? kallsyms_module_of(symbols, s) : NULL;

	if (m && kallsyms_is_made(m) && !image_at(l->k, start))
		(void)!add_image(l->k, start, size, kallsyms_name(symbols, s),
				 l->from_ns);
}

/* Add an image of unknown length: it reaches to the next symbol, not far. */
static int guess_image(struct kernel *k, const struct kallsyms_symbol *s,
		       uint64_t from_ns)
{
	uint64_t room = kallsyms_next_start(&k->symbols, s) - s->start;
	struct mapping image = {
		.start = s->start,
		.end = s->start + (room < IMAGE_GUESS ? room : IMAGE_GUESS),
		.binary = image_binary(k, kallsyms_name(&k->symbols, s)),
		.from_ns = from_ns,
		.to_ns = UINT64_MAX,
	};

	return maps_fill(&k->images, &image);
}

/* Add the images that the files list and we do not know. */
static int list_images(struct kernel *k, uint64_t from_ns)
{
	struct listing listing = { .k = k, .from_ns = from_ns };
	int rc = 0;

	bpf_code_each(on_bpf_code, &listing);
	for (size_t i = 0; i < k->symbols.n_symbols && !rc; i++) {
		const struct kallsyms_symbol *s = &k->symbols.symbols[i];
		const struct kallsyms_module *m =
			kallsyms_module_of(&k->symbols, s);

		if (m && kallsyms_is_made(m) && !image_at(k, s->start))
			rc = guess_image(k, s, from_ns);
	}
	return rc;
}

static int find_module(const struct kallsyms *symbols,
		       const struct kallsyms_module *wanted)
{
	for (size_t i = 0; i < symbols->n_modules; i++)
		if (symbols->modules[i].start == wanted->start &&
		    symbols->modules[i].end == wanted->end &&
		    !strcmp(symbols->modules[i].name, wanted->name))
			return (int)i;
	return -1;
}

/* Whether each listed module of a is one of b. */
static bool has_modules(const struct kallsyms *a, const struct kallsyms *b)
{
	for (size_t i = 0; i < a->n_modules; i++)
		if (a->modules[i].start && find_module(b, &a->modules[i]) < 0)
			return false;
	return true;
}

/* Take over symbols that were read at now_ns. */
static int replace(struct kernel *k, struct kallsyms *symbols, uint64_t now_ns)
{
	struct module *modules =
		calloc(symbols->n_modules + 1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->n_modules; i++) {
		int before = find_module(&k->symbols, &symbols->modules[i]);

		if (before >= 0)
			modules[i] = k->modules[before];
		else
			modules[i].from_ns = k->checked_ns;
	}
	if (!has_modules(&k->symbols, symbols))
		k->gone_ns = now_ns;
	kallsyms_release(&k->symbols);
	free(k->modules);
	k->symbols = *symbols;
	k->modules = modules;
	return 0;
}

static int read_symbols(struct kernel *k, uint64_t now_ns)
{
	struct kallsyms symbols;
	int rc = parse_files(k, &symbols, true);

	if (!rc)
		rc = replace(k, &symbols, now_ns);
	if (rc) {
		kallsyms_release(&symbols);
		return rc;
	}
	if (k->is_distrusted)
		rc = maps_remove(&k->images, 0, UINT64_MAX, now_ns);
	return rc ? rc : list_images(k, now_ns);
}

int kernel_open_files(struct kernel **out, struct binaries *binaries,
		      int symbols_fd, int modules_fd, struct weft_err *err)
{
	struct kernel *k = calloc(1, sizeof(*k));
	struct inspect_file file = { .path = "[kernel]" };
	int rc;

	*out = NULL;
	if (!k) {
		close(symbols_fd);
		if (modules_fd >= 0)
			close(modules_fd);
		return weft_fail(err, -ENOMEM,
				 "cannot read kernel symbols: out of memory");
	}
	k->binaries = binaries;
	k->symbols_fd = symbols_fd;
	k->modules_fd = modules_fd;
	read_build_id("/sys/kernel/notes", &file);
	k->binary = binaries_file(binaries, STORE_KERNEL, &file);
	rc = read_symbols(k, 0);
	if (rc) {
		kernel_close(k);
		return weft_fail(err, rc, "cannot read '/proc/kallsyms': %s",
				 strerror(-rc));
	}
	*out = k;
	return 0;
}

int kernel_open(struct kernel **out, struct binaries *binaries,
		struct weft_err *err)
{
	int symbols = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	*out = NULL;
	if (symbols < 0)
		return weft_fail(err, -errno,
				 "cannot open '/proc/kallsyms': %s",
				 strerror(errno));
	/* Kernels without modules have no such file. */
	return kernel_open_files(out, binaries, symbols,
				 open("/proc/modules", O_RDONLY | O_CLOEXEC),
				 err);
}

void kernel_close(struct kernel *k)
{
	if (!k)
		return;
	if (k->modules_fd >= 0)
		close(k->modules_fd);
	close(k->symbols_fd);
	kallsyms_release(&k->symbols);
	maps_release(&k->images);
	free(k->modules);
	free(k);
}

bool kernel_is_hidden(const struct kernel *k)
{
	return !k->symbols.n_symbols;
}

void kernel_event(struct kernel *k, const struct sideband_event *event)
{
	uint64_t start = event->ksymbol.start;
	uint64_t size = event->ksymbol.size;
	int rc;

	if (event->kind != SIDEBAND_KSYMBOL || size > UINT64_MAX - start)
		return;
	rc = event->ksymbol.is_gone
		     ? remove_image(k, start, size, event->boot_ns)
		     : add_image(k, start, size, event->ksymbol.name,
				 event->boot_ns);
	if (rc)
		k->is_distrusted = true;
}

void kernel_distrust(struct kernel *k)
{
	k->is_distrusted = true;
}

static struct binary *module_binary(struct kernel *k, int32_t index)
{
	struct module *m = &k->modules[index];
	const char *name = k->symbols.modules[index].name;
	struct inspect_file file = { 0 };
	char path[80], notes[128];

	if (m->binary)
		return m->binary;
	snprintf(path, sizeof(path), "[%s]", name);
	snprintf(notes, sizeof(notes),
		 "/sys/module/%s/notes/.note.gnu.build-id", name);
	read_build_id(notes, &file);
	file.path = path;
	m->binary = binaries_file(k->binaries, STORE_MODULE, &file);
	return m->binary;
}

/* An image's name is its path, without the brackets. */
static void describe_image(struct kernel *k, const struct mapping *m,
			   uint64_t addr, struct kernel_place *out)
{
	const char *path = m->binary->file.path;

	out->binary = m->binary;
	out->offset = addr - m->start + m->file_offset;
	if (m->binary->kind != STORE_MODULE) {
		out->offset = 0; /* no room to tell binaries apart */
		return;
	}
	snprintf(k->name, sizeof(k->name), "%.*s", (int)strlen(path) - 2,
		 path + 1);
	out->name = k->name;
}

/* A module that came while another went may lie where that one was. */
static void describe_module(struct kernel *k, const struct kallsyms_symbol *s,
			    uint64_t addr, uint64_t start_ns, uint64_t end_ns,
			    struct kernel_place *out)
{
	const struct kallsyms_module *m = &k->symbols.modules[s->module];
	uint64_t from_ns = k->modules[s->module].from_ns;

	if (addr >= m->end) {
		k->missed = true;
		return;
	}
	if (from_ns >= end_ns || (from_ns && k->gone_ns > start_ns))
		return;
	out->binary = module_binary(k, s->module);
	out->offset = addr - m->start;
	out->name = kallsyms_name(&k->symbols, s);
}

static void describe_symbol(struct kernel *k, uint64_t addr, uint64_t start_ns,
			    uint64_t end_ns, struct kernel_place *out)
{
	const struct kallsyms_symbol *s = kallsyms_find(&k->symbols, addr);
	const struct kallsyms_module *m =
		s ? kallsyms_module_of(&k->symbols, s) : NULL;

	if (m && !kallsyms_is_made(m))
		describe_module(k, s, addr, start_ns, end_ns, out);
	else if (!s || m ||
		 (k->symbols.text_end && addr >= k->symbols.text_end &&
		  addr - s->start > TAIL_MAX))
		k->missed = true;
	else
		out->name = kallsyms_name(&k->symbols, s);
}

void kernel_find(struct kernel *k, uint64_t addr, uint64_t start_ns,
		 uint64_t end_ns, struct kernel_place *out)
{
	const struct kallsyms *symbols = &k->symbols;
	bool is_text = addr >= symbols->text_start && addr < symbols->text_end;
	const struct mapping *m = NULL;
	enum maps_answer answer = MAPS_NONE;

	*out = (struct kernel_place){
		.binary = k->binary,
		/* Where the base is not known, the address itself must not
		 * leave the machine. */
		.offset = symbols->text_start ? addr - symbols->text_start : 0,
	};
	if (!is_text)
		answer = maps_find(&k->images, addr, start_ns, end_ns, &m);
	if (answer == MAPS_FOUND)
		describe_image(k, m, addr, out);
	else if (answer == MAPS_NONE && !kernel_is_hidden(k))
		describe_symbol(k, addr, start_ns, end_ns, out);
}

/* Whether modules came or went. */
static bool have_modules_changed(struct kernel *k)
{
	struct kallsyms now;
	bool has_changed = k->modules_fd >= 0 && !parse_files(k, &now, false);

	if (!has_changed)
		return false;
	has_changed = !has_modules(&now, &k->symbols) ||
		      !has_modules(&k->symbols, &now);
	kallsyms_release(&now);
	return has_changed;
}

/* Whether the files have to be read again. What is not there each time that
 * it is looked for is looked for ever more rarely. */
static bool is_stale(struct kernel *k)
{
	if (have_modules_changed(k) || k->is_distrusted) {
		k->pause = k->next_pause = 0;
		return true;
	}
	if (k->pause)
		k->pause--;
	if (!k->missed || k->pause)
		return false;
	k->next_pause = k->next_pause < PAUSE_MAX / 2 ? 2 * k->next_pause + 1
						      : PAUSE_MAX;
	k->pause = k->next_pause;
	return true;
}

void kernel_refresh(struct kernel *k, uint64_t now_ns)
{
	if (!kernel_is_hidden(k) && is_stale(k)) {
		k->missed = false;
		/* Short of memory, what was known so far has to do. */
		if (!read_symbols(k, now_ns))
			k->is_distrusted = false;
	}
	k->checked_ns = now_ns;
}

void kernel_prune(struct kernel *k, uint64_t before_ns)
{
	maps_prune(&k->images, before_ns);
}
