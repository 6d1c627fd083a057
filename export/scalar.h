/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scalar.h - strings and numbers in JSON syntax; private to export/ */
#ifndef IBWIRE_EXPORT_SCALAR_H
#define IBWIRE_EXPORT_SCALAR_H

#include <stddef.h>
#include <stdint.h>

struct text;

/*
 * scalar_append_text - arbitrary bytes as a quoted string of printable ASCII
 * Text that is not valid UTF-8 or contains a NUL goes through escape_append() first.
 */
void scalar_append_text(struct text *text, const char *bytes, size_t len);

void scalar_append_integer(struct text *text, int64_t number);

/* scalar_append_unsigned - a string of digits above INT64_MAX. */
void scalar_append_unsigned(struct text *text, uint64_t number);

/* scalar_append_real - 15 digits, always a real: 1.0, 1e-12; null if not finite. */
void scalar_append_real(struct text *text, double number);

#endif
