/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heap.h - limit heap fragmentation in a process that runs for months
 *
 * A collector packs a window of sweeps every few minutes, which allocates and frees hundreds of
 * SQLite pages and many small blocks between small blocks that stay. The holes between those grew a
 * heap of 5 MB to 12 MB in two hours.
 */
#ifndef IBWIRE_BASE_HEAP_H
#define IBWIRE_BASE_HEAP_H

/* heap_keep_small - map allocations of 16 KB or more, such as SQLite pages, outside of the heap */
void heap_keep_small(void);

/* heap_give_back - return free memory to the kernel, also from holes; takes 50 us for 10 MB */
void heap_give_back(void);

#endif
