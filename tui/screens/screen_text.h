/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_text.h - output of a command of this program on a screen of its own */
#ifndef IBWIRE_TUI_SCREENS_SCREEN_TEXT_H
#define IBWIRE_TUI_SCREENS_SCREEN_TEXT_H

#include <stddef.h>

struct app;
struct subject;

/* A command. Everything is copied except for what is marked static. */
struct text_command {
	const char *title;          /* "report of leaf01/12" */
	const char *const *args;    /* without the program name; NULL-terminated */
	/* An argument that y changes: its index and its values; or NULL. */
	size_t varied;
	const char *const *choices; /* ends with NULL; static */
	const char *varied_name;    /* "rows by"; static */
};

/* text_show - run a command and open the screen with its output. */
void text_show(struct app *app, const struct text_command *command);

/* text_report - `ibwire report` of a subject as of the shown time, or a message if it has none. */
void text_report(struct app *app, const struct subject *subject);

/*
 * text_arguments - append arguments to a list
 * @list:  @most entries and a terminating NULL
 * @more:  NULL-terminated; or NULL
 * Return: the new length; what does not fit is dropped.
 */
size_t text_arguments(const char **list, size_t count, size_t most, const char *const *more);

#endif
