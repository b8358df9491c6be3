/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/tracefs.h"
#include "collector/tracepoint.h"
#include "collector/tracepoints.h"

enum {
	FORMAT_BYTES_MAX = 1 << 16
};

/* "unsigned int fd" into type and name; false: neither. */
static bool split_declaration(const char *text, size_t size,
			      struct tracepoint_field *f)
{
	size_t end = size, from;

	f->is_array = memchr(text, '[', size) != NULL;
	if (f->is_array && text[size - 1] == ']')
		while (end && text[end - 1] != '[')
			end--;
	if (end < size)
		end--; /* the bracket */
	from = end;
	while (from && text[from - 1] != ' ')
		from--;
	if (!from || from == end || end - from >= sizeof(f->name) ||
	    from - 1 >= sizeof(f->type))
		return false;
	memcpy(f->name, text + from, end - from);
	memcpy(f->type, text, from - 1);
	return true;
}

/* "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;" */
static bool parse_field(const char *line, struct tracepoint_field *f)
{
	const char *from = strchr(line, ':') + 1;
	const char *end = strchr(from, ';');
	unsigned offset, size, is_signed;

	*f = (struct tracepoint_field){ .is_signed = false };
	if (!end || !split_declaration(from, (size_t)(end - from), f) ||
	    sscanf(end, ";\toffset:%u;\tsize:%u;\tsigned:%u;", &offset, &size,
		   &is_signed) != 3 ||
	    offset > UINT16_MAX || size > UINT16_MAX)
		return false;
	f->offset = (uint16_t)offset;
	f->size = (uint16_t)size;
	f->is_signed = is_signed;
	return true;
}

int tracepoint_parse(const char *text, struct tracepoint *out)
{
	bool has_id = false;

	*out = (struct tracepoint){ .id = 0 };
	for (const char *line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		struct tracepoint_field *f = &out->field[out->n_fields];

		if (sscanf(line, "ID: %u", &out->id) == 1)
			has_id = true;
		if (strncmp(line, "\tfield:", 7) ||
		    out->n_fields == TRACEPOINT_FIELDS_MAX)
			continue;
		if (!parse_field(line, f))
			return -EPROTO;
		out->n_fields++;
	}
	return has_id ? 0 : -EPROTO;
}

const struct tracepoint_field *tracepoint_find(const struct tracepoint *event,
					       const char *name)
{
	for (size_t i = 0; i < event->n_fields; i++)
		if (!strcmp(event->field[i].name, name))
			return &event->field[i];
	return NULL;
}

int tracepoint_read(int events_fd, const char *category, const char *name,
		    struct tracepoint *out, struct weft_err *err)
{
	char path[TRACEFS_NAME_MAX + sizeof("/format")];
	int rc = tracepoints_check(events_fd, category, name, err);
	size_t n = 0;
	ssize_t got;
	char *text;
	int fd;

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/%s/format", category, name);
	fd = openat(events_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return weft_fail(
			err, -errno,
			"cannot read the format of tracepoint '%s:%s': %s",
			category, name, strerror(errno));
	text = malloc(FORMAT_BYTES_MAX);
	if (!text) {
		close(fd);
		return weft_fail(err, -ENOMEM, "out of memory");
	}
	while (n < FORMAT_BYTES_MAX - 1 &&
	       (got = read(fd, text + n, FORMAT_BYTES_MAX - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	text[n] = '\0';
	rc = tracepoint_parse(text, out);
	free(text);
	if (rc)
		return weft_fail(err, rc,
				 "cannot read the format of tracepoint '%s:%s'",
				 category, name);
	return 0;
}
