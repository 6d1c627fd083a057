/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_damage.h - a text with one damaged line, for tests of what users hand over */
#ifndef IBWIRE_BASE_TEST_DAMAGE_H
#define IBWIRE_BASE_TEST_DAMAGE_H

#include <stdlib.h>
#include <string.h>

enum damage { DAMAGE_DELETED, DAMAGE_DOUBLED, DAMAGE_CUT, DAMAGE_GARBAGE, DAMAGE_CONTROL, DAMAGE_COUNT };

/* damage_lines - the number of lines. damage_bytes - the length of line @line, from 1, without its newline. */
static inline size_t damage_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static inline const char *damage_find(const char *text, size_t line)
{
	while (--line)
		text = strchr(text, '\n') + 1;
	return text;
}

static inline size_t damage_bytes(const char *text, size_t line)
{
	return strcspn(damage_find(text, line), "\n");
}

/*
 * damage_line - damage line @line, from 1, at byte @at of it
 * @ret_line:  the damaged line, for free(); "" if it was deleted
 * Return: the text, for free().
 */
static inline char *damage_line(const char *text, size_t line, enum damage damage, size_t at, char **ret_line)
{
	static const char garbage[] = "\xff\x80q\"]\xc3", control[] = "\x1b[31m\x07\x01";
	const char *start = damage_find(text, line), *end = start + strcspn(start, "\n");
	const char *add = damage == DAMAGE_GARBAGE ? garbage : damage == DAMAGE_CONTROL ? control : "";
	size_t len = (size_t)(end - start), before = (size_t)(start - text);
	char *ret = calloc(1, strlen(text) + len + 32), *to = ret + before, *now;

	memcpy(ret, text, before);
	memcpy(to, start, damage == DAMAGE_DELETED ? 0 : damage == DAMAGE_DOUBLED ? len : at);
	strcat(to, add);
	if (*add && at + strlen(add) < len)
		strncat(to, start + at + strlen(add), len - at - strlen(add));
	now = strdup(to);
	if (damage != DAMAGE_DELETED)
		strcat(to, "\n");
	if (damage == DAMAGE_DOUBLED)
		strncat(to, start, len + 1);
	strcat(to, end + 1);
	*ret_line = now;
	return ret;
}

#endif
