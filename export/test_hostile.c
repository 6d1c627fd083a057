/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/test_hostile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

uint64_t hostile_seed;

uint64_t hostile_random(uint64_t below)
{
	hostile_seed = hostile_seed * 6364136223846793005u + 1442695040888963407u;
	return (hostile_seed >> 33) % below;
}

/* Pieces of unsafe text. */
static const char *const nasty[] = {
	"\033[31m", "\033]0;x\a", "\xc2\x9b" "2J", "\x9b" "1m", "\x7f", "\r", "\n", "\t", "\"", "\"\"", ",", ";",
	"=1+1", "\\", "\\x1b", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x80\xae", "\xe2\x81\xa6",
	"\xf4\x90\x80\x80", "\xe6\x97\xa5", "\xc3\xbc", "\xf0\x9f\x98\x80", " ", "  ", "'", "%s%n", "</td>",
	"null", "\xef\xbb\xbf", "a", "node0001 mlx5_0", "\xe2\x82", "\b", "\x1b", "\xc2",
};

void hostile_text(struct text *text)
{
	size_t pieces = hostile_random(12);

	text_clear(text);
	text_append(text, "");
	for (size_t i = 0; i < pieces; i++) {
		const char *piece = nasty[hostile_random(sizeof(nasty) / sizeof(nasty[0]))];
		char byte = (char)hostile_random(256);

		if (hostile_random(4))
			text_append(text, piece);
		else
			text_append_bytes(text, &byte, 1);
	}
	/* Long ones too: escapes work in pieces. */
	while (pieces == 11 && text->len < 1500)
		text_append(text, nasty[hostile_random(sizeof(nasty) / sizeof(nasty[0]))]);
	assert_false(text_failed(text));
}

char *hostile_escaped(const char *bytes, size_t len)
{
	struct text text = { 0 };

	text_append(&text, "");
	text_append_escaped(&text, bytes, len);
	assert_false(text_failed(&text));
	return text.chars;
}

void hostile_assert_none(const char *chars, size_t len, const char *allowed)
{
	struct text rest = { 0 };
	char *after;

	for (size_t i = 0; i < len; i++)
		if (!chars[i] || !strchr(allowed, chars[i]))
			text_append_bytes(&rest, chars + i, 1);
	after = hostile_escaped(text_chars(&rest), rest.len);
	assert_string_equal(text_chars(&rest), after);
	free(after);
	text_done(&rest);
}
