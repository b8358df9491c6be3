/* SPDX-License-Identifier: MIT */
#ifndef WEFT_THREAD_H
#define WEFT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Start a second thread. Signals are for the one that has always been there.
 * false: there is none to be had; do without. */
bool thread_start(pthread_t *out, void *(*run)(void *), void *ctx);

#endif
