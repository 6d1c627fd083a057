/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The text is one line even where it quotes what another program wrote, such as the text of a schema. */
__attribute__((format(printf, 2, 0)))
static void set_text(struct error *err, const char *fmt, va_list args)
{
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	text_blank(err->text, ' ');
}

int err_set(struct error *err, int code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	va_start(args, fmt);
	set_text(err, fmt, args);
	va_end(args);
	return code;
}

int err_prefix(struct error *err, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	va_list args;
	size_t len;

	if (!err)
		return ERR_INTERNAL;
	memcpy(old, err->text, sizeof(old));
	va_start(args, fmt);
	set_text(err, fmt, args);
	va_end(args);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s", old);
	return err->code;
}

int err_nomem(struct error *err)
{
	return err_set(err, ERR_NOMEM, "out of memory: free some, or give the process a higher limit");
}
