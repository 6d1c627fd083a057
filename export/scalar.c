/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/scalar.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "export/escape.h"

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Checks eight bytes at a time, for speed: sets the highest bit of a byte that is not ASCII, DEL, a
 * control character, a quote or a backslash. A byte that borrows or carries has set its own bit.
 */
static uint64_t find_special(const char *bytes, size_t len)
{
	uint64_t eight = EACH_BYTE(' ');

	memcpy(&eight, bytes, len);
	return eight | (eight + EACH_BYTE(1)) | (eight - EACH_BYTE(0x20)) |
	       ((eight ^ EACH_BYTE('"')) - EACH_BYTE(1)) | ((eight ^ EACH_BYTE('\\')) - EACH_BYTE(1));
}

/* True for nearly all names and descriptions. */
static bool is_same_in_json(const char *bytes, size_t len)
{
	uint64_t found = 0;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8)
		found |= find_special(bytes + i, 8);
	if (len >= 8)
		found |= find_special(bytes + len - 8, 8);
	else
		found |= find_special(bytes, len);
	return !(found & EACH_BYTE(0x80));
}

/* Return: the bytes of the UTF-8 character at @bytes, or 0 where it is not valid. @ret: its code point. */
static size_t decode_utf8(const char *bytes, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)bytes[0];
	size_t count = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
	uint32_t point = count == 1 ? first : first & (0x7fu >> count);

	if (!count || count > len)
		return 0;
	for (size_t i = 1; i < count; i++) {
		if (((unsigned char)bytes[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | ((unsigned char)bytes[i] & 0x3f);
	}
	if (point < least[count] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret = point;
	return count;
}

static void append_point(struct text *text, uint32_t point)
{
	static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	const char *letter = point && point < 0x80 ? strchr(shorts, (int)point) : NULL;

	/* The table holds pairs: a character, and the letter that stands for it. */
	if (letter && (letter - shorts) % 2 == 0)
		text_appendf(text, "\\%c", letter[1]);
	else if (point >= 0x20 && point < 0x7f)
		text_append_bytes(text, &(char){ (char)point }, 1);
	else if (point < 0x10000)
		text_appendf(text, point == 0x7f ? "\\u%04x" : "\\u%04X", point);
	else
		text_appendf(text, "\\u%04X\\u%04X", 0xd800 + ((point - 0x10000) >> 10),
			     0xdc00 + ((point - 0x10000) & 0x3ff));
}

/* Return: whether all of it is valid UTF-8 without NUL; else @text holds a part of it. */
static bool append_escaped(struct text *text, const char *bytes, size_t len)
{
	uint32_t point = 0;
	size_t count;

	for (; len; bytes += count, len -= count) {
		count = decode_utf8(bytes, len, &point);
		if (!count || !point)
			return false;
		append_point(text, point);
	}
	return true;
}

void scalar_append_text(struct text *text, const char *bytes, size_t len)
{
	char *room;

	if (!is_same_in_json(bytes, len)) {
		struct text escaped = { 0 }, valid = { 0 };

		if (!append_escaped(&escaped, bytes, len)) {
			escape_append(&valid, bytes, len);
			text_clear(&escaped);
			append_escaped(&escaped, text_chars(&valid), valid.len);
		}
		text->failed |= valid.failed || escaped.failed;
		text_append_bytes(text, "\"", 1);
		text_append_bytes(text, text_chars(&escaped), escaped.len);
		text_append_bytes(text, "\"", 1);
		text_done(&escaped);
		text_done(&valid);
		return;
	}
	room = text_reserve(text, len + 2);
	if (!room)
		return;
	room[0] = '"';
	memcpy(room + 1, bytes, len);
	room[len + 1] = '"';
	text_extend(text, len + 2);
}

void scalar_append_integer(struct text *text, int64_t number)
{
	if (number < 0)
		text_append_bytes(text, "-", 1);
	text_append_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10);
}

void scalar_append_unsigned(struct text *text, uint64_t number)
{
	bool quoted = number > INT64_MAX;

	if (quoted)
		text_append_bytes(text, "\"", 1);
	text_append_number(text, number, 10);
	if (quoted)
		text_append_bytes(text, "\"", 1);
}

void scalar_append_real(struct text *text, double number)
{
	char digits[32], *exponent;
	size_t skip;

	if (!isfinite(number)) {
		text_append(text, "null");
		return;
	}
	snprintf(digits, sizeof(digits), "%.15g", number);
	exponent = strchr(digits, 'e');
	if (exponent) {
		/* The exponent of 1e+22 and 1e-05 is shortened to 1e22 and 1e-5. */
		exponent += exponent[1] == '-' ? 2 : 1;
		skip = strspn(exponent, "+0");
		memmove(exponent, exponent + skip, strlen(exponent + skip) + 1);
	} else if (!strchr(digits, '.')) {
		strcat(digits, ".0");
	}
	text_append(text, digits);
}
