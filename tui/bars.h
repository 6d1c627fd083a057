/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bars.h - small bars of text */
#ifndef IBWIRE_TUI_BARS_H
#define IBWIRE_TUI_BARS_H

#include <stdbool.h>

struct text;

/*
 * bars_append - @value of @most as a bar of @columns columns, filled up with spaces; NAN: spaces
 * bars_append_spark - the same as one character, eight steps high; "?" for NAN
 */
void bars_append(struct text *text, double value, double most, unsigned columns, bool ascii);
void bars_append_spark(struct text *text, double value, double most, bool ascii);

#endif
