/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_column.h - a column of numbers as distances from a base, inside the codec
 *
 *     width    7 bits     of a distance, 0 to 64
 *     base     a number   folded, without the lowest bits that a base of this width never has
 *     patched  1 bit      are there numbers that do not fit?
 *       count  8 bits     of them, less one
 *       width  7 bits     of what is left of the largest
 *     distances, `width` bits each: of a number that does not fit the lowest bits
 *     for each patch its place, and the rest of the distance, folded
 *
 * Numbers are of 64 bits, and all sums wrap: a distance below the base is a large
 * one whose rest folds to a small number. So the order of signed numbers is the
 * one in which neighbours are cheap, and no number is impossible.
 */
#ifndef IBWIRE_STORAGE_CODEC_COLUMN_H
#define IBWIRE_STORAGE_CODEC_COLUMN_H

#include <stdint.h>

struct bit_reader;
struct bit_writer;

#define COLUMN_MAX 256 /* numbers in a column */

/* Bytes that a column of @count numbers takes at most. */
#define COLUMN_BYTES_MAX(count) ((size_t)(count) * 8 + 16)

/* column_put - append a column of @count numbers, 1 to COLUMN_MAX. */
void column_put(struct bit_writer *out, const uint64_t *values, unsigned count);

/* column_get - read @count numbers, 1 to COLUMN_MAX; where they cannot be, @in->bad is set and @values are 0. */
void column_get(struct bit_reader *in, uint64_t *values, unsigned count);

#endif
