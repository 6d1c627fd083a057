/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* new_file.c - opening what is looked after, and files that come into being whole or not at all */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/stop.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/schema.h"

int admin_open(const char *path, sqlite3 **ret, bool *ret_immutable, struct error *err)
{
	bool there;
	int result = schema_check(path, &there, err);

	if (!result && !there)
		return err_set(err, ERR_UNAVAILABLE, "there is no database %s; start one with: ibwire collect, "
			       "or give another --db", path);
	return result ? result : schema_open_reader(path, ret, ret_immutable, err);
}

/* Asked every so many steps of SQLite's machine. */
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
	return err_set(err, ERR_IO, "stopped before it was complete; everything is as it was before");
}

int64_t admin_file_bytes(const char *path, const char *suffix)
{
	char name[PATH_MAX];
	struct stat st;

	return schema_path(path, name, NULL) < 0 || stat(strcat(name, suffix), &st) < 0 ? 0 : st.st_size;
}

/* A database that was not made to its end, with all that SQLite and schema_create() put beside it. */
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
	return err_set(err, ERR_IO, "%s is there already; give another name, nothing is overwritten", path);
}

int new_file_begin(struct new_file *new_file, const char *path, struct error *err)
{
	struct stat st;
	int len, fd;

	if (!*path)
		return err_set(err, ERR_IO, "the name of the new file is empty; give another one");
	if (lstat(path, &st) == 0)
		return is_taken(path, err);
	new_file->path = path;
	/* A plain path, that SQLite takes for nothing else. */
	len = snprintf(new_file->part, sizeof(new_file->part), "%s%s.part",
		       *path == '/' || *path == '.' ? "" : "./", path);
	if (len < 0 || len > (int)sizeof(new_file->part) - 64)
		return err_set(err, ERR_IO, "the path of the new file is too long; give a shorter one");
	remove_with(new_file->part);
	fd = open(new_file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot create %s: %s; see its folder, or give another name", path,
			       strerror(errno));
	close(fd);
	return 0;
}

static int sync_path(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result = 0;

	if (fd < 0 || fsync(fd) < 0)
		result = err_set(err, ERR_IO, "cannot write %s: %s; see its disk", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return result;
}

/* A second name refuses to overwrite, which a rename does not; some file systems have no second names. */
static int give_name(const struct new_file *new_file, struct error *err)
{
	struct stat st;

	if (link(new_file->part, new_file->path) == 0 || errno == EEXIST) {
		if (lstat(new_file->part, &st) == 0 && st.st_nlink < 2)
			return is_taken(new_file->path, err);
		unlink(new_file->part);
		return 0;
	}
	if (lstat(new_file->path, &st) == 0)
		return is_taken(new_file->path, err);
	if (rename(new_file->part, new_file->path) < 0)
		return err_set(err, ERR_IO, "cannot create %s: %s; see its folder, or give another name",
			       new_file->path, strerror(errno));
	return 0;
}

int new_file_finish(struct new_file *new_file, struct error *err)
{
	char folder[sizeof(new_file->part)];
	int result = sync_path(new_file->part, err);

	if (!result)
		result = give_name(new_file, err);
	if (result < 0) {
		remove_with(new_file->part);
		return result;
	}
	snprintf(folder, sizeof(folder), "%s", new_file->part);
	*(strrchr(folder, '/') + 1) = '\0';
	return sync_path(folder, err);
}

void new_file_abandon(struct new_file *new_file)
{
	remove_with(new_file->part);
}
