/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scalar.h - one text or number as it stands in JSON; for export/ only */
#ifndef IBWIRE_EXPORT_SCALAR_H
#define IBWIRE_EXPORT_SCALAR_H

#include <stddef.h>
#include <stdint.h>

struct text;

/*
 * scalar_append_text - any bytes as a string with its quotes, printable ASCII only
 * What is no valid UTF-8, or holds a NUL, goes through escape_append() first.
 */
void scalar_append_text(struct text *text, const char *bytes, size_t len);

void scalar_append_integer(struct text *text, int64_t number);

/* scalar_append_unsigned - above INT64_MAX a string of digits. */
void scalar_append_unsigned(struct text *text, uint64_t number);

/* scalar_append_real - with 15 digits and always as a real: 1.0, 1e-12; null where it is not finite. */
void scalar_append_real(struct text *text, double number);

#endif
