/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bars.h - small bars of text */
#ifndef IBWIRE_FACTS_BARS_H
#define IBWIRE_FACTS_BARS_H

#include <stdbool.h>
#include <stdint.h>

struct balance_result;
struct text;

/* Maximum number of members. */
#define BARS_MEMBERS 16

/*
 * bars_append - @value of @most as a bar of @columns columns, padded with spaces; NAN: spaces
 * bars_append_spark - the same as one character with eight heights; "?" for NAN
 * bars_append_members - one such character for the measured or predicted load of each group member;
 * "+" if there are more
 */
void bars_append(struct text *text, double value, double most, unsigned columns, bool ascii);
void bars_append_spark(struct text *text, double value, double most, bool ascii);
void bars_append_members(struct text *text, const struct balance_result *result, uint32_t count, bool predicted,
			 bool ascii);

#endif
