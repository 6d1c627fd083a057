/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * prompt.h - one line that is typed at the foot of the screen
 *
 * Text is UTF-8; keys are as in app.h. Enter gives it to who asked, Esc leaves.
 */
#ifndef IBWIRE_TUI_DRAW_PROMPT_H
#define IBWIRE_TUI_DRAW_PROMPT_H

#include <limits.h>
#include <stdbool.h>

#define PROMPT_SIZE 256

struct app;
struct filter;

/* Who asked gets what was typed. It may ask again at once. */
typedef void prompt_fn(struct app *app, const char *text);

struct prompt {
	char label[192];
	char text[PROMPT_SIZE];
	prompt_fn *done; /* NULL: nothing is asked */
};

void prompt_start(struct prompt *prompt, const char *label, const char *text, prompt_fn *done);

/* prompt_key - a key while something is asked. Return: whether it was taken. */
bool prompt_key(struct prompt *prompt, struct app *app, int key);

/* prompt_erase - the last character of a text goes. */
void prompt_erase(char *text);

/*
 * prompt_character - a key as the text that it types, in the terminal's encoding
 * @ret:  "" where it types nothing that can be shown
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
