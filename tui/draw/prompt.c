/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/prompt.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tui/draw/key.h"
#include "tui/model/filter.h"

void prompt_start(struct prompt *prompt, const char *label, const char *text, prompt_fn *done)
{
	snprintf(prompt->label, sizeof(prompt->label), "%s", label);
	snprintf(prompt->text, sizeof(prompt->text), "%s", text);
	prompt->done = done;
}

#define CHARACTER_SIZE (MB_LEN_MAX + 1)

/* The text of a key in the encoding of the terminal; "" if it is not printable. Return: @ret. */
static const char *character(int key, char ret[CHARACTER_SIZE])
{
	mbstate_t shift = { 0 };
	size_t len = key >= ' ' && wcwidth((wchar_t)key) >= 0 ? wcrtomb(ret, (wchar_t)key, &shift) : 0;

	ret[len == (size_t)-1 ? 0 : len] = '\0';
	return ret;
}

/* Remove the last character. */
static void erase_last(char *text)
{
	size_t len = strlen(text);

	/* In UTF-8 all bytes of a character but the first are 10xxxxxx. */
	while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	text[len ? len - 1 : 0] = '\0';
}

/* Handle a character, Backspace or ^U. Return: whether the key was one of these. */
static bool edit(char *text, size_t size, int key)
{
	char bytes[CHARACTER_SIZE];

	if (key == KEY_DELETE)
		erase_last(text);
	else if (key == KEY_CTRL('u'))
		text[0] = '\0';
	else if (key < ' ')
		return false;
	else if (strlen(text) + strlen(character(key, bytes)) < size)
		strcat(text, bytes);
	return true;
}

bool prompt_key(struct prompt *prompt, struct app *app, int key)
{
	prompt_fn *done = prompt->done;
	char text[PROMPT_SIZE];

	key = key_plain(key);
	switch (key) {
	case KEY_ESCAPE:
	case KEY_CTRL('c'):
	case KEY_CTRL('g'):
		prompt->done = NULL;
		return true;
	case '\r':
		/* The callback may start the next prompt. */
		memcpy(text, prompt->text, sizeof(text));
		prompt->done = NULL;
		done(app, text);
		return true;
	default:
		return edit(prompt->text, sizeof(prompt->text), key) || key != KEY_SPECIAL(KEY_F(10));
	}
}

bool filter_key(struct filter *filter, bool *typing, int key)
{
	char typed[FILTER_SIZE];

	key = key_plain(key);
	snprintf(typed, sizeof(typed), "%s", key == KEY_ESCAPE ? "" : filter->typed);
	if (key == KEY_ESCAPE || key == '\r') {
		*typing = false;
	} else {
		/* Backspace in an empty filter ends editing, as in less and vi. */
		*typing &= key != KEY_DELETE || typed[0];
		if (!edit(typed, sizeof(typed), key))
			return false;
	}
	filter_set(filter, typed);
	return true;
}
