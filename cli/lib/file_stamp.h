/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* file_stamp.h - has a file changed since it was read? */
#ifndef IBWIRE_CLI_FILE_STAMP_H
#define IBWIRE_CLI_FILE_STAMP_H

#include <stdbool.h>
#include <sys/stat.h>

struct file_stamp {
	struct stat read, seen; /* as last read, and at the last check for a change */
};

/* file_stamp_take - before the file is read: a later change is noticed */
void file_stamp_take(struct file_stamp *stamp, const char *path);

/*
 * file_stamp_changed - a changed file counts as changed once two checks have found the same one, since it may be being
 * written; one that is not there has not changed
 */
bool file_stamp_changed(struct file_stamp *stamp, const char *path);

#endif
