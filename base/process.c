/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/process.h"

#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

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

void heap_keep_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 16384);
}

void heap_give_back(void)
{
	malloc_trim(0);
}

void login_name(char *ret, size_t size)
{
	const char *sudo = getenv("SUDO_USER");
	const struct passwd *entry = sudo && *sudo ? NULL : getpwuid(getuid());

	if (sudo && *sudo)
		text_sanitise(sudo, strlen(sudo), ret, size);
	else if (entry)
		text_sanitise(entry->pw_name, strlen(entry->pw_name), ret, size);
	else
		snprintf(ret, size, "uid %u", (unsigned)getuid());
}
