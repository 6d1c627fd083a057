/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_power.c - record what a run writes: a VFS for SQLite's files, and --wrap for those of storage/ */
#include "storage/test/test_power.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "storage/test/test_folder.h"
#include "storage/test/test_power_log.h"

struct power_log power_log;

/* The mutex protects the run from the compactor's thread. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char recorded[PATH_MAX]; /* folder; "": not recording */
static struct names now;
static pthread_t owner;
static const char *phase;
static bool flush_fails; /* the next one of this thread */

/* --- names --- */

static int *find_name(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->name[i], name))
			return &names->file[i];
	return NULL;
}

static void remove_name(struct names *names, const char *name)
{
	int *file = find_name(names, name);

	if (!file)
		return;
	names->count--;
	*file = names->file[names->count];
	memmove(names->name[file - names->file], names->name[names->count], NAME_BYTES);
}

static void set_name(struct names *names, const char *name, int file)
{
	int *old = find_name(names, name);

	if (!old && names->count == NAMES_MAX)
		abort();
	if (!old) {
		snprintf(names->name[names->count], NAME_BYTES, "%s", name);
		old = &names->file[names->count++];
	}
	*old = file;
}

void power_apply_name(struct names *names, const struct operation *operation)
{
	if (operation->kind == CREATE)
		set_name(names, operation->name, operation->file);
	else
		remove_name(names, operation->name);
	if (operation->kind == RENAME)
		set_name(names, operation->to, operation->file);
}

/* --- recording --- */

/* The name in the recorded folder; NULL: it is elsewhere, or the index of a log. */
static const char *name_of(const char *file_name)
{
	size_t len = strlen(recorded), name_len = file_name ? strlen(file_name) : 0;

	if (!len || name_len <= len || memcmp(file_name, recorded, len) != 0 || file_name[len] != '/' ||
	    !strcmp(file_name + name_len - 4, "-shm") || name_len - len > NAME_BYTES)
		return NULL;
	return file_name + len + 1;
}

/* With the mutex. */
static struct operation *add(enum kind kind, int file)
{
	struct power_log *log = &power_log;
	struct operation *operation;

	if (log->count == log->capacity) {
		log->capacity = log->capacity ? 2 * log->capacity : 4096;
		log->operations = check_allocated(realloc(log->operations, log->capacity * sizeof(*log->operations)));
	}
	operation = &log->operations[log->count++];
	*operation = (struct operation){ .kind = kind, .file = file, .phase = "compaction and retention" };
	if (pthread_equal(pthread_self(), owner))
		operation->phase = phase;
	return operation;
}

static void add_write(int file, const void *bytes, size_t len, int64_t at)
{
	struct operation *operation = add(WRITE, file);

	operation->at = at;
	operation->len = len;
	operation->bytes = check_allocated(malloc(len));
	memcpy(operation->bytes, bytes, len);
}

static void add_name(enum kind kind, const char *name, const char *to)
{
	int *file = name ? find_name(&now, name) : NULL;
	struct operation *operation;

	if (!file)
		return;
	operation = add(kind, *file);
	snprintf(operation->name, NAME_BYTES, "%s", name);
	snprintf(operation->to, NAME_BYTES, "%s", to ? to : "");
	power_apply_name(&now, operation);
}

/* The file of a name, which is created if it is new. */
static int created(const char *name)
{
	int *file = find_name(&now, name);

	if (file)
		return *file;
	if (power_log.file_count == FILES_MAX)
		abort();
	set_name(&now, name, power_log.file_count);
	snprintf(add(CREATE, power_log.file_count)->name, NAME_BYTES, "%s", name);
	return power_log.file_count++;
}

/* What follows SQLite's own file in memory. */
struct power_file {
	const sqlite3_io_methods *real;
	sqlite3_io_methods methods; /* the real ones, except those that record */
	int file;
	bool flush_folder; /* with its first flush */
};

static sqlite3_vfs *real_vfs, power_vfs;

static struct power_file *power_of(sqlite3_file *file)
{
	return (void *)((char *)file + real_vfs->szOsFile);
}

static int power_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	struct power_file *power = power_of(file);
	int result;

	pthread_mutex_lock(&mutex);
	result = power->real->xWrite(file, bytes, len, at);
	if (power->file != NO_FILE)
		add_write(power->file, bytes, (size_t)len, at);
	pthread_mutex_unlock(&mutex);
	return result;
}

static int power_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct power_file *power = power_of(file);
	int result;

	pthread_mutex_lock(&mutex);
	result = power->real->xTruncate(file, size);
	if (power->file != NO_FILE)
		add(TRUNCATE, power->file)->at = size;
	pthread_mutex_unlock(&mutex);
	return result;
}

static int power_sync(sqlite3_file *file, int flags)
{
	struct power_file *power = power_of(file);
	bool fails = false;

	(void)flags;
	pthread_mutex_lock(&mutex);
	if (power->file != NO_FILE) {
		fails = flush_fails && pthread_equal(pthread_self(), owner);
		flush_fails &= !fails;
		add(fails ? FAILED_FLUSH : FLUSH, power->file);
	}
	if (power->file != NO_FILE && power->flush_folder)
		add(FLUSH_FOLDER, NO_FILE);
	power->flush_folder = false;
	pthread_mutex_unlock(&mutex);
	return fails ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int power_open(sqlite3_vfs *vfs, const char *file_name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct power_file *power = power_of(file);
	int result;

	(void)vfs;
	pthread_mutex_lock(&mutex);
	result = real_vfs->xOpen(real_vfs, file_name, file, flags, ret_flags);
	if (result == SQLITE_OK) {
		const char *name = name_of(file_name);

		*power = (struct power_file){ .real = file->pMethods, .methods = *file->pMethods, .file = NO_FILE };
		power->methods.iVersion = 2; /* without xFetch() */
		power->methods.xWrite = power_write;
		power->methods.xTruncate = power_truncate;
		power->methods.xSync = power_sync;
		file->pMethods = &power->methods;
		if (name)
			power->file = created(name);
		power->flush_folder = flags & SQLITE_OPEN_CREATE &&
				      flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

static int power_delete(sqlite3_vfs *vfs, const char *file_name, int flush_folder)
{
	int result;

	(void)vfs;
	pthread_mutex_lock(&mutex);
	result = real_vfs->xDelete(real_vfs, file_name, 0);
	if (result == SQLITE_OK) {
		add_name(REMOVE, name_of(file_name), NULL);
		if (name_of(file_name) && flush_folder)
			add(FLUSH_FOLDER, NO_FILE);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

/* Calls of storage/ are linked to these (--wrap). */
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *name);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *name);

/* The file of a descriptor, FOLDER for the recorded folder, or NO_FILE. */
static int file_of(int fd)
{
	char link[64], file_name[PATH_MAX];
	ssize_t len;
	int *file;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, file_name, sizeof(file_name) - 1);
	if (!recorded[0] || len < 0)
		return NO_FILE;
	file_name[len] = '\0';
	if (!strcmp(file_name, recorded))
		return FOLDER;
	file = name_of(file_name) ? find_name(&now, name_of(file_name)) : NULL;
	return file ? *file : NO_FILE;
}

int __wrap_fsync(int fd)
{
	int file;

	if (!recorded[0])
		return __real_fsync(fd);
	pthread_mutex_lock(&mutex);
	file = file_of(fd);
	if (file != NO_FILE)
		add(file == FOLDER ? FLUSH_FOLDER : FLUSH, file);
	pthread_mutex_unlock(&mutex);
	return 0;
}

int __wrap_rename(const char *from, const char *to)
{
	int result;

	pthread_mutex_lock(&mutex);
	result = __real_rename(from, to);
	if (!result)
		add_name(RENAME, name_of(from), name_of(to));
	pthread_mutex_unlock(&mutex);
	return result;
}

int __wrap_unlink(const char *file_name)
{
	int result;

	pthread_mutex_lock(&mutex);
	result = __real_unlink(file_name);
	if (!result)
		add_name(REMOVE, name_of(file_name), NULL);
	pthread_mutex_unlock(&mutex);
	return result;
}

void power_fail_flush(void)
{
	flush_fails = true;
}

void power_phase(const char *name)
{
	phase = name;
}

size_t power_position(void)
{
	size_t position;

	pthread_mutex_lock(&mutex);
	position = power_log.count;
	pthread_mutex_unlock(&mutex);
	return position;
}

const char *power_phase_at(size_t position)
{
	return power_log.operations[position - 1].phase;
}

static void load_folder(void)
{
	DIR *dir = check_allocated(opendir(recorded));
	char file_name[PATH_MAX + 300];

	for (struct dirent *entry; (entry = readdir(dir));) {
		struct content *content = &power_log.files_at_start[power_log.file_count];

		snprintf(file_name, sizeof(file_name), "%s/%s", recorded, entry->d_name);
		if (entry->d_name[0] == '.' || !name_of(file_name))
			continue;
		content->bytes = test_file_read(file_name, &content->size);
		set_name(&power_log.at_start, entry->d_name, power_log.file_count++);
	}
	closedir(dir);
	now = power_log.at_start;
}

void power_record(const char *of)
{
	check_allocated(realpath(of, recorded));
	owner = pthread_self();
	load_folder();
	real_vfs = sqlite3_vfs_find(NULL);
	power_vfs = *real_vfs;
	power_vfs.zName = "power";
	power_vfs.szOsFile += (int)sizeof(struct power_file);
	power_vfs.xOpen = power_open;
	power_vfs.xDelete = power_delete;
	sqlite3_vfs_register(&power_vfs, 1);
}

void power_stop(void)
{
	recorded[0] = '\0';
	sqlite3_vfs_register(real_vfs, 1);
	sqlite3_vfs_unregister(&power_vfs);
}
