/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/event_text.h"

#include <ctype.h>
#include <string.h>

/*
 * Length of "MF0;NAME:MODEL/U1" at the beginning of a text, as in names_short(); of a module's name,
 * "MF0;NAME:MODEL/L01/U1", up to "/L01". @ret_name: length of NAME. Return: 0 if there is none.
 */
static size_t managed_name(const char *text, size_t *ret_name)
{
	const char *name = text + strlen("MF0;"), *colon, *end;

	if (strncmp(text, "MF0;", strlen("MF0;")))
		return 0;
	colon = name + strcspn(name, ": ");
	end = *colon == ':' ? colon + strcspn(colon, "/ ") : colon;
	if (colon == name || *end != '/')
		return 0;
	*ret_name = (size_t)(colon - name);
	if (!strncmp(end, "/U1", 3) && !isalnum((unsigned char)end[3]))
		end += 3;
	return (size_t)(end - text);
}

const char *event_text(const char *from, char *ret, size_t size)
{
	size_t to = 0, name = 0, bytes;

	while (*from && to + 1 < size) {
		bytes = managed_name(from, &name);
		if (bytes && name < size - to - 1) {
			memcpy(ret + to, from + strlen("MF0;"), name);
			to += name;
			from += bytes;
		} else {
			ret[to++] = *from++;
		}
	}
	ret[to] = '\0';
	return ret;
}
