/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * retain.h - removes data that exceeds the retention or the maximum size (inside storage/ only)
 *
 * By whole windows and hours, the oldest first, in steps like those of the compaction and in the same
 * thread. A window is marked, then its samples are removed, later its sums, and finally those of its
 * hour.
 */
#ifndef IBWIRE_STORAGE_RETAIN_H
#define IBWIRE_STORAGE_RETAIN_H

struct compaction;
struct error;
struct writer_retention;

/*
 * retain_step - remove some rows, or return free pages to the file system
 * The current time is that of the newest sweep; while the clock jumps by days, the earliest of the last 60.
 * Return: as compact_step().
 */
int retain_step(struct compaction *compaction, const struct writer_retention *retention, struct error *err);

#endif
