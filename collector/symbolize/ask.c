/* SPDX-License-Identifier: MIT */
/*
 * One binary after the other, one place after the other: the frames that lack
 * a name after one are asked for at the next. What is found at a place, and
 * whether it is the file, is the inspector's to say.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/inspect/inspect.h"
#include "collector/level_names.h"
#include "collector/symbolize/ask.h"

enum {
	BUILD_ID_PATH_MAX = 64 + 2 * INSPECT_BUILD_ID_MAX,
	TROUBLES_MAX = 16, /* each told of; the rest are counted */
};

/* Nobody waits, and a large debug file takes its time to read. */
static const uint64_t deadline_ns = 30000000000;

struct asker {
	const struct symbolize_opts *opts; /* borrowed */
	uv_loop_t loop;
	struct inspect *in;
	size_t pending; /* requests */
	/* What was said of the place that is asked now. */
	enum inspect_status status;
	bool has_names;
	bool wants_lines; /* it is asked for these, else for names */
	/* Whom for, and the places in the order of the request; borrowed. */
	struct symbolize_binary *binary;
	const struct inspect_place *places;
	size_t troubles; /* that were told */
};

/* A place to look at, and what it would be. */
struct
try {
	struct inspect_place place;
	bool is_debug, is_vouched;
};

/* Where a binary may be. */
struct search {
	struct inspect_file file; /* without places */
	char build_id[BUILD_ID_PATH_MAX];
	char debug[2][BUILD_ID_PATH_MAX];
	struct try try[SYMBOLIZE_TRIES_MAX];
	size_t n;
	struct inspect_place debug_files[INSPECT_PLACES_MAX - 1];
	size_t n_debug_files;
};

/* A request, and the frames that it is for: those of a binary that lack the
 * best name, by index. */
struct group {
	struct asker *asker;
	struct symbolize_binary *binary;
	size_t n;
	size_t index[INSPECT_NAMES_MAX];
	uint64_t address[INSPECT_NAMES_MAX];
};

/* ---- what is said */

/* A path in a root as a person would write it; owned by who asks, NULL: no
 * memory. */
static char *join(const char *root, const char *path)
{
	char *whole;

	return asprintf(&whole, "%s%s", strcmp(root, "/") ? root : "", path) < 0
		       ? NULL
		       : whole;
}

static void on_other(void *ctx, const struct inspect_other *what)
{
	struct asker *a = ctx;
	struct symbolize_binary *b = a->binary;
	struct symbolize_other *other = &b->others[b->n_others];
	const struct inspect_place *place = &a->places[what->place];
	char *path =
		join(place->root, what->linked ? what->linked : place->path);

	/* A debug file may be come upon from several places. */
	for (size_t i = 0; i < b->n_others && path; i++) {
		if (strcmp(b->others[i].path, path))
			continue;
		free(path);
		path = NULL;
	}
	if (!path || b->n_others == SYMBOLIZE_OTHERS_MAX) {
		free(path);
		return;
	}
	other->path = path;
	other->error = what->error;
	other->is_linked = what->linked;
	for (size_t i = 0; i < what->build_id_size; i++)
		snprintf(other->build_id + 2 * i, 3, "%02x", what->build_id[i]);
	b->n_others++;
}

/* What is refused or takes too long, the report says. */
static void on_trouble(void *ctx, enum inspect_trouble kind,
		       const char *sentence)
{
	struct asker *a = ctx;

	if (kind != INSPECT_TROUBLE_MALFORMED && kind != INSPECT_TROUBLE_CUT)
		return;
	if (a->troubles++ < TROUBLES_MAX)
		weft_log(WEFT_WARN, "%s", sentence);
}

static struct symbolize_answer *to_answer(const struct inspect_name *name)
{
	struct symbolize_answer *answer = symbolize_answer_new(1);

	if (!answer)
		return NULL;
	answer->rank = symbolize_rank(name->source);
	answer->level[0].source = name->source;
	answer->level[0].name = strdup(name->name);
	if (name->linkage_name)
		answer->level[0].linkage_name = strdup(name->linkage_name);
	if (answer->level[0].name)
		return answer;
	symbolize_answer_free(answer);
	return NULL;
}

static void on_names(void *ctx, enum inspect_status status,
		     const struct inspect_name *names, size_t n)
{
	struct group *g = ctx;
	struct asker *a = g->asker;

	a->pending--;
	/* All groups ask the same file; one that went wrong says more. */
	if (status != INSPECT_OK)
		a->status = status;
	for (size_t i = 0; status == INSPECT_OK && i < n && i < g->n; i++) {
		struct symbolize_answer *answer =
			names[i].name ? to_answer(&names[i]) : NULL;

		if (!answer)
			continue;
		a->has_names = true;
		symbolize_offer(&g->binary->wanted[g->index[i]], answer);
	}
	free(g);
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* The levels of a frame by DWARF, the last of which symbol is of; NULL: none
 * of them has a name. */
static struct symbolize_answer *merge(const struct symbolize_answer *symbol,
				      const struct inspect_level *levels,
				      size_t n)
{
	struct frame_name name[INSPECT_LEVELS_MAX], outermost = { 0 };
	struct symbolize_answer *answer;
	size_t n_names;

	if (symbol) {
		const struct symbolize_level *last =
			&symbol->level[symbol->n - 1];

		outermost.name = last->name;
		outermost.linkage_name = last->linkage_name;
		outermost.source = last->source;
	}
	n_names = level_names(name, &outermost, levels, n);
	answer = n_names ? symbolize_answer_new((uint32_t)n_names) : NULL;
	for (size_t i = 0; i < n_names && answer; i++) {
		struct symbolize_level *to = &answer->level[i];

		to->source = name[i].source;
		to->name = strdup(name[i].name);
		to->linkage_name = copy(name[i].linkage_name);
		to->file = copy(name[i].file);
		to->line = name[i].line;
		to->function_line = name[i].function_line;
		if (!to->name) {
			symbolize_answer_free(answer);
			answer = NULL;
		}
	}
	if (answer)
		answer->rank = symbolize_rank(name[n_names - 1].source);
	return answer;
}

static void on_lines(void *ctx, enum inspect_status status,
		     const struct inspect_level *levels, size_t n)
{
	struct group *g = ctx;

	g->asker->pending--;
	for (size_t i = 0; status == INSPECT_OK && i < n;) {
		size_t at = levels[i].at, next = i;
		struct symbolize_frame *frame;
		struct symbolize_answer *answer;

		while (next < n && levels[next].at == at)
			next++;
		frame = at < g->n ? &g->binary->wanted[g->index[at]] : NULL;
		answer = frame ? merge(frame->answer, levels + i, next - i)
			       : NULL;
		if (answer) {
			g->asker->has_names = true;
			symbolize_offer(frame, answer);
		}
		i = next;
	}
	free(g);
}

static int ask_group(struct asker *a, const struct inspect_file *file,
		     struct group *g)
{
	int rc = a->wants_lines ? inspect_lines(a->in, file, g->address, g->n,
						on_lines, g)
				: inspect_names(a->in, file, g->address, g->n,
						on_names, g);

	if (rc) {
		free(g);
		return rc;
	}
	a->pending++;
	return 0;
}

static struct group *group_new(struct asker *a, struct symbolize_binary *b)
{
	struct group *g = malloc(sizeof(*g));

	if (g) {
		g->asker = a;
		g->binary = b;
		g->n = 0;
	}
	return g;
}

/* Ask one place for the names, or the lines, that are lacking; and wait. */
static int ask_for(struct asker *a, struct symbolize_binary *b,
		   const struct inspect_file *file)
{
	struct group *g = NULL;
	int rc = 0;

	for (size_t i = 0; i < b->n_wanted && !rc; i++) {
		const struct symbolize_answer *have = b->wanted[i].answer;

		if (!a->wants_lines && have && have->rank >= RANK_SYMTAB)
			continue;
		if (!g)
			g = group_new(a, b);
		if (!g)
			return -ENOMEM;
		g->index[g->n] = i;
		g->address[g->n++] = b->wanted[i].address;
		if (g->n < INSPECT_NAMES_MAX)
			continue;
		rc = ask_group(a, file, g);
		g = NULL;
	}
	if (g)
		rc = ask_group(a, file, g);
	while (a->pending)
		uv_run(&a->loop, UV_RUN_ONCE);
	return rc;
}

/* How a file's lines fare does not matter to its names. */
static int ask_place(struct asker *a, struct symbolize_binary *b,
		     const struct inspect_file *file)
{
	enum inspect_status status;
	int rc;

	a->status = INSPECT_OK;
	a->has_names = false;
	a->wants_lines = false;
	rc = ask_for(a, b, file);
	status = a->status;
	if (rc || status != INSPECT_OK)
		return rc;
	a->wants_lines = true;
	rc = ask_for(a, b, file);
	a->status = status;
	return rc;
}

/* ---- where to look */

static void add_try(struct search *s, const char *root, const char *path,
		    bool is_debug, bool is_vouched)
{
	if (root && path && s->n < SYMBOLIZE_TRIES_MAX)
		s->try[s->n++] =
			(struct try){ { root, path }, is_debug, is_vouched };
}

static void add_debug(struct search *s, const char *root, const char *path)
{
	if (root && path && s->n_debug_files < ARRAY_LEN(s->debug_files))
		s->debug_files[s->n_debug_files++] =
			(struct inspect_place){ root, path };
}

static bool parse_build_id(const char *text, struct inspect_file *file)
{
	size_t length = strlen(text), size = length / 2;

	if (length % 2 || size < 2 || size > INSPECT_BUILD_ID_MAX ||
	    strspn(text, "0123456789abcdef") != length)
		return false;
	for (size_t i = 0; i < size; i++)
		if (sscanf(text + 2 * i, "%2hhx", &file->build_id[i]) != 1)
			return false;
	file->build_id_size = (uint8_t)size;
	return true;
}

static void parse_identity(const char *text, struct inspect_file *file)
{
	if (sscanf(text, "%" SCNu32 ":%" SCNu32 ":%" SCNu64, &file->dev_major,
		   &file->dev_minor, &file->inode) != 3)
		file->inode = 0;
}

static void add_build_id(struct search *s, const struct symbolize_opts *o,
			 const struct symbolize_binary *b)
{
	const char *id = b->build_id;

	/* At most 2 * INSPECT_BUILD_ID_MAX digits, as was checked. */
	snprintf(s->build_id, sizeof(s->build_id), "/.build-id/%.2s/%.38s", id,
		 id + 2);
	snprintf(s->debug[0], sizeof(s->debug[0]),
		 "/.build-id/%.2s/%.38s.debug", id, id + 2);
	snprintf(s->debug[1], sizeof(s->debug[1]),
		 "/usr/lib/debug/.build-id/%.2s/%.38s.debug", id, id + 2);
	add_debug(s, o->symfs, s->debug[0]);
	add_debug(s, o->symfs, s->debug[1]);
	add_debug(s, o->debug_dir, s->debug[0]);
	add_debug(s, "/", b->fetched_debug);
	add_try(s, o->symfs, s->build_id, false, false);
	add_try(s, o->debug_dir, s->build_id, false, false);
}

/* The file as it is looked for; false where nothing could prove it. */
static bool plan(struct search *s, const struct symbolize_opts *o,
		 const struct symbolize_binary *b)
{
	bool has_path = b->path[0] == '/';

	*s = (struct search){
		.file = { .path = b->path,
			  /* Bars a file that makes an inspector hang, no
			   * other one. */
			  .start_ns = (uint64_t)b->id },
	};
	if (b->build_id && !parse_build_id(b->build_id, &s->file))
		return false;
	if (!b->build_id)
		parse_identity(b->identity, &s->file);
	if (has_path)
		add_try(s, o->symfs, b->path, false, !b->build_id);
	if (b->build_id)
		add_build_id(s, o, b);
	if (has_path)
		add_try(s, "/", b->path, false, false);
	add_try(s, "/", b->fetched, false, false);
	for (size_t i = 0; i < s->n_debug_files; i++)
		add_try(s, s->debug_files[i].root, s->debug_files[i].path, true,
			false);
	return true;
}

static void raise_state(struct symbolize_binary *b, enum symbolize_state state)
{
	if (state > b->state)
		b->state = state;
}

/* Remember what a place turned out to be. */
static void judge(const struct asker *a, struct symbolize_binary *b,
		  const struct try *t)
{
	switch (a->status) {
	case INSPECT_OK:
		if (t->is_debug && !a->has_names)
			raise_state(b, STATE_SILENT);
		else
			raise_state(b, t->is_vouched ? STATE_VOUCHED
						     : STATE_PROVEN);
		return;
	case INSPECT_GONE:
		return;
	case INSPECT_REFUSED:
		raise_state(b, STATE_REFUSED);
		break;
	default:
		raise_state(b, STATE_STUCK);
		break;
	}
	if (!b->refused)
		b->refused = join(t->place.root, t->place.path);
}

static int ask_binary(struct asker *a, struct symbolize_binary *b)
{
	struct inspect_place places[INSPECT_PLACES_MAX];
	struct search s;
	int rc = 0;

	if (!plan(&s, a->opts, b))
		return 0;
	for (size_t i = 0; i < s.n && !rc && !symbolize_is_settled(b); i++) {
		struct inspect_file file = s.file;

		/* A debug file alone is the last resort. */
		if (s.try[i].is_debug && b->state >= STATE_VOUCHED)
			break;
		places[0] = s.try[i].place;
		memcpy(places + 1, s.debug_files,
		       s.n_debug_files * sizeof(places[0]));
		a->binary = b;
		a->places = places;
		file.places = places;
		file.n_places = 1 + s.n_debug_files;
		file.is_debug = s.try[i].is_debug;
		file.segments = b->segments;
		file.n_segments = b->n_segments;
		file.is_vouched = s.try[i].is_vouched;
		file.pid = (uint32_t)i;
		rc = ask_place(a, b, &file);
		if (!rc)
			judge(a, b, &s.try[i]);
	}
	return rc;
}

static int open_asker(struct asker *a, struct weft_err *err)
{
	struct inspect_opts opts = { .deadline_ns = deadline_ns,
				     .lines_deadline_ns = 2 * deadline_ns };
	struct inspect_server server;
	int rc = inspect_fork(&server, err);

	if (rc)
		return rc;
	rc = uv_loop_init(&a->loop);
	if (rc) {
		close(server.fd); /* it ends with that */
		return weft_fail(err, rc, "cannot start: %s", strerror(-rc));
	}
	rc = inspect_open(&a->in, &a->loop, server, &opts, err);
	if (rc) {
		(void)uv_loop_close(&a->loop);
		return rc;
	}
	inspect_on_trouble(a->in, on_trouble, a);
	inspect_on_other(a->in, on_other, a);
	return 0;
}

int symbolize_ask(struct symbolize_list *list,
		  const struct symbolize_opts *opts, bool only_fetched,
		  const volatile int *stop, struct weft_err *err)
{
	struct asker a = { .opts = opts };
	int rc = open_asker(&a, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < list->n && !rc && !*stop; i++) {
		struct symbolize_binary *b = &list->binaries[i];

		if (only_fetched && !b->fetched && !b->fetched_debug)
			continue;
		rc = ask_binary(&a, b);
		if (rc)
			weft_fail(err, rc, "cannot name the code of '%s': %s",
				  b->path, strerror(-rc));
	}
	if (a.troubles > TROUBLES_MAX)
		weft_log(
			WEFT_WARN,
			"%zu more files have symbols or DWARF that are not read",
			a.troubles - TROUBLES_MAX);
	inspect_close(a.in);
	uv_run(&a.loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&a.loop);
	return rc;
}
