/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* terminal.h - initialization and restoration of the terminal */
#ifndef IBWIRE_TUI_DRAW_TERMINAL_H
#define IBWIRE_TUI_DRAW_TERMINAL_H

#include <stdbool.h>

struct error;

struct mouse {
	int y, x;   /* of the terminal */
	int wheel;  /* -1 up, 1 down, 0: a click of the left button */
	bool twice; /* double click */
};

/*
 * terminal_start - initialize the terminal
 * @ret_unicode:  whether the locale is UTF-8
 *
 * Sets the locale. The terminal is restored also if the program crashes. Call tui_check_terminal() before.
 * Return: 0; ERR_USAGE if the terminal does not respond or is not supported.
 */
int terminal_start(bool *ret_unicode, struct error *err);

/* terminal_mouse_on - enable or disable mouse events. */
void terminal_mouse_on(bool on);

/*
 * terminal_was_stopped - whether the program was suspended and resumed since the last call: redraw.
 */
bool terminal_was_stopped(void);

/* terminal_stop - restore the terminal. No effect if it was not initialized. */
void terminal_stop(void);

/*
 * terminal_key - the next key
 * @wait_ms:  timeout
 * @ret_key:  as in key.h
 *
 * Return: whether there was one.
 */
bool terminal_key(int wait_ms, int *ret_key);

/* terminal_mouse - the mouse event after KEY_MOUSE. Return: whether it is a supported event. */
bool terminal_mouse(struct mouse *ret);

#endif
