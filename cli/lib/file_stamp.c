/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/file_stamp.h"

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void file_stamp_take(struct file_stamp *stamp, const char *path)
{
	if (stat(path, &stamp->read) == 0)
		stamp->seen = stamp->read;
}

bool file_stamp_changed(struct file_stamp *stamp, const char *path)
{
	struct stat now;
	bool changed;

	if (stat(path, &now) < 0 || !S_ISREG(now.st_mode))
		return false;
	changed = is_same(&now, &stamp->seen) && !is_same(&now, &stamp->read);
	stamp->seen = now;
	return changed;
}
