/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* key.h - a key: a character as its code point, or a special key (curses KEY_*) as the negative of its code */
#ifndef IBWIRE_TUI_DRAW_KEY_H
#define IBWIRE_TUI_DRAW_KEY_H

#include <curses.h>

#define KEY_SPECIAL(code) (-(code))
#define KEY_CTRL(letter) ((letter) & 0x1f)
#define KEY_ESCAPE 27
#define KEY_DELETE 127

/* key_plain - the same code for all keys that mean Enter ('\r') or Backspace (KEY_DELETE). */
static inline int key_plain(int key)
{
	if (key == '\n' || key == KEY_SPECIAL(KEY_ENTER))
		return '\r';
	return key == '\b' || key == KEY_SPECIAL(KEY_BACKSPACE) ? KEY_DELETE : key;
}

/* key_motion - the cursor key for a key of less and vi (j k g G ^B ^F), else the key itself. */
static inline int key_motion(int key)
{
	switch (key) {
	case 'k':
		return KEY_SPECIAL(KEY_UP);
	case 'j':
		return KEY_SPECIAL(KEY_DOWN);
	case 'g':
		return KEY_SPECIAL(KEY_HOME);
	case 'G':
		return KEY_SPECIAL(KEY_END);
	case KEY_CTRL('b'):
		return KEY_SPECIAL(KEY_PPAGE);
	case KEY_CTRL('f'):
		return KEY_SPECIAL(KEY_NPAGE);
	default:
		return key;
	}
}

#endif
