/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_column.h - a column of numbers as distances from a base, inside the codec
 *
 *     way      2 bits: all numbers are the same, few differ, or most do
 *     same:
 *       base   a number, folded
 *     few:
 *       base   likewise
 *       count  8 bits: of those that differ, less one
 *       width  7 bits: of the largest distance
 *       for each its place, and its distance
 *     most (Rice's code, with a way out):
 *       step   6 bits: of a distance as many are kept as they are
 *       base   a number, folded, without its lowest bits (base_shift)
 *       far    3 bits: how many ones say that a number is far away, less one
 *       width  7 bits: of the largest distance
 *       for each as many ones as the rest of the distance, a zero, the `step` bits; or
 *       for one that is far away `far` ones, and the whole distance in `width` bits
 *
 * The noise of a busy counter is about normal, and for that Rice's code takes 0.2
 * bits more than there is to say; distances of one width for all take 0.8. Numbers
 * are of 64 bits and all sums wrap; a distance is folded, so that one below the base is
 * as small as one above it, and no number is impossible.
 */
#ifndef IBWIRE_STORAGE_CODEC_COLUMN_H
#define IBWIRE_STORAGE_CODEC_COLUMN_H

#include <stdint.h>

struct bit_reader;
struct bit_writer;

#define COLUMN_MAX 256 /* numbers in a column */

/* Bytes that a column of @count numbers takes at most. */
#define COLUMN_BYTES_MAX(count) ((size_t)(count) * 9 + 16)

/* column_put - append a column of @count numbers, 1 to COLUMN_MAX. */
void column_put(struct bit_writer *out, const uint64_t *values, unsigned count);

/*
 * column_add - add a column of @count numbers, 1 to COLUMN_MAX, to @values; sums wrap
 * Where they cannot be, @in->bad is set and @values are 0.
 */
void column_add(struct bit_reader *in, uint64_t *values, unsigned count);

/*
 * column_add_part - the same of numbers [@first, @end) alone; the others of @values stay, or become 0
 * What cannot be is noticed wherever it stands. Numbers that are only passed by take half the time.
 */
void column_add_part(struct bit_reader *in, uint64_t *values, unsigned count, unsigned first, unsigned end);

#endif
