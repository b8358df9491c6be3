/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/confined.h"
#include "collector/elf/file.h"
#include "collector/privilege.h"
#include "collector/probe_sites.h"
#include "collector/words.h"

enum {
	NAME_BYTES = 256, /* of one that is suggested */
	NAMES_MAX = 1 << 20,
	SECTIONS_MAX = 65536,
	DEADLINE_MS = 20000,
	/* Of SystemTap's notes. */
	NOTE_USDT = 3
};

/* What the child answers. */
struct answer {
	int code;              /* 0, or a negative errno */
	bool has_names;        /* there are others */
	bool is_stripped;      /* only exported functions have names */
	bool has_more;         /* places than fit */
	bool is_outside;       /* there are places, but not in code */
	char near[NAME_BYTES]; /* the nearest; "" for none */
	struct probe_sites sites;
};

struct question {
	const char *path;
	const char *provider; /* NULL: a function is asked for */
	const char *name;
	bool is_usdt, prints;
};

/* While the child looks. */
struct search {
	const struct question *q;
	const struct elf_file *file;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
	struct answer *answer;
	struct words names; /* what there is */
};

static int add_name(struct search *s, const char *provider, const char *name)
{
	if (s->names.n >= NAMES_MAX)
		return 0; /* that many nobody reads */
	return words_add(&s->names, provider, name);
}

static void add_site(struct search *s, uint64_t vaddr, uint64_t semaphore)
{
	struct probe_sites *to = &s->answer->sites;
	struct probe_site site = { 0 };

	if (!elf_vaddr_to_offset(s->segments, s->n_segments, vaddr,
				 &site.offset)) {
		s->answer->is_outside = true;
		return;
	}
	/* It lies in data, of which the segments are not executable. */
	for (size_t i = 0; semaphore && i < s->n_segments; i++) {
		const struct elf_segment *g = &s->segments[i];

		if (semaphore >= g->vaddr &&
		    semaphore - g->vaddr < g->file_size)
			site.semaphore = semaphore - g->vaddr + g->offset;
	}
	for (uint32_t i = 0; i < to->n; i++)
		if (to->site[i].offset == site.offset)
			return; /* .symtab and .dynsym both have it */
	s->answer->has_more |= to->n == PROBE_SITES_MAX;
	if (s->answer->has_more)
		return;
	to->site[to->n++] = site;
}

static int look_at_symbols(struct search *s, Elf_Scn *scn,
			   const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n =
		header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	int rc = 0;

	for (size_t i = 0; data && i < n && !rc; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) ||
		    GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_value)
			continue;
		name = elf_strptr(s->file->elf, header->sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		if (!s->q->prints && !strcmp(name, s->q->name))
			add_site(s, sym.st_value, 0);
		rc = add_name(s, NULL, name);
	}
	return rc;
}

/* Where .stapsdt.base is says by how much prelink has moved the rest. */
static uint64_t find_base(const struct search *s)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(s->file->elf, &strings))
		return 0;
	while ((scn = elf_nextscn(s->file->elf, scn))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header))
			continue;
		name = elf_strptr(s->file->elf, strings, header.sh_name);
		if (name && !strcmp(name, ".stapsdt.base"))
			return header.sh_addr;
	}
	return 0;
}

/* The next string of a description; NULL: it does not end within. */
static const char *next_string(const char **at, const char *end)
{
	const char *text = *at;
	const char *nul = memchr(text, '\0', (size_t)(end - text));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

/* Three addresses (probe, base, semaphore), then provider, name, arguments. */
static int look_at_note(struct search *s, const char *desc, size_t size,
			uint64_t base)
{
	const char *end = desc + size, *at, *provider, *name;
	uint64_t address[3], moved;

	if (size < sizeof(address))
		return 0;
	memcpy(address, desc, sizeof(address));
	at = desc + sizeof(address);
	provider = next_string(&at, end);
	name = provider ? next_string(&at, end) : NULL;
	if (!name)
		return 0;
	moved = base && address[1] ? base - address[1] : 0;
	if (!s->q->prints && !strcmp(provider, s->q->provider) &&
	    !strcmp(name, s->q->name))
		add_site(s, address[0] + moved,
			 address[2] ? address[2] + moved : 0);
	return add_name(s, provider, name);
}

static int look_at_notes(struct search *s, Elf_Scn *scn, uint64_t base)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t at = 0, name, desc;
	GElf_Nhdr note;
	int rc = 0;

	while (data && !rc &&
	       (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type == NOTE_USDT &&
		    note.n_namesz == sizeof("stapsdt") &&
		    !memcmp(bytes + name, "stapsdt", sizeof("stapsdt")))
			rc = look_at_note(s, bytes + desc, note.n_descsz, base);
	}
	return rc;
}

static int look(struct search *s)
{
	uint64_t base = s->q->is_usdt ? find_base(s) : 0;
	Elf_Scn *scn = NULL;
	size_t n = 0;
	int rc = 0;

	s->answer->is_stripped = true;
	s->n_segments = elf_file_segments(s->file, s->segments);
	while (!rc && n++ < SECTIONS_MAX &&
	       (scn = elf_nextscn(s->file->elf, scn))) {
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB)
			s->answer->is_stripped = false;
		if (s->q->is_usdt && header.sh_type == SHT_NOTE)
			rc = look_at_notes(s, scn, base);
		if (!s->q->is_usdt && (header.sh_type == SHT_SYMTAB ||
				       header.sh_type == SHT_DYNSYM))
			rc = look_at_symbols(s, scn, &header);
	}
	return rc;
}

static void print_names(struct search *s)
{
	char safe[4096];

	words_sort(&s->names);
	for (size_t i = 0; i < s->names.n; i++) {
		const char *name = s->names.word[i];

		if (i && !strcmp(name, s->names.word[i - 1]))
			continue;
		weft_sanitize(safe, sizeof(safe), name, strlen(name));
		puts(safe);
	}
	fflush(stdout);
}

static void suggest(struct search *s)
{
	char wanted[2 * NAME_BYTES];
	const char *near;

	snprintf(wanted, sizeof(wanted), "%s%s%s",
		 s->q->provider ? s->q->provider : "",
		 s->q->provider ? ":" : "", s->q->name);
	near = words_nearest(&s->names, wanted);
	if (near)
		weft_sanitize(s->answer->near, sizeof(s->answer->near), near,
			      strlen(near));
}

static int open_file(const char *path, struct elf_file *file)
{
	struct file_key key;
	int reference = elf_open_reference(AT_FDCWD, path, 0, &key);
	int rc = reference;

	if (reference >= 0) {
		rc = elf_file_open(file, reference, &key);
		close(reference);
	}
	return rc;
}

/* s refers to file, which stays open. */
static int find(struct search *s, const struct elf_file *file)
{
	const struct question *q = s->q;
	struct answer *answer = s->answer;
	int rc;

	if (!elf_file_is_native(file))
		return -ENOEXEC;
	s->file = file;
	rc = look(s);
	answer->has_names = s->names.n > 0;
	if (!rc && !q->prints && !answer->sites.n)
		suggest(s);
	return rc;
}

/* In a process of its own. */
static void run(const void *question, int to)
{
	static const cap_value_t wanted[] = { CAP_DAC_READ_SEARCH };
	const struct question *q = question;
	struct answer answer = { 0 };
	struct search s = { .q = q, .answer = &answer };
	struct elf_file file;

	answer.code = privilege_keep(wanted, ARRAY_LEN(wanted));
	if (!answer.code)
		answer.code = open_file(q->path, &file);
	if (!answer.code)
		answer.code = find(&s, &file);
	if (write(to, &answer, sizeof(answer)) != sizeof(answer))
		return;
	/* Whoever reads it may take their time. */
	if (!answer.code && q->prints)
		print_names(&s);
}

static int ask(const struct question *q, struct answer *answer,
	       struct weft_err *err)
{
	const struct confined c = {
		.run = run,
		.question = q,
		.answer_bytes = sizeof(*answer),
		.deadline_ms = DEADLINE_MS,
		.goes_on = q->prints,
	};
	int rc = confined_ask(&c, answer);

	/* The process read what anybody may have written. */
	answer->near[sizeof(answer->near) - 1] = '\0';
	if (!rc)
		rc = answer->sites.n <= PROBE_SITES_MAX ? answer->code
							: -EPROTO;
	if (rc == -ENOEXEC)
		return weft_fail(err, rc,
				 "'%s' is no ELF file of this machine's kind",
				 q->path);
	if (rc == -EINVAL)
		return weft_fail(
			err, rc,
			"cannot read '%s': it is no file; name a program or a library",
			q->path);
	if (rc == -EPROTO || rc == -ETIMEDOUT)
		return weft_fail(err, rc, "cannot read '%s': %s", q->path,
				 rc == -EPROTO ? "it is damaged, or too large"
					       : "it does not answer");
	return rc ? weft_fail(err, rc, "cannot read '%s': %s", q->path,
			      strerror(-rc))
		  : 0;
}

static int fail_outside(const char *path, const char *what,
			struct weft_err *err)
{
	return weft_fail(
		err, -ENOENT,
		"'%s' has '%s' outside its code: it is damaged, or a debug file; give the program itself",
		path, what);
}

int probe_sites_of_function(const char *path, const char *symbol,
			    uint64_t *offset, struct weft_err *err)
{
	struct question q = { .path = path, .name = symbol };
	struct answer answer = { 0 };
	int rc = ask(&q, &answer, err);

	if (rc)
		return rc;
	*offset = answer.sites.site[0].offset;
	if (answer.sites.n == 1)
		return 0;
	if (answer.sites.n)
		return weft_fail(
			err, -EINVAL,
			"'%s' has %u functions '%s'; say which by another name or with +OFFSET from one before it",
			path, answer.sites.n, symbol);
	if (answer.is_outside)
		return fail_outside(path, symbol, err);
	if (!answer.has_names)
		return weft_fail(
			err, -ENOENT,
			"'%s' names no function at all: it is stripped; give one with its symbols",
			path);
	return weft_fail(
		err, -ENOENT,
		"'%s' has no function '%s'%s%s%s%s (`weft list symbols %s`)",
		path, symbol,
		answer.is_stripped
			? "; it is stripped, only what it exports has names"
			: "",
		*answer.near ? "; did you mean '" : "", answer.near,
		*answer.near ? "'?" : "", path);
}

int probe_sites_of_usdt(const char *path, const char *provider,
			const char *name, struct probe_sites *out,
			struct weft_err *err)
{
	struct question q = {
		.path = path,
		.provider = provider,
		.name = name,
		.is_usdt = true,
	};
	struct answer answer = { 0 };
	int rc = ask(&q, &answer, err);

	if (rc)
		return rc;
	*out = answer.sites;
	if (answer.has_more)
		return weft_fail(
			err, -E2BIG,
			"'%s' has '%s:%s' at more than %d places: not all of them could be counted; take another probe",
			path, provider, name, PROBE_SITES_MAX);
	if (out->n)
		return 0;
	if (answer.is_outside)
		return fail_outside(path, name, err);
	if (!answer.has_names)
		return weft_fail(err, -ENOENT,
				 "'%s' has no USDT probes built in", path);
	return weft_fail(
		err, -ENOENT,
		"'%s' has no USDT probe '%s:%s'%s%s%s (`weft list usdt %s`)",
		path, provider, name, *answer.near ? "; did you mean '" : "",
		answer.near, *answer.near ? "'?" : "", path);
}

static int print_all(const char *path, bool is_usdt, struct weft_err *err)
{
	struct question q = {
		.path = path,
		.is_usdt = is_usdt,
		.prints = true,
	};
	struct answer answer = { 0 };
	int rc = ask(&q, &answer, err);

	if (rc || answer.has_names)
		return rc;
	return weft_fail(err, -ENODATA, "'%s' has no %s", path,
			 is_usdt ? "USDT probes built in" : "function names");
}

int probe_sites_print_functions(const char *path, struct weft_err *err)
{
	return print_all(path, false, err);
}

int probe_sites_print_usdt(const char *path, struct weft_err *err)
{
	return print_all(path, true, err);
}
