/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/weft.h"

static const char *log_program = "weft";
static enum weft_level log_level = WEFT_INFO;

enum weft_exit weft_exit_for(int code)
{
	return code == -EACCES || code == -EPERM ? WEFT_EXIT_NO_PERMISSION
						 : WEFT_EXIT_FAILED;
}

int weft_fail(struct weft_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (code >= 0)
		code = -EINVAL;
	if (!err || err->code)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return code;
}

void weft_log_init(const char *program, enum weft_level level)
{
	log_program = program;
	log_level = level;
}

void weft_log(enum weft_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	weft_vlog(level, fmt, ap);
	va_end(ap);
}

void weft_vlog(enum weft_level level, const char *fmt, va_list ap)
{
	char text[1024], safe[4 * sizeof(text)];

	if (level > log_level)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	weft_sanitize(safe, sizeof(safe), text, strlen(text));
	fprintf(stderr, "%s: %s\n", log_program, safe);
}

size_t weft_decode(const unsigned char *text, size_t size, uint32_t *point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length, i;
	uint32_t c;

	if (!size)
		return 0;
	if (text[0] < 0x80) {
		*point = text[0];
		return 1;
	}
	if (text[0] >= 0xc2 && text[0] <= 0xdf)
		length = 2;
	else if ((text[0] & 0xf0) == 0xe0)
		length = 3;
	else if (text[0] >= 0xf0 && text[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (length > size)
		return 0;
	c = text[0] & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*point = c;
	return length;
}

bool weft_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||      /* C0, DEL, C1 */
	       c == 0x061c || c == 0x200e || c == 0x200f || /* bidi marks */
	       (c >= 0x2028 && c <= 0x202e) || /* separators, bidi embedding */
	       (c >= 0x2066 && c <= 0x2069);   /* bidi isolates */
}

void weft_hex(char *out, const void *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *in = bytes;
	size_t i;

	for (i = 0; i < size; i++) {
		*out++ = digits[in[i] >> 4];
		*out++ = digits[in[i] & 15];
	}
	*out = '\0';
}

/* How many bytes at the beginning are what nearly all are: safe as they stand.
 */
static size_t plain_length(const unsigned char *in, size_t size)
{
	size_t n = 0;

	while (n < size && in[n] >= 0x20 && in[n] < 0x7f)
		n++;
	return n;
}

size_t weft_sanitize(char *out, size_t out_size, const char *text, size_t size)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t length = 0, take, need, i;
	uint32_t point = 0;

	if (!out_size)
		return 0;
	while (size) {
		need = out_size - 1 - length;
		take = plain_length(in, size < need ? size : need);
		memcpy(out + length, in, take);
		length += take;
		in += take;
		size -= take;
		if (!size)
			break;
		take = weft_decode(in, size, &point);
		if (take && !weft_is_unsafe(point)) {
			need = take;
		} else {
			take = take ? take : 1;
			need = 4 * take;
			point = 0; /* marks an escape */
		}
		if (need > out_size - 1 - length)
			break;
		for (i = 0; i < take; i++) {
			if (point) {
				out[length++] = (char)in[i];
				continue;
			}
			out[length++] = '\\';
			out[length++] = 'x';
			weft_hex(out + length, in + i, 1);
			length += 2;
		}
		in += take;
		size -= take;
	}
	out[length] = '\0';
	return length;
}

/*
 * Read the digits at *text, which then points behind them. Returns 0, -EINVAL
 * (there is none) or -ERANGE (read on to the last digit all the same).
 */
static int parse_digits(const char **text, uint64_t *out)
{
	const char *p = *text;
	unsigned digit;
	int rc = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (*out = 0; *p >= '0' && *p <= '9'; p++) {
		digit = (unsigned)(*p - '0');
		if (rc || *out > (UINT64_MAX - digit) / 10)
			rc = -ERANGE;
		else
			*out = *out * 10 + digit;
	}
	*text = p;
	return rc;
}

static int in_range(uint64_t n, uint64_t min, uint64_t max, uint64_t *out)
{
	if (n < min || n > max)
		return -ERANGE;
	*out = n;
	return 0;
}

int weft_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t n;
	int rc;

	rc = parse_digits(&text, &n);
	if (*text)
		return -EINVAL;
	return rc ? rc : in_range(n, min, max, out);
}

int weft_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned shift = 0;
	uint64_t n;
	int rc;

	rc = parse_digits(&text, &n);
	if (rc == -EINVAL)
		return rc;
	switch (*text) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'm':
	case 'M':
		shift = 20;
		break;
	case 'g':
	case 'G':
		shift = 30;
		break;
	case '\0':
		break;
	default:
		return -EINVAL;
	}
	if (shift && text[1])
		return -EINVAL;
	if (rc || n > UINT64_MAX >> shift)
		return -ERANGE;
	return in_range(n << shift, min, max, out);
}

int weft_parse_seconds(const char *text, uint64_t min_ns, uint64_t max_ns,
		       uint64_t *out_ns)
{
	const uint64_t second = 1000000000;
	uint64_t whole, unit = second, ns = 0;
	int rc;

	rc = parse_digits(&text, &whole);
	if (rc == -EINVAL)
		return rc;
	if (*text == '.') {
		if (!text[1])
			return -EINVAL;
		/* Digits below a nanosecond are read and dropped. */
		for (text++; *text >= '0' && *text <= '9'; text++) {
			unit /= 10;
			ns += unit * (uint64_t)(*text - '0');
		}
	}
	if (*text)
		return -EINVAL;
	if (rc || whole > (UINT64_MAX - ns) / second)
		return -ERANGE;
	return in_range(whole * second + ns, min_ns, max_ns, out_ns);
}

enum {
	NEAREST_MAX = 32
}; /* longer words are never suggested */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Edit distance; two neighbours that changed places count once. */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	unsigned d[NEAREST_MAX + 1][NEAREST_MAX + 1];
	size_t i, j;

	for (i = 0; i <= n_a; i++)
		d[i][0] = (unsigned)i;
	for (j = 0; j <= n_b; j++)
		d[0][j] = (unsigned)j;
	for (i = 1; i <= n_a; i++) {
		for (j = 1; j <= n_b; j++) {
			d[i][j] = least(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] = least(d[i][j], d[i - 1][j - 1] + (a[i - 1] !=
								    b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n_a][n_b];
}

const char *weft_nearest(const char *text, const char *const *words)
{
	size_t n_text = strlen(text), n_word;
	const char *best = NULL;
	/* A suggestion keeps at least about two letters of three. */
	unsigned d, limit = (unsigned)(n_text + 2) / 3 + 1;

	if (!n_text || n_text > NEAREST_MAX)
		return NULL;
	for (; *words; words++) {
		n_word = strlen(*words);
		if (n_word > NEAREST_MAX)
			continue;
		d = distance(text, n_text, *words, n_word);
		if (d < limit) {
			limit = d;
			best = *words;
		}
	}
	return best;
}

const char *weft_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool weft_sudo_user(uid_t *uid, gid_t *gid)
{
	const char *uid_text = getenv("SUDO_UID");
	const char *gid_text = getenv("SUDO_GID");
	uint64_t user, group;

	if (geteuid() != 0 || !uid_text || !gid_text ||
	    weft_parse_u64(uid_text, 0, UINT32_MAX - 1, &user) ||
	    weft_parse_u64(gid_text, 0, UINT32_MAX - 1, &group))
		return false;
	*uid = (uid_t)user;
	*gid = (gid_t)group;
	return true;
}

bool weft_is_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && !(term && !strcmp(term, "dumb"));
}

bool weft_find_beside(const char *name, char *out, size_t size)
{
	size_t name_size = strlen(name) + 1;
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	char *slash = NULL;

	if (n > 0 && (size_t)n < size - 1) {
		out[n] = '\0';
		slash = strrchr(out, '/');
	}
	if (!slash || (size_t)(slash + 1 - out) + name_size > size)
		return false;
	memcpy(slash + 1, name, name_size);
	return true;
}

void weft_exec_beside(const char *name, char *const *argv)
{
	char path[4096];

	if (weft_find_beside(name, path, sizeof(path)))
		execv(path, argv);
	execvp(name, argv);
}
