/* SPDX-License-Identifier: MIT */
/*
 * Of the registers only those are followed that a caller's frame can be found
 * by: rbp, rbx, rsp and the return address. Expressions are matched against
 * the forms that compilers, assemblers and linkers emit, never evaluated;
 * what has another form is known to be described, and bad.
 *
 * Our own instead of libdw's: dwarf_cfi_addrframe() runs an entry's program
 * anew for each of its rows, so a crafted entry costs seconds.
 */
#include <dwarf.h>
#include <errno.h>

#include "collector/elf/cfi.h"

/* DWARF's numbers of registers. */
enum {
	DWARF_RBX = 3,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	DWARF_RETURN = 16,
};

/* The registers that are followed, by their place in struct state. */
enum {
	RBX,
	RBP,
	RSP,
	RETURN,
	FOLLOWED,
	NOT_FOLLOWED = FOLLOWED
};

/* Where one of them is: enum weft_rule_saved, or what only matters here. */
enum {
	SAVED_IS_CFA = WEFT_SAVED_LOST + 1, /* its value is the CFA */
	SAVED_IN_UCONTEXT, /* where a signal frame has the return address */
	SAVED_UNDEFINED,
	SAVED_IN_REGISTER, /* plus its number */
};

enum {
	UCONTEXT_RIP = 168, /* struct ucontext: uc_mcontext.gregs[REG_RIP] */
	PLT_WORD = 8,
};

/* The index of each of DWARF's registers in struct pt_regs. */
static const uint8_t pt_regs_word[] = { 10, 12, 11, 5, 13, 14, 4, 19,
					9,  8,  7,  6, 3,  2,  1, 0 };

struct state {
	bool is_expression;        /* the CFA is by cfa_rule */
	struct weft_rule cfa_rule; /* without rbp and rbx */
	uint8_t cfa_register;
	int64_t cfa_offset;
	uint16_t saved[FOLLOWED];
};

struct machine {
	const struct fdes *fdes;
	const struct cie *cie;
	const struct fde *fde;
	struct cfi_rows *rows;
	struct cursor program;
	uint64_t done;   /* bytes of the code that are behind */
	bool is_initial; /* the CIE's program is running */
	struct state now, initial;
	struct state remembered[CFI_REMEMBERED_MAX];
	size_t n_remembered;
};

static int to_place(uint64_t reg)
{
	switch (reg) {
	case DWARF_RBX:
		return RBX;
	case DWARF_RBP:
		return RBP;
	case DWARF_RSP:
		return RSP;
	case DWARF_RETURN:
		return RETURN;
	default:
		return NOT_FOLLOWED;
	}
}

static void set_saved(struct machine *m, uint64_t reg, uint16_t saved)
{
	int place = to_place(reg);

	if (place != NOT_FOLLOWED)
		m->now.saved[place] = saved;
}

/* Where a register is that was saved at CFA + offset. */
static uint16_t to_saved(int64_t offset)
{
	if (offset >= 0 || offset % 8 || offset < -8 * WEFT_SAVED_MAX)
		return WEFT_SAVED_LOST;
	return (uint16_t)(-offset / 8);
}

static struct weft_rule to_cfa_rule(const struct state *s)
{
	struct weft_rule rule = { .kind = WEFT_RULE_BAD };

	if (s->is_expression)
		return s->cfa_rule;
	if (s->cfa_offset != (int32_t)s->cfa_offset)
		return rule;
	rule.offset = (int32_t)s->cfa_offset;
	switch (s->cfa_register) {
	case DWARF_RSP:
		rule.kind = WEFT_RULE_RSP;
		break;
	case DWARF_RBP:
		rule.kind = WEFT_RULE_RBP;
		break;
	case DWARF_RBX:
		rule.kind = WEFT_RULE_RBX;
		break;
	default:
		rule.kind = WEFT_RULE_REGISTER;
		rule.aux = pt_regs_word[s->cfa_register];
	}
	return rule;
}

static uint8_t to_rule_saved(uint16_t saved)
{
	return saved > WEFT_SAVED_LOST ? WEFT_SAVED_LOST : (uint8_t)saved;
}

static struct weft_rule to_rule(const struct machine *m)
{
	const struct state *s = &m->now;
	struct weft_rule rule;

	/* Not by the mark alone: some programs mark frames of their own to
	 * say that the address in them is exact. */
	if (m->cie->is_signal && s->saved[RETURN] == SAVED_IN_UCONTEXT)
		return (struct weft_rule){ .kind = WEFT_RULE_SIGNAL };
	if (s->saved[RETURN] == SAVED_UNDEFINED)
		return (struct weft_rule){ .kind = WEFT_RULE_END };
	rule = to_cfa_rule(s);
	if (rule.kind == WEFT_RULE_RSP &&
	    s->saved[RETURN] >= SAVED_IN_REGISTER) {
		rule.kind = WEFT_RULE_HELD;
		rule.aux = pt_regs_word[s->saved[RETURN] - SAVED_IN_REGISTER];
	} else if (s->saved[RETURN] != 1) {
		rule.kind = WEFT_RULE_BAD;
	}
	if (rule.kind == WEFT_RULE_BAD || s->saved[RSP] != SAVED_IS_CFA)
		return (struct weft_rule){ .kind = WEFT_RULE_BAD };
	rule.rbp = to_rule_saved(s->saved[RBP]);
	rule.rbx = to_rule_saved(s->saved[RBX]);
	return rule;
}

static bool is_same_rule(const struct weft_rule *x, const struct weft_rule *y)
{
	return !memcmp(x, y, sizeof(*x));
}

/* What is in force begins here. */
static int add_row(struct machine *m)
{
	struct cfi_rows *rows = m->rows;
	struct weft_rule rule = to_rule(m);

	if (rows->n && is_same_rule(&rows->row[rows->n - 1].rule, &rule))
		return 0;
	if (rows->n == CFI_ROWS_MAX)
		return -EFBIG;
	rows->row[rows->n++] =
		(struct cfi_row){ m->fde->offset + m->done, rule };
	return 0;
}

static int move_on(struct machine *m, uint64_t bytes)
{
	int rc;

	if (m->is_initial)
		return -EPROTO;
	if (!bytes)
		return 0;
	rc = add_row(m);
	if (bytes < m->fde->size - m->done) {
		m->done += bytes;
		return rc;
	}
	/* What follows is about other code. */
	m->done = m->fde->size;
	m->program.at = m->program.end;
	return rc;
}

static int advance(struct machine *m, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes))
		return -EPROTO;
	return move_on(m, bytes);
}

static int set_location(struct machine *m)
{
	uint64_t to = fdes_take_address(m->fdes, m->cie->encoding, &m->program);

	if (m->program.is_bad || to < m->fde->start + m->done)
		return -EPROTO;
	return move_on(m, to - m->fde->start - m->done);
}

static int set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= ARRAY_LEN(pt_regs_word))
		return -EPROTO;
	m->now.is_expression = false;
	m->now.cfa_register = (uint8_t)reg;
	m->now.cfa_offset = offset;
	return 0;
}

static int64_t factored(const struct machine *m, uint64_t n)
{
	return (int64_t)(n * (uint64_t)m->cie->data_align);
}

static struct cursor take_expression(struct machine *m)
{
	uint64_t size = cursor_take_uleb128(&m->program);
	const uint8_t *at = cursor_skip(&m->program, size);

	return (struct cursor){ .at = at, .end = at ? at + size : NULL };
}

/* Nothing but padding is left, and all that was there was read. */
static bool is_at_end(struct cursor *c)
{
	while (!c->is_bad && c->at < c->end) {
		if (cursor_take(c, 1) != DW_OP_nop)
			return false;
	}
	return !c->is_bad;
}

/* The linker's rule for all of .plt: one word is on the stack, and another
 * from some instruction of each 16 bytes on. After "rsp + 8". */
static bool match_plt(struct cursor *c, struct weft_rule *out)
{
	static const uint8_t before[] = { DW_OP_breg16, 0, DW_OP_lit15,
					  DW_OP_and };
	static const uint8_t after[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl,
					 DW_OP_plus };
	const uint8_t *at = cursor_skip(c, sizeof(before));
	uint64_t literal = cursor_take(c, 1);

	if (!at || memcmp(at, before, sizeof(before)))
		return false;
	at = cursor_skip(c, sizeof(after));
	if (!at || memcmp(at, after, sizeof(after)) || literal < DW_OP_lit0 ||
	    literal > DW_OP_lit15)
		return false;
	*out = (struct weft_rule){ .kind = WEFT_RULE_PLT,
				   .offset = (int32_t)(literal - DW_OP_lit0) };
	return true;
}

/* *(register + offset), and a number of words more. After the first part. */
static bool match_deref(struct cursor *c, struct weft_rule *out)
{
	uint64_t more = 0;

	if (cursor_take(c, 1) != DW_OP_deref)
		return false;
	if (c->at < c->end && *c->at == DW_OP_plus_uconst) {
		(void)cursor_skip(c, 1);
		more = cursor_take_uleb128(c);
	}
	if (more % 8 || more / 8 > UINT8_MAX)
		return false;
	out->aux = (uint8_t)(more / 8);
	return true;
}

static struct weft_rule match_cfa(struct cursor c)
{
	const struct weft_rule bad = { .kind = WEFT_RULE_BAD };
	uint64_t op = cursor_take(&c, 1);
	int64_t offset = cursor_take_sleb128(&c);
	struct weft_rule rule = { 0 };
	bool is_known;

	if (c.is_bad || offset != (int32_t)offset ||
	    (op != DW_OP_breg6 && op != DW_OP_breg7))
		return bad;
	rule.offset = (int32_t)offset;
	rule.kind =
		op == DW_OP_breg6 ? WEFT_RULE_RBP_DEREF : WEFT_RULE_RSP_DEREF;
	if (op == DW_OP_breg7 && offset == PLT_WORD && c.at < c.end &&
	    *c.at == DW_OP_breg16)
		is_known = match_plt(&c, &rule);
	else
		is_known = match_deref(&c, &rule);
	return is_known && is_at_end(&c) ? rule : bad;
}

static int set_cfa_expression(struct machine *m)
{
	struct cursor expression = take_expression(m);

	m->now.is_expression = true;
	m->now.cfa_rule = match_cfa(expression);
	return 0;
}

static uint16_t match_saved(struct cursor c)
{
	uint64_t op = cursor_take(&c, 1);
	int64_t offset = cursor_take_sleb128(&c);

	if (!is_at_end(&c))
		return WEFT_SAVED_LOST;
	if (op == DW_OP_breg6 && !offset)
		return WEFT_SAVED_AT_RBP;
	if (op == DW_OP_breg7 && offset == UCONTEXT_RIP)
		return SAVED_IN_UCONTEXT;
	return WEFT_SAVED_LOST;
}

static int restore(struct machine *m, uint64_t reg)
{
	int place = to_place(reg);

	if (m->is_initial)
		return -EPROTO;
	if (place != NOT_FOLLOWED)
		m->now.saved[place] = m->initial.saved[place];
	return 0;
}

static int remember(struct machine *m)
{
	if (m->n_remembered == CFI_REMEMBERED_MAX)
		return -EPROTO;
	m->remembered[m->n_remembered++] = m->now;
	return 0;
}

static int restore_state(struct machine *m)
{
	if (!m->n_remembered)
		return -EPROTO;
	m->now = m->remembered[--m->n_remembered];
	return 0;
}

/* Instructions that say where a register is. */
static int step_register(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->program;
	uint64_t reg = cursor_take_uleb128(c), held;

	switch (op) {
	case DW_CFA_offset_extended:
		set_saved(m, reg,
			  to_saved(factored(m, cursor_take_uleb128(c))));
		return 0;
	case DW_CFA_offset_extended_sf:
		set_saved(m, reg,
			  to_saved(factored(m,
					    (uint64_t)cursor_take_sleb128(c))));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		set_saved(m, reg,
			  to_saved(factored(m, -cursor_take_uleb128(c))));
		return 0;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		/* Zero is zero with or without sign. */
		set_saved(m, reg,
			  cursor_take_uleb128(c) ? WEFT_SAVED_LOST
						 : SAVED_IS_CFA);
		return 0;
	case DW_CFA_undefined:
		set_saved(m, reg, SAVED_UNDEFINED);
		return 0;
	case DW_CFA_same_value:
		set_saved(m, reg, WEFT_SAVED_NOT);
		return 0;
	case DW_CFA_register:
		held = cursor_take_uleb128(c);
		set_saved(m, reg,
			  reg == DWARF_RETURN && held < ARRAY_LEN(pt_regs_word)
				  ? (uint16_t)(SAVED_IN_REGISTER + held)
				  : WEFT_SAVED_LOST);
		return 0;
	case DW_CFA_expression:
		set_saved(m, reg, match_saved(take_expression(m)));
		return 0;
	case DW_CFA_val_expression:
		(void)take_expression(m);
		set_saved(m, reg, WEFT_SAVED_LOST);
		return 0;
	case DW_CFA_restore_extended:
		return restore(m, reg);
	default:
		return -EPROTO;
	}
}

/* All whose number is the whole first byte. */
static int step_extended(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->program;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		return set_location(m);
	case DW_CFA_advance_loc1:
		return advance(m, cursor_take(c, 1));
	case DW_CFA_advance_loc2:
		return advance(m, cursor_take(c, 2));
	case DW_CFA_advance_loc4:
		return advance(m, cursor_take(c, 4));
	case DW_CFA_remember_state:
		return remember(m);
	case DW_CFA_restore_state:
		return restore_state(m);
	case DW_CFA_def_cfa:
		reg = cursor_take_uleb128(c);
		return set_cfa(m, reg, (int64_t)cursor_take_uleb128(c));
	case DW_CFA_def_cfa_sf:
		reg = cursor_take_uleb128(c);
		return set_cfa(m, reg,
			       factored(m, (uint64_t)cursor_take_sleb128(c)));
	case DW_CFA_def_cfa_register:
		/* Also after an expression, with the offset from before:
		 * libgcc and gdb do so, and libgcrypt wants it. */
		return set_cfa(m, cursor_take_uleb128(c), m->now.cfa_offset);
	case DW_CFA_def_cfa_offset:
		m->now.cfa_offset = (int64_t)cursor_take_uleb128(c);
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		m->now.cfa_offset =
			factored(m, (uint64_t)cursor_take_sleb128(c));
		return 0;
	case DW_CFA_def_cfa_expression:
		return set_cfa_expression(m);
	case DW_CFA_GNU_args_size:
		/* Of use to who resumes in the frame only. */
		(void)cursor_take_uleb128(c);
		return 0;
	default:
		return step_register(m, op);
	}
}

static int step(struct machine *m)
{
	uint8_t byte = (uint8_t)cursor_take(&m->program, 1);
	uint8_t low = byte & 0x3f;

	switch (byte & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(m, low);
	case DW_CFA_offset:
		set_saved(m, low,
			  to_saved(factored(m,
					    cursor_take_uleb128(&m->program))));
		return 0;
	case DW_CFA_restore:
		return restore(m, low);
	default:
		return step_extended(m, byte);
	}
}

static int run(struct machine *m, uint32_t program, uint32_t size)
{
	int rc = 0;

	if (size > CFI_PROGRAM_MAX)
		return -EFBIG;
	m->program =
		(struct cursor){ .at = m->fdes->section + program,
				 .end = m->fdes->section + program + size };
	while (!rc && m->program.at < m->program.end) {
		rc = step(m);
		if (m->program.is_bad)
			rc = -EPROTO;
	}
	return rc;
}

int cfi_run(struct cfi_rows *out, const struct fdes *fdes,
	    const struct fde *fde)
{
	struct machine m;
	int rc;

	m.fdes = fdes;
	m.cie = &fdes->cies[fde->cie];
	m.fde = fde;
	m.rows = out;
	m.done = 0;
	m.n_remembered = 0;
	m.is_initial = true;
	/* As the ABI has it where the CIE is silent. */
	m.now = (struct state){ .is_expression = true,
				.cfa_rule.kind = WEFT_RULE_BAD,
				.saved[RSP] = SAVED_IS_CFA,
				.saved[RETURN] = WEFT_SAVED_LOST };
	out->n = 0;
	rc = run(&m, m.cie->program, m.cie->program_size);
	if (rc)
		return rc;
	m.initial = m.now;
	m.is_initial = false;
	rc = run(&m, fde->program, fde->program_size);
	if (rc || m.done == fde->size)
		return rc;
	return add_row(&m);
}
