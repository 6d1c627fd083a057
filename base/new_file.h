/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * new_file.h - write a file that is either complete or as it was
 *
 * The data goes to a new file PATH.PID.part (PATH.part if the caller holds a lock for PATH), which replaces PATH when
 * it is complete and on the disk. A path that exists and is no file (a pipe, /dev/null) is written directly.
 */
#ifndef IBWIRE_BASE_NEW_FILE_H
#define IBWIRE_BASE_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct error;

/* Zeroed if it is not open. */
struct new_file {
	FILE *stream;
	char *path, *part; /* part NULL: written directly */
	bool is_private;   /* mode 0600 */
};

/*
 * new_file_open - begin a file; a symbolic link is followed
 * @is_private:  mode 0600; else that of the file it replaces, or 0666 less the umask
 * Return: 0; ERR_IO: one line says why, such as a pipe without a reader, or a folder that cannot be written; ERR_NOMEM.
 */
int new_file_open(const char *path, bool is_private, struct new_file *ret, struct error *err);

/* new_file_open_locked - the same, private, by the only process that writes it: one that was killed leaves no file */
int new_file_open_locked(const char *path, struct new_file *ret, struct error *err);

/*
 * new_file_end - close the file, and replace the old one
 * @code:  negative: the content is incomplete, nothing is replaced
 * Return: @code if it is negative; else 0, or ERR_IO.
 */
int new_file_end(struct new_file *file, int code, struct error *err);

#endif
