/* SPDX-License-Identifier: MIT */
#include "collector/inspect/bars.h"

bool inspect_target_is_same(const struct inspect_target *x,
			    const struct inspect_target *y)
{
	return x->a == y->a && x->b == y->b && x->is_file == y->is_file &&
	       x->is_lines == y->is_lines && x->trouble == y->trouble;
}

void inspect_bars_add(struct inspect_bars *bars,
		      const struct inspect_target *target, uint64_t until_ns)
{
	bars->bar[bars->next].target = *target;
	bars->bar[bars->next].until_ns = until_ns;
	bars->next = (bars->next + 1) % INSPECT_BARS_MAX;
	if (bars->n < INSPECT_BARS_MAX)
		bars->n++;
}

bool inspect_bars_has(const struct inspect_bars *bars,
		      const struct inspect_target *target, uint64_t now_ns)
{
	for (size_t i = 0; i < bars->n; i++) {
		if (bars->bar[i].until_ns > now_ns &&
		    inspect_target_is_same(&bars->bar[i].target, target))
			return true;
	}
	return false;
}
