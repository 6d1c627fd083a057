/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* event_text.h - the text of an event as displayed */
#ifndef IBWIRE_FACTS_EVENT_TEXT_H
#define IBWIRE_FACTS_EVENT_TEXT_H

#include <stddef.h>

struct fabric;

/*
 * event_text - replace the names of managed switches by their displayed names (names_display())
 * @from:  the stored text
 * @ret:   of @size bytes; what does not fit is cut
 * Return: @ret.
 */
const char *event_text(const struct fabric *fabric, const char *from, char *ret, size_t size);

#endif
