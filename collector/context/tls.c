/* SPDX-License-Identifier: MIT */
/*
 * The file says by which words of the global offset table its code finds the
 * variable; the process's memory says what the loader put there. Taking the
 * words instead of reckoning follows the loader where it bound the name to
 * another module's variable.
 *
 * The vector of a thread (DTV) can hold a stale entry for a module whose ID
 * was reused after dlclose(), so an entry needs the generation that the
 * module came with. A TLS descriptor carries it; for DTPMOD64 it is found in
 * glibc's list of modules, by the offsets that it exports for debuggers.
 * Without it the variable stays unresolved: no trace ID is better than a
 * wrong one.
 *
 * Of a library whose variable is only looked up by name (dlsym) there is no
 * relocation: glibc's list of loaded files says where its block is. musl keeps
 * no such list, so there it stays unresolved.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collector/context/glibc.h"
#include "collector/context/tls.h"

enum {
	MODULE_ID_MAX = 4096,
	ARGUMENT_POINTER_MIN = 0x10000,
	VARIABLES_KEPT = 1024,
};

static const int64_t offset_max = INT64_C(1) << 31;
static const uint64_t block_bytes_max = 1 << 30;

/* The file halves that were worked out before; the oldest makes room. */
static struct {
	struct file_key key;
	const char *name; /* NULL: not used */
	bool is_executable;
	struct tls_variable variable;
} known[VARIABLES_KEPT];
static size_t known_next;

struct search {
	const struct procfs *proc;
	const struct modules *modules;
	const char *name;           /* of the variable */
	struct file_key executable; /* inode 0: not known */
};

static bool find_known(const struct file_key *key, const char *name,
		       bool is_executable, struct tls_variable *out)
{
	for (size_t i = 0; i < VARIABLES_KEPT; i++) {
		if (known[i].name != name ||
		    known[i].is_executable != is_executable ||
		    !file_key_is_same(&known[i].key, key))
			continue;
		*out = known[i].variable;
		return true;
	}
	return false;
}

static void look_into(int reference, const struct file_key *key,
		      const char *name, bool is_executable,
		      struct tls_variable *out)
{
	struct elf_file file;

	*out = (struct tls_variable){ 0 };
	if (elf_file_open(&file, reference, key))
		return;
	if (context_find_variable(&file, name, is_executable, out))
		out->model = TLS_NONE;
	elf_file_close(&file);
	known[known_next].key = *key;
	known[known_next].name = name;
	known[known_next].is_executable = is_executable;
	known[known_next].variable = *out;
	known_next = (known_next + 1) % VARIABLES_KEPT;
}

static void find_variable(const struct search *search,
			  const struct module *module, bool *is_executable,
			  struct tls_variable *out)
{
	struct file_key key;
	int fd = module_open_reference(search->proc, module, &key);

	*out = (struct tls_variable){ 0 };
	*is_executable = false;
	if (fd < 0)
		return;
	*is_executable = key.inode == search->executable.inode &&
			 key.dev == search->executable.dev;
	if (!find_known(&key, search->name, *is_executable, out))
		look_into(fd, &key, search->name, *is_executable, out);
	close(fd);
}

static uint64_t find_bias(const struct module *module,
			  const struct tls_variable *variable)
{
	return variable->is_fixed ? 0
				  : module_bias(module, variable->first_vaddr);
}

static bool is_offset(int64_t offset)
{
	return offset >= -offset_max && offset <= offset_max;
}

bool context_use_offset(struct weft_context_entry *entry, int64_t tp_offset)
{
	if (!is_offset(tp_offset) || !tp_offset)
		return false;
	entry->slot[0] = (struct weft_context_slot){ .offset = tp_offset };
	entry->n_slots = 1;
	entry->kind = WEFT_CONTEXT_STATIC;
	return true;
}

bool context_executable_offset(const struct tls_variable *v, int64_t *out)
{
	uint64_t align = v->tls_align ? v->tls_align : 1;

	/* The loader refuses others, and the sums below need it. */
	if (align & (align - 1) || v->tls_size > block_bytes_max ||
	    align > block_bytes_max || v->value > v->tls_size)
		return false;
#if defined(__aarch64__)
	*out = (int64_t)(v->value + 16 + ((v->tls_vaddr - 16) & (align - 1)));
#else
	*out = (int64_t)(v->value -
			 (v->tls_size +
			  ((-v->tls_vaddr - v->tls_size) & (align - 1))));
#endif
	return is_offset(*out);
}

enum tls_argument context_classify_argument(uint64_t argument,
					    const uint64_t words[2],
					    bool is_inside)
{
	/* A lazy descriptor of an old glibc points to its relocation. */
	if (words && argument >= ARGUMENT_POINTER_MIN && !is_inside &&
	    words[0] && words[0] <= MODULE_ID_MAX && words[1] < block_bytes_max)
		return TLS_ARGUMENT_POINTER;
#if !defined(__aarch64__)
	/* Here the variables lie below the thread pointer. */
	if ((int64_t)argument >= 0)
		return TLS_ARGUMENT_UNKNOWN;
#endif
	return is_offset((int64_t)argument) ? TLS_ARGUMENT_OFFSET
					    : TLS_ARGUMENT_UNKNOWN;
}

static bool resolve_descriptor(const struct search *search,
			       const struct module *module,
			       const uint64_t got[2], int64_t shift,
			       struct weft_context_slot *out)
{
	uint64_t words[3] = { 0 };
	bool is_readable;

	/* No resolver: not relocated yet. */
	if (!got[0])
		return false;
	is_readable =
		got[1] >= ARGUMENT_POINTER_MIN && (int64_t)got[1] > 0 &&
		!procfs_read_memory(search->proc, got[1], words, sizeof(words));
	switch (context_classify_argument(got[1], is_readable ? words : NULL,
					  got[1] >= module->low &&
						  got[1] < module->high)) {
	case TLS_ARGUMENT_OFFSET:
		out->offset = (int64_t)got[1] + shift;
		return is_offset(out->offset);
	case TLS_ARGUMENT_POINTER:
		if (search->modules->libc == LIBC_NONE || words[2] > UINT32_MAX)
			return false;
		out->module = (uint32_t)words[0];
		out->offset = (int64_t)words[1] + shift;
		if (search->modules->libc == LIBC_GLIBC)
			out->min_gen = (uint32_t)words[2];
		return out->offset >= 0 && is_offset(out->offset);
	case TLS_ARGUMENT_UNKNOWN:
		break;
	}
	return false;
}

static bool resolve_module(const struct search *search, uint64_t module,
			   uint64_t offset, struct weft_context_slot *out)
{
	if (!module || module > MODULE_ID_MAX || offset >= block_bytes_max ||
	    search->modules->libc == LIBC_NONE)
		return false;
	out->module = (uint32_t)module;
	out->offset = (int64_t)offset;
	return search->modules->libc == LIBC_MUSL ||
	       !glibc_find_generation(search->proc, search->modules, module,
				      &out->min_gen);
}

/* No relocation names the variable. A block in the static area serves all
 * threads alike; else each has its own, which its vector knows. */
static bool resolve_by_name(const struct search *search,
			    const struct module *module,
			    const struct tls_variable *v,
			    struct weft_context_slot *out)
{
	struct glibc_block block;

	if (search->modules->libc != LIBC_GLIBC ||
	    glibc_find_block(search->proc, search->modules,
			     find_bias(module, v), &block))
		return false;
	if (!block.is_static)
		return resolve_module(search, block.module, v->value, out);
	if (block.offset > block_bytes_max)
		return false;
#if defined(__aarch64__)
	out->offset = (int64_t)(block.offset + v->value);
#else
	out->offset = (int64_t)(v->value - block.offset);
#endif
	return is_offset(out->offset);
}

static bool resolve(const struct search *search, const struct module *module,
		    const struct tls_variable *v, bool is_executable,
		    struct weft_context_slot *out)
{
	uint64_t got[2];
	int64_t offset;

	*out = (struct weft_context_slot){ 0 };
	if (is_executable && v->model >= TLS_SIBLING_DESCRIPTOR) {
		if (!context_executable_offset(v, &offset))
			return false;
		out->offset = offset;
		return true;
	}
	if (v->model == TLS_BY_NAME)
		return resolve_by_name(search, module, v, out);
	if (procfs_read_memory(search->proc, v->got + find_bias(module, v), got,
			       sizeof(got)))
		return false;
	switch (v->model) {
	case TLS_OFFSET:
		out->offset = (int64_t)got[0] - v->addend;
#if !defined(__aarch64__)
		if (!got[0])
			return false; /* not relocated yet */
#endif
		return is_offset(out->offset);
	case TLS_DESCRIPTOR:
		return resolve_descriptor(search, module, got, -v->addend, out);
	case TLS_SIBLING_DESCRIPTOR:
		return resolve_descriptor(search, module, got,
					  (int64_t)v->value - v->addend, out);
	case TLS_MODULE:
		return resolve_module(search, got[0], got[1], out);
	case TLS_SIBLING_MODULE:
		return resolve_module(search, got[0], v->value, out);
	case TLS_NONE:
	case TLS_BY_NAME:
		break;
	}
	return false;
}

/* Where the C library keeps a thread's vector and how wide its entries are. */
static void describe_vector(struct weft_context_entry *entry,
			    enum libc_kind libc)
{
	entry->is_glibc = libc == LIBC_GLIBC;
	entry->dtv_stride = entry->is_glibc ? 16 : 8;
#if defined(__aarch64__)
	entry->dtv_offset = entry->is_glibc ? 0 : -8;
#else
	entry->dtv_offset = 8;
#endif
}

static bool has_slot(const struct weft_context_entry *entry,
		     const struct weft_context_slot *slot)
{
	for (int i = 0; i < entry->n_slots; i++) {
		if (!memcmp(&entry->slot[i], slot, sizeof(*slot)))
			return true;
	}
	return false;
}

/* The executable's slot goes first, whatever the order of addresses. */
static void add_slot(struct weft_context_entry *entry,
		     const struct weft_context_slot *slot, bool is_first)
{
	if (has_slot(entry, slot))
		return;
	if (is_first) {
		entry->slot[1] = entry->slot[0];
		entry->slot[0] = *slot;
	} else if (entry->n_slots < WEFT_MAX_CONTEXT_SLOTS) {
		entry->slot[entry->n_slots] = *slot;
	} else {
		return;
	}
	if (entry->n_slots < WEFT_MAX_CONTEXT_SLOTS)
		entry->n_slots++;
}

void context_find_slots(const struct procfs *proc,
			const struct modules *modules, const char *name,
			struct weft_context_entry *entry,
			enum inspect_context_state *state)
{
	struct search search = { .proc = proc,
				 .modules = modules,
				 .name = name };
	int fd = elf_open_reference(proc->dir, "exe", 0, &search.executable);
	bool is_defined = false;

	*entry = (struct weft_context_entry){ 0 };
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < modules->n; i++) {
		const struct module *module = &modules->module[i];
		struct weft_context_slot slot;
		struct tls_variable variable;
		bool is_executable;

		if (!module->has_code)
			continue;
		find_variable(&search, module, &is_executable, &variable);
		if (variable.model == TLS_NONE)
			continue;
		is_defined = true;
		if (resolve(&search, module, &variable, is_executable, &slot))
			add_slot(entry, &slot, is_executable);
	}
	describe_vector(entry, modules->libc);
	for (int i = 0; i < entry->n_slots; i++) {
		if (entry->slot[i].module)
			entry->kind = WEFT_CONTEXT_DTV;
		else if (entry->kind == WEFT_CONTEXT_NONE)
			entry->kind = WEFT_CONTEXT_STATIC;
	}
	*state = entry->n_slots ? INSPECT_CONTEXT_FOUND
		 : is_defined   ? INSPECT_CONTEXT_UNRESOLVED
				: INSPECT_CONTEXT_NO_SYMBOL;
}
