/* SPDX-License-Identifier: MIT */
/* Compression by zlib as the distribution builds it. */
#include "route.h"
#include "splitmix.h"

#include <string.h>

#include <zlib.h>

enum {
	DOCUMENT_BYTES = 24 * 1024,
	PACKED_BYTES = 32 * 1024
};

ROUTE_FUNCTION static void compress_write_document(char *text, uint64_t seed)
{
	static const char *const words[8] = {
		"profile ", "sample ", "stack ",  "frame ",
		"thread ",  "trace ",  "kernel ", "counter ",
	};
	size_t at = 0;

	KEEP_FRAME();
	for (uint64_t n = seed; at < DOCUMENT_BYTES - 8; n++) {
		const char *word = words[splitmix(n) & 7];
		size_t length = strlen(word);

		memcpy(text + at, word, length);
		at += length;
	}
	memset(text + at, '.', DOCUMENT_BYTES - at);
}

ROUTE_FUNCTION static uint64_t compress_deflate_document(const char *text)
{
	unsigned char packed[PACKED_BYTES];
	uLongf size = sizeof(packed);

	if (compress2(packed, &size, (const Bytef *)text, DOCUMENT_BYTES, 6) !=
	    Z_OK)
		return 0;
	return size;
}

uint64_t compress_run(unsigned int cost, uint64_t seed)
{
	char text[DOCUMENT_BYTES];
	uint64_t sum = 0;

	for (unsigned int i = 0; i < cost; i++) {
		compress_write_document(text, seed + i);
		sum += compress_deflate_document(text);
	}
	return sum;
}
