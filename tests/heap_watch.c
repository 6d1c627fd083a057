/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* heap_watch.c - a library preloaded by tests/soak.py that writes heap statistics once a second
 *
 * The process's memory cannot distinguish a leak from a growing cache. The file named by IBWIRE_HEAP_WATCH has two
 * numbers of twelve digits, in bytes: the allocated heap (mallinfo2 sums all arenas of glibc; tests/soak.py disables
 * thread caches, which would count as allocated and take hours to fill), and the part of it that is SQLite's page
 * caches (SQLITE_STATUS_PAGECACHE_OVERFLOW: all pages, as SQLITE_CONFIG_PAGECACHE is not used). SQLite counts the
 * bytes that it requests. malloc() maps each of most pages separately (base/process.c), rounded up to pages of the
 * machine. The heap is written without these rests: each mapped block is assumed to be a page of SQLite. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/heap.h"

/* As in sqlite3.h, which the build does not need. */
#define STATUS_PAGECACHE_OVERFLOW 2
#define STATUS_PAGECACHE_SIZE 7

#define REST(size) (((size) + 16 + 4095) / 4096 * 4096 - (size)) /* with malloc's header */

typedef int status64_fn(int op, long long *current, long long *most, int reset);

static void *watch(void *file)
{
	int fd = *(const int *)file;
	status64_fn *status64;
	void *symbol = dlsym(RTLD_DEFAULT, "sqlite3_status64");

	memcpy(&status64, &symbol, sizeof(status64)); /* ISO C has no cast from an object to a function */
	for (;;) {
		struct mallinfo2 heap = mallinfo2();
		long long pages = 0, most = 0, size = 0;
		char line[40];

		if (status64) {
			status64(STATUS_PAGECACHE_OVERFLOW, &pages, &most, 0);
			status64(STATUS_PAGECACHE_SIZE, &most, &size, 0);
		}
		size_t bytes = heap.uordblks + heap.hblkhd - heap.hblks * (size_t)(size ? REST(size) : 0);
		int length = snprintf(line, sizeof(line), "%012zu %012lld\n", bytes, pages);
		if (pwrite(fd, line, (size_t)length, 0) != length)
			return NULL;
		sleep(1);
	}
}

__attribute__((constructor)) static void begin(void)
{
	static int fd;
	const char *path = getenv("IBWIRE_HEAP_WATCH");
	pthread_t thread;
	sigset_t all, old;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	unsetenv("IBWIRE_HEAP_WATCH"); /* children are not watched */
	sigfillset(&all); /* the program handles signals */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (fd >= 0 && !pthread_create(&thread, NULL, watch, &fd))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
