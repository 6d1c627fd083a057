/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * prompt.h - one-line text input in the last line of the screen
 *
 * Text is UTF-8; keys are as in key.h. Enter passes the text to a callback, Esc cancels.
 */
#ifndef IBWIRE_TUI_DRAW_PROMPT_H
#define IBWIRE_TUI_DRAW_PROMPT_H

#include <stdbool.h>

#define PROMPT_SIZE 256

struct app;
struct filter;

/* Called with the text. It may start another prompt. */
typedef void prompt_fn(struct app *app, const char *text);

struct prompt {
	char label[512];
	char text[PROMPT_SIZE];
	prompt_fn *done; /* NULL: no prompt is open */
};

void prompt_start(struct prompt *prompt, const char *label, const char *text, prompt_fn *done);

/* prompt_key - handle a key while a prompt is open. Return: whether it was used. */
bool prompt_key(struct prompt *prompt, struct app *app, int key);

/*
 * filter_key - edit a filter (tui/model/filter.h): characters, Backspace, ^U; Enter ends, Esc empties it and ends
 * @typing:  set to false when editing has ended
 * Return: whether the key was one of these.
 */
bool filter_key(struct filter *filter, bool *typing, int key);

#endif
