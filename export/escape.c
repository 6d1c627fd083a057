/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/escape.h"

#include "base/text.h"

bool escape_is_plain(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] < 0x20 || bytes[i] > 0x7e)
			return false;
	return true;
}

void escape_append(struct text *text, const char *bytes, size_t len)
{
	size_t count;

	if (escape_is_plain(bytes, len)) {
		text_append_bytes(text, bytes, len);
		return;
	}
	for (; len; bytes += count, len -= count) {
		uint32_t point = 0;

		count = text_decode(bytes, len, &point);
		if (count && text_is_safe(point)) {
			text_append_bytes(text, bytes, count);
			continue;
		}
		count = count ? count : 1;
		for (size_t i = 0; i < count; i++)
			text_appendf(text, "\\x%02x", (unsigned char)bytes[i]);
	}
}
