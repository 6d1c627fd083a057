/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/prompt.h"

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

const char *prompt_character(int key, char ret[PROMPT_CHARACTER_SIZE])
{
	mbstate_t shift = { 0 };
	size_t len = key >= ' ' && wcwidth((wchar_t)key) >= 0 ? wcrtomb(ret, (wchar_t)key, &shift) : 0;

	ret[len == (size_t)-1 ? 0 : len] = '\0';
	return ret;
}

static void append(struct prompt *prompt, int key)
{
	char bytes[PROMPT_CHARACTER_SIZE];
	size_t used = strlen(prompt->text);

	prompt_character(key, bytes);
	if (used + strlen(bytes) < PROMPT_SIZE)
		memcpy(prompt->text + used, bytes, strlen(bytes) + 1);
}

void prompt_erase(char *text)
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
		prompt_erase(prompt->text);
		return true;
	case KEY_CTRL('u'):
		prompt->text[0] = '\0';
		return true;
	default:
		append(prompt, key);
		return key != KEY_SPECIAL(KEY_F(10));
	}
}

void filter_type(struct filter *filter, int key)
{
	char bytes[PROMPT_CHARACTER_SIZE], typed[FILTER_SIZE + PROMPT_CHARACTER_SIZE];

	if (strlen(filter->typed) + strlen(prompt_character(key, bytes)) >= FILTER_SIZE)
		return;
	snprintf(typed, sizeof(typed), "%s%s", filter->typed, bytes);
	filter_set(filter, typed);
}

void filter_erase(struct filter *filter)
{
	char typed[FILTER_SIZE];

	memcpy(typed, filter->typed, sizeof(typed));
	prompt_erase(typed);
	filter_set(filter, typed);
}

bool filter_key(struct filter *filter, bool *typing, int key)
{
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
		filter_erase(filter);
		return true;
	case KEY_CTRL('u'):
		filter_set(filter, "");
		return true;
	default:
		if (key >= ' ')
			filter_type(filter, key);
		return key >= ' ';
	}
}
