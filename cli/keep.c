/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/keep.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/err.h"

#define DEFAULT_BYTES INT64_C(20000000000)

int keep_parse_size(const char *typed, int64_t *ret_bytes, struct error *err)
{
	static const char units[] = "kMGT";
	const char *unit;
	char *end;
	double value = strtod(typed, &end);

	/* No hexadecimal, no "inf": a number that a person types. */
	if (strspn(typed, "0123456789.") != (size_t)(end - typed) || end == typed)
		return err_set(err, ERR_USAGE, "\"%s\" is no size; give one such as 500M, 20G or 1.5T", typed);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		value *= pow(1000, (double)(unit - units + 1));
		end++;
	}
	if (*end == 'B')
		end++;
	if (*end || !(value < 9e18))
		return err_set(err, ERR_USAGE, "\"%s\" is no size; give one such as 500M, 20G or 1.5T", typed);
	*ret_bytes = (int64_t)value;
	return 0;
}

int64_t keep_default_size(const char *path)
{
	char folder[PATH_MAX];
	struct statvfs disk;
	struct stat file;
	char *slash;
	double room;

	if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder))
		return DEFAULT_BYTES;
	slash = strrchr(folder, '/');
	if (!slash)
		strcpy(folder, ".");
	else
		slash[slash == folder] = '\0';
	if (statvfs(folder, &disk) < 0)
		return DEFAULT_BYTES;
	room = (double)disk.f_bavail * (double)disk.f_frsize + (stat(path, &file) < 0 ? 0 : (double)file.st_size);
	return room / 2 < (double)DEFAULT_BYTES ? (int64_t)(room / 2) : DEFAULT_BYTES;
}
