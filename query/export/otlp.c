/* SPDX-License-Identifier: MIT */
/*
 * OTLP profiles. A ResourceProfiles for each process, with the scopes "weft"
 * (shape) and "weft.detail": both tell of the same CPU time, so their types
 * differ, or a backend that sums profiles of one type would count it twice.
 *
 * Shape: each stack's samples, with the mean period of the profile. Detail of
 * a timer: times without values, and as the period what each sample stands
 * for; so whoever multiplies counts by the period gets the time. Of what is
 * chosen by its size (off-cpu): what each stands for, and no period.
 *
 * Not there: process.executable.build_id.htlhash, a hash of the whole file,
 * which recordings do not have.
 *
 * Memory: beside the tables, the packed samples of a process, and of all
 * processes those of shape, where detail is to follow.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gen/otlp_profiles.pb-c.h"
#include "query/export/export.h"
#include "query/export/otlp_tables.h"

struct bytes {
	uint8_t *data; /* owned */
	size_t size, room;
};

/* A process: who it is, packed, and its profile of shape. */
struct party {
	int64_t id;
	struct bytes resource, shape;
};

/* Samples that are equal but for their time. */
struct equal {
	int32_t stack, link, attributes[2];
};

struct otlp {
	const struct export *x;
	struct otlp_tables *tables; /* owned */
	enum profile_form form;
	bool is_timer;
	bool in_process;

	struct party party; /* the process at hand */
	struct bytes samples;
	double count, value; /* sums of its profile */
	double carry;
	int64_t first_ns, last_ns; /* Unix; of the profile */

	struct equal equal; /* the sample at hand */
	bool has_sample;
	int64_t *values;
	uint64_t *times; /* both owned */
	size_t n, room;

	struct party *waiting; /* owned: shape, until its detail comes */
	size_t n_waiting, next_waiting;
	int32_t comment; /* attribute: the ledger */
};

static int reserve(struct bytes *b, size_t more)
{
	size_t room = 2 * (b->size + more);
	uint8_t *grown;

	if (b->size + more <= b->room)
		return 0;
	grown = realloc(b->data, room);
	if (!grown)
		return -ENOMEM;
	b->data = grown;
	b->room = room;
	return 0;
}

/* Add a message's encoding, without a length. */
static int pack(struct bytes *b, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);

	if (reserve(b, size))
		return -ENOMEM;
	b->size += protobuf_c_message_pack(message, b->data + b->size);
	return 0;
}

static void release_party(struct party *p)
{
	free(p->resource.data);
	free(p->shape.data);
	*p = (struct party){ 0 };
}

static int flush_sample(struct otlp *o)
{
	OtlpProfiles__Sample one = OTLP_PROFILES__SAMPLE__INIT;
	OtlpProfiles__Sample *list[] = { &one };
	OtlpProfiles__Profile part = OTLP_PROFILES__PROFILE__INIT;

	if (!o->has_sample)
		return 0;
	o->has_sample = false;
	one.stack_index = o->equal.stack;
	one.link_index = o->equal.link;
	if (o->form == PROFILE_DETAIL) {
		one.attribute_indices = o->equal.attributes;
		one.n_attribute_indices = ARRAY_LEN(o->equal.attributes);
		one.timestamps_unix_nano = o->times;
		one.n_timestamps_unix_nano = o->n;
	}
	if (o->form == PROFILE_SHAPE || !o->is_timer) {
		one.values = o->values;
		one.n_values = o->n;
	}
	part.samples = list;
	part.n_samples = 1;
	return pack(&o->samples, &part.base);
}

static void put_value_type(OtlpProfiles__ValueType *type, int32_t name,
			   int32_t unit)
{
	type->type_strindex = name;
	type->unit_strindex = unit;
}

/* 16 bytes that differ for all profiles of all recordings; not 0. */
static void make_id(const struct otlp *o, uint8_t id[16])
{
	uint64_t parts[3] = {
		(uint64_t)o->x->report->range.parts[0].start_unix_ns,
		(uint64_t)o->party.id, (uint64_t)o->form
	};
	uint64_t h = 0xcbf29ce484222325; /* FNV-1a */
	const uint8_t *at = (const uint8_t *)parts;
	size_t i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < sizeof(parts); i++)
			h = (h ^ at[i]) * 0x100000001b3;
		memcpy(id + 8 * round, &h, sizeof(h));
	}
	id[0] |= 1;
}

/* All of a profile but its samples, which stand in o->samples already. */
static int finish_profile(struct otlp *o, struct weft_err *err)
{
	bool is_detail = o->form == PROFILE_DETAIL;
	OtlpProfiles__Profile p = OTLP_PROFILES__PROFILE__INIT;
	OtlpProfiles__ValueType type = OTLP_PROFILES__VALUE_TYPE__INIT;
	OtlpProfiles__ValueType period = OTLP_PROFILES__VALUE_TYPE__INIT;
	int32_t event, unit, samples, count;
	uint8_t id[16];
	char name[64];
	int rc;

	export_event_type(o->x, name);
	rc = otlp_string(o->tables, name, &event, err);
	if (!rc)
		rc = otlp_string(o->tables, export_event_unit(o->x), &unit,
				 err);
	if (!rc)
		rc = otlp_string(o->tables,
				 is_detail ? "trace_samples" : "samples",
				 &samples, err);
	if (!rc)
		rc = otlp_string(o->tables, "count", &count, err);
	if (rc)
		return rc;
	put_value_type(&type, o->is_timer ? samples : event,
		       o->is_timer ? count : unit);
	p.sample_type = &type;
	if (o->is_timer && o->count > 0) {
		put_value_type(&period, event, unit);
		p.period_type = &period;
		p.period = export_whole(o->value / o->count, &(double){ 0 });
	}
	make_id(o, id);
	p.profile_id.data = id;
	p.profile_id.len = sizeof(id);
	p.time_unix_nano = (uint64_t)o->first_ns;
	p.duration_nano = (uint64_t)(o->last_ns - o->first_ns);
	p.attribute_indices = &o->comment;
	p.n_attribute_indices = 1;
	return pack(&o->samples, &p.base) ? export_no_memory(o->x, err) : 0;
}

/* o->samples as a ScopeProfiles in out. */
static int pack_scope(struct otlp *o, struct bytes *out)
{
	OtlpProfiles__Scope scope = OTLP_PROFILES__SCOPE__INIT;
	OtlpProfiles__ScopeProfiles s = OTLP_PROFILES__SCOPE_PROFILES__INIT;
	ProtobufCBinaryData profile = { o->samples.size, o->samples.data };

	scope.name = o->form == PROFILE_DETAIL ? (char *)"weft.detail"
					       : (char *)"weft";
	scope.version = (char *)WEFT_VERSION;
	s.scope = &scope;
	s.profiles = &profile;
	s.n_profiles = 1;
	return pack(out, &s.base);
}

/* A ResourceProfiles with one or two scopes. */
static int write_party(struct otlp *o, const struct party *p,
		       const struct bytes *detail, struct weft_err *err)
{
	OtlpProfiles__ResourceProfiles one =
		OTLP_PROFILES__RESOURCE_PROFILES__INIT;
	OtlpProfiles__ResourceProfiles *list[] = { &one };
	OtlpProfiles__ExportRequest request =
		OTLP_PROFILES__EXPORT_REQUEST__INIT;
	ProtobufCBinaryData scopes[2];
	struct bytes out = { 0 };
	int rc = 0;

	one.resource = otlp_profiles__resource__unpack(NULL, p->resource.size,
						       p->resource.data);
	if (p->shape.size)
		scopes[one.n_scope_profiles++] =
			(ProtobufCBinaryData){ p->shape.size, p->shape.data };
	if (detail && detail->size)
		scopes[one.n_scope_profiles++] =
			(ProtobufCBinaryData){ detail->size, detail->data };
	one.scope_profiles = scopes;
	request.resource_profiles = list;
	request.n_resource_profiles = 1;
	if (!one.resource || pack(&out, &request.base))
		rc = export_no_memory(o->x, err);
	else
		fwrite(out.data, 1, out.size, o->x->to);
	if (one.resource)
		otlp_profiles__resource__free_unpacked(one.resource, NULL);
	free(out.data);
	return rc;
}

/* Those of shape that have no detail, up to a process (or all). */
static int write_waiting(struct otlp *o, bool all, int64_t before,
			 struct weft_err *err)
{
	struct party *p;
	int rc = 0;

	while (!rc && o->next_waiting < o->n_waiting) {
		p = &o->waiting[o->next_waiting];
		if (!all && p->id >= before)
			break;
		rc = write_party(o, p, NULL, err);
		release_party(p);
		o->next_waiting++;
	}
	return rc;
}

static int keep_waiting(struct otlp *o)
{
	struct party *grown = o->waiting;

	if ((o->n_waiting & (o->n_waiting - 1)) == 0)
		grown = reallocarray(grown, o->n_waiting ? 2 * o->n_waiting : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	o->waiting = grown;
	grown[o->n_waiting++] = o->party;
	o->party = (struct party){ 0 };
	return 0;
}

/* The detail of a process, with the shape of the same that waits for it. */
static int write_detail(struct otlp *o, struct weft_err *err)
{
	struct bytes detail = { 0 };
	struct party *p;
	int rc = write_waiting(o, false, o->party.id, err);

	if (!rc && pack_scope(o, &detail))
		rc = export_no_memory(o->x, err);
	p = o->next_waiting < o->n_waiting ? &o->waiting[o->next_waiting]
					   : NULL;
	if (p && p->id != o->party.id)
		p = NULL;
	if (!rc)
		rc = write_party(o, p ? p : &o->party, &detail, err);
	if (p) {
		release_party(p);
		o->next_waiting++;
	}
	free(detail.data);
	return rc;
}

static int finish_process(struct otlp *o, struct weft_err *err)
{
	int rc;

	if (!o->in_process)
		return 0;
	o->in_process = false;
	if (flush_sample(o))
		return export_no_memory(o->x, err);
	rc = finish_profile(o, err);
	if (rc)
		return rc;
	if (o->form == PROFILE_DETAIL)
		rc = write_detail(o, err);
	else if (pack_scope(o, &o->party.shape) ||
		 (o->x->detail && keep_waiting(o)))
		rc = export_no_memory(o->x, err);
	else if (!o->x->detail)
		rc = write_party(o, &o->party, NULL, err);
	release_party(&o->party);
	o->samples.size = 0;
	return rc;
}

static void set_text(OtlpProfiles__KeyValue *kv, OtlpProfiles__AnyValue *value,
		     const char *key, char clean[1024], const char *text)
{
	weft_sanitize(clean, 1024, text, strlen(text));
	otlp_profiles__key_value__init(kv);
	otlp_profiles__any_value__init(value);
	kv->key = (char *)(uintptr_t)key;
	kv->value = value;
	value->value_case = OTLP_PROFILES__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = clean;
}

/* Attributes of the resource, as semantic conventions name them. */
static int pack_resource(struct otlp *o, const struct profile_process *p)
{
	OtlpProfiles__Resource resource = OTLP_PROFILES__RESOURCE__INIT;
	OtlpProfiles__AnyValue values[4];
	OtlpProfiles__KeyValue rows[4], *list[4];
	const char *slash = strrchr(p->exe, '/');
	char text[4][1024], service[160];
	size_t n = 0, i;

	snprintf(service, sizeof(service), "%s%s",
		 *p->service ? p->service : "unknown_service:",
		 *p->service ? "" : p->comm);
	set_text(&rows[n], &values[n], "service.name", text[0], service);
	n++;
	set_text(&rows[n], &values[n], "process.executable.name", text[1],
		 slash ? slash + 1 : p->comm);
	n++;
	if (*p->exe) {
		set_text(&rows[n], &values[n], "process.executable.path",
			 text[2], p->exe);
		n++;
	}
	set_text(&rows[n], &values[n], "process.pid", text[3], "");
	values[n].value_case = OTLP_PROFILES__ANY_VALUE__VALUE_INT_VALUE;
	values[n].int_value = p->pid;
	n++;
	for (i = 0; i < n; i++)
		list[i] = &rows[i];
	resource.attributes = list;
	resource.n_attributes = n;
	return pack(&o->party.resource, &resource.base);
}

static int begin_process(struct otlp *o, const struct profile_process *p)
{
	const struct range *r = &o->x->report->range;

	o->in_process = true;
	o->party.id = p->id;
	o->count = o->value = o->carry = 0;
	o->first_ns = r->parts[0].start_unix_ns;
	o->last_ns = o->first_ns + r->length_ns;
	return pack_resource(o, p);
}

/* What tells a sample from others of its process. */
static int describe(struct otlp *o, const struct profile_sample *s,
		    struct equal *out, struct weft_err *err)
{
	int rc = otlp_stack(o->tables, s, &out->stack, err);

	if (rc || o->form == PROFILE_SHAPE)
		return rc;
	rc = otlp_link(o->tables, s->trace, s->span, &out->link, err);
	if (!rc)
		rc = otlp_attribute_int(o->tables, "thread.id", s->tid,
					&out->attributes[0], err);
	if (!rc)
		rc = otlp_attribute_text(o->tables, "thread.name", s->thread,
					 &out->attributes[1], err);
	return rc;
}

static int add_point(struct otlp *o, const struct profile_sample *s)
{
	double exact = o->is_timer ? export_count(s) : export_value(s);
	size_t room = o->room ? 2 * o->room : 64;

	if (o->n == o->room) {
		int64_t *values =
			reallocarray(o->values, room, sizeof(*values));
		uint64_t *times;

		if (values)
			o->values = values;
		times = reallocarray(o->times, room, sizeof(*times));
		if (times)
			o->times = times;
		if (!values || !times)
			return -ENOMEM;
		o->room = room;
	}
	o->values[o->n] = export_whole(exact, &o->carry);
	o->times[o->n++] = (uint64_t)s->unix_ns;
	o->count += (double)s->count;
	o->value += export_value(s);
	if (o->form == PROFILE_SHAPE)
		return 0;
	if (s->unix_ns < o->first_ns)
		o->first_ns = s->unix_ns;
	if (s->unix_ns >= o->last_ns)
		o->last_ns = s->unix_ns + 1;
	return 0;
}

static int add(void *ctx, const struct profile_sample *s, struct weft_err *err)
{
	struct otlp *o = ctx;
	struct equal equal = { 0 };
	int rc = 0;

	if (!o->in_process || s->process.id != o->party.id) {
		rc = finish_process(o, err);
		if (!rc && begin_process(o, &s->process))
			rc = export_no_memory(o->x, err);
	}
	if (!rc)
		rc = describe(o, s, &equal, err);
	if (rc)
		return rc;
	if (!o->has_sample || memcmp(&equal, &o->equal, sizeof(equal)) != 0) {
		if (flush_sample(o))
			return export_no_memory(o->x, err);
		o->equal = equal;
		o->has_sample = true;
		o->n = 0;
	}
	return add_point(o, s) ? export_no_memory(o->x, err) : 0;
}

/* What was lost, as the comments of pprof that there is an attribute for. */
static int note_ledger(struct otlp *o, struct weft_err *err)
{
	const struct ledger *l = &o->x->report->ledger;
	char text[ARRAY_LEN(l->entries)][64];
	char *list[ARRAY_LEN(l->entries)];
	size_t i;

	for (i = 0; i < l->n_entries; i++) {
		list[i] = text[i];
		export_ledger_text(&l->entries[i], text[i]);
	}
	return otlp_attribute_list(o->tables, "pprof.profile.comment", list,
				   l->n_entries, &o->comment, err);
}

static int walk(struct otlp *o, enum profile_form form, struct weft_err *err)
{
	const struct export *x = o->x;
	int rc;

	o->form = form;
	rc = profile_walk(x->report, x->frames, &x->choice, form,
			  PROFILE_BY_STACK, add, o, err);
	return rc ? rc : finish_process(o, err);
}

int export_otlp(const struct export *x, struct weft_err *err)
{
	struct otlp o = {
		.x = x,
		.is_timer = x->report->range.parts[0].requested_hz > 0,
	};
	int rc = otlp_tables_open(&o.tables, x, err);

	if (!rc)
		rc = note_ledger(&o, err);
	if (!rc && x->shape)
		rc = walk(&o, PROFILE_SHAPE, err);
	if (!rc && x->detail)
		rc = walk(&o, PROFILE_DETAIL, err);
	if (!rc)
		rc = write_waiting(&o, true, 0, err);
	if (!rc)
		rc = otlp_tables_write(o.tables, x->to, err);
	while (o.next_waiting < o.n_waiting)
		release_party(&o.waiting[o.next_waiting++]);
	otlp_tables_close(o.tables);
	release_party(&o.party);
	free(o.samples.data);
	free(o.values);
	free(o.times);
	free(o.waiting);
	return rc;
}
