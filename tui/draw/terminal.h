/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * terminal.h - the terminal taken over and given back
 */
#ifndef IBWIRE_TUI_DRAW_TERMINAL_H
#define IBWIRE_TUI_DRAW_TERMINAL_H

#include <stdbool.h>

struct error;

struct mouse {
	int y, x;   /* of the terminal */
	int wheel;  /* -1 up, 1 down, 0: a press of the left button */
	bool twice; /* a double click */
};

/*
 * terminal_check - can this terminal do what a screen needs?
 * Return: 0, or ERR_USAGE as terminal_start(); nothing is written to it.
 */
int terminal_check(struct error *err);

/*
 * terminal_start - take the terminal over
 * @ret_unicode:  is the locale's encoding UTF-8?
 *
 * Sets the locale. From here on the terminal is given back also where the
 * program dies of one of its own mistakes.
 * Return: 0; ERR_USAGE where stdin or stdout is no terminal, or $TERM names one
 * that is not known or cannot move its cursor: nothing was written then.
 */
int terminal_start(bool *ret_unicode, struct error *err);

/* terminal_mouse_on - is the mouse for us, or for the terminal's own selection? */
void terminal_mouse_on(bool on);

/* terminal_was_stopped - did the program go on after it was stopped (once)? Others wrote on the screen meanwhile. */
bool terminal_was_stopped(void);

/* terminal_stop - give it back. Nothing happens where it was not taken. */
void terminal_stop(void);

/*
 * terminal_key - the next key
 * @wait_ms:  how long to wait for it
 * @ret_key:  as in app.h: a character, or a special key as a negative number
 *
 * Return: whether there was one.
 */
bool terminal_key(int wait_ms, int *ret_key);

/* terminal_mouse - what the mouse did, after the key KEY_MOUSE. Return: whether it is anything that means something. */
bool terminal_mouse(struct mouse *ret);

#endif
