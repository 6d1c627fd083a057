/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wal.h - the write-ahead log after a flush that failed
 *
 * After a failed fsync() the kernel may have dropped what was written, and reports success the next
 * time. Of the log only what an earlier flush covered is certain to be on the disk, and of its index
 * (PATH-shm, never flushed) nothing.
 */
#ifndef IBWIRE_STORAGE_WAL_H
#define IBWIRE_STORAGE_WAL_H

#include <stddef.h>

struct error;

/* The files of an open connection's log. -1: none. */
struct wal {
	int log_fd, index_fd;
	void *index; /* mapped by wal_repair(); NULL: not */
	size_t index_bytes;
};

#define WAL_NONE ((struct wal){ .log_fd = -1, .index_fd = -1 })

/*
 * wal_open - @path: of a database that this process has open
 * They stay open as long as the connection: closing a descriptor of PATH-shm drops the locks that
 * SQLite holds on it for this process.
 * Return: 0 or ERR_IO, @ret untouched.
 */
int wal_open(const char *path, struct wal *ret, struct error *err);

/* wal_close - after the last connection of this process. The index stays mapped. */
void wal_close(struct wal *wal);

/*
 * wal_repair - make the log trustworthy again
 * The connections of this process are to be idle, and to be closed without a checkpoint when this succeeds.
 *
 * Cuts off the frames behind the last commit, so that no later recovery takes a transaction that was
 * rolled back for a committed one; flushes some zeros behind the log, to see that the disk takes new
 * blocks; then writes the log's bytes again, since those in memory may not be on the disk any more,
 * flushes them, and invalidates the index. The next connection rebuilds the index from the log and stops at the first
 * frame whose checksum is wrong. Until then the index stays mapped, since a page of it that nobody
 * maps may be dropped, and be read from the disk as it was earlier: a valid index of an older log.
 *
 * Return: 0; ERR_IO where the disk still fails, or another process is writing: to be tried again.
 * Source: SQLite, "WAL-mode File Format" (walformat.html), 2.1 "The WAL-Index Header", 2.2, 4.
 */
int wal_repair(struct wal *wal, const char *path, struct error *err);

/* wal_unmap - once the next connection has rebuilt the index. */
void wal_unmap(struct wal *wal);

#endif
