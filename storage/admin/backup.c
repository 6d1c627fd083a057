/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * backup.c - databases opened for administration, new files, backup and compaction
 *
 * A backup is copied within one read transaction, so that all of its pages are from the same state: a
 * copy that restarts with each sweep would never be complete. In WAL mode a reader delays no
 * writer; only the log cannot be restarted before it ends.
 *
 * The compaction runs VACUUM, which writes the whole content in one transaction through the log:
 * readers continue with the previous state, and a killed process leaves the file complete. It would
 * delay a collector until its end, so it holds the collector's lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/stop.h"
#include "storage/admin.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/db.h"
#include "storage/file/lock.h"
#include "storage/file/schema.h"
#include "storage/pack/compact.h"

/* --- opening, stopping --- */

int admin_open(const char *path, bool any_version, sqlite3 **ret, bool *ret_immutable, struct error *err)
{
	sqlite3 *db = NULL;
	int64_t version;
	bool there;
	int result = schema_check(path, &there, err);

	if (!result && !there)
		return err_set(err, ERR_UNAVAILABLE, "there is no database %s; start one with: ibwire collect, "
			       "or give another --db", path);
	if (!result)
		result = schema_open_reader(path, &db, ret_immutable, err);
	if (!result && !any_version)
		result = schema_require_version(db, path, &version, err);
	if (result < 0)
		sqlite3_close(db);
	else
		*ret = db;
	return result;
}

/* Steps of SQLite's virtual machine between two checks. */
enum { STEPS = 100000 };

static int is_stopped(void *ctx)
{
	(void)ctx;
	return stop_requested();
}

void admin_watch_stop(sqlite3 *db)
{
	sqlite3_progress_handler(db, STEPS, is_stopped, NULL);
}

int admin_stopped(int result, struct error *err)
{
	if (result >= 0 || !stop_requested())
		return result;
	return err_set(err, ERR_IO, "stopped before completion; nothing was changed");
}

static int file_bytes(const char *path, const char *suffix, int64_t *ret, struct error *err)
{
	char name[PATH_MAX];
	struct stat st;
	int result = schema_path(path, name, err);

	*ret = 0;
	if (result < 0)
		return result;
	if (stat(strcat(name, suffix), &st) == 0)
		*ret = st.st_size;
	else if (errno != ENOENT)
		return err_set(err, ERR_IO, "cannot read the size of %s: %s; check its disk", name, strerror(errno));
	return 0;
}

int admin_file_bytes(const char *path, int64_t *ret_file, int64_t *ret_log, struct error *err)
{
	int result = file_bytes(path, "", ret_file, err);

	return result < 0 ? result : file_bytes(path, "-wal", ret_log, err);
}

/* --- new files --- */

/* Remove an incomplete database, with the files that SQLite and schema_create() create for it. */
static void remove_with(const char *path)
{
	static const char *const suffixes[] = { "", "-journal", "-wal", "-shm", ".new", ".new-journal", ".new-wal",
						".new-shm" };
	char name[PATH_MAX + 64];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static int is_taken(const char *path, struct error *err)
{
	return err_set(err, ERR_IO, "%s already exists; give another name", path);
}

static int cannot_create(const char *path, struct error *err)
{
	return err_set(err, ERR_IO, "cannot create %s: %s; check its folder, or give another name", path,
		       strerror(errno));
}

/* Some file systems cannot refuse to overwrite: the name is checked first. */
static int give_name(const char *part, const char *path, struct error *err)
{
	struct stat st;
	int failed = renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE);

	if (failed && (errno == EINVAL || errno == ENOSYS) && lstat(path, &st) < 0)
		failed = rename(part, path);
	if (!failed)
		return 0;
	return lstat(path, &st) == 0 ? is_taken(path, err) : cannot_create(path, err);
}

int admin_create(const char *path, admin_make_fn *make, void *ctx, struct error *err)
{
	char part[PATH_MAX];
	struct stat st;
	int result, len, fd;

	if (!*path)
		return err_set(err, ERR_IO, "the name of the new file is empty; give another one");
	if (lstat(path, &st) == 0)
		return is_taken(path, err);
	/* A path that SQLite cannot interpret as a special name. */
	len = snprintf(part, sizeof(part), "%s%s.part", *path == '/' || *path == '.' ? "" : "./", path);
	if (len < 0 || len > (int)sizeof(part) - 64)
		return err_set(err, ERR_IO, "the path of the new file is too long; give a shorter one");
	remove_with(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return cannot_create(path, err);
	close(fd);
	result = admin_stopped(make(ctx, part, err), err);
	if (!result)
		result = schema_sync(part, err);
	if (!result)
		result = give_name(part, path, err);
	if (result < 0) {
		remove_with(part);
		return result;
	}
	return schema_sync_folder(part, err);
}

/* --- backup --- */

/* Pages per step: 16 MB. */
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
	/* The error is that of the copy, also if a page could not be read. */
	if (sqlite3_backup_finish(backup) != SQLITE_OK || result < 0)
		return sqlite3_errcode(copy) != SQLITE_OK ? db_fail(copy, err) : db_fail(source, err);
	return 0;
}

static int copy_to(void *ctx, const char *path, struct error *err)
{
	sqlite3 *source = ctx, *copy = NULL;
	int64_t rows = 0;
	int result = db_exec(source, "BEGIN", err);

	/* The transaction starts with the first read. */
	if (!result)
		result = db_integer(source, "SELECT count(*) FROM meta", 0, &rows, err);
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
	bool immutable;
	sqlite3 *source;
	int result = admin_open(path, true, &source, &immutable, err);

	if (result < 0)
		return result;
	result = admin_create(new_path, copy_to, source, err);
	sqlite3_close(source);
	return result ? result : file_bytes(new_path, "", ret_bytes, err);
}

/* --- compaction --- */

static int lock_or_refuse(const char *path, struct db_lock *ret_lock, struct error *err)
{
	int64_t pid = 0;

	if (!lock_held(path, &pid))
		return lock_take(path, ret_lock, err);
	return err_set(err, ERR_UNAVAILABLE, "a collector writes to %s (process %lld), and compaction would "
		       "block it; stop it first, and start it again afterwards", path, (long long)pid);
}

/* Pack the samples that a collector would pack next. */
static int pack(sqlite3 *db, struct error *err)
{
	struct compaction *compaction = calloc(1, sizeof(*compaction));
	int result;

	if (!compaction)
		return err_nomem(err);
	result = compact_init(compaction, db, 0, err);
	while (!result && (result = compact_step(compaction, err)) > 0)
		result = 0;
	compact_done(compaction);
	free(compaction);
	return result;
}

static int vacuum(const char *path, struct error *err)
{
	sqlite3 *db;
	int result = schema_open_writer(path, &db, err);

	if (result < 0)
		return result;
	admin_watch_stop(db);
	result = pack(db, err);
	if (result < 0) {
		sqlite3_close(db);
		return result;
	}
	/* Its temporary copy may be as large as the file: not in memory. */
	result = db_exec(db, "PRAGMA temp_store = FILE; VACUUM", err);
	if (!result)
		result = db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
	sqlite3_close(db);
	return result;
}

int admin_compact(const char *path, int64_t *ret_before, int64_t *ret_after, struct error *err)
{
	struct db_lock lock;
	int result;
	int64_t before, log;
	bool there;

	result = schema_check(path, &there, err);
	if (!result && !there)
		result = err_set(err, ERR_UNAVAILABLE, "there is no database %s; give another --db", path);
	if (!result)
		result = lock_or_refuse(path, &lock, err);
	if (result < 0)
		return result;
	result = admin_file_bytes(path, &before, &log, err);
	if (!result)
		result = admin_stopped(vacuum(path, err), err);
	lock_release(&lock);
	if (result < 0)
		return result;
	*ret_before = before + log;
	result = admin_file_bytes(path, ret_after, &log, err);
	*ret_after += log;
	return result;
}
