/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * log.h - the write-ahead log after a failed write or flush
 *
 * After a failed fsync() the kernel may drop written data and report success the next time:
 *
 * - of the log, only the failed transaction is affected, since each commit is flushed before it counts. It
 *   is cut off: no recovery may read it, and the kernel allocates new blocks for the next one. (ext4 reads
 *   zeros from blocks whose first write failed, even after a successful flush. Seen with Linux 6.18.)
 * - of the database file, pages that a checkpoint copied. The log still has them, but its index (PATH-shm)
 *   says that they are in the file.
 *
 * Therefore SQLite has to recover the log, as after a crash: then it relies on nothing but the log, whose
 * checksums it verifies. It does so when the header of the index is invalid.
 */
#ifndef IBWIRE_STORAGE_LOG_H
#define IBWIRE_STORAGE_LOG_H

#include <sqlite3.h>

struct error;

/*
 * log_recover - cut off a failed transaction and recover the log
 * @db:  a connection without a transaction, in WAL mode; those of other processes may be open
 *
 * Return: 0; ERR_IO if the disk still fails, or another process is writing: to be tried again.
 * Source: SQLite, "WAL-mode File Format" (walformat.html), 1, 2.1 "The WAL-Index Header", 2.3.
 */
int log_recover(sqlite3 *db, struct error *err);

#endif
