/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/scalar.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "export/escape.h"

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Of eight bytes at a time, for it is asked for each word that leaves: the highest bit of a byte
 * is set where one is not ASCII, DEL, a control character, a quote or a backslash.
 * A byte that borrows from the next one, or carries into it, has itself set one by then.
 */
static uint64_t find_special(const char *bytes, size_t len)
{
	uint64_t eight = EACH_BYTE(' ');

	memcpy(&eight, bytes, len);
	return eight | (eight + EACH_BYTE(1)) | (eight - EACH_BYTE(0x20)) |
	       ((eight ^ EACH_BYTE('"')) - EACH_BYTE(1)) | ((eight ^ EACH_BYTE('\\')) - EACH_BYTE(1));
}

/* Nearly all names and descriptions. */
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

/* DEL is the one control character that jansson leaves. */
static int append_chunk(const char *bytes, size_t len, void *ctx)
{
	struct text *text = ctx;
	const char *del;

	while ((del = memchr(bytes, 0x7f, len))) {
		size_t plain = (size_t)(del - bytes);

		text_append_bytes(text, bytes, plain);
		text_append(text, "\\u007f");
		bytes += plain + 1;
		len -= plain + 1;
	}
	text_append_bytes(text, bytes, len);
	return text_failed(text) ? -1 : 0;
}

static void append_escaped(struct text *text, const char *bytes, size_t len)
{
	json_t *json = memchr(bytes, '\0', len) ? NULL : json_stringn(bytes, len);
	struct text valid = { 0 };

	if (!json) {
		escape_append(&valid, bytes, len);
		json = text_failed(&valid) ? NULL : json_stringn(text_chars(&valid), valid.len);
	}
	if (!json || json_dump_callback(json, append_chunk, text, JSON_ENSURE_ASCII | JSON_ENCODE_ANY))
		text->failed = true;
	json_decref(json);
	text_done(&valid);
}

void scalar_append_text(struct text *text, const char *bytes, size_t len)
{
	char *room;

	if (!is_same_in_json(bytes, len)) {
		append_escaped(text, bytes, len);
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
		/* 1e+22 and 1e-05 become 1e22 and 1e-5, as jansson (2.14) writes them. */
		exponent += exponent[1] == '-' ? 2 : 1;
		skip = strspn(exponent, "+0");
		memmove(exponent, exponent + skip, strlen(exponent + skip) + 1);
	} else if (!strchr(digits, '.')) {
		strcat(digits, ".0");
	}
	text_append(text, digits);
}
