/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lock.h - one collector per database
 *
 * A collector holds a write lock on PATH.lock, beside the file that PATH resolves to. Its mode is 0600: users
 * with read access to the database only cannot open it, so they cannot lock it. It is an open file
 * description lock, which ends with the process. The file remains, empty.
 *
 * The length of the locked range is the process id of its holder plus one: the kernel reports no process id
 * for such locks.
 */
#ifndef IBWIRE_STORAGE_LOCK_H
#define IBWIRE_STORAGE_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct db_lock {
	int fd; /* of PATH.lock; -1: none */
};

#define DB_LOCK_NONE ((struct db_lock){ .fd = -1 })

/*
 * lock_take - become the collector of a database
 * @path:  of the database, which need not exist
 * @ret:   lock_release() releases it; unchanged on error
 *
 * Return: 0; ERR_UNAVAILABLE if another process holds the lock (the text names it); ERR_IO if
 * PATH.lock cannot be created, or is a link or not a regular file.
 * Source: fcntl(2), "Open file description locks".
 */
int lock_take(const char *path, struct db_lock *ret, struct error *err);

/* lock_release - DB_LOCK_NONE is allowed. */
void lock_release(struct db_lock *lock);

/*
 * lock_held - is a collector running?
 * @ret_pid:  its process id; 0: unknown or none
 * A user who cannot open PATH.lock finds the lock in /proc/locks.
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

/*
 * lock_blocks_store - does another process hold SQLite's write lock? @ret_pid: its id; 0: unknown
 * The caller has a connection to the database, which has read it.
 */
bool lock_blocks_store(const char *path, int64_t *ret_pid);

/* lock_holder - "process 42", or a text for an unknown id. Return: @chars. */
#define LOCK_HOLDER_SIZE 64
const char *lock_holder(int64_t pid, char chars[LOCK_HOLDER_SIZE]);

#endif
