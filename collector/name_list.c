/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/name_list.h"

int name_list_add(struct name_list *l, const struct frame_name *name)
{
	const char *texts[] = { name->name, name->linkage_name, name->file,
				name->source };
	store_text at[ARRAY_LEN(texts)] = { 0 };

	if (GROW(l->rows, l->n + 1, l->room))
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t size = texts[i] ? strlen(texts[i]) + 1 : 0;

		if (size < 2)
			continue;
		if (GROW(l->text, l->n_text + size + 1, l->text_room))
			return -ENOMEM;
		if (!l->n_text)
			l->text[l->n_text++] = '\0';
		memcpy(l->text + l->n_text, texts[i], size);
		at[i] = l->n_text;
		l->n_text += size;
	}
	l->rows[l->n++] = (struct store_name){
		.frame_id = name->frame_id,
		.inline_depth = name->inline_depth,
		.line = name->line,
		.function_line = name->function_line,
		.name = at[0],
		.linkage_name = at[1],
		.file = at[2],
		.source = at[3],
	};
	return 0;
}

void name_list_release(struct name_list *l)
{
	free(l->rows);
	free(l->text);
	free(l->segments);
	*l = (struct name_list){ 0 };
}
