/* SPDX-License-Identifier: MIT */
#include "store/inside.h"

static int find_attribute(struct store *st, const struct store_batch *b,
			  const struct store_attribute *a, int64_t *id,
			  struct weft_err *err)
{
	sqlite3_stmt *find, *add;
	int rc;

	rc = store_stmt(st, STORE_SQL_SHAPE_ATTRIBUTE_FIND, &find, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_SHAPE_ATTRIBUTE_ADD, &add, err);
	if (rc)
		return rc;
	bind_text(find, 1, b->text, a->key);
	bind_text(find, 2, b->text, a->value);
	rc = store_find(st, find, id, err);
	if (rc || *id)
		return rc;
	bind_text(add, 1, b->text, a->key);
	bind_text(add, 2, b->text, a->value);
	rc = store_run(st, add, err);
	*id = sqlite3_last_insert_rowid(st->conn.db);
	return rc;
}

int intern_attributes(struct store *st, const struct store_batch *b,
		      int64_t *id, struct weft_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < b->n_counts && !rc; i++) {
		uint32_t at = b->counts[i].attribute;

		if (at && !id[at - 1])
			rc = find_attribute(st, b, &b->attributes[at - 1],
					    &id[at - 1], err);
	}
	return rc;
}

static int write_has(struct store *st, const struct store_batch *b,
		     sqlite3_stmt *stmt, const struct store_has *has,
		     int64_t who, struct weft_err *err)
{
	const struct store_attribute *a = &b->attributes[has->attribute];

	sqlite3_bind_int64(stmt, 1, who);
	bind_text(stmt, 2, b->text, a->key);
	bind_text(stmt, 3, b->text, a->value);
	return store_run(st, stmt, err);
}

int attributes_write(struct store *st, const struct store_batch *b,
		     const struct interned *in, int64_t first_sample,
		     struct weft_err *err)
{
	sqlite3_stmt *of_sample, *of_process = NULL;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_SAMPLE_ATTRIBUTE_ADD, &of_sample, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_PROCESS_ATTRIBUTE_PUT,
				&of_process, err);
	for (i = 0; i < b->n_sample_attributes && !rc; i++)
		rc = write_has(st, b, of_sample, &b->sample_attributes[i],
			       first_sample + b->sample_attributes[i].who, err);
	for (i = 0; i < b->n_process_attributes && !rc; i++)
		rc = write_has(st, b, of_process, &b->process_attributes[i],
			       in->process[b->process_attributes[i].who], err);
	return rc;
}
