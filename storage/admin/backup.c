/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * backup.c - an exact copy while a collector writes
 *
 * One read transaction stays open meanwhile, so that all steps copy one moment: a
 * copy that begins anew with each sweep would never be complete. A reader holds
 * nobody up in WAL mode; only the log cannot begin anew before it is done.
 */
#include <stddef.h>

#include "base/err.h"
#include "base/stop.h"
#include "storage/admin.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/db.h"

/* Pages of a step: 8 MB. */
enum { STEP_PAGES = 1024 };

static int copy_pages(sqlite3 *source, sqlite3 *copy, struct error *err)
{
	sqlite3_backup *backup = sqlite3_backup_init(copy, "main", source, "main");
	int code, result;

	if (!backup)
		return db_fail(copy, err);
	do
		code = sqlite3_backup_step(backup, STEP_PAGES);
	while (code == SQLITE_OK && !stop_requested());
	result = code == SQLITE_DONE ? 0 : -1;
	/* An error is left at the copy; a page that could not be read too. */
	if (sqlite3_backup_finish(backup) != SQLITE_OK || result < 0)
		return sqlite3_errcode(copy) != SQLITE_OK ? db_fail(copy, err) : db_fail(source, err);
	return 0;
}

static int copy_to(sqlite3 *source, const char *path, struct error *err)
{
	sqlite3 *copy = NULL;
	int64_t sweeps = 0;
	int result = db_exec(source, "BEGIN", err);

	/* The transaction begins with its first look. */
	if (!result)
		result = db_integer(source, "SELECT count(*) FROM meta", 0, &sweeps, err);
	if (result < 0)
		return result;
	if (sqlite3_open_v2(path, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		result = db_fail(copy, err);
	if (!result)
		result = copy_pages(source, copy, err);
	if (sqlite3_close(copy) != SQLITE_OK && !result)
		result = err_set(err, ERR_INTERNAL, "%s could not be closed", path);
	return result;
}

int admin_backup(const char *path, const char *new_path, int64_t *ret_bytes, struct error *err)
{
	struct new_file new_file;
	bool immutable;
	sqlite3 *source;
	int result = admin_open(path, &source, &immutable, err);

	if (result < 0)
		return result;
	result = new_file_begin(&new_file, new_path, err);
	if (!result) {
		result = admin_stopped(copy_to(source, new_file.part, err), err);
		if (result < 0)
			new_file_abandon(&new_file);
		else
			result = new_file_finish(&new_file, err);
	}
	sqlite3_close(source);
	if (!result)
		*ret_bytes = admin_file_bytes(new_path, "");
	return result;
}
