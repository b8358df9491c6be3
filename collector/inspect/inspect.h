/* SPDX-License-Identifier: MIT */
/*
 * Inspectors: the processes that open and parse everything a target owns
 * (its /proc files, mapped files, symbols, memory), so that a stuck or
 * hostile target costs its own names and nothing else.
 *
 * inspect_fork() starts a single-threaded fork server, before there is a loop
 * or a thread; it makes the inspectors. inspect_open() is the loop's side: it
 * queues requests, gives each inspector one at a time, kills one that misses
 * its deadline, replaces it, and bars the target for a while. Every reply is
 * checked: an inspector may have been taken over by what it parsed.
 *
 * Callbacks run on the loop, exactly once per request, in no stated order,
 * never from within the call that made the request. What they are given is
 * borrowed for the call. A request returns 0, or -ENOMEM: then nothing was
 * asked and no callback comes.
 */
#ifndef WEFT_INSPECT_H
#define WEFT_INSPECT_H

#include "bpf/wire.h"
#include "store/weft.h"

#include <uv.h>

/* What of a request went wrong, if anything. Counted by the caller. */
enum inspect_status {
	INSPECT_OK,
	INSPECT_GONE,     /* the process ended, or its pid is another's now */
	INSPECT_REFUSED,  /* not readable, not a regular file, wrong identity,
			     not what it should be (bad ELF) */
	INSPECT_TIMEOUT,  /* missed the deadline; target barred */
	INSPECT_CRASHED,  /* inspector died; target barred */
	INSPECT_BARRED,   /* target was barred earlier */
	INSPECT_DEFERRED, /* queue full, or much to read: ask again later */
	INSPECT_STATUSES
};

struct inspect;

/* The fork server, before it is handed to a loop. */
struct inspect_server {
	int fd; /* control socket; -1: none */
	int pid;
};

/*
 * Fork the server. Call while single-threaded and privileged; it keeps only
 * CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE (for
 * map_files), ignores SIGINT, SIGTERM and SIGHUP, and ends (with all
 * inspectors) when the control socket closes.
 */
int inspect_fork(struct inspect_server *server,
		 struct weft_err *err) MUST_CHECK;

struct inspect_opts {
	uint32_t workers;           /* 0: 2 */
	uint32_t queue;             /* waiting, at most; lines apart; 0: 4096 */
	uint64_t deadline_ns;       /* of one request; 0: 2 s */
	uint64_t table_deadline_ns; /* of inspect_table(); 0: 10 s */
	uint64_t lines_deadline_ns; /* of inspect_lines(); 0: 10 s */
	uint64_t bar_ns;            /* 0: 1 h */
};

/*
 * Take over the server (consumed, also on failure). On success *out is the
 * caller's; close it with inspect_close().
 */
int inspect_open(struct inspect **out, uv_loop_t *loop,
		 struct inspect_server server, const struct inspect_opts *opts,
		 struct weft_err *err) MUST_CHECK;

/* Stop; outstanding callbacks are dropped, not called. Does not wait for
 * inspectors that cannot be killed. Memory goes when the loop has closed the
 * handles. NULL is fine. */
void inspect_close(struct inspect *in);

/* How often each status was the answer, and how many inspectors were
 * replaced. */
struct inspect_totals {
	uint64_t answers[INSPECT_STATUSES];
	uint64_t replaced;
};
void inspect_read_totals(const struct inspect *in, struct inspect_totals *out);

enum inspect_trouble {
	INSPECT_TROUBLE_NONE,
	INSPECT_TROUBLE_BARRED,    /* it made an inspector hang or die */
	INSPECT_TROUBLE_REFUSED,   /* as a whole */
	INSPECT_TROUBLE_MALFORMED, /* in parts */
	INSPECT_TROUBLE_CUT        /* more than is kept */
};

/*
 * Hear of targets that are to blame for names that are missing: of one that is
 * barred, each time, of a file or perf map that was refused, or is malformed in
 * parts, once (as long as no more than INSPECT_BARS_MAX others came since).
 * The sentence is borrowed, and holds what the target says of itself. At most
 * one fn; call before anything is asked.
 */
typedef void inspect_trouble_fn(void *ctx, enum inspect_trouble kind,
				const char *sentence);
void inspect_on_trouble(struct inspect *in, inspect_trouble_fn *fn, void *ctx);

/* CPU time of the server and all its inspectors, ended ones included. Reads
 * /proc; call at most once per interval. */
uint64_t inspect_cpu_ns(const struct inspect *in);

enum {
	INSPECT_BUILD_ID_MAX = 20,
	INSPECT_RESOURCE_MAX = 64, /* attributes of a process that are kept */
	INSPECT_KEYS_MAX = 256,    /* of its threads': records have a byte */
	INSPECT_MAPPINGS_MAX = 8192
};

/* An executable mapping. */
struct inspect_mapping {
	uint64_t start, end, file_offset; /* bytes */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint8_t build_id[INSPECT_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: none found */
	bool is_vdso;
	bool is_anonymous; /* no file behind it: JIT code, most likely */
	const char *path;  /* without " (deleted)"; "" if anonymous */
};

struct inspect_process {
	const char *comm, *exe, *cgroup; /* "" where not readable */
	uint32_t parent_pid;
	uint32_t inner_pid;                     /* last number of NSpid */
	const struct inspect_mapping *mappings; /* ascending by start */
	size_t n_mappings;
	bool mappings_cut; /* there were more than INSPECT_MAPPINGS_MAX */
};

typedef void inspect_process_fn(void *ctx, enum inspect_status status,
				const struct inspect_process *process);

/*
 * Read what /proc says of a process: executable mappings with build IDs,
 * names, parent. who.start_ns is checked against field 22 of stat, before and
 * after; who.exec_seq is not visible in /proc and only echoed by the caller.
 * Never reads cmdline or environ.
 */
int inspect_process(struct inspect *in, const struct weft_identity *who,
		    inspect_process_fn *fn, void *ctx);

/* A file by its name in a directory, out of which no link leads. */
struct inspect_place {
	const char *root; /* the directory, as we see it */
	const char *path; /* from there */
};

enum {
	INSPECT_PLACES_MAX = 8,
	INSPECT_SEGMENTS_MAX = 16
};

/* A piece of a file that is mapped as code. */
struct inspect_segment {
	uint64_t offset, size; /* in the file */
	uint64_t address;      /* where symbols and DWARF say that it is */
};

/* Where the mapped file of a binary can be found, and what proves it. */
struct inspect_file {
	uint32_t pid;      /* a process that maps it; may have ended */
	uint64_t start_ns; /* of that process */
	uint64_t map_start, map_end; /* its mapping there; 0, 0: not known */
	const char *path; /* as mapped, in that process's root; borrowed */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint8_t build_id[INSPECT_BUILD_ID_MAX];
	uint8_t build_id_size; /* if set, it alone decides; else device and
				  inode do */

	/*
	 * For recordings of another time or machine, where there is no such
	 * process any more: where the file may be now, then its debug files,
	 * which their build ID has to prove. Borrowed. None: as above.
	 */
	const struct inspect_place *places;
	size_t n_places;
	bool is_vouched; /* where it has no build ID, places[0] is it */
	bool is_debug;   /* places[0] is a debug file, which has to do */
	/* Of the mapped file, for a debug file that has to do; borrowed. */
	const struct inspect_segment *segments;
	size_t n_segments;
};

enum {
	INSPECT_NAMES_MAX = 512
};

struct inspect_name {
	const char *name;         /* demangled; NULL: none covers the offset */
	const char *linkage_name; /* NULL: same as name */
	const char *source;       /* which names it: a word, as "symtab"; all
				     are in reply.c */
	uint64_t start;           /* file offset of the function */
	uint32_t version; /* of JIT code: differs for different code at one
			     address; 0: no entry covers it, or not JIT */
};

/* What was there and is not used; borrowed for the call. */
struct inspect_other {
	size_t place;       /* an index */
	const char *linked; /* NULL: it lies at that place; else it has this
			       path in its root, by .gnu_debuglink */
	int error;          /* negative errno: why; -ESTALE: another file */
	const uint8_t *build_id; /* of a place's other file, size 0: it has
				    none */
	size_t build_id_size;
};

/*
 * Hear of what lies at places of files and is not used. Before the names are
 * told; maybe more than once. At most one fn; call before anything is asked.
 */
typedef void inspect_other_fn(void *ctx, const struct inspect_other *other);
void inspect_on_other(struct inspect *in, inspect_other_fn *fn, void *ctx);

typedef void inspect_names_fn(void *ctx, enum inspect_status status,
			      const struct inspect_name *names, size_t n);

/*
 * Name n (at most INSPECT_NAMES_MAX) file offsets of an ELF file; names[i]
 * belongs to offsets[i]. Opened in this order, each tried only if it proves
 * to be the mapped file: /proc/PID/map_files, /proc/PID/root + path, path.
 * What its own .symtab and .dynsym do not cover is looked for in its
 * .gnu_debugdata, then in a debug file by build ID, then by .gnu_debuglink:
 * each in the process's root first, then in ours.
 *
 * Of a file with places only these are tried, in place of the process's and
 * our root, and the directories of the debug link within the first place's.
 * A debug file that has to do names nothing where neither its segments nor
 * those that are known of the file tell which of its addresses an offset is.
 */
int inspect_names(struct inspect *in, const struct inspect_file *file,
		  const uint64_t *offsets, size_t n, inspect_names_fn *fn,
		  void *ctx);

typedef void inspect_segments_fn(void *ctx, enum inspect_status status,
				 const struct inspect_segment *segments,
				 size_t n);

/* The executable segments of an ELF file, opened as for names. Of one that has
 * more than INSPECT_SEGMENTS_MAX none are told. */
int inspect_segments(struct inspect *in, const struct inspect_file *file,
		     inspect_segments_fn *fn, void *ctx);

enum {
	INSPECT_LEVELS_MAX = 32 /* of one offset */
};

/* A function at an offset, or one that was inlined there; what DWARF says. */
struct inspect_level {
	uint32_t at;              /* index of the offset */
	uint32_t line;            /* in file; 0: not known */
	uint32_t function_line;   /* of its declaration, in file; 0: not
				   known */
	const char *name;         /* demangled; NULL: lines, but no function */
	const char *linkage_name; /* NULL: same as name */
	const char *file;         /* NULL: not known */
	uint64_t start; /* outermost level: file offset; 0: not known */
};

typedef void inspect_lines_fn(void *ctx, enum inspect_status status,
			      const struct inspect_level *levels, size_t n);

/*
 * Functions, inlined ones too, and lines for n file offsets, as names are
 * asked for. Levels ascend by at, of one offset the innermost is first; an
 * offset that is not covered has none. DWARF is looked for in the file, then
 * in debug files as for names. One inspector at a time is busy with lines,
 * and only while nothing else waits, so that nothing waits for them. Failing
 * at a file's lines bars its lines, not its names.
 */
int inspect_lines(struct inspect *in, const struct inspect_file *file,
		  const uint64_t *offsets, size_t n, inspect_lines_fn *fn,
		  void *ctx);

enum {
	INSPECT_TABLE_BLOCKS_MAX = 4096 /* 64 MiB; honest files: 20 */
};

/* An unwind table, in the layout of bpf/wire.h. */
struct inspect_table {
	uint32_t first_page, n_pages; /* n_pages 0: the file has none */
	uint32_t rules_block;
	uint32_t n_blocks;
	const uint32_t *words; /* n_blocks * WEFT_TABLE_BLOCK_WORDS */
	uint32_t n_rows;
	uint64_t build_ns; /* CPU time that it took */
};

typedef void inspect_table_fn(void *ctx, enum inspect_status status,
			      const struct inspect_table *table);

/*
 * Build the unwind table of an ELF file, or of the vDSO (path "[vdso]").
 * Opened as by inspect_names(), but the proof is the inode and the device
 * that the kernel has, for by these the table will be used for whoever maps
 * the file; a build ID is what its owner says. It decides only where inode is
 * 0: not even the kernel tells more then. Whether words make sense is not
 * checked beyond the index: the kernel program does not trust them.
 */
int inspect_table(struct inspect *in, const struct inspect_file *file,
		  inspect_table_fn *fn, void *ctx);

/*
 * Name n absolute addresses of a process from its JIT's perf map
 * (/proc/PID/root/tmp/perf-INNER.map, opened with care: regular file, owned
 * by the process's user or root, bounded). The latest entry that covers an
 * address names it.
 */
int inspect_perf_map(struct inspect *in, const struct weft_identity *who,
		     uint32_t inner_pid, const uint64_t *addresses, size_t n,
		     inspect_names_fn *fn, void *ctx);

/* How looking for a process's trace context ended. */
enum inspect_context_state {
	INSPECT_CONTEXT_FOUND,      /* entry is usable */
	INSPECT_CONTEXT_NO_MAPPING, /* no process context published */
	INSPECT_CONTEXT_BAD_HEADER, /* signature, version, size, or payload */
	INSPECT_CONTEXT_CHANGING,   /* being updated: ask again */
	INSPECT_CONTEXT_UNKNOWN_SCHEMA, /* schema_version is none we read */
	INSPECT_CONTEXT_NO_SYMBOL,      /* no module defines the variable */
	INSPECT_CONTEXT_UNRESOLVED,     /* defined, but not locatable (yet) */
	INSPECT_CONTEXT_UNSUPPORTED, /* Go or a layout of a version not known */
};

/* A key of the attributes in its threads' records, in the order of their
 * numbers; or an attribute of the process itself. */
struct inspect_context_text {
	bool is_key;
	const char *key, *value; /* value: "" of a key */
};

struct inspect_context {
	enum inspect_context_state state;
	struct weft_context_entry entry; /* process is the request's */
	uint64_t published_ns;           /* changes with every update */
	const char *service;             /* service.name; "" if none */
	const char *schema; /* threadlocal.schema_version; "" if none */
	const struct inspect_context_text *texts;
	size_t n_texts;
};

typedef void inspect_context_fn(void *ctx, enum inspect_status status,
				const struct inspect_context *context);

/*
 * Find where the process keeps its threads' trace context: the first there is
 * of OTEP 4947's variable (behind OTEP 4719's mapping), Go's labels, Elastic's
 * record, custom-labels. Reads the process's memory.
 */
int inspect_context(struct inspect *in, const struct weft_identity *who,
		    inspect_context_fn *fn, void *ctx);

/* What a thread has attached. */
struct inspect_record {
	enum weft_context_status status; /* OK: the rest is set */
	uint8_t trace_id[16], span_id[8];
	uint8_t trace_flags;
};

typedef void inspect_records_fn(void *ctx, enum inspect_status status,
				const struct inspect_context *context,
				const struct inspect_record *records, size_t n);

/*
 * The same, and what n threads (at most INSPECT_NAMES_MAX) have attached just
 * now, by their pointers: a record for each, or none where the context is not
 * FOUND or not one of OTEP 4947. The threads run meanwhile: what changed while
 * it was read is UPDATING.
 */
int inspect_records(struct inspect *in, const struct weft_identity *who,
		    const uint64_t *pointers, size_t n, inspect_records_fn *fn,
		    void *ctx);

#endif
