/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lock.h - one collector per database
 *
 * PATH.lock beside the database is locked (an open file description lock: it
 * ends with the process, however that ends) and holds the collector's process
 * id. The file stays; the lock is what counts.
 */
#ifndef IBWIRE_STORAGE_LOCK_H
#define IBWIRE_STORAGE_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/*
 * lock_take - become the collector of a database
 * @path:    the database's path
 * @ret_fd:  to give to lock_release()
 *
 * Return: 0; ERR_UNAVAILABLE where another process holds it (named in the
 * text); ERR_IO where the file cannot be made.
 */
int lock_take(const char *path, int *ret_fd, struct error *err);
void lock_release(int fd);

/*
 * lock_held - is a collector live? Needs no write access.
 * @ret_pid:  its process id, 0 where that is not known or nobody holds it
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

#endif
