/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Escaping removes unsafe bytes and keeps safe text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "export/test_hostile.h"

static void escaping_removes_unsafe_bytes_and_is_idempotent(void **state)
{
	struct text text = { 0 };

	(void)state;
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

static void escaping_keeps_safe_text(void **state)
{
	static const char *const same[] = { "", " a ", "\\", "\\x", "C:\\x\\", "\xe6\x97\xa5 \xc3\xbc", "a\"b,c;d'" };
	struct text text = { 0 };

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escaping_removes_unsafe_bytes_and_is_idempotent),
		cmocka_unit_test(escaping_keeps_safe_text),
	};

	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
