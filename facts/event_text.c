/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/event_text.h"

#include <ctype.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/names.h"

/*
 * Length of "MF0;NAME:MODEL/U1" or of a module's name, "MF0;NAME:MODEL/L01/U1", at the beginning of a
 * text. Return: 0 if there is none.
 */
static size_t managed_name(const char *text)
{
	const char *name = text + strlen("MF0;"), *colon, *end;

	if (strncmp(text, "MF0;", strlen("MF0;")))
		return 0;
	colon = name + strcspn(name, ": ");
	end = *colon == ':' ? colon + strcspn(colon, "/ ") : colon;
	if (colon == name || *end != '/')
		return 0;
	if (!strncmp(end, "/U1", 3) && !isalnum((unsigned char)end[3]))
		return (size_t)(end + 3 - text);
	return (size_t)(end - text) + 1 + strcspn(end + 1, "/ ");
}

const char *event_text(const struct fabric *fabric, const char *from, char *ret, size_t size)
{
	size_t to = 0;

	while (*from && to + 1 < size) {
		char name[NODE_NAME_SIZE], shown[NODE_NAME_SIZE];
		size_t bytes = managed_name(from), len;

		if (!bytes || bytes >= sizeof(name)) {
			ret[to++] = *from++;
			continue;
		}
		memcpy(name, from, bytes);
		name[bytes] = '\0';
		len = names_display(fabric, name, shown) - 1;
		len = len < size - 1 - to ? len : size - 1 - to;
		memcpy(ret + to, shown, len);
		to += len;
		from += bytes;
	}
	ret[to] = '\0';
	return ret;
}
