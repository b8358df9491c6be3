/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/measure/plan.h"

static const struct {
	const char *name;
	int number;
} syscalls[] = {
#include "gen/syscalls.h"
};

/* Tracepoints have the names of the kernel's functions. */
static const struct {
	const char *traced, *called;
} renamed[] = {
	{ "newstat", "stat" },        { "newlstat", "lstat" },
	{ "newfstat", "fstat" },      { "newuname", "uname" },
	{ "sendfile64", "sendfile" }, { "umount", "umount2" },
};

/* Types of system call arguments that are shorter than their register. */
static const struct {
	const char *type;
	uint8_t size;
	bool is_signed;
} argument_types[] = {
	{ "int", 4, true },       { "unsigned int", 4, false },
	{ "unsigned", 4, false }, { "u32", 4, false },
	{ "pid_t", 4, true },     { "uid_t", 4, false },
	{ "gid_t", 4, false },    { "clockid_t", 4, true },
	{ "timer_t", 4, true },   { "mqd_t", 4, true },
	{ "key_t", 4, true },     { "key_serial_t", 4, true },
	{ "umode_t", 2, false },  { "s32", 4, true },
	{ "long", 8, true },      { "loff_t", 8, true },
	{ "off_t", 8, true },     { "ssize_t", 8, true },
};

/* Fields that count bytes, by the names that system calls give them. */
static const char *const byte_fields[] = { "count",  "len",   "size",
					   "nbytes", "bytes", "length" };

enum {
	SYSCALL_FIRST_ARG = 16 /* offset in the record of sys_enter_* */
};

struct planning {
	const struct measure *m;
	int events_fd;
	struct measure_ready *out;
	struct tracepoint event; /* of tracepoints */
	struct tracepoint entry; /* of a sys_exit_*: its sys_enter_* */
	bool is_syscall;         /* sys_enter_* or sys_exit_* of one call */
	bool reads_record;
	struct weft_err *err;
};

int measure_syscall(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
		if (!strcmp(renamed[i].traced, name))
			name = renamed[i].called;
	for (size_t i = 0; i < ARRAY_LEN(syscalls); i++)
		if (!strcmp(syscalls[i].name, name))
			return syscalls[i].number;
	return -1;
}

static int refuse(struct planning *p, const struct measure_operand *o,
		  const char *why)
{
	return weft_fail(p->err, -EINVAL, "measure '%s': %s %s", p->m->name,
			 o->text, why);
}

/* Which tracepoint, and by which program. */
static int plan_tracepoint(struct planning *p)
{
	const struct measure *m = p->m;
	struct measure_ready *r = p->out;
	bool is_enter = !strncmp(m->what, "sys_enter", 9);
	bool is_exit = !strncmp(m->what, "sys_exit", 8);
	const char *call = m->what + (is_enter ? 10 : 9);
	char other[256];
	int rc = tracepoint_read(p->events_fd, m->where, m->what, &p->event,
				 p->err);

	if (rc)
		return rc;
	r->hook = MEASURE_AT_RAW;
	r->plan.syscall = -1;
	if (!strcmp(m->where, "raw_syscalls") && (is_enter || is_exit)) {
		r->hook = is_enter ? MEASURE_AT_SYS_ENTER : MEASURE_AT_SYS_EXIT;
		return 0;
	}
	if (strcmp(m->where, "syscalls"))
		return 0;
	r->plan.syscall = is_enter || is_exit ? measure_syscall(call) : -1;
	if (r->plan.syscall < 0) {
		p->reads_record = true; /* there is no raw one of its own */
		return 0;
	}
	p->is_syscall = true;
	r->hook = is_enter ? MEASURE_AT_SYS_ENTER : MEASURE_AT_SYS_EXIT;
	if (is_enter)
		return 0;
	snprintf(other, sizeof(other), "sys_enter_%s", call);
	return tracepoint_read(p->events_fd, m->where, other, &p->entry,
			       p->err);
}

static int no_field(struct planning *p, const struct measure_operand *o)
{
	const char *names[2 * TRACEPOINT_FIELDS_MAX + 1] = { NULL };
	char list[200] = "";
	size_t n = 0, used = 0;
	const char *near;

	for (size_t i = 0; i < p->event.n_fields; i++)
		if (strncmp(p->event.field[i].name, "common_", 7))
			names[n++] = p->event.field[i].name;
	for (size_t i = 0; i < p->entry.n_fields; i++)
		if (strncmp(p->entry.field[i].name, "common_", 7))
			names[n++] = p->entry.field[i].name;
	near = weft_nearest(o->field, names);
	if (near)
		return weft_fail(
			p->err, -ENOENT,
			"measure '%s': %s:%s has no field '%s'; did you mean 'args.%s'?",
			p->m->name, p->m->where, p->m->what, o->field, near);
	for (size_t i = 0; i < n && used < sizeof(list) - 1; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used,
					 "%s%s", i ? ", " : "", names[i]);
	return weft_fail(p->err, -ENOENT,
			 "measure '%s': %s:%s has no field '%s'; it has %s",
			 p->m->name, p->m->where, p->m->what, o->field, list);
}

/* An argument of a system call has the kind of its C type, whatever the rest
 * of its register holds. */
static void plan_argument(const struct tracepoint_field *f,
			  struct measure_term *t)
{
	t->kind = MEASURE_ARG;
	t->index = (uint8_t)((f->offset - SYSCALL_FIRST_ARG) / 8);
	t->size = 8;
	t->is_signed = f->is_signed;
	for (size_t i = 0; i < ARRAY_LEN(argument_types); i++) {
		if (strcmp(argument_types[i].type, f->type))
			continue;
		t->size = argument_types[i].size;
		t->is_signed = argument_types[i].is_signed;
	}
}

static bool is_argument(const struct tracepoint_field *f)
{
	return f && f->offset >= SYSCALL_FIRST_ARG &&
	       f->offset < SYSCALL_FIRST_ARG + 8 * MEASURE_ARGS;
}

/* A field of a system call, which the registers have. */
static int plan_syscall_field(struct planning *p,
			      const struct measure_operand *o,
			      struct measure_term *t)
{
	bool is_exit = p->out->hook == MEASURE_AT_SYS_EXIT;
	const struct tracepoint_field *f = tracepoint_find(&p->event, o->field);

	if (f && is_exit && !strcmp(o->field, "ret")) {
		*t = (struct measure_term){ .kind = MEASURE_RETVAL,
					    .size = 8,
					    .is_signed = true };
		return 0;
	}
	if (f &&
	    (!strcmp(o->field, "id") || !strcmp(o->field, "__syscall_nr"))) {
		*t = (struct measure_term){ .kind = MEASURE_NUMBER, .size = 8 };
		return 0;
	}
	if (f && f->is_array)
		return refuse(p, o, "is an array: take arg0 to arg5");
	if (is_exit)
		f = tracepoint_find(&p->entry, o->field);
	if (!p->is_syscall || !is_argument(f))
		return no_field(p, o);
	plan_argument(f, t);
	return 0;
}

static int plan_field(struct planning *p, const struct measure_operand *o,
		      struct measure_term *t)
{
	const struct tracepoint_field *f;

	if (p->m->probe != MEASURE_TRACEPOINT)
		return refuse(p, o,
			      "is a tracepoint's; functions have arg0 to arg5 "
			      "and retval");
	if (p->out->hook == MEASURE_AT_SYS_ENTER ||
	    p->out->hook == MEASURE_AT_SYS_EXIT)
		return plan_syscall_field(p, o, t);
	f = tracepoint_find(&p->event, o->field);
	if (!f)
		return no_field(p, o);
	if (f->is_array ||
	    (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8))
		return weft_fail(
			p->err, -EINVAL,
			"measure '%s': %s is of type '%s', which is no number",
			p->m->name, o->text, f->type);
	p->reads_record = true;
	*t = (struct measure_term){ .kind = MEASURE_FIELD,
				    .size = (uint8_t)f->size,
				    .is_signed = f->is_signed,
				    .offset = f->offset };
	return 0;
}

/* Is the term known where the measure is taken? Sets what it takes. */
static int check_term(struct planning *p, const struct measure_operand *o)
{
	struct measure_ready *r = p->out;
	bool is_return =
		r->hook == MEASURE_AT_SYS_EXIT || r->hook == MEASURE_AT_RETURN;
	bool is_call = is_return || r->hook == MEASURE_AT_SYS_ENTER ||
		       r->hook == MEASURE_AT_ENTRY ||
		       r->hook == MEASURE_AT_USDT;

	switch (o->kind) {
	case MEASURE_ARG:
		if (!is_call)
			return refuse(p, o,
				      "is of functions and system calls; "
				      "a tracepoint has args.FIELD");
		r->plan.pairs |= r->hook == MEASURE_AT_RETURN;
		return 0;
	case MEASURE_RETVAL:
	case MEASURE_ELAPSED:
		if (!is_return)
			return refuse(p, o,
				      "is known at a return only: at "
				      "sys_exit_NAME, or at a uretprobe");
		r->plan.pairs |= o->kind == MEASURE_ELAPSED;
		return 0;
	default:
		return 0;
	}
}

static int plan_term(struct planning *p, const struct measure_operand *o,
		     struct measure_term *t)
{
	int rc;

	*t = (struct measure_term){ .kind = o->kind, .size = 8 };
	t->index = o->index;
	t->is_signed = o->kind == MEASURE_ARG || o->kind == MEASURE_RETVAL;
	rc = o->kind == MEASURE_FIELD ? plan_field(p, o, t) : check_term(p, o);
	if (rc)
		return rc;
	if (t->kind == MEASURE_ARG)
		p->out->plan.uses_args |= 1U << t->index;
	if (o->size && t->kind == MEASURE_FIELD && o->size > t->size)
		return refuse(p, o, "is shorter than what it is cast to");
	if (o->size) {
		t->size = o->size;
		t->is_signed = o->is_signed;
	}
	return 0;
}

static int plan_keys(struct planning *p)
{
	struct measure_plan *plan = &p->out->plan;
	uint32_t word = 0;

	plan->n_keys = (uint32_t)p->m->n_keys;
	for (size_t i = 0; i < p->m->n_keys; i++) {
		struct measure_term *t = &plan->key[i];
		int rc = plan_term(p, &p->m->key[i], t);

		if (rc)
			return rc;
		t->word = (uint16_t)word;
		if (t->kind == MEASURE_STACK ? plan->stack_at
					     : t->kind == MEASURE_ATTRIBUTE &&
						       plan->attribute_at)
			return refuse(p, &p->m->key[i], "can be a key once");
		if (t->kind == MEASURE_STACK)
			plan->stack_at = word + 1;
		if (t->kind == MEASURE_ATTRIBUTE)
			plan->attribute_at = word + 1;
		word += t->kind == MEASURE_STACK  ? 4
			: t->kind == MEASURE_COMM ? 2
						  : 1;
	}
	p->out->key_bytes = word ? word * 8 : 8;
	return 0;
}

static int plan_tests(struct planning *p)
{
	struct measure_plan *plan = &p->out->plan;

	plan->n_conditions = (uint32_t)p->m->n_tests;
	for (size_t i = 0; i < p->m->n_tests; i++) {
		const struct measure_test *test = &p->m->test[i];
		struct measure_condition *c = &plan->condition[i];
		int rc = plan_term(p, &test->operand, &c->term);

		if (rc)
			return rc;
		c->op = test->op;
		c->number = test->number;
		memcpy(c->comm, test->comm, sizeof(c->comm));
		if (test->is_negative && !c->term.is_signed)
			return refuse(p, &test->operand, "is never negative");
		if (c->term.is_signed && !test->is_negative &&
		    test->number > INT64_MAX)
			return refuse(p, &test->operand,
				      "is never as large as that");
	}
	return 0;
}

static void plan_unit(struct planning *p)
{
	const struct measure_operand *v = &p->m->value;

	p->out->unit = v->kind == MEASURE_ELAPSED ? "ns" : "";
	for (size_t i = 0; i < ARRAY_LEN(byte_fields); i++)
		if (v->kind == MEASURE_FIELD &&
		    !strcmp(v->field, byte_fields[i]))
			p->out->unit = "bytes";
}

static int plan_value(struct planning *p)
{
	struct measure_plan *plan = &p->out->plan;
	const struct measure *m = p->m;
	int rc = 0;

	plan->has_value = m->aggregate != MEASURE_COUNT;
	plan->keeps_extremes = m->aggregate >= MEASURE_MIN;
	if (plan->has_value)
		rc = plan_term(p, &m->value, &plan->value);
	if (rc)
		return rc;
	plan_unit(p);
	if (m->aggregate == MEASURE_HIST) {
		plan->buckets = MEASURE_LOG2;
		plan->n_buckets = MEASURE_LOG2_BUCKETS;
	}
	if (m->aggregate == MEASURE_LHIST) {
		plan->buckets = MEASURE_LINEAR;
		plan->linear_min = m->linear_min;
		plan->linear_max = m->linear_max;
		plan->linear_step = m->linear_step;
		plan->n_buckets = (uint32_t)measure_linear_buckets(m) + 2;
	}
	p->out->value_bytes = (uint32_t)(sizeof(struct measure_value) +
					 plan->n_buckets * sizeof(uint64_t));
	return 0;
}

int measure_plan(const struct measure *m, int events_fd,
		 struct measure_ready *out, struct weft_err *err)
{
	struct planning p = {
		.m = m, .events_fd = events_fd, .out = out, .err = err
	};
	int rc = 0;

	*out = (struct measure_ready){ .measure = *m, .unit = "" };
	out->plan.syscall = -1;
	out->hook = m->probe == MEASURE_UPROBE ? MEASURE_AT_ENTRY
		    : m->probe == MEASURE_USDT ? MEASURE_AT_USDT
					       : MEASURE_AT_RETURN;
	if (m->probe == MEASURE_TRACEPOINT)
		rc = plan_tracepoint(&p);
	else if (m->offset && m->probe == MEASURE_URETPROBE)
		return weft_fail(err, -EINVAL,
				 "measure '%s': a uretprobe has no offset: it "
				 "is at the return of the function",
				 m->name);
	if (!rc)
		rc = plan_value(&p);
	if (!rc)
		rc = plan_keys(&p);
	if (!rc)
		rc = plan_tests(&p);
	if (out->hook == MEASURE_AT_RAW && p.reads_record)
		out->hook = MEASURE_AT_TRACEPOINT;
	out->plan.is_alone = m->probe == MEASURE_TRACEPOINT;
	return rc;
}

bool measure_plan_examples(struct measure_ready *r, uint32_t n)
{
	enum measure_aggregate a = r->measure.aggregate;

	if (!r->plan.buckets && a != MEASURE_MAX && a != MEASURE_STATS)
		return false;
	r->plan.examples = n;
	if (!r->plan.buckets)
		r->value_bytes += sizeof(uint64_t); /* the last one's value */
	return true;
}
