/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* process.h - threads, memory and user of this process */
#ifndef IBWIRE_BASE_PROCESS_H
#define IBWIRE_BASE_PROCESS_H

#include <pthread.h>
#include <stddef.h>

/*
 * thread_start - run a function in a thread with all signals blocked: the main thread handles them
 * @ret:  to be joined by the caller
 * Return: 0, or the errno of pthread_create().
 */
int thread_start(void *(*run)(void *ctx), void *ctx, pthread_t *ret);

/*
 * heap_keep_small - map allocations of 16 KB or more, such as SQLite pages, outside of the heap
 * A collector packs a window of sweeps every few minutes: holes between small blocks grew its heap
 * from 5 MB to 12 MB in two hours. `ibwire metrics`, with arrays of 16 MB, needs 7 MB less.
 */
void heap_keep_small(void);

/* heap_give_back - return free memory of all threads to the kernel, also from holes; takes 50 us for 10 MB. */
void heap_give_back(void);

/* login_name - name of the user, under sudo of the calling user; "uid 1000" without a name. @ret: printable */
void login_name(char *ret, size_t size);

#endif
