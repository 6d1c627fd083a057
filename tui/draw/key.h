/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* key.h - a key: a character as its code point, or a special key (curses KEY_*) as the negative of its code */
#ifndef IBWIRE_TUI_DRAW_KEY_H
#define IBWIRE_TUI_DRAW_KEY_H

#include <curses.h>

#define KEY_SPECIAL(code) (-(code))
#define KEY_CTRL(letter) ((letter) & 0x1f)
#define KEY_ESCAPE 27

#endif
