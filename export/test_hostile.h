/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_hostile.h - random unsafe text, and a check for remains */
#ifndef IBWIRE_EXPORT_TEST_HOSTILE_H
#define IBWIRE_EXPORT_TEST_HOSTILE_H

#include <stddef.h>
#include <stdint.h>

struct text;

/* State of the random numbers. */
extern uint64_t hostile_seed;

/* hostile_random - a number below @below. */
uint64_t hostile_random(uint64_t below);

/* hostile_text - replace @text by random unsafe text, including NUL. */
void hostile_text(struct text *text);

/* hostile_escaped - output of text_append_escaped(), for free(). */
char *hostile_escaped(const char *bytes, size_t len);

/*
 * hostile_assert_none - fails if unsafe text remains
 * No control character but those in @allowed, no direction mark, valid UTF-8: it does not change
 * when escaped.
 */
void hostile_assert_none(const char *chars, size_t len, const char *allowed);

#endif
