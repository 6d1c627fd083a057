/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/scalar.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "export/escape.h"

/* True for nearly all names and descriptions. */
static bool is_same_in_json(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] < 0x20 || bytes[i] >= 0x7f || bytes[i] == '"' || bytes[i] == '\\')
			return false;
	return true;
}

static void append_point(struct text *text, uint32_t point)
{
	static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	const char *letter = point && point < 0x80 ? strchr(shorts, (int)point) : NULL;

	/* Pairs of a character and the letter of its escape. */
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

/* Return: true if all of it is valid UTF-8 without NUL; otherwise a part of it was appended. */
static bool append_escaped(struct text *text, const char *bytes, size_t len)
{
	uint32_t point = 0;
	size_t count;

	for (; len; bytes += count, len -= count) {
		count = text_decode(bytes, len, &point);
		if (!count || !point)
			return false;
		append_point(text, point);
	}
	return true;
}

void scalar_append_text(struct text *text, const char *bytes, size_t len)
{
	char *room = text_reserve(text, len + 2);
	struct text valid = { 0 };
	size_t start = text->len + 1;

	if (!room)
		return;
	room[0] = '"';
	if (is_same_in_json(bytes, len)) {
		memcpy(room + 1, bytes, len);
		room[len + 1] = '"';
		text_extend(text, len + 2);
		return;
	}
	text_extend(text, 1);
	if (!append_escaped(text, bytes, len)) {
		text->len = start;
		escape_append(&valid, bytes, len);
		append_escaped(text, text_chars(&valid), valid.len);
		text->failed |= valid.failed;
		text_done(&valid);
	}
	text_append_bytes(text, "\"", 1);
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
