/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* file.c - the database file: check, create, open */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/file/lock.h"
#include "storage/file/schema.h"
#include "storage/reader.h"

/* Maximum size of a value in bytes; the largest stored one has 64 KB. */
enum { LENGTH_MOST = 64 << 20 };

/* Source: SQLite's file format, "The Database Header": offsets of two big-endian numbers. */
enum { HEADER_SIZE = 100, HEADER_USER_VERSION = 60, HEADER_APPLICATION_ID = 68 };

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int check_ids(const char *path, uint32_t application_id, uint32_t version, struct error *err)
{
	if (application_id != SCHEMA_APPLICATION_ID)
		return err_set(err, ERR_IO,
			       "%s is a database of another program; give another --db (it is unchanged)",
			       path);
	if (version > SCHEMA_VERSION)
		return err_set(err, ERR_IO, "%s was written by a newer or unreleased ibwire (schema version %u, "
			       "supported: %d); use that ibwire, or give another --db (the file is unchanged)",
			       path, version, SCHEMA_VERSION);
	if (version < 1)
		return err_set(err, ERR_IO, "%s is damaged (schema version 0); move it aside or restore a copy of it",
			       path);
	return 0;
}

static int check_header(const char *path, const unsigned char *header, struct error *err)
{
	static const char magic[16] = "SQLite format 3";

	if (memcmp(header, magic, sizeof(magic)) != 0)
		return err_set(err, ERR_IO, "%s is not an ibwire database; give another --db (it is unchanged)", path);
	return check_ids(path, big_endian(header + HEADER_APPLICATION_ID), big_endian(header + HEADER_USER_VERSION),
			 err);
}

int schema_path(const char *path, char ret[PATH_MAX], struct error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[PATH_MAX], real[PATH_MAX];
	int len = snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(name - path) : 2, slash ? path : "./");

	if (realpath(path, real))
		len = snprintf(ret, PATH_MAX, "%s", real);
	else if (len < PATH_MAX && realpath(folder, real))
		len = snprintf(ret, PATH_MAX, "%s/%s", real[1] ? real : "", name);
	else
		len = snprintf(ret, PATH_MAX, "%s%s", *path == '/' || *path == '.' ? "" : "./", path);
	if (len < 0 || len >= PATH_MAX - 32)
		return err_set(err, ERR_IO, "the path of the database is too long; give a shorter --db");
	return 0;
}

/*
 * Read the header through SQLite's file layer, which takes no lock and creates nothing. To open and
 * close the file directly would drop the POSIX locks of all connections of this process to it.
 * Source: "How To Corrupt An SQLite Database File", 2.2.
 */
static int read_header(const char *path, unsigned char header[HEADER_SIZE], struct error *err)
{
	sqlite3_file *file = NULL;
	sqlite3 *db = NULL;
	int result = 0;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
	    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK)
		result = db_fail(db, err);
	else if (file->pMethods->xRead(file, header, HEADER_SIZE, 0) != SQLITE_OK)
		result = err_set(err, ERR_IO, "cannot read %s: %s; check its disk", path, strerror(errno));
	sqlite3_close(db);
	return result;
}

static bool wal_is_empty(const char *path)
{
	struct db_files files;

	schema_find_files(path, &files);
	return files.wal_bytes == 0;
}

/*
 * Check the header as the log has it: after a power failure during a checkpoint, the first page of the
 * file may be garbage that SQLite replaces from the log. Return: 0, or an error.
 */
static int check_logged_header(const char *path)
{
	int64_t id = 0, version = 0;
	sqlite3 *db = NULL;
	int result = ERR_IO;

	if (!wal_is_empty(path) &&
	    sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
		sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		result = db_integer(db, "PRAGMA application_id", 0, &id, NULL);
		if (!result)
			result = db_integer(db, "PRAGMA user_version", 0, &version, NULL);
		if (!result)
			result = check_ids(path, (uint32_t)id, (uint32_t)version, NULL);
	}
	sqlite3_close(db);
	return result;
}

int schema_check(const char *path, bool *ret_there, struct error *err)
{
	unsigned char header[HEADER_SIZE];
	char plain[PATH_MAX];
	struct stat st;
	int result = schema_path(path, plain, err);

	if (result < 0)
		return result;
	if (stat(plain, &st) < 0 && errno == ENOENT) {
		*ret_there = false;
		return 0;
	}
	if (access(plain, R_OK) < 0)
		return err_set(err, ERR_IO, "cannot open %s: %s; check its permissions, or give another --db", path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_IO, "%s is not a regular file; give another --db", path);
	if (!st.st_size) {
		*ret_there = false;
		return 0;
	}
	if (st.st_size < HEADER_SIZE)
		return err_set(err, ERR_IO, "%s is not an ibwire database; give another --db (it is unchanged)", path);
	result = read_header(plain, header, err);
	if (!result)
		result = check_header(path, header, err);
	if (result < 0 && check_logged_header(plain) == 0)
		result = 0;
	if (!result)
		*ret_there = true;
	return result;
}

int schema_uri(const char *path, const char *parameters, struct text *ret, struct error *err)
{
	text_append(ret, *path == '/' ? "file:" : "file:./");
	for (const char *c = path; *c; c++) {
		if (strchr("?#%", *c))
			text_appendf(ret, "%%%02X", (unsigned char)*c);
		else
			text_append_bytes(ret, c, 1);
	}
	text_append(ret, parameters);
	return text_failed(ret) ? err_nomem(err) : 0;
}

void schema_harden(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_MOST);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

int schema_rewrite_begin(sqlite3 *db, struct error *err)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	return db_exec(db, "PRAGMA writable_schema = ON", err);
}

int schema_rewrite_end(sqlite3 *db, struct error *err)
{
	/* RESET also discards the schema as it was read in this mode. */
	int result = db_exec(db, "PRAGMA writable_schema = RESET", err);

	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	return result;
}

/*
 * Read the version of the schema. On a read-only file system, a reader that comes while another process makes the index
 * of the log gets an error of a write, which it would have to make itself: it tries again for as long as it waits for a
 * lock.
 */
static int read_version(sqlite3 *db, int64_t *ret, struct error *err)
{
	enum { PAUSE_MS = 10 };
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	int result = db_integer(db, "PRAGMA user_version", 0, ret, err);

	for (int ms = 0; ms < SCHEMA_BUSY_TIMEOUT_MS && result < 0 && sqlite3_db_readonly(db, "main") == 1 &&
			 sqlite3_errcode(db) == SQLITE_READONLY; ms += PAUSE_MS) {
		nanosleep(&pause, NULL);
		result = db_integer(db, "PRAGMA user_version", 0, ret, err);
	}
	return result;
}

/* Open a database and check its schema. */
static int open_database(const char *path, int flags, sqlite3 **ret, struct error *err)
{
	int64_t version = 0;
	int result = 0;
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		result = db_fail(db, err);
	if (!result) {
		schema_harden(db);
		sqlite3_busy_timeout(db, SCHEMA_BUSY_TIMEOUT_MS);
		result = read_version(db, &version, err);
	}
	if (!result && version == SCHEMA_VERSION)
		result = schema_verify_tables(db, err);
	else if (!result && version < SCHEMA_VERSION)
		/* It is migrated, copied or rejected. */
		result = schema_rewrite_begin(db, err);
	else if (!result)
		result = err_set(err, ERR_IO, "%s was written by a newer ibwire (schema version %lld, supported: %d); "
				 "use that ibwire, or give another --db", path, (long long)version, SCHEMA_VERSION);
	if (result < 0) {
		/* A rejected file must not change, not even by a checkpoint when it is closed. */
		if (db)
			sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		sqlite3_close(db);
		return result;
	}
	*ret = db;
	return 0;
}

static int open_immutable(const char *path, sqlite3 **ret, struct error *err)
{
	struct text uri = { 0 };
	int result = schema_uri(path, "?immutable=1", &uri, err);

	if (!result)
		result = open_database(text_chars(&uri), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, ret, err);
	text_done(&uri);
	return result;
}

/* Keep PATH-wal and PATH-shm when the database is closed: readers without write access need them. */
static void persist_wal(sqlite3 *db)
{
	int on = 1;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
}

bool schema_find_files(const char *path, struct db_files *ret)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char real[PATH_MAX], name[PATH_MAX + 8];
	struct stat found[3] = { 0 };

	*ret = (struct db_files){ 0 };
	if (schema_path(path, real, NULL) < 0)
		return false;
	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", real, suffixes[i]);
		if (stat(name, &found[i]) < 0 && errno != ENOENT)
			return false;
	}
	*ret = (struct db_files){ .device = found[0].st_dev, .inode = found[0].st_ino, .wal = found[1].st_ino,
				  .wal_bytes = found[1].st_size, .shm = found[2].st_ino };
	return true;
}

int schema_sync(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = 0;

	if (fd < 0 || fsync(fd) < 0)
		result = err_set(err, ERR_IO, "cannot write %s: %s; check its disk", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return result;
}

int schema_sync_folder(const char *path, struct error *err)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash)
		return schema_sync(".", err);
	slash[slash == folder] = '\0';
	return schema_sync(folder, err);
}

static int create_file(const char *path, struct error *err)
{
	sqlite3 *db = NULL;
	int result = 0;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
			    SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
		result = db_fail(db, err);
	if (!result)
		/* With pages of 8192 bytes, chunks and sums would leave 3 % more space unused. */
		result = db_execf(db, err, "PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL;"
				  " PRAGMA application_id = %d; PRAGMA user_version = %d", SCHEMA_APPLICATION_ID,
				  SCHEMA_VERSION);
	if (!result)
		result = schema_fill(db, err);
	if (!result)
		result = db_exec(db, "PRAGMA journal_mode = WAL", err);
	if (sqlite3_close(db) != SQLITE_OK && !result)
		result = err_set(err, ERR_INTERNAL, "%s could not be closed", path);
	return result ? result : schema_sync(path, err);
}

static void remove_with(const char *path, const char *suffix)
{
	char name[PATH_MAX + 64];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	unlink(name);
}

int schema_create(const char *path, struct error *err)
{
	char plain[PATH_MAX], fresh[PATH_MAX + 32];
	int result = schema_path(path, plain, err);

	if (result < 0)
		return result;
	/* Only the holder of the lock creates a database: these are the remains of a killed process. */
	snprintf(fresh, sizeof(fresh), "%s.new", plain);
	remove_with(fresh, "");
	remove_with(fresh, "-journal");
	remove_with(fresh, "-wal");
	remove_with(fresh, "-shm");
	result = create_file(fresh, err);
	if (!result) {
		/* The log of a removed database must not be recovered into this one. */
		remove_with(plain, "-wal");
		remove_with(plain, "-shm");
		result = schema_sync_folder(plain, err);
		if (!result && rename(fresh, plain) < 0)
			result = err_set(err, ERR_IO, "cannot create %s: %s; check its folder", path, strerror(errno));
	}
	if (!result)
		result = schema_sync_folder(plain, err);
	if (result < 0)
		remove_with(fresh, "");
	return result;
}

/* Set the size of the log at which SQLite checkpoints it, for connections without a compactor. */
static int limit_log(sqlite3 *db, struct error *err)
{
	enum { LOG_BYTES = 16777216 };
	int64_t page_bytes = 0;
	int result = db_integer(db, "PRAGMA page_size", 0, &page_bytes, err);

	if (!result && page_bytes > 0)
		sqlite3_wal_autocheckpoint(db, (int)(LOG_BYTES / page_bytes));
	return result;
}

/* @path: as given; @plain: as schema_path() has it; @settings: PRAGMAs before those of all writers */
static int open_for_writing(const char *path, const char *plain, const char *settings, sqlite3 **ret,
			    struct error *err)
{
	/* secure_delete is on in Debian's SQLite. */
	static const char common[] =
		"PRAGMA secure_delete = OFF; PRAGMA cache_size = -16384; PRAGMA mmap_size = 0; "
		"PRAGMA journal_size_limit = 8388608; PRAGMA temp_store = MEMORY";
	sqlite3 *db;
	int result = open_database(plain, SQLITE_OPEN_READWRITE, &db, err);

	if (result < 0)
		return result;
	persist_wal(db);
	/* SQLite reads a file that it cannot open for writing. */
	if (sqlite3_db_readonly(db, "main"))
		result = err_set(err, ERR_IO, "%s cannot be opened for writing: %s; try again", path,
				 strerror(sqlite3_system_errno(db)));
	if (!result)
		result = db_exec(db, settings, err);
	if (!result)
		result = db_exec(db, common, err);
	if (result < 0)
		sqlite3_close(db);
	else
		*ret = db;
	return result;
}

int schema_open_writer(const char *path, sqlite3 **ret, struct error *err)
{
	/* A recovered database is not in WAL mode. */
	static const char settings[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
	char plain[PATH_MAX];
	sqlite3 *db;
	int result = schema_path(path, plain, err);

	/* Check it first without creating a log, unless it has a log with content. */
	if (!result && wal_is_empty(plain)) {
		result = open_immutable(plain, &db, err);
		if (!result)
			sqlite3_close(db);
	}
	if (!result && access(plain, W_OK) < 0)
		result = err_set(err, ERR_IO, "%s is not writable: %s; check its permissions, or give another --db",
				 path, strerror(errno));
	if (!result)
		result = open_for_writing(path, plain, settings, &db, err);
	if (result < 0)
		return result;
	result = limit_log(db, err);
	if (!result)
		result = schema_migrate(db, err);
	if (!result)
		result = schema_verify_keys(db, err);
	if (result < 0)
		sqlite3_close(db);
	else
		*ret = db;
	return result;
}

int schema_open_second(const char *path, sqlite3 **ret, struct error *err)
{
	static const char settings[] = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0";
	char plain[PATH_MAX];
	int result = schema_path(path, plain, err);

	return result < 0 ? result : open_for_writing(path, plain, settings, ret, err);
}

/* SQLite does not report which file a user without write access cannot open. */
static int explain_log(const char *path, const struct error *first, struct error *err)
{
	static const char *const suffixes[] = { "-wal", "-shm" };
	char name[PATH_MAX + 8];

	for (size_t i = 0; i < 2 && access(path, W_OK) < 0; i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		if (access(name, R_OK) == 0)
			continue;
		if (errno != ENOENT)
			return err_set(err, ERR_IO, "cannot read %s: %s; give read access to all of %s, %s-wal and "
				       "%s-shm", name, strerror(errno), path, path, path);
		if (i)
			return err_set(err, ERR_IO, "%s is missing and this user may not create it; run once as the "
				       "owner of the database: ibwire status --db %s", name, path);
	}
	return err_set(err, first->code, "%s", first->text);
}

int schema_open_reader(const char *path, sqlite3 **ret, bool *ret_immutable, struct error *err)
{
	struct error first;
	char plain[PATH_MAX];
	int result = schema_path(path, plain, err);

	if (result < 0)
		return result;
	*ret_immutable = false;
	result = open_database(plain, SQLITE_OPEN_READONLY, ret, &first);
	if (result < 0 && wal_is_empty(plain) && open_immutable(plain, ret, NULL) == 0) {
		*ret_immutable = true;
		return 0;
	}
	if (result < 0)
		return explain_log(plain, &first, err);
	persist_wal(*ret);
	return 0;
}

int schema_open_damaged(const char *path, sqlite3 **ret, struct error *err)
{
	char plain[PATH_MAX];
	int64_t version = 0;
	sqlite3 *db = NULL;
	bool there;
	int result = schema_check(path, &there, err);

	if (!result && !there)
		return err_set(err, ERR_UNAVAILABLE, "there is no database %s; give another --db", path);
	if (!result)
		result = schema_path(path, plain, err);
	if (result < 0)
		return result;
	if (sqlite3_open_v2(plain, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		result = db_fail(db, err);
	persist_wal(db);
	schema_harden(db);
	sqlite3_busy_timeout(db, SCHEMA_BUSY_TIMEOUT_MS);
	if (!result)
		result = db_integer(db, "PRAGMA user_version", 0, &version, err);
	if (!result && version != SCHEMA_VERSION)
		result = err_set(err, ERR_IO, "%s has schema version %lld, supported: %d; migrate it with: ibwire "
				 "collect --once", path, (long long)version, SCHEMA_VERSION);
	/* In this mode, tables whose definition can be read are used although others are damaged. */
	if (!result)
		result = schema_rewrite_begin(db, err);
	if (!result)
		result = db_exec(db, "BEGIN", err);
	if (result < 0) {
		sqlite3_close(db);
		return result;
	}
	/* The first statement fails if the schema is damaged; later ones use what was read of it. */
	db_exec(db, "SELECT 1 FROM sqlite_schema LIMIT 1", NULL);
	*ret = db;
	return 0;
}

/*
 * PATH-shm. Offsets in 32-bit words: the number of checkpointed frames, and the read marks of five
 * readers. Then the first of the bytes that those readers lock, and the bytes of the first region.
 * Source: SQLite's "WAL-mode File Format", 2.1 (WalCkptInfo) and 2.3 (locks).
 */
enum { SHM_REGION = 32768, SHM_IN_FILE = 24, SHM_MARKS = 25, SHM_READERS = 5, SHM_READER_LOCKS = 123 };

size_t schema_log_holders(sqlite3 *db, char *ret, size_t size)
{
	volatile void *region = NULL;
	const volatile uint32_t *words;
	sqlite3_file *file = NULL;
	char path[PATH_MAX + 8];
	size_t count = 0;

	*ret = '\0';
	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
	    file->pMethods->iVersion < 2 || file->pMethods->xShmMap(file, 0, SHM_REGION, 0, &region) != SQLITE_OK ||
	    !region)
		return 0;
	words = region;
	snprintf(path, sizeof(path), "%s-shm", sqlite3_db_filename(db, "main"));
	/* A checkpoint ends at the lowest locked mark; slot 0 is for readers without the log. */
	for (int64_t slot = 0; !count && slot < SHM_READERS; slot++)
		if (words[SHM_MARKS + slot] <= words[SHM_IN_FILE])
			count = lock_holders(path, SHM_READER_LOCKS + slot, SHM_READER_LOCKS + slot, ret, size);
	return count;
}

/* --- the default database --- */

static bool system_path_usable(bool for_writing)
{
	if (!for_writing)
		return access(STORAGE_SYSTEM_PATH, R_OK) == 0;
	if (access(STORAGE_SYSTEM_PATH, F_OK) == 0)
		return access(STORAGE_SYSTEM_PATH, W_OK) == 0;
	return access(STORAGE_SYSTEM_FOLDER, W_OK | X_OK) == 0;
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
		len = snprintf(path, sizeof(path), "%s", STORAGE_SYSTEM_PATH);
	else if (state && *state == '/') /* XDG specification: a relative one is ignored */
		len = snprintf(path, sizeof(path), "%s/ibwire/fabric.db", state);
	else if (home && *home)
		len = snprintf(path, sizeof(path), "%s/.local/state/ibwire/fabric.db", home);
	else
		return err_set(err, ERR_IO, "the path of the database is unknown: HOME is not set; give --db or set "
			       "IBWIRE_DB");
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
