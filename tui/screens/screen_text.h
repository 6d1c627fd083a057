/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_text.h - what a command of this program prints, on a screen of its own */
#ifndef IBWIRE_TUI_SCREENS_SCREEN_TEXT_H
#define IBWIRE_TUI_SCREENS_SCREEN_TEXT_H

#include <stddef.h>

struct app;
struct subject;

/* A command to be shown. Everything is copied but what is said to be static. */
struct text_command {
	const char *title;          /* in the first line: "report of leaf01/12" */
	const char *const *args;    /* behind the program's name; ends with NULL */
	/* Where one of the arguments can be chosen with y: which it is, and the words; or NULL. */
	size_t varied;
	const char *const *choices; /* ends with NULL; static */
	const char *varied_name;    /* "rows by"; static */
};

/* text_show - run a command and go to the screen that shows what it prints. */
void text_show(struct app *app, const struct text_command *command);

/* text_report - the same for `ibwire report` of a subject, as of the shown time; says why where there is none. */
void text_report(struct app *app, const struct subject *subject);

/*
 * text_arguments - append a list of arguments to another
 * @list:  room for @most and a NULL behind them
 * @more:  ends with NULL; or NULL
 * Return: how many there are now; what does not fit is left out.
 */
size_t text_arguments(const char **list, size_t count, size_t most, const char *const *more);

#endif
