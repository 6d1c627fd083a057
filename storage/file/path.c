/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* path.c - the default database */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "storage/reader.h"

#define SYSTEM_FOLDER "/var/lib/ibwire"
#define SYSTEM_PATH SYSTEM_FOLDER "/fabric.db"

static bool system_path_usable(bool for_writing)
{
	if (!for_writing)
		return access(SYSTEM_PATH, R_OK) == 0;
	if (access(SYSTEM_PATH, F_OK) == 0)
		return access(SYSTEM_PATH, W_OK) == 0;
	return access(SYSTEM_FOLDER, W_OK | X_OK) == 0;
}

/* Create the missing folders of a path. */
static int make_folders(char *path, struct error *err)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int result;

		*slash = '\0';
		result = mkdir(path, 0700);
		if (result < 0 && errno != EEXIST) {
			err_set(err, ERR_IO, "cannot make the folder %s: %s; give --db or set IBWIRE_DB", path,
				strerror(errno));
			*slash = '/';
			return ERR_IO;
		}
		*slash = '/';
	}
	return 0;
}

int storage_default_path(bool for_writing, char *ret, size_t size, struct error *err)
{
	const char *named = getenv("IBWIRE_DB"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];
	int len;

	if (named && *named)
		len = snprintf(path, sizeof(path), "%s", named);
	else if (system_path_usable(for_writing))
		len = snprintf(path, sizeof(path), "%s", SYSTEM_PATH);
	else if (state && *state == '/') /* XDG specification: a relative one is ignored */
		len = snprintf(path, sizeof(path), "%s/ibwire/fabric.db", state);
	else if (home && *home)
		len = snprintf(path, sizeof(path), "%s/.local/state/ibwire/fabric.db", home);
	else
		return err_set(err, ERR_IO, "no place for the database: HOME is not set; give --db or set IBWIRE_DB");
	if (len < 0 || (size_t)len >= sizeof(path) || (size_t)len >= size)
		return err_set(err, ERR_IO, "the path of the database is too long; give a shorter --db");
	if (for_writing && !(named && *named)) {
		int result = make_folders(path, err);

		if (result < 0)
			return result;
	}
	memcpy(ret, path, (size_t)len + 1);
	return 0;
}
