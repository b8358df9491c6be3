/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/obi.h"
#include "gen/weft.skel.h"

#define OBI_DIRECTORY "/sys/fs/bpf/otel"

enum {
	/* Of each it has to be known whether it has something else. */
	PROCESSES_MAX = 16384
};

/* As OBI declares it (its bpf/shared/obi_ctx.h). libbpf would refuse to load
 * the whole program with a map of another shape. */
static const struct bpf_map_info shape = {
	.type = BPF_MAP_TYPE_LRU_HASH,
	.key_size = sizeof(__u64),
	.value_size = sizeof(struct weft_obi_ids),
	.max_entries = WEFT_OBI_ENTRIES,
};

const char *obi_parse(const char *text, enum weft_obi *out)
{
	static const char *const words[] = {
		[WEFT_OBI_OFF] = "off",
		[WEFT_OBI_AUTO] = "auto",
		[WEFT_OBI_ALWAYS] = "always",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]))
			continue;
		*out = (enum weft_obi)i;
		return NULL;
	}
	return "--obi takes auto, off or always";
}

static bool is_empty(int fd)
{
	__u64 key;

	return bpf_map_get_next_key(fd, NULL, &key) == -ENOENT;
}

void obi_open(struct obi_pin *out)
{
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);
	int fd = bpf_obj_get(OBI_PIN);
	int rc;

	*out = (struct obi_pin){ .state = OBI_ABSENT, .fd = -1 };
	if (fd < 0) {
		if (fd != -ENOENT)
			out->state = OBI_DENIED;
		snprintf(out->found, sizeof(out->found), "%s", strerror(-fd));
		return;
	}
	/* Of a program, too, it tells something. */
	rc = bpf_obj_get_info_by_fd(fd, &info, &size);
	if (rc || info.type != shape.type || info.key_size != shape.key_size ||
	    info.value_size != shape.value_size ||
	    info.max_entries != shape.max_entries || info.map_flags) {
		out->state = OBI_DIFFERENT;
		snprintf(
			out->found, sizeof(out->found),
			"type %u, keys of %u and values of %u bytes, %u entries, flags 0x%x; OBI's is type %u, %u, %u, %u, 0x0",
			info.type, info.key_size, info.value_size,
			info.max_entries, info.map_flags, shape.type,
			shape.key_size, shape.value_size, shape.max_entries);
		close(fd);
		return;
	}
	out->fd = fd;
	out->state = is_empty(fd) ? OBI_EMPTY : OBI_READY;
}

void obi_close(struct obi_pin *pin)
{
	if (pin->fd >= 0)
		close(pin->fd);
	pin->fd = -1;
}

/* Pin an empty map. Another may do the same at that time: then its is. */
static int make_pin(void)
{
	int fd = bpf_map_create((enum bpf_map_type)shape.type, "traces_ctx_v1",
				shape.key_size, shape.value_size,
				shape.max_entries, NULL);
	int rc = fd;

	if (fd < 0)
		return rc;
	rc = mkdir(OBI_DIRECTORY, 0755) && errno != EEXIST
		     ? -errno
		     : bpf_obj_pin(fd, OBI_PIN);
	close(fd);
	return rc == -EEXIST ? 0 : rc;
}

static void tell(const struct obi_pin *pin)
{
	switch (pin->state) {
	case OBI_READY:
	case OBI_EMPTY:
		weft_log(WEFT_INFO, "trace IDs of OBI come from %s", OBI_PIN);
		break;
	case OBI_DIFFERENT:
		weft_log(
			WEFT_WARN,
			"%s is not as OBI's map (%s): trace IDs of OBI are not read; update weft or OBI, or --obi off",
			OBI_PIN, pin->found);
		break;
	case OBI_DENIED:
		weft_log(
			WEFT_WARN,
			"cannot open %s: %s: trace IDs of OBI are not read; run it as root, or --obi off",
			OBI_PIN, pin->found);
		break;
	case OBI_ABSENT:
		break;
	}
}

int obi_prepare(struct weft_bpf *skel, enum weft_obi mode)
{
	struct weft_config *config =
		(struct weft_config *)&skel->rodata->config;
	struct obi_pin pin;
	int rc = 0;

	config->obi = WEFT_OBI_OFF;
	if (mode == WEFT_OBI_OFF)
		return 0;
	obi_open(&pin);
	if (pin.state == OBI_ABSENT && mode == WEFT_OBI_ALWAYS) {
		rc = make_pin();
		if (rc)
			weft_log(
				WEFT_WARN,
				"cannot pin a map for OBI at %s: %s: its trace IDs are not read; is a file system of type bpf mounted at /sys/fs/bpf?",
				OBI_PIN, strerror(-rc));
		obi_open(&pin);
	}
	tell(&pin);
	rc = 0;
	if (pin.fd >= 0) {
		config->obi = mode;
		rc = bpf_map__reuse_fd(skel->maps.obi_contexts, pin.fd);
		if (!rc)
			rc = bpf_map__set_max_entries(
				skel->maps.context_entries, PROCESSES_MAX);
	}
	obi_close(&pin);
	return rc;
}

bool obi_is_silent(const struct weft_bpf *skel)
{
	return skel->rodata->config.obi != WEFT_OBI_OFF &&
	       !skel->data_shared->shared.obi_was_read &&
	       is_empty(bpf_map__fd(skel->maps.obi_contexts));
}
