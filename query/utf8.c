/* SPDX-License-Identifier: MIT */
#include "query/utf8.h"

size_t utf8_length(const unsigned char *s, size_t size)
{
	/* least code point of each length: shorter forms are overlong */
	static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned long point;
	size_t n, i;

	if (size == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || n > size)
		return 0;
	point = s[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < least[n] || point > 0x10ffff ||
	    (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return n;
}
