/* SPDX-License-Identifier: MIT */
/*
 * The variables that programs of several objects have in common. An object
 * that is loaded later is given the map of the first.
 */
#ifndef WEFT_SHARED_BPF_H
#define WEFT_SHARED_BPF_H

#include "wire.h"

volatile struct weft_shared shared SEC(WEFT_SHARED_SECTION);

#endif
