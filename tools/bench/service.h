/* SPDX-License-Identifier: MIT */
/*
 * Services that do not exist, as a collector would see them: 16 processes of
 * 4 programs with 64 threads, 52,000 stacks over 5,000 frames, and requests
 * with trace IDs that a thread works on one after the other. An interval of
 * one second has as many samples as its batch is given room for; each stands
 * for ten that were counted. The same seed makes the same batches.
 *
 * Here and in its users a failure ends the program with a message.
 */
#ifndef BENCH_SERVICE_H
#define BENCH_SERVICE_H

#include "store/store.h"

struct service;

/* samples: of one interval. longest: samples of the longest requests, but for
 * one in a thousand that has up to 50 times as many; the mean is a fifth of it
 * at 150, a third at 22. */
struct service *service_new(uint32_t samples, uint32_t longest, uint64_t seed);
void service_free(struct service *s);

/* Create the file as weft-record would; ends the program on failure. */
struct store *service_open(const char *path);

/* The next interval; valid until the call after it. */
const struct store_batch *service_next(struct service *s);

/* Write a batch, and names for the frames that are new in the file. */
void service_write(struct service *s, struct store *st,
		   const struct store_batch *batch);

/* Move the log into the file, and seal, where the collector would. */
void service_checkpoint(struct store *st);

/* Unix time at which a recording of so many intervals ends. */
uint64_t service_end_ns(uint64_t intervals);

#endif
