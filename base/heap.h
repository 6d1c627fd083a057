/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heap.h - for a program that runs for months: its heap stays as small as what is on it
 *
 * A collector packs a window of sweeps every few minutes. For that hundreds of SQLite's pages and many small things come
 * and go, beside small things that stay. They leave holes, and with those a heap of 5 MB grows to 12 in two hours.
 */
#ifndef IBWIRE_BASE_HEAP_H
#define IBWIRE_BASE_HEAP_H

/* heap_keep_small - from now on what has 16 KB or more, as SQLite's pages have, is the kernel's again when it is freed */
void heap_keep_small(void);

/* heap_give_back - return to the kernel the pages of memory that holes have whole; about a millisecond */
void heap_give_back(void);

#endif
