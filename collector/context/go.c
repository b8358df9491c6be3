/* SPDX-License-Identifier: MIT */
/*
 * A thread's current goroutine is in a thread-local variable of the runtime,
 * 8 bytes below the thread pointer where the program has no other; it has no
 * symbol then. Only where C code brought variables of its own the runtime's
 * has a symbol, runtime.tlsg, unless that was stripped.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/context/go.h"
#include "collector/context/tls.h"

enum {
	INFO_HEAD = 32,     /* bytes before the version where it is inline */
	INFO_POINTERS = 16, /* before two pointers, to strings */
	INFO_READ = 256,
	IS_BIG_ENDIAN = 1,
	IS_INLINE = 2,
	SECTIONS_MAX = 4096,
	PROGRAMS_KEPT = 128,
};

static const char info_magic[] = "\xff Go buildinf:";

/* By minor version of Go 1: offsets in runtime.m and runtime.g, from the
 * sources of each. */
static const struct {
	uint32_t first, last;
	struct weft_go_layout layout;
} layouts[] = {
	{ 17, 20, { .curg = 192, .labels = 360 } },
	{ 21, 22, { .curg = 192, .labels = 344 } },
	{ 23, 23, { .curg = 192, .labels = 352 } },
	{ 24, 24, { .curg = 192, .labels = 352, .is_slice = 1 } },
	{ 25, 25, { .curg = 184, .labels = 344, .is_slice = 1 } },
	{ 26, 26, { .curg = 184, .labels = 352, .is_slice = 1 } },
};

int context_go_layout(const char *version, struct weft_go_layout *out)
{
	static const char prefix[] = "go1.";
	const char *digits = version + sizeof(prefix) - 1;
	unsigned long minor;
	char *end;

	/* What is no release ("devel ...") may have any layout. */
	if (strncmp(version, prefix, sizeof(prefix) - 1) || *digits < '0' ||
	    *digits > '9')
		return -ENOTSUP;
	minor = strtoul(digits, &end, 10);
	if (*end && *end != '.' && *end != ' ')
		return -ENOTSUP;
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		if (minor < layouts[i].first || minor > layouts[i].last)
			continue;
		*out = layouts[i].layout;
		return 0;
	}
	return -ENOTSUP;
}

static int take_text(const void *text, uint64_t size,
		     char out[CONTEXT_GO_VERSION_MAX])
{
	if (!size || size >= CONTEXT_GO_VERSION_MAX)
		return -EPROTO;
	memcpy(out, text, size);
	out[size] = '\0';
	return 0;
}

int context_go_parse(const uint8_t *bytes, size_t size,
		     char out[CONTEXT_GO_VERSION_MAX], uint64_t *pointer)
{
	uint64_t length;

	out[0] = '\0';
	*pointer = 0;
	if (size < INFO_HEAD ||
	    memcmp(bytes, info_magic, sizeof(info_magic) - 1))
		return -EPROTO;
	if (bytes[15] & IS_INLINE) {
		/* A varint; a version is shorter than 128 bytes. */
		if (size == INFO_HEAD)
			return -EPROTO;
		length = bytes[INFO_HEAD];
		if (length > size - INFO_HEAD - 1)
			return -EPROTO;
		return take_text(bytes + INFO_HEAD + 1, length, out);
	}
	if (bytes[14] != sizeof(*pointer) || bytes[15] & IS_BIG_ENDIAN)
		return -EPROTO;
	memcpy(pointer, bytes + INFO_POINTERS, sizeof(*pointer));
	return -ENOTSUP;
}

/* Go before 1.18 has a pointer to a string, {address, length}. */
static int read_string(const struct elf_file *file, uint64_t header,
		       char out[CONTEXT_GO_VERSION_MAX])
{
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n = elf_file_segments(file, segments);
	char text[CONTEXT_GO_VERSION_MAX];
	uint64_t string[2];
	int rc = elf_read_vaddr(file, segments, n, header, string,
				sizeof(string));

	if (!rc && string[1] >= sizeof(text))
		rc = -EPROTO;
	if (!rc)
		rc = elf_read_vaddr(file, segments, n, string[0], text,
				    string[1]);
	return rc ? -EPROTO : take_text(text, string[1], out);
}

static bool find_info(const struct elf_file *file, GElf_Shdr *out)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return false;
	for (int i = 0; i < SECTIONS_MAX; i++) {
		const char *name;

		scn = elf_nextscn(file->elf, scn);
		if (!scn || !gelf_getshdr(scn, out))
			return false;
		name = elf_strptr(file->elf, names, out->sh_name);
		if (name && !strcmp(name, ".go.buildinfo"))
			return out->sh_type == SHT_PROGBITS;
	}
	return false;
}

int context_go_version(const struct elf_file *file,
		       char out[CONTEXT_GO_VERSION_MAX])
{
	uint8_t bytes[INFO_READ];
	uint64_t pointer = 0, size;
	GElf_Shdr section;
	int rc;

	out[0] = '\0';
	if (!find_info(file, &section))
		return -ENOENT;
	size = section.sh_size < sizeof(bytes) ? section.sh_size
					       : sizeof(bytes);
	rc = elf_file_read(file, bytes, size, section.sh_offset);
	if (!rc)
		rc = context_go_parse(bytes, size, out, &pointer);
	return rc == -ENOTSUP ? read_string(file, pointer, out) : rc;
}

/* The runtime's variable: its offset from the thread pointer. */
static bool find_slot(const struct elf_file *file,
		      struct weft_context_slot *out)
{
	enum {
		ALONE = 8
	};
	struct tls_variable v;
	int64_t offset;

	*out = (struct weft_context_slot){ .offset = -ALONE };
#if defined(__aarch64__)
	return false; /* kept in a register */
#endif
	if (context_find_variable(file, "runtime.tlsg", true, &v))
		return false;
	if (!v.tls_size || (v.tls_size == ALONE && v.tls_align <= ALONE))
		return true;
	if (v.model == TLS_NONE || !context_executable_offset(&v, &offset))
		return false;
	out->offset = offset;
	return true;
}

/* What a file says; the oldest makes room. */
struct program {
	struct file_key key;
	bool is_used;
	enum inspect_context_state state;
	struct weft_context_slot slot;
	struct weft_go_layout layout;
};

static struct program known[PROGRAMS_KEPT];
static size_t known_next;

static void look_into(const struct elf_file *file, struct program *out)
{
	char version[CONTEXT_GO_VERSION_MAX];
	int rc = elf_file_is_native(file) ? context_go_version(file, version)
					  : -ENOENT;

	if (rc == -ENOENT)
		out->state = INSPECT_CONTEXT_NO_MAPPING;
	else if (rc || context_go_layout(version, &out->layout))
		out->state = INSPECT_CONTEXT_UNSUPPORTED;
	else if (!find_slot(file, &out->slot))
		out->state = INSPECT_CONTEXT_UNRESOLVED;
	else
		out->state = INSPECT_CONTEXT_FOUND;
}

static const struct program *find_program(int reference,
					  const struct file_key *key)
{
	struct program *p;
	struct elf_file file;

	for (size_t i = 0; i < PROGRAMS_KEPT; i++) {
		if (known[i].is_used && file_key_is_same(&known[i].key, key))
			return &known[i];
	}
	p = &known[known_next];
	known_next = (known_next + 1) % PROGRAMS_KEPT;
	*p = (struct program){ .key = *key,
			       .is_used = true,
			       .state = INSPECT_CONTEXT_NO_MAPPING };
	if (elf_file_open(&file, reference, key))
		return p;
	look_into(&file, p);
	elf_file_close(&file);
	return p;
}

int context_find_go(const struct procfs *proc, struct weft_context_entry *entry,
		    enum inspect_context_state *state)
{
	const struct program *p;
	struct file_key key;
	int fd = elf_open_reference(proc->dir, "exe", 0, &key);

	if (fd < 0)
		return fd;
	p = find_program(fd, &key);
	close(fd);
	*state = p->state;
	if (p->state != INSPECT_CONTEXT_FOUND)
		return 0;
	*entry = (struct weft_context_entry){
		.kind = WEFT_CONTEXT_STATIC,
		.source = WEFT_SOURCE_GO,
		.n_slots = 1,
		.slot = { p->slot },
		.go = p->layout,
	};
	return 0;
}
