/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* escape.h - any bytes as text that a terminal or a file can take */
#ifndef IBWIRE_EXPORT_ESCAPE_H
#define IBWIRE_EXPORT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

struct text;

/*
 * escape_append - append bytes to @text with everything harmful as "\xHH"
 * @bytes, @len:  anything, NUL bytes included
 *
 * Harmful are the bytes that text_sanitise() calls so: control characters,
 * changes of the direction of writing, invalid UTF-8. Unlike there, spaces at
 * the ends stay and backslashes stay as they are, so that text that was made
 * harmless before does not change.
 */
void escape_append(struct text *text, const char *bytes, size_t len);

/* escape_is_plain - only printable ASCII, so that columns are bytes and nothing needs escaping. */
bool escape_is_plain(const char *bytes, size_t len);

#endif
