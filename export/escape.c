/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/escape.h"

#include <string.h>

#include "base/text.h"

bool escape_is_plain(const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (bytes[i] < 0x20 || bytes[i] > 0x7e)
			return false;
	return true;
}

/*
 * A piece has no NUL, and a backslash only as last byte, where text_sanitise() keeps it. It fits
 * the buffer, and the caller does not split UTF-8 characters.
 */
enum { PIECE_BYTES = 256 };

static void append_piece(struct text *text, const char *bytes, size_t len)
{
	char harmless[4 * PIECE_BYTES + 1];
	size_t head = 0, tail = 0;

	while (head < len && bytes[head] == ' ')
		head++;
	while (tail < len - head && bytes[len - 1 - tail] == ' ')
		tail++;
	text_append_bytes(text, bytes, head);
	text_sanitise(bytes + head, len - head - tail, harmless, sizeof(harmless));
	text_append(text, harmless);
	text_append_bytes(text, bytes + len - tail, tail);
}

/* The length of the next piece; up to 3 bytes of a character move to the next one. */
static size_t piece_len(const char *bytes, size_t len)
{
	size_t limit = len < PIECE_BYTES ? len : PIECE_BYTES, end, back;

	for (end = 0; end < limit; end++) {
		if (bytes[end] == '\0')
			return end;
		if (bytes[end] == '\\')
			return end + 1;
	}
	if (end == len)
		return end;
	for (back = 0; back < 3 && ((unsigned char)bytes[end - back] & 0xc0) == 0x80; back++)
		;
	return end - back;
}

void escape_append(struct text *text, const char *bytes, size_t len)
{
	if (escape_is_plain(bytes, len)) {
		text_append_bytes(text, bytes, len);
		return;
	}
	while (len > 0) {
		size_t piece = piece_len(bytes, len);

		append_piece(text, bytes, piece);
		if (piece < len && bytes[piece] == '\0') {
			text_append(text, "\\x00");
			piece++;
		}
		bytes += piece;
		len -= piece;
	}
}
