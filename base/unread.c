/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unread.h"

#include <stdio.h>

const char *unread_describe(const struct unread *unread, const char *what, char ret[UNREAD_SIZE])
{
	if (!unread->lines)
		return NULL;
	snprintf(ret, UNREAD_SIZE, "%zu line%s not %.80s: ignored, the first is line %zu", unread->lines,
		 unread->lines == 1 ? " is" : "s are", what, unread->first);
	return ret;
}
