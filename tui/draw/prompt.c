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

static void append(struct prompt *prompt, int key)
{
	char bytes[CHARACTER_SIZE];
	size_t used = strlen(prompt->text);

	character(key, bytes);
	if (used + strlen(bytes) < PROMPT_SIZE)
		memcpy(prompt->text + used, bytes, strlen(bytes) + 1);
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

bool prompt_key(struct prompt *prompt, struct app *app, int key)
{
	prompt_fn *done = prompt->done;
	char text[PROMPT_SIZE];

	switch (key_plain(key)) {
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
	case KEY_DELETE:
		erase_last(prompt->text);
		return true;
	case KEY_CTRL('u'):
		prompt->text[0] = '\0';
		return true;
	default:
		append(prompt, key);
		return key != KEY_SPECIAL(KEY_F(10));
	}
}

bool filter_key(struct filter *filter, bool *typing, int key)
{
	char typed[FILTER_SIZE + CHARACTER_SIZE], bytes[CHARACTER_SIZE];

	snprintf(typed, sizeof(typed), "%s", filter->typed);
	switch (key_plain(key)) {
	case KEY_ESCAPE:
		filter_set(filter, "");
		*typing = false;
		return true;
	case '\r':
		*typing = false;
		return true;
	case KEY_DELETE:
		/* Backspace in an empty filter ends editing, as in less and vi. */
		*typing = filter->typed[0] != '\0';
		erase_last(typed);
		filter_set(filter, typed);
		return true;
	case KEY_CTRL('u'):
		filter_set(filter, "");
		return true;
	default:
		if (key < ' ')
			return false;
		strcat(typed, character(key, bytes));
		if (strlen(typed) < FILTER_SIZE)
			filter_set(filter, typed);
		return true;
	}
}
