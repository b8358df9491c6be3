/* SPDX-License-Identifier: MIT */
/* Arrays that grow by doubling. */
#ifndef WEFT_GROW_H
#define WEFT_GROW_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static inline int grow_array(void **array, size_t want, size_t *room,
			     size_t size)
{
	size_t bigger = *room ? *room : 16;
	void *p;

	if (want <= *room)
		return 0;
	while (bigger < want)
		bigger *= 2;
	p = reallocarray(*array, bigger, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = bigger;
	return 0;
}

/* Make array (a pointer) hold want elements; room is its size now. The
 * elements added are not set. Evaluates to 0 or -ENOMEM, then unchanged. */
#define GROW(array, want, room) \
	grow_array((void **)&(array), (want), &(room), sizeof(*(array)))

#endif
