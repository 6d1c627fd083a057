/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lock.h - one collector per database
 *
 * A collector holds two write locks, both open file description locks, which end with the process:
 *
 * - on PATH.lock, beside the file that PATH resolves to. Its mode is 0600: users with read access to
 *   the database only cannot open it, so they cannot lock it. The file remains, empty.
 * - on a range of the database file, far after its end and SQLite's lock bytes. It exists under
 *   every name of the file (symbolic and hard links), and readers detect a collector by it with read
 *   access only. A reader's read lock on the range blocks only this lock, not the collector.
 *
 * The length of a locked range is the process id of its holder plus one: the kernel reports no
 * process id for such locks.
 */
#ifndef IBWIRE_STORAGE_LOCK_H
#define IBWIRE_STORAGE_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct db_lock {
	int file_fd, db_fd;  /* of PATH.lock, of the database; -1: not open */
	bool db_held;        /* the range of the database is locked */
	int64_t reader_pid;  /* if !db_held: holder of a read lock on it; 0: unknown or none */
};

#define DB_LOCK_NONE ((struct db_lock){ .file_fd = -1, .db_fd = -1 })

/*
 * lock_take - become the collector of a database
 * @path:  of the database, which need not exist (see lock_database())
 * @ret:   lock_release() releases it; unchanged on error
 *
 * To be called before SQLite opens the file in this process: closing any descriptor of a file
 * drops all POSIX locks of the process on it.
 * Return: 0; ERR_UNAVAILABLE if another process holds the lock (the text names it); ERR_IO if
 * PATH.lock cannot be created, or is a link or not a regular file.
 * Source: "How To Corrupt An SQLite Database File", 2.2; fcntl(2), "Open file description locks".
 */
int lock_take(const char *path, struct db_lock *ret, struct error *err);

/*
 * lock_database - lock the file that is at @path, after it was created or moved there
 * As lock_take(); if it cannot be opened for writing, SQLite reports that later.
 */
int lock_database(struct db_lock *lock, const char *path, struct error *err);

/*
 * lock_retry - try again to lock the range of the database, if a reader's lock blocked it
 * Opens and closes nothing. Return: 0, also if it is still blocked; ERR_UNAVAILABLE as lock_take().
 */
int lock_retry(struct db_lock *lock, const char *path, struct error *err);

/* lock_release - to be called after SQLite has closed the file. DB_LOCK_NONE is allowed. */
void lock_release(struct db_lock *lock);

/*
 * lock_held - is a collector running? Needs read access to the database only.
 * @ret_pid:  its process id; 0: unknown or none
 * Uses a descriptor of the file that this process has open, if there is one.
 */
bool lock_held(const char *path, int64_t *ret_pid);

/*
 * lock_holders - other processes that hold a POSIX lock (as SQLite's are) on bytes of a file
 * @path:         the file; it is not opened, since closing it would drop the locks of this process
 * @first, @last: range of bytes, inclusive
 * @ret:          @size bytes: "process 4711 (less), process 4712 (top)", as many as fit; "": none
 *
 * Found by device and inode in /proc/locks, which does not list processes of other PID namespaces,
 * nor correct devices of some file systems (btrfs), nor the process of an open file description lock.
 * Return: number of processes.
 */
size_t lock_holders(const char *path, int64_t first, int64_t last, char *ret, size_t size);

/* lock_blocks_store - does another process hold SQLite's write lock? @ret_pid: its id; 0: unknown. */
bool lock_blocks_store(const char *path, int64_t *ret_pid);

/* lock_holder - "process 42", or a text for an unknown id. Return: @chars. */
#define LOCK_HOLDER_SIZE 64
const char *lock_holder(int64_t pid, char chars[LOCK_HOLDER_SIZE]);

#endif
