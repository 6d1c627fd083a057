/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_rows.h - what a step of the compaction writes, as tables for INSERT ... SELECT (inside the compaction only)
 *
 *     new_chunk, new_sum, new_absolute    the columns of chunk, chunk_sum and absolute, in their order
 *
 * One statement for all rows of a step: its cursor stays where the last row went, and each row that follows goes
 * behind it without a search. A statement for each row takes three times as long.
 */
#ifndef IBWIRE_STORAGE_COMPACT_ROWS_H
#define IBWIRE_STORAGE_COMPACT_ROWS_H

struct compaction;
struct error;

/* compact_rows_register - on the compaction's connection, for as long as it has both. Return: 0 or an error. */
int compact_rows_register(struct compaction *compaction, struct error *err);

#endif
