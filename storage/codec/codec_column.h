/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_column.h - a column of numbers as distances from a base (private to the codec)
 *
 *     encoding  2 bits: constant, sparse or Rice
 *     constant:
 *       base    a number, folded
 *     sparse (few numbers differ from the base):
 *       base    a number, folded
 *       count   8 bits: of those that differ, minus 1
 *       width   7 bits: of the largest distance
 *       for each of them its place and its distance
 *     Rice code with an escape:
 *       step    6 bits: number of remainder bits
 *       base    a number, folded, without its lowest bits (base_shift)
 *       escape  3 bits: number of ones that mark an outlier, minus 1
 *       width   7 bits: of the largest distance
 *       for each number its quotient in ones, a zero, the remainder; or for an outlier `escape`
 *       ones and the whole distance in `width` bits
 *
 * The noise of a busy counter is nearly normal: the Rice code needs 0.2 bits more than its entropy,
 * a fixed width 0.8. Numbers have 64 bits and all sums wrap. A distance is folded (bits_fold()), so
 * that negative ones are short too and every number can be stored.
 */
#ifndef IBWIRE_STORAGE_CODEC_COLUMN_H
#define IBWIRE_STORAGE_CODEC_COLUMN_H

#include <stdint.h>

struct bit_reader;
struct bit_writer;

#define COLUMN_MAX 256 /* numbers in a column */

/* Maximum size of a column of @count numbers, bytes. */
#define COLUMN_BYTES_MAX(count) ((size_t)(count) * 9 + 16)

/* column_put - append a column of @count numbers, 1 to COLUMN_MAX. */
void column_put(struct bit_writer *out, const uint64_t *values, unsigned count);

/*
 * column_add - add a column of @count numbers, 1 to COLUMN_MAX, to @values; sums wrap
 * Invalid input sets @in->bad, and @values are 0.
 */
void column_add(struct bit_reader *in, uint64_t *values, unsigned count);

/*
 * column_add_part - the same for numbers [@first, @end) only; others do not change, or become 0
 * Invalid input is detected in the whole column. Skipping a number takes half the time of reading it.
 */
void column_add_part(struct bit_reader *in, uint64_t *values, unsigned count, unsigned first, unsigned end);

#endif
