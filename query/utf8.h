/* SPDX-License-Identifier: MIT */
/* Valid UTF-8 (RFC 3629), and nothing but that. */
#ifndef WEFT_UTF8_H
#define WEFT_UTF8_H

#include <stddef.h>

/* Bytes of the valid character at s (1 to 4); 0 where there is none. */
size_t utf8_length(const unsigned char *s, size_t size);

#endif
