/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/prompt.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"
#include "tui/app.h"

void prompt_ask(struct prompt *prompt, const char *label, const char *text, prompt_fn *done)
{
	snprintf(prompt->label, sizeof(prompt->label), "%s", label);
	snprintf(prompt->text, sizeof(prompt->text), "%s", text);
	prompt->done = done;
}

void prompt_append(char text[PROMPT_SIZE], int key)
{
	char bytes[MB_LEN_MAX + 1], harmless[8 * MB_LEN_MAX];
	mbstate_t shift = { 0 };
	size_t len = wcrtomb(bytes, (wchar_t)key, &shift), used = strlen(text);

	/* What is pasted is shown, too: nothing that moves a terminal, or of which it does not know how wide it is. */
	if (len == (size_t)-1 || used + len >= PROMPT_SIZE || wcwidth((wchar_t)key) < 0)
		return;
	text_sanitise(bytes, len, harmless, sizeof(harmless));
	if (key != ' ' && (strlen(harmless) != len || memcmp(bytes, harmless, len)))
		return;
	memcpy(text + used, bytes, len);
	text[used + len] = '\0';
}

void prompt_erase(char text[PROMPT_SIZE])
{
	size_t len = strlen(text);

	/* The bytes that follow the first of a character in UTF-8 are 10xxxxxx. */
	while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	text[len ? len - 1 : 0] = '\0';
}

bool prompt_key(struct prompt *prompt, struct app *app, int key)
{
	prompt_fn *done = prompt->done;
	char text[PROMPT_SIZE];

	switch (key) {
	case KEY_ESCAPE:
	case KEY_CTRL('c'):
	case KEY_CTRL('g'):
		prompt->done = NULL;
		return true;
	case '\r':
	case '\n':
	case KEY_SPECIAL(KEY_ENTER):
		/* Who gets it may ask for the next line at once. */
		memcpy(text, prompt->text, sizeof(text));
		prompt->done = NULL;
		done(app, text);
		return true;
	case '\b':
	case 127:
	case KEY_SPECIAL(KEY_BACKSPACE):
		prompt_erase(prompt->text);
		return true;
	case KEY_CTRL('u'):
		prompt->text[0] = '\0';
		return true;
	default:
		if (key >= ' ')
			prompt_append(prompt->text, key);
		return key != KEY_SPECIAL(KEY_F(10));
	}
}
