/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wal.h - the write-ahead log after a failed flush
 *
 * After a failed fsync() the kernel may drop written data and report success the next time. Only data
 * of earlier flushes is on the disk for certain, and nothing of the log's index (PATH-shm), which is
 * never flushed.
 */
#ifndef IBWIRE_STORAGE_WAL_H
#define IBWIRE_STORAGE_WAL_H

#include <stddef.h>

struct error;

/* Files of an open connection's log; -1: none. */
struct wal {
	int log_fd, index_fd;
	void *index; /* mapped by wal_repair(), or NULL */
	size_t index_bytes;
};

#define WAL_NONE ((struct wal){ .log_fd = -1, .index_fd = -1 })

/*
 * wal_open - open the log of a database that this process has open
 * It must stay open as long as the connection: closing a descriptor of PATH-shm drops SQLite's locks
 * of this process on it.
 * Return: 0, or ERR_IO with @ret unchanged.
 */
int wal_open(const char *path, struct wal *ret, struct error *err);

/* wal_close - after the last connection of this process is closed. The index stays mapped. */
void wal_close(struct wal *wal);

/*
 * wal_repair - restore a valid log
 * The connections of this process must be idle, and must be closed without a checkpoint after success.
 *
 * Truncates the log after the last commit, so that no recovery reads a rolled back transaction as a
 * committed one; flushes zeros behind the log, to check that the disk accepts new blocks; then writes
 * the log's bytes again, since the disk may not have those in memory, flushes them, and invalidates
 * the index. The next connection rebuilds the index up to the first frame with a wrong checksum. Until
 * then the index stays mapped: the kernel may drop pages that are not mapped and read an old, valid
 * index of an earlier log from the disk.
 *
 * Return: 0; ERR_IO if the disk still fails, or another process is writing: to be tried again.
 * Source: SQLite, "WAL-mode File Format" (walformat.html), 2.1 "The WAL-Index Header", 2.2, 4.
 */
int wal_repair(struct wal *wal, const char *path, struct error *err);

/* wal_unmap - to be called when the next connection has rebuilt the index. */
void wal_unmap(struct wal *wal);

#endif
