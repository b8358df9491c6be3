/* SPDX-License-Identifier: MIT */
/*
 * What a process and its threads say of themselves in attributes: the keys
 * that the records of its threads (OTEP 4947) refer to by number, what it says
 * of itself (OTEP 4719), and which values were seen of late, so that an ID of
 * its own in every request cannot grow the file without bound.
 */
#ifndef WEFT_ATTRIBUTES_H
#define WEFT_ATTRIBUTES_H

#include "collector/batch.h"
#include "collector/inspect/inspect.h"

enum {
	/* New values of a process in a minute; more are refused. */
	ATTRIBUTES_VALUES_MAX = 4096
};

struct attributes;

/* How many attributes of samples were not stored, and why. */
struct attributes_lost {
	uint64_t truncated; /* samples whose attributes were read in part */
	uint64_t refused;   /* too many new values, or no room */
	uint64_t unknown;   /* their keys are not known */
};

/* Take what was found of a process, into *a, which is made if it is NULL.
 * -ENOMEM: it is as it was. */
int attributes_update(struct attributes **a,
		      const struct inspect_context *context) MUST_CHECK;
void attributes_free(struct attributes *a); /* NULL is fine */

/* The number of a key in the process's records, or -1. */
int attributes_number(const struct attributes *a, const char *key);

/* Give the newest sample of the batch what size bytes of a record hold,
 * entries of {number of the key, length, bytes}. a may be NULL. */
void attributes_of_sample(struct attributes *a, struct batch *b,
			  const uint8_t *bytes, size_t size, uint64_t boot_ns,
			  struct attributes_lost *lost);

/* Give a process of the batch what it says of itself, if that is news. */
void attributes_of_process(struct attributes *a, struct batch *b,
			   uint32_t process);

#endif
