/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/thread.h"

#include <signal.h>

int thread_start(void *(*run)(void *ctx), void *ctx, pthread_t *ret)
{
	sigset_t all, before;
	int failure;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failure = pthread_create(ret, NULL, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failure;
}
