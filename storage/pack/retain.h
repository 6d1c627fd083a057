/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * retain.h - what is too old, or too much, goes (inside storage/ only)
 *
 * By whole windows and hours, the oldest first, in steps like those of the
 * compaction and in the same thread. A window is first marked, then its samples
 * go, then, later, its sums, and last those of its hour.
 */
#ifndef IBWIRE_STORAGE_RETAIN_H
#define IBWIRE_STORAGE_RETAIN_H

struct compaction;
struct error;
struct writer_retention;

/*
 * retain_step - one step of what there is to remove, or to give back to the file system
 * Time is that of the newest sweep; while the clock jumps by days, that of the earliest of the last 60.
 * Return: as compact_step().
 */
int retain_step(struct compaction *compaction, const struct writer_retention *retention, struct error *err);

#endif
