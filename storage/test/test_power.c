/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_power.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/map.h"

enum { NAMES_MAX = 32, NAME_BYTES = 48, FILES_MAX = 256, NO_FILE = -1 };

enum kind { WRITE, TRUNCATE, FLUSH, CREATE, RENAME, REMOVE, FLUSH_FOLDER };

struct operation {
	enum kind kind;
	int file;
	int64_t at;    /* of a write; size of a truncation */
	size_t len;
	char *bytes;
	char name[NAME_BYTES], to[NAME_BYTES];
	const char *phase;
};

/* Which name is which file. */
struct names {
	char name[NAMES_MAX][NAME_BYTES];
	int file[NAMES_MAX];
	size_t count;
};

struct content {
	char *bytes;
	size_t size, capacity;
};

/* The run. The mutex protects it from the compactor's thread. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char recorded[PATH_MAX]; /* folder; "": not recording */
static struct operation *operations;
static size_t count, capacity;
static struct names now, at_start;
static struct content files_at_start[FILES_MAX];
static int file_count;
static pthread_t owner;
static const char *phase;

/* The disk at a position: what is on it, and the operations that may be. */
static struct {
	size_t position;
	struct content files[FILES_MAX];
	struct names names;
	size_t *pending, pending_count;
} disk;

static void *must(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

/* --- names and contents --- */

static void read_file(const char *path, struct content *ret)
{
	FILE *file = must(fopen(path, "rb"));

	fseek(file, 0, SEEK_END);
	ret->size = ret->capacity = (size_t)ftell(file);
	ret->bytes = must(malloc(ret->size + 1));
	rewind(file);
	if (fread(ret->bytes, 1, ret->size, file) != ret->size)
		abort();
	fclose(file);
}

static void write_file(const char *path, const char *bytes, size_t len)
{
	FILE *file = must(fopen(path, "wb"));

	if ((len && fwrite(bytes, 1, len, file) != len) || fclose(file) != 0)
		abort();
}

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

static void resize(struct content *content, size_t size)
{
	if (size > content->capacity) {
		content->capacity = 2 * size;
		content->bytes = must(realloc(content->bytes, content->capacity));
	}
	if (size > content->size)
		memset(content->bytes + content->size, 0, size - content->size);
	content->size = size;
}

static void put(struct content *content, size_t at, const char *bytes, size_t len)
{
	if (at + len > content->size)
		resize(content, at + len);
	memcpy(content->bytes + at, bytes, len);
}

static void apply_name(struct names *names, const struct operation *operation)
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
static const char *name_of(const char *path)
{
	size_t len = strlen(recorded), path_len = path ? strlen(path) : 0;

	if (!len || path_len <= len || memcmp(path, recorded, len) != 0 || path[len] != '/' ||
	    !strcmp(path + path_len - 4, "-shm") || path_len - len > NAME_BYTES)
		return NULL;
	return path + len + 1;
}

/* With the mutex. */
static struct operation *add(enum kind kind, int file)
{
	struct operation *operation;

	if (count == capacity) {
		capacity = capacity ? 2 * capacity : 4096;
		operations = must(realloc(operations, capacity * sizeof(*operations)));
	}
	operation = &operations[count++];
	*operation = (struct operation){ .kind = kind, .file = file, .phase = "compactor thread" };
	if (pthread_equal(pthread_self(), owner))
		operation->phase = phase;
	return operation;
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
	apply_name(&now, operation);
}

/* The file of a name, which is created if it is new. */
static int created(const char *name)
{
	int *file = find_name(&now, name);

	if (file)
		return *file;
	if (file_count == FILES_MAX)
		abort();
	set_name(&now, name, file_count);
	snprintf(add(CREATE, file_count)->name, NAME_BYTES, "%s", name);
	return file_count++;
}

/* A file of SQLite. The real one follows it in memory. */
struct power_file {
	sqlite3_file base;
	int file;
	bool flush_folder; /* with its first flush */
};

static sqlite3_vfs *real_vfs, power_vfs;

static sqlite3_file *real_of(sqlite3_file *file)
{
	return (sqlite3_file *)((struct power_file *)file + 1);
}

#define REAL(file, method, ...) real_of(file)->pMethods->method(real_of(file), ##__VA_ARGS__)

static int power_close(sqlite3_file *file)
{
	return REAL(file, xClose);
}

static int power_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at)
{
	return REAL(file, xRead, bytes, len, at);
}

static int power_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	int id = ((struct power_file *)file)->file, result;

	pthread_mutex_lock(&mutex);
	result = REAL(file, xWrite, bytes, len, at);
	if (id != NO_FILE) {
		struct operation *operation = add(WRITE, id);

		operation->at = at;
		operation->len = (size_t)len;
		operation->bytes = must(malloc((size_t)len));
		memcpy(operation->bytes, bytes, (size_t)len);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

static int power_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int id = ((struct power_file *)file)->file, result;

	pthread_mutex_lock(&mutex);
	result = REAL(file, xTruncate, size);
	if (id != NO_FILE)
		add(TRUNCATE, id)->at = size;
	pthread_mutex_unlock(&mutex);
	return result;
}

static int power_sync(sqlite3_file *file, int flags)
{
	struct power_file *power = (struct power_file *)file;

	(void)flags;
	pthread_mutex_lock(&mutex);
	if (power->file != NO_FILE)
		add(FLUSH, power->file);
	if (power->file != NO_FILE && power->flush_folder)
		add(FLUSH_FOLDER, NO_FILE);
	power->flush_folder = false;
	pthread_mutex_unlock(&mutex);
	return SQLITE_OK;
}

static int power_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return REAL(file, xFileSize, ret);
}

static int power_lock(sqlite3_file *file, int level)
{
	return REAL(file, xLock, level);
}

static int power_unlock(sqlite3_file *file, int level)
{
	return REAL(file, xUnlock, level);
}

static int power_check_lock(sqlite3_file *file, int *ret)
{
	return REAL(file, xCheckReservedLock, ret);
}

static int power_control(sqlite3_file *file, int what, void *argument)
{
	return REAL(file, xFileControl, what, argument);
}

static int power_sector(sqlite3_file *file)
{
	return REAL(file, xSectorSize);
}

static int power_characteristics(sqlite3_file *file)
{
	return REAL(file, xDeviceCharacteristics);
}

static int power_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
	return REAL(file, xShmMap, region, size, extend, ret);
}

static int power_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	return REAL(file, xShmLock, at, n, flags);
}

static void power_shm_barrier(sqlite3_file *file)
{
	REAL(file, xShmBarrier);
}

static int power_shm_unmap(sqlite3_file *file, int remove)
{
	return REAL(file, xShmUnmap, remove);
}

static const sqlite3_io_methods methods = {
	2, power_close, power_read, power_write, power_truncate, power_sync, power_size, power_lock, power_unlock,
	power_check_lock, power_control, power_sector, power_characteristics, power_shm_map, power_shm_lock,
	power_shm_barrier, power_shm_unmap, NULL, NULL,
};

static int power_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *file, int flags, int *ret_flags)
{
	struct power_file *power = (struct power_file *)file;
	int result;

	(void)vfs;
	*power = (struct power_file){ .file = NO_FILE };
	pthread_mutex_lock(&mutex);
	result = real_vfs->xOpen(real_vfs, path, real_of(file), flags, ret_flags);
	if (result == SQLITE_OK) {
		const char *name = name_of(path);

		power->base.pMethods = &methods;
		if (name)
			power->file = created(name);
		power->flush_folder = flags & SQLITE_OPEN_CREATE &&
				      flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

static int power_delete(sqlite3_vfs *vfs, const char *path, int flush_folder)
{
	int result;

	(void)vfs;
	pthread_mutex_lock(&mutex);
	result = real_vfs->xDelete(real_vfs, path, 0);
	if (result == SQLITE_OK) {
		add_name(REMOVE, name_of(path), NULL);
		if (name_of(path) && flush_folder)
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

int __wrap_fsync(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (!recorded[0] || len < 0)
		return __real_fsync(fd);
	path[len] = '\0';
	pthread_mutex_lock(&mutex);
	if (!strcmp(path, recorded))
		add(FLUSH_FOLDER, NO_FILE);
	else if (name_of(path) && find_name(&now, name_of(path)))
		add(FLUSH, *find_name(&now, name_of(path)));
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

int __wrap_unlink(const char *path)
{
	int result;

	pthread_mutex_lock(&mutex);
	result = __real_unlink(path);
	if (!result)
		add_name(REMOVE, name_of(path), NULL);
	pthread_mutex_unlock(&mutex);
	return result;
}

void power_phase(const char *name)
{
	phase = name;
}

size_t power_position(void)
{
	size_t position;

	pthread_mutex_lock(&mutex);
	position = count;
	pthread_mutex_unlock(&mutex);
	return position;
}

const char *power_phase_at(size_t position)
{
	return operations[position - 1].phase;
}

static void load_folder(void)
{
	DIR *dir = must(opendir(recorded));
	char path[PATH_MAX + 300];

	for (struct dirent *entry; (entry = readdir(dir));) {
		snprintf(path, sizeof(path), "%s/%s", recorded, entry->d_name);
		if (entry->d_name[0] == '.' || !name_of(path))
			continue;
		read_file(path, &files_at_start[file_count]);
		set_name(&at_start, entry->d_name, file_count++);
	}
	closedir(dir);
	now = at_start;
}

void power_record(const char *folder)
{
	must(realpath(folder, recorded));
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
	disk.position = SIZE_MAX;
}

/* --- the failure --- */

/* What a failure leaves of operations that were not flushed. */
struct fate {
	uint64_t random;
	unsigned kept_of_256; /* chance of each operation */
	size_t sector;        /* 0: whole writes */
	bool torn;            /* sectors may be garbage, or torn */
};

static uint64_t draw(struct fate *fate, uint64_t below)
{
	fate->random += UINT64_C(0x9e3779b97f4a7c15);
	return map_mix(fate->random) % below;
}

static bool is_kept(struct fate *fate)
{
	return draw(fate, 256) < fate->kept_of_256;
}

static void put_sector(struct fate *fate, struct content *content, size_t at, const char *bytes, size_t len)
{
	size_t cut = draw(fate, len + 1);
	char noise[4096];

	if (is_kept(fate)) {
		put(content, at, bytes, len);
	} else if (fate->torn && draw(fate, 4) == 0) {
		switch (draw(fate, 3)) {
		case 0:
			put(content, at, bytes, cut);
			break;
		case 1:
			put(content, at + cut, bytes + cut, len - cut);
			break;
		default:
			for (size_t i = 0; i < len; i++)
				noise[i] = (char)draw(fate, 256);
			put(content, at, noise, len);
		}
	}
}

static void apply_maybe(struct fate *fate, struct content *content, const struct operation *operation)
{
	size_t at = (size_t)operation->at, end = at + operation->len;

	if (operation->kind == TRUNCATE) {
		if (is_kept(fate))
			resize(content, at);
		return;
	}
	if (!fate->sector && is_kept(fate))
		put(content, at, operation->bytes, operation->len);
	while (fate->sector && at < end) {
		size_t next = (at / fate->sector + 1) * fate->sector;

		if (next > end)
			next = end;
		put_sector(fate, content, at, operation->bytes + (at - (size_t)operation->at), next - at);
		at = next;
	}
	if (end > content->size && fate->kept_of_256 && draw(fate, 4) == 0)
		resize(content, end);
}

static bool is_of_folder(const struct operation *operation)
{
	return operation->kind >= CREATE;
}

/* A flush: everything pending of a file, or of the folder, is on the disk. */
static void flush(const struct operation *flushed)
{
	size_t kept = 0;

	for (size_t i = 0; i < disk.pending_count; i++) {
		const struct operation *operation = &operations[disk.pending[i]];

		if (is_of_folder(operation) != (flushed->kind == FLUSH_FOLDER) ||
		    (flushed->kind == FLUSH && operation->file != flushed->file))
			disk.pending[kept++] = disk.pending[i];
		else if (is_of_folder(operation))
			apply_name(&disk.names, operation);
		else if (operation->kind == WRITE)
			put(&disk.files[operation->file], (size_t)operation->at, operation->bytes, operation->len);
		else
			resize(&disk.files[operation->file], (size_t)operation->at);
	}
	disk.pending_count = kept;
}

static void copy(struct content *to, const struct content *from)
{
	to->size = 0;
	if (from->size)
		put(to, 0, from->bytes, from->size);
}

static void move_to(size_t position)
{
	if (position < disk.position) {
		disk.position = disk.pending_count = 0;
		disk.pending = must(realloc(disk.pending, (count + 1) * sizeof(*disk.pending)));
		disk.names = at_start;
		for (int i = 0; i < file_count; i++)
			copy(&disk.files[i], &files_at_start[i]);
	}
	for (; disk.position < position; disk.position++) {
		const struct operation *operation = &operations[disk.position];

		if (operation->kind == FLUSH || operation->kind == FLUSH_FOLDER)
			flush(operation);
		else
			disk.pending[disk.pending_count++] = disk.position;
	}
}

static void empty_folder(const char *folder)
{
	DIR *dir = must(opendir(folder));
	char path[PATH_MAX + 300];

	for (struct dirent *entry; (entry = readdir(dir));) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlink(path);
	}
	closedir(dir);
}

/* A log's index that was never flushed. */
static void write_index(struct fate *fate, const char *path)
{
	char index[PATH_MAX + 8], noise[4096];

	snprintf(index, sizeof(index), "%s-shm", path);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)draw(fate, 256);
	write_file(index, noise, sizeof(noise));
}

void power_fail(size_t position, uint64_t seed, const char *to)
{
	static const size_t sectors[] = { 0, 512, 4096 };
	static const unsigned chances[] = { 0, 256, 128, 16, 240 };
	struct fate fate = { .random = map_mix(seed) };
	struct content content = { 0 };
	struct names names;
	char path[PATH_MAX];

	fate.kept_of_256 = chances[draw(&fate, 5)];
	fate.sector = sectors[draw(&fate, 3)];
	fate.torn = draw(&fate, 2);
	move_to(position);
	empty_folder(to);
	names = disk.names;
	for (size_t i = 0; i < disk.pending_count; i++)
		if (is_of_folder(&operations[disk.pending[i]]) && is_kept(&fate))
			apply_name(&names, &operations[disk.pending[i]]);
	for (size_t n = 0; n < names.count; n++) {
		copy(&content, &disk.files[names.file[n]]);
		for (size_t i = 0; i < disk.pending_count; i++) {
			const struct operation *operation = &operations[disk.pending[i]];

			if (!is_of_folder(operation) && operation->file == names.file[n])
				apply_maybe(&fate, &content, operation);
		}
		snprintf(path, sizeof(path), "%s/%s", to, names.name[n]);
		write_file(path, content.bytes, content.size);
		if (!strchr(names.name[n], '-') && draw(&fate, 4) == 0)
			write_index(&fate, path);
	}
	free(content.bytes);
}

void power_free(void)
{
	for (size_t i = 0; i < count; i++)
		free(operations[i].bytes);
	for (int i = 0; i < file_count; i++) {
		free(files_at_start[i].bytes);
		free(disk.files[i].bytes);
	}
	memset(files_at_start, 0, sizeof(files_at_start));
	free(operations);
	free(disk.pending);
	memset(&disk, 0, sizeof(disk));
	operations = NULL;
	count = capacity = 0;
	file_count = 0;
	at_start.count = now.count = 0;
}
