/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* unread.h - lines of a user's file that could not be read: their number, and where the first is */
#ifndef IBWIRE_BASE_UNREAD_H
#define IBWIRE_BASE_UNREAD_H

#include <stddef.h>

struct unread {
	size_t lines;
	size_t first; /* number of the first of them, from 1 */
};

static inline void unread_add(struct unread *unread, size_t line)
{
	if (!unread->lines++)
		unread->first = line;
}

/*
 * unread_describe - "2 lines are not a GUID and a name: ignored, the first is line 3"
 * @what:  what they are not
 * Return: @ret; NULL: all lines were read.
 */
#define UNREAD_SIZE 160
const char *unread_describe(const struct unread *unread, const char *what, char ret[UNREAD_SIZE]);

#endif
