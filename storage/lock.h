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

#endif
