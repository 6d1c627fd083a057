/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shrink.c - the file brought to its smallest
 *
 * VACUUM writes the whole content anew, in one transaction that goes through the
 * log: readers go on with what was, and killed at any moment the file is whole.
 * It would keep a collector waiting for as long as it takes, so it holds the
 * collector's lock meanwhile.
 */
#include <stdlib.h>

#include "base/err.h"
#include "storage/admin.h"
#include "storage/admin/admin_internal.h"
#include "storage/pack/compact.h"
#include "storage/file/db.h"
#include "storage/file/lock.h"
#include "storage/file/schema.h"

static int lock_or_refuse(const char *path, struct db_lock *ret_lock, struct error *err)
{
	int64_t pid = 0;

	if (!lock_held(path, &pid))
		return lock_take(path, ret_lock, err);
	return err_set(err, ERR_UNAVAILABLE, "a collector writes to %s (process %lld), and compacting would keep it "
		       "waiting; stop it first, and start it again afterwards", path, (long long)pid);
}

/* What a collector would still have packed. */
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
	/* The copy that it makes first may be as large as the file: no place in memory. */
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
	int64_t before;
	bool there;

	result = schema_check(path, &there, err);
	if (!result && !there)
		result = err_set(err, ERR_UNAVAILABLE, "there is no database %s; give another --db", path);
	if (!result)
		result = lock_or_refuse(path, &lock, err);
	if (result < 0)
		return result;
	before = admin_file_bytes(path, "") + admin_file_bytes(path, "-wal");
	result = admin_stopped(vacuum(path, err), err);
	lock_release(&lock);
	if (result < 0)
		return result;
	*ret_before = before;
	*ret_after = admin_file_bytes(path, "") + admin_file_bytes(path, "-wal");
	return 0;
}
