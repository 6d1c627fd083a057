/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * prompt.h - one-line text input in the last line of the screen
 *
 * Text is UTF-8; keys are as in key.h. Enter passes the text to a callback, Esc cancels.
 */
#ifndef IBWIRE_TUI_DRAW_PROMPT_H
#define IBWIRE_TUI_DRAW_PROMPT_H

#include <limits.h>
#include <stdbool.h>

#define PROMPT_SIZE 256

struct app;
struct filter;

/* Called with the text. It may start another prompt. */
typedef void prompt_fn(struct app *app, const char *text);

struct prompt {
	char label[192];
	char text[PROMPT_SIZE];
	prompt_fn *done; /* NULL: no prompt is open */
};

void prompt_start(struct prompt *prompt, const char *label, const char *text, prompt_fn *done);

/* prompt_key - handle a key while a prompt is open. Return: whether it was used. */
bool prompt_key(struct prompt *prompt, struct app *app, int key);

/* prompt_erase - remove the last character of a text. */
void prompt_erase(char *text);

/*
 * prompt_character - the text of a key in the terminal's encoding
 * @ret:  "" if the key has no printable text
 * Return: @ret.
 */
#define PROMPT_CHARACTER_SIZE (MB_LEN_MAX + 1)
const char *prompt_character(int key, char ret[PROMPT_CHARACTER_SIZE]);

/* filter_type - append a typed character, given as its code point. filter_erase - remove the last character. */
void filter_type(struct filter *filter, int key);
void filter_erase(struct filter *filter);

/*
 * filter_key - edit a filter (tui/model/filter.h): characters, Backspace, ^U; Enter ends, Esc empties it and ends
 * @typing:  set to false when editing has ended
 * Return: whether the key was one of these.
 */
bool filter_key(struct filter *filter, bool *typing, int key);

#endif
