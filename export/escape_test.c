/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Escaping removes unsafe bytes and keeps safe text. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "export/test_hostile.h"

TEST(escaping_removes_unsafe_bytes_and_is_idempotent)
{
	struct text text = { 0 };

	for (int i = 0; i < 20000; i++) {
		char *once, *twice;

		hostile_text(&text);
		once = hostile_escaped(text.chars, text.len);
		for (size_t j = 0; once[j]; j++) {
			unsigned char byte = (unsigned char)once[j];

			assert_true(byte >= 0x20 && byte != 0x7f);
			assert_false(byte == 0xc2 && (unsigned char)once[j + 1] < 0xa0);
		}
		twice = hostile_escaped(once, strlen(once));
		assert_string_equal(once, twice);
		free(once);
		free(twice);
	}
	text_done(&text);
}

TEST(escaping_keeps_safe_text)
{
	static const char *const same[] = { "", " a ", "\\", "\\x", "C:\\x\\", "\xe6\x97\xa5 \xc3\xbc", "a\"b,c;d'" };
	struct text text = { 0 };

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char *after = hostile_escaped(same[i], strlen(same[i]));

		assert_string_equal(after, same[i]);
		free(after);
	}
	/* A character across the border of two pieces. */
	for (size_t i = 0; i < 600; i++)
		text_append(&text, i % 7 ? "\xe6\x97\xa5" : "a");
	char *after = hostile_escaped(text.chars, text.len);

	assert_string_equal(after, text.chars);
	free(after);
	text_done(&text);
}
