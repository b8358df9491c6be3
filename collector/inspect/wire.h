/* SPDX-License-Identifier: MIT */
/*
 * What crosses between the loop, the fork server and the inspectors, over
 * SOCK_SEQPACKET pairs. Requests come from us and are trusted; replies come
 * from a process that has parsed foreign bytes and are checked by
 * reply.c. Natural alignment, explicit padding; both ends are the
 * same binary, so there is no version.
 */
#ifndef WEFT_INSPECT_WIRE_H
#define WEFT_INSPECT_WIRE_H

#include "collector/inspect/inspect.h"

enum {
	WIRE_PATH_MAX = 4096,      /* with its NUL */
	WIRE_PLACES_MAX = 65536,   /* bytes of all places of a file */
	WIRE_PACKET_MAX = 32768,   /* of a reply, which may take several */
	WIRE_REPLY_MAX = 16 << 20, /* but for the words of a table */
	WIRE_WORKERS_MAX = 16,
	WIRE_STUCK_MAX = 16, /* killed inspectors that have not died */
};

/* To the fork server. */
enum wire_command_kind {
	WIRE_MAKE = 1, /* an inspector; answered by wire_made with its socket */
	WIRE_KILL,     /* not answered */
};

struct wire_command {
	uint32_t kind;
	uint32_t serial; /* the loop's name for the inspector */
};

struct wire_made {
	uint32_t serial;
	int32_t pid; /* or negative errno: none was made, no socket attached */
};

enum wire_op {
	WIRE_PROCESS = 1,
	WIRE_NAMES,
	WIRE_TABLE,
	WIRE_PERF_MAP,
	WIRE_CONTEXT,
	WIRE_LINES,
	WIRE_RECORDS,
	WIRE_SEGMENTS,
	WIRE_OP_END
};

/*
 * Followed by n_offsets times u64, n_segments times struct inspect_segment,
 * path_size bytes of path, places_size bytes: of each of n_places its root
 * and its path.
 */
struct wire_request {
	uint64_t id;
	struct weft_identity process; /* or the process that maps the file */
	uint32_t op;
	uint32_t n_offsets;
	uint64_t map_start, map_end, inode;
	uint32_t dev_major, dev_minor;
	uint32_t inner_pid;
	uint32_t path_size; /* with the NUL */
	uint32_t build_id_size;
	uint8_t build_id[INSPECT_BUILD_ID_MAX];
	uint32_t n_places;
	uint32_t places_size;
	uint32_t n_segments;
	uint8_t is_vouched, is_debug;
	uint8_t pad[2];
};

enum {
	WIRE_REQUEST_MAX =
		sizeof(struct wire_request) +
		INSPECT_NAMES_MAX * sizeof(uint64_t) +
		INSPECT_SEGMENTS_MAX * sizeof(struct inspect_segment) +
		WIRE_PATH_MAX + WIRE_PLACES_MAX
};

/*
 * Followed by the operation's own part (wire_process, wire_names,
 * wire_table, wire_context, wire_perf_map, wire_lines, or nothing), n items,
 * strings_size bytes of strings of which the last is NUL. With any status but
 * INSPECT_OK nothing follows, but for names that are refused: wire_names.
 */
struct wire_reply {
	uint64_t id;
	uint32_t status; /* enum inspect_status */
	uint32_t n;
	uint32_t strings_size;
	uint32_t owner; /* of names: the file's user; WIRE_NO_OWNER: none */
};

enum {
	WIRE_NO_OWNER = UINT32_MAX,
	WIRE_NO_STRING = UINT32_MAX
};

/* Strings are offsets into the reply's strings. */
struct wire_process {
	uint32_t comm, exe, cgroup;
	uint32_t parent_pid, inner_pid;
	uint32_t mappings_cut;
};

enum {
	WIRE_MAPPING_VDSO = 1,
	WIRE_MAPPING_ANONYMOUS = 2
};

struct wire_mapping {
	uint64_t start, end, file_offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t path;
	uint32_t flags;
	uint8_t build_id[INSPECT_BUILD_ID_MAX];
	uint32_t build_id_size;
};

/* Where a name was found; the order of reply.c's words. */
enum wire_source {
	WIRE_SOURCE_SYMTAB,
	WIRE_SOURCE_DYNSYM,
	WIRE_SOURCE_PERF_MAP,
	WIRE_SOURCE_VDSO,
	WIRE_SOURCE_MINIDEBUG,
	WIRE_SOURCE_BUILD_ID,
	WIRE_SOURCE_DEBUGLINK,
	WIRE_SOURCE_COUNT
};

struct wire_name {
	uint64_t start;
	uint32_t name;         /* WIRE_NO_STRING: none */
	uint32_t linkage_name; /* WIRE_NO_STRING: same as name */
	uint32_t source;       /* enum wire_source */
	uint32_t version;      /* of JIT code; else 0 */
};

/* What is lost of a file's symbols; the worse the later. */
enum wire_loss {
	WIRE_LOSS_NONE,
	WIRE_LOSS_NAMES,     /* outside the table of names, or without an end */
	WIRE_LOSS_TOO_LARGE, /* a table, for what is read of one file */
	WIRE_LOSS_TABLE,     /* not in the file, or not one of symbols */
	WIRE_LOSS_SECTIONS,  /* nobody knows where tables are */
	WIRE_LOSS_COUNT
};

/* What lies at a place and is not used. */
struct wire_other {
	int32_t error; /* negative errno: why; 0: nothing such is there */
	uint8_t build_id_size; /* with -ESTALE; 0: it has none */
	uint8_t build_id[INSPECT_BUILD_ID_MAX];
	uint8_t pad[3];
};

/* Of names: what is lost, as it is known by then; what was in the way. */
struct wire_names {
	uint32_t loss;    /* enum wire_loss */
	uint32_t source;  /* enum wire_source, that it is lost of */
	uint64_t skipped; /* functions whose names are lost */
	struct wire_other other[INSPECT_PLACES_MAX];
	/* The same of what .gnu_debuglink names, where that path is told, in
	 * the first place's root; WIRE_NO_STRING: it is not. */
	int32_t linked_error;
	uint32_t linked;
};

/* Of a perf map, so far: lines that are not what they should be, and what is
 * not kept because there is too much. */
struct wire_perf_map {
	uint64_t bad_lines, first_bad_line; /* the latter counted from 1 */
	uint64_t skipped_bytes;             /* at its begin */
	uint64_t dropped;                   /* functions that were read */
};

/* Why a file's lines are none of its DWARF. */
enum wire_dwarf {
	WIRE_DWARF_OK, /* also where there is none */
	WIRE_DWARF_TOO_LARGE,
	WIRE_DWARF_DAMAGED /* or of a kind that is not known */
};

/* Of lines: what there is of DWARF, in the first answer about a file. */
struct wire_lines {
	uint32_t dwarf; /* enum wire_dwarf */
	uint32_t pad;
};

/* Of DWARF; strings may be WIRE_NO_STRING. */
struct wire_level {
	uint64_t start;
	uint32_t at;
	uint32_t name, linkage_name, file;
	uint32_t line, function_line;
};

/* Items are blocks of WEFT_TABLE_BLOCK_WORDS. */
struct wire_table {
	uint32_t first_page, n_pages;
	uint32_t rules_block;
	uint32_t n_rows;
	uint64_t build_ns;
};

enum {
	WIRE_TABLE_BLOCK_BYTES = 4 * WEFT_TABLE_BLOCK_WORDS
};

struct wire_context {
	struct weft_context_entry entry;
	uint64_t published_ns;
	uint32_t state; /* enum inspect_context_state */
	uint32_t service, schema;
	uint32_t pad;
};

/* Of a thread; the context goes before them. */
struct wire_record {
	uint8_t trace_id[16], span_id[8];
	uint8_t trace_flags;
	uint8_t pad[3];
	uint32_t status; /* enum weft_context_status */
};

/* Items of a context; strings. */
struct wire_context_text {
	uint32_t is_key;
	uint32_t key, value;
	uint32_t pad;
};

enum {
	WIRE_CONTEXT_TEXTS_MAX = INSPECT_KEYS_MAX + INSPECT_RESOURCE_MAX
};

_Static_assert(sizeof(struct wire_request) == 112, "request has padding");
_Static_assert(sizeof(struct wire_reply) == 24, "reply has padding");
_Static_assert(sizeof(struct wire_mapping) == 72, "mapping has padding");
_Static_assert(sizeof(struct wire_name) == 24, "name has padding");
_Static_assert(sizeof(struct wire_level) == 32, "level has padding");
_Static_assert(sizeof(struct wire_record) == 32, "record has padding");
_Static_assert(sizeof(struct wire_table) == 24, "table has padding");
_Static_assert(sizeof(struct inspect_segment) == 24, "segment has padding");

#endif
