/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* escape.h - arbitrary bytes as text that is safe for terminals and files */
#ifndef IBWIRE_EXPORT_ESCAPE_H
#define IBWIRE_EXPORT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

struct text;

/*
 * escape_append - append bytes to @text, with unsafe bytes as "\xHH"
 * @bytes, @len:  arbitrary bytes, including NUL
 *
 * Unsafe bytes are those of text_sanitise(): control characters, direction marks and invalid UTF-8.
 * Unlike there, spaces at the ends and backslashes are kept, so that sanitised text does not
 * change.
 */
void escape_append(struct text *text, const char *bytes, size_t len);

/* escape_is_plain - printable ASCII only: columns equal bytes, no escaping needed. */
bool escape_is_plain(const char *bytes, size_t len);

#endif
