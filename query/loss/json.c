/* SPDX-License-Identifier: MIT */
#include "query/loss/loss.h"

static void json_checks(const struct loss *l, struct json *j)
{
	const struct loss_check *c;
	size_t i;

	json_array(j, "identities");
	for (i = 0; i < ARRAY_LEN(l->checks); i++) {
		c = &l->checks[i];
		json_object(j, NULL);
		json_text(j, "identity", c->text);
		json_bool(j, "measured", c->is_known);
		json_int(j, "left", c->left);
		json_int(j, "right", c->right);
		if (c->is_known) {
			json_int(j, "difference", c->left - c->right);
			json_int(j, "worst_difference", c->worst);
		} else {
			json_null(j, "difference");
			json_null(j, "worst_difference");
		}
		if (c->is_known && c->worst)
			json_int(j, "worst_interval", c->worst_interval);
		else
			json_null(j, "worst_interval");
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_programs(const struct loss *l, struct json *j)
{
	const struct program *p;
	size_t i;

	json_object(j, "stacks");
	ends_json(&l->programs.all, j);
	json_end_object(j);
	json_array(j, "stacks_by_process");
	for (i = 0; i < l->programs.n; i++) {
		p = &l->programs.rows[i];
		json_object(j, NULL);
		json_text(j, "comm", *p->name ? p->name : NULL);
		json_int(j, "processes", (int64_t)p->processes);
		ends_json(&p->ends, j);
		json_end_object(j);
	}
	json_end_array(j);
}

void loss_json(const struct loss *l)
{
	const struct ledger *ledger = &l->report.ledger;
	struct json j = { .to = stdout };
	size_t i;

	report_json(&l->report, &j, "loss");
	json_int(&j, "shape_lost_samples", (int64_t)ledger->shape_lost);
	json_int(&j, "detail_lost_samples", (int64_t)ledger->detail_lost);
	json_checks(l, &j);
	json_object(&j, "entries");
	for (i = 0; i < ledger->n_entries; i++)
		if (ledger->entries[i].is_measured)
			json_int(&j, ledger->entries[i].name,
				 (int64_t)ledger->entries[i].count);
		else
			json_null(&j, ledger->entries[i].name);
	json_end_object(&j);
	json_object(&j, "stack_statuses");
	for (i = 0; i < l->n_statuses; i++)
		json_int(&j, l->statuses[i].word,
			 (int64_t)l->statuses[i].count);
	json_end_object(&j);
	json_programs(l, &j);
	context_json(&l->context, &j);
	json_end_object(&j);
}
