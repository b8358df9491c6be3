/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/grow.h"
#include "collector/otlp/file.h"

/* A document, or a line, or a message. What is larger is no export. */
static const size_t document_max = 1 << 30;

enum {
	BLOCK = 1 << 16,
	ZLIB_BUFFER = 1 << 17,
};

struct input {
	const char *path;
	gzFile gz;
	char *buffer; /* owned */
	size_t room;
	char *text; /* in it: what was read and not used yet */
	size_t size;
	bool is_at_end;
	struct weft_err *err;
};

static int fail_read(struct input *in)
{
	int code;
	const char *text = gzerror(in->gz, &code);

	return weft_fail(in->err, code == Z_ERRNO ? -errno : -EIO,
			 "cannot read '%s': %s", in->path, text);
}

/* Have at least want bytes, if there are so many. */
static int fill(struct input *in, size_t want)
{
	while (in->size < want && !in->is_at_end) {
		int got;

		if (in->size)
			memmove(in->buffer, in->text, in->size);
		if (GROW(in->buffer, in->size + BLOCK, in->room))
			return weft_fail(in->err, -ENOMEM,
					 "cannot read '%s': out of memory",
					 in->path);
		in->text = in->buffer;
		got = gzread(in->gz, in->text + in->size, BLOCK);
		if (got < 0)
			return fail_read(in);
		in->size += (size_t)got;
		in->is_at_end = !got;
	}
	return 0;
}

static void use(struct input *in, size_t size)
{
	in->text += size;
	in->size -= size;
}

static int fail_size(struct input *in, const char *what)
{
	return weft_fail(in->err, -E2BIG,
			 "cannot read '%s': %s of more than 1 GiB: split it",
			 in->path, what);
}

/* Have all that is left. */
static int fill_all(struct input *in)
{
	while (!in->is_at_end) {
		int rc = fill(in, in->size + BLOCK);

		if (rc)
			return rc;
		if (in->size > document_max)
			return fail_size(in, "a document");
	}
	return 0;
}

/* Have a whole line; *size is its length with the newline, or what is left
 * where there is none. */
static int fill_line(struct input *in, size_t *size)
{
	size_t searched = 0;

	for (;;) {
		char *end = in->size > searched
				    ? memchr(in->text + searched, '\n',
					     in->size - searched)
				    : NULL;
		int rc;

		*size = end ? (size_t)(end - in->text) + 1 : in->size;
		if (end || in->is_at_end)
			return 0;
		searched = in->size;
		if (searched > document_max)
			return fail_size(in, "a line");
		rc = fill(in, in->size + BLOCK);
		if (rc)
			return rc;
	}
}

static bool is_blank(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return false;
	}
	return true;
}

/* A document over several lines. */
static int read_document(struct input *in, struct otlp_spans *spans)
{
	int rc = fill_all(in);

	return rc ? rc
		  : otlp_read_json(spans, in->text, in->size, in->path,
				   in->err);
}

static int read_lines(struct input *in, struct otlp_spans *spans, bool *is_cut)
{
	for (uint64_t line = 1;; line++) {
		struct weft_err fault = { 0 };
		char place[512];
		size_t size;
		int rc = fill_line(in, &size);
		bool is_last = in->is_at_end && size == in->size;

		if (rc || !size)
			return rc;
		snprintf(place, sizeof(place), "%.400s, line %llu", in->path,
			 (unsigned long long)line);
		if (!is_blank(in->text, size))
			rc = otlp_read_json(spans, in->text, size, place,
					    &fault);
		if (rc && line == 1 && !is_last)
			return read_document(in, spans);
		if (rc == -EPROTO && line > 1 && is_last &&
		    in->text[size - 1] != '\n') {
			*is_cut = true;
			return 0;
		}
		if (rc)
			return weft_fail(in->err, rc, "%s", fault.msg);
		use(in, size);
	}
}

static int read_messages(struct input *in, struct otlp_spans *spans,
			 bool *is_cut)
{
	for (uint64_t n = 1;; n++) {
		uint32_t length;
		char place[512];
		size_t size;
		int rc = fill(in, sizeof(length));

		if (rc || !in->size)
			return rc;
		*is_cut = in->size < sizeof(length);
		if (*is_cut)
			return 0;
		memcpy(&length, in->text, sizeof(length));
		size = ntohl(length);
		if (!size) /* a file of zeros would never end */
			return weft_fail(in->err, -EPROTO,
					 "%s, message %llu: it is empty: this "
					 "is no OTLP",
					 in->path, (unsigned long long)n);
		if (size > document_max)
			return fail_size(in, "a message");
		rc = fill(in, sizeof(length) + size);
		if (rc)
			return rc;
		*is_cut = in->size < sizeof(length) + size;
		if (*is_cut)
			return 0;
		snprintf(place, sizeof(place), "%.400s, message %llu", in->path,
			 (unsigned long long)n);
		rc = otlp_read_proto(spans,
				     (const uint8_t *)in->text + sizeof(length),
				     size, place, in->err);
		if (rc)
			return rc;
		use(in, sizeof(length) + size);
	}
}

static int read_proto(struct input *in, struct otlp_spans *spans, bool *is_cut)
{
	int rc = fill(in, 1);

	if (rc || !in->size)
		return rc;
	/* No message begins with 0; a length below 16 MiB does. */
	if (!in->text[0])
		return read_messages(in, spans, is_cut);
	rc = fill_all(in);
	return rc ? rc
		  : otlp_read_proto(spans, (const uint8_t *)in->text, in->size,
				    in->path, in->err);
}

/* A message begins with its first field's tag, which is also a newline. */
static int read_any(struct input *in, struct otlp_spans *spans, bool *is_cut)
{
	int rc = fill(in, BLOCK);
	size_t at = 0;

	if (rc || !in->size)
		return rc;
	if (!in->text[0])
		return read_proto(in, spans, is_cut);
	while (at < in->size && is_blank(in->text + at, 1))
		at++;
	if (in->text[0] == '\n' &&
	    (at == in->size || !strchr("{[", in->text[at])))
		return read_proto(in, spans, is_cut);
	return read_lines(in, spans, is_cut);
}

/* The gzip around it has no end: zlib gives what there is before, which may
 * happen to be whole lines. */
static bool lacks_gzip_end(struct input *in)
{
	int code;

	gzerror(in->gz, &code);
	return code == Z_BUF_ERROR;
}

static int open_input(struct input *in)
{
	int fd = strcmp(in->path, "-") ? open(in->path, O_RDONLY | O_CLOEXEC)
				       : dup(STDIN_FILENO);

	if (fd >= 0) {
		in->gz = gzdopen(fd, "rb");
		if (in->gz) {
			gzbuffer(in->gz, ZLIB_BUFFER);
			return 0;
		}
		close(fd);
		errno = ENOMEM;
	}
	return weft_fail(in->err, -errno, "cannot open '%s': %s", in->path,
			 strerror(errno));
}

int otlp_read_file(struct otlp_spans *spans, const char *path,
		   enum otlp_form form, bool *is_cut, struct weft_err *err)
{
	struct input in = { .path = path, .err = err };
	struct otlp_mark before;
	int rc = open_input(&in);

	*is_cut = false;
	if (rc)
		return rc;
	before = otlp_mark(spans);
	if (form == OTLP_JSON)
		rc = read_lines(&in, spans, is_cut);
	else if (form == OTLP_PROTO)
		rc = read_proto(&in, spans, is_cut);
	else
		rc = read_any(&in, spans, is_cut);
	*is_cut = *is_cut || (!rc && lacks_gzip_end(&in));
	gzclose(in.gz);
	free(in.buffer);
	if (rc)
		otlp_back_to(spans, before);
	return rc;
}
