/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lock.h - one collector per database
 *
 * A collector holds two write locks, both open file description locks, which end with the
 * process however that ends:
 *
 * - PATH.lock beside the file that PATH leads to decides. Its mode is 0600: who may only read the
 *   database cannot open it, so cannot lock it either. It stays empty; the lock counts, not the file.
 * - a range of the database file itself, far behind its end and SQLite's lock bytes. It is found
 *   under every name of the file (symbolic and hard links) and needs read access only, so readers
 *   find a live collector by it. A reader's read lock there delays only this lock, never a
 *   collector.
 *
 * A locked range is one byte longer than the process id of its holder, which is how others learn
 * the id: the kernel reports none for such locks.
 */
#ifndef IBWIRE_STORAGE_LOCK_H
#define IBWIRE_STORAGE_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct db_lock {
	int file_fd, db_fd;  /* of PATH.lock, of the database; -1: not open */
	bool db_held;        /* the range of the database is locked too */
	int64_t reader_pid;  /* !db_held: whose read lock is in the way; 0: not known, or none is */
};

#define DB_LOCK_NONE ((struct db_lock){ .file_fd = -1, .db_fd = -1 })

/*
 * lock_take - become the collector of a database
 * @path:  the database's path; the file may not be there yet, see lock_database()
 * @ret:   to give to lock_release(); untouched on error
 *
 * To be called before SQLite opens the file in this process: closing any descriptor of a file
 * drops all POSIX locks that the process has on it.
 * Return: 0; ERR_UNAVAILABLE where another process holds it (named in the text); ERR_IO where
 * PATH.lock cannot be made, or is a link or no regular file.
 * Source: "How To Corrupt An SQLite Database File", 2.2; fcntl(2), "Open file description locks".
 */
int lock_take(const char *path, struct db_lock *ret, struct error *err);

/*
 * lock_database - lock the file that is at @path now, after one was made or moved there
 * Calls and errors as lock_take(); one that cannot be opened for writing is left to SQLite.
 */
int lock_database(struct db_lock *lock, const char *path, struct error *err);

/*
 * lock_retry - try for the database's range again, where a reader's lock was in the way
 * Opens and closes nothing. Return: 0, also where it still is; ERR_UNAVAILABLE as lock_take().
 */
int lock_retry(struct db_lock *lock, const char *path, struct error *err);

/* lock_release - after SQLite has closed the file; fine with DB_LOCK_NONE. */
void lock_release(struct db_lock *lock);

/*
 * lock_held - is a collector live? Needs read access to the database only.
 * @ret_pid:  its process id, 0 where that is not known or none is live
 * Uses a descriptor that SQLite has open in this process where there is one, and closes none.
 */
bool lock_held(const char *path, int64_t *ret_pid);

/*
 * lock_holders - which other processes hold a lock (POSIX, also one of SQLite's) on bytes of a file
 * @path:         of the file; it is not opened, since closing it would drop the locks of this process
 * @first, @last: bytes of it, both included
 * @ret:          @size bytes: "process 4711 (less), process 4712 (top)", as many as fit; "" where there are none
 *
 * Found by device and inode in /proc/locks. Processes of other PID namespaces are not in there, nor are
 * those on a file system whose files have another device than it has (btrfs); open file description locks
 * have no process.
 * Return: how many.
 */
size_t lock_holders(const char *path, int64_t first, int64_t last, char *ret, size_t size);

/*
 * lock_blocks_store - does another process hold a lock that keeps this one from storing?
 * @ret_pid:  its process id, 0 where that is not known
 */
bool lock_blocks_store(const char *path, int64_t *ret_pid);

/* lock_holder - "process 42", or words for an unknown id and how to find it. Return: @chars. */
#define LOCK_HOLDER_SIZE 64
const char *lock_holder(int64_t pid, char chars[LOCK_HOLDER_SIZE]);

#endif
