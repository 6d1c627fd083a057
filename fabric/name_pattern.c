/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/name_pattern.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* The ']' of a list of numbers and ranges that begins at a '['; NULL: it is another bracket expression. */
static const char *list_end(const char *open)
{
	const char *end = open + 1 + strspn(open + 1, "0123456789,-");
	bool found = false;

	for (const char *at = open + 1; at < end; at++)
		found |= *at == ',' || (isdigit((unsigned char)at[0]) && isdigit((unsigned char)at[1]));
	return *end == ']' && found ? end : NULL;
}

bool name_pattern_is_list(const char *pattern)
{
	const char *open = strchr(pattern, '[');

	/* "@FILE" of options is not allowed: a request must not open files. */
	return open && *pattern != '@' && list_end(open);
}

/* Is a number of @len digits in "001-016,020"? As it is written there: at least as wide, with zeros in front. */
static bool list_has(const char *list, const char *digits, size_t len)
{
	unsigned long number = strtoul(digits, NULL, 10);

	for (size_t i = len; isdigit((unsigned char)digits[i]); i++)
		number /= 10;
	while (isdigit((unsigned char)*list)) {
		size_t width = strspn(list, "0123456789");
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		if (number >= first && number <= last && (len == width || (len > width && digits[0] != '0')))
			return true;
		list = end + (*end == ',');
	}
	return false;
}

bool name_pattern_matches(const char *pattern, const char *name)
{
	size_t prefix = strcspn(pattern, "*?[");
	const char *end = pattern[prefix] == '[' ? list_end(pattern + prefix) : NULL;
	size_t most;

	if (!end)
		return !fnmatch(pattern, name, FNM_NOESCAPE);
	if (strncmp(pattern, name, prefix))
		return false;
	name += prefix;
	/* Digits may follow a list, too: "node[1-2]0". 15 of them are less than an unsigned long. */
	most = strspn(name, "0123456789");
	for (size_t len = 1; len <= most && most <= 15; len++)
		if (list_has(pattern + prefix + 1, name, len) && name_pattern_matches(end + 1, name + len))
			return true;
	return false;
}
