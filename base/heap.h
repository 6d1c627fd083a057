/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heap.h - a heap that stays small in a program that runs for months
 *
 * A collector packs a window of sweeps every few minutes. For that hundreds of SQLite's pages and many small
 * things come and go, beside small things that stay: the holes between those made 12 MB of 5 in two hours.
 */
#ifndef IBWIRE_BASE_HEAP_H
#define IBWIRE_BASE_HEAP_H

/* heap_keep_small - from now on the heap does not grow for what has 16 KB or more, as SQLite's pages have */
void heap_keep_small(void);

/* heap_give_back - return to the kernel what is free, also between what is in use; it takes 50 us for 10 MB */
void heap_give_back(void);

#endif
