/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_rows.h - the rows that a step of the compaction writes, as tables for INSERT ... SELECT (only for it)
 *
 *     new_chunk, new_sum, new_absolute    the columns of chunk, chunk_sum and absolute, in their order
 *
 * One statement writes all rows of a step: its cursor stays at the last row, so that the next one is appended
 * without a search. A statement for each row takes three times as long.
 */
#ifndef IBWIRE_STORAGE_COMPACT_ROWS_H
#define IBWIRE_STORAGE_COMPACT_ROWS_H

struct compaction;
struct error;

/* compact_rows_register - make them available on the connection of the compaction. Return: 0 or an error. */
int compact_rows_register(struct compaction *compaction, struct error *err);

#endif
