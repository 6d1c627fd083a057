/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* thread.h - worker threads */
#ifndef IBWIRE_BASE_THREAD_H
#define IBWIRE_BASE_THREAD_H

#include <pthread.h>

/*
 * thread_start - run a function in a thread with all signals blocked: the main thread handles them
 * @ret:  to be joined by the caller
 * Return: 0, or the errno of pthread_create().
 */
int thread_start(void *(*run)(void *ctx), void *ctx, pthread_t *ret);

#endif
