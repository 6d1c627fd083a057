/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/file/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/file/schema.h"

/* The byte of PATH-shm that a writer locks. Source: SQLite's os_unix.c and wal.c, WAL_WRITE_LOCK. */
#define SHM_WRITE_BYTE 120

static int suffixed(const char *path, const char *suffix, char ret[PATH_MAX], struct error *err)
{
	int result = schema_path(path, ret, err);

	/* schema_path() leaves room for a suffix. */
	if (!result)
		strcat(ret, suffix);
	return result;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

const char *lock_holder(int64_t pid, char chars[LOCK_HOLDER_SIZE])
{
	if (pid > 0)
		snprintf(chars, LOCK_HOLDER_SIZE, "process %" PRId64, pid);
	else
		snprintf(chars, LOCK_HOLDER_SIZE, "a process of unknown id (see lsof)");
	return chars;
}

/* Open file description locks have no process id; the length of a collector's lock contains it. */
static int64_t holder_pid(const struct flock *lock)
{
	if (lock->l_pid > 0)
		return lock->l_pid;
	return lock->l_type == F_WRLCK && lock->l_len > 1 ? lock->l_len - 1 : 0;
}

/* Does a lock of another process conflict with one of @type? */
static bool probe(int fd, int type, off_t start, off_t len, struct flock *ret)
{
	*ret = (struct flock){ .l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };
	return fcntl(fd, F_GETLK, ret) == 0 && ret->l_type != F_UNLCK;
}

static int try_lock(int fd, const char *path, const char *name, struct error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = (off_t)getpid() + 1 }, other;
	char holder[LOCK_HOLDER_SIZE];

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return err_set(err, ERR_IO, "cannot lock %s: %s; give a --db on a local disk", name, strerror(errno));
	/* Of a process that opened it while it was readable for all. */
	if (probe(fd, F_WRLCK, 0, lock.l_len, &other) && other.l_type == F_RDLCK)
		return err_set(err, ERR_UNAVAILABLE, "%s holds a read lock on %s and no collector can start; end it, "
			       "or remove the file", lock_holder(holder_pid(&other), holder), name);
	return err_set(err, ERR_UNAVAILABLE, "another collector writes to %s: %s; stop it, or give another --db",
		       path, lock_holder(holder_pid(&other), holder));
}

/*
 * Open PATH.lock with mode 0600. The folder may be another user's: no link is followed, and a file
 * with another name or owner is not changed.
 */
static int open_lock_file(const char *name, int *ret_fd, struct error *err)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0 && errno != ELOOP)
		return err_set(err, ERR_IO, "cannot open %s: %s; check that its folder exists and that the file and "
			       "the folder are writable", name, strerror(errno));
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
		if (fd >= 0)
			close(fd);
		return err_set(err, ERR_IO, "%s is a link or not a regular file; remove it", name);
	}
	/* Earlier versions created it readable for all. */
	if (st.st_mode & 0077 && st.st_uid == geteuid() && fchmod(fd, 0600) < 0) {
		int reason = errno;

		close(fd);
		return err_set(err, ERR_IO, "cannot change the mode of %s: %s", name, strerror(reason));
	}
	*ret_fd = fd;
	return 0;
}

int lock_take(const char *path, struct db_lock *ret, struct error *err)
{
	struct db_lock lock = DB_LOCK_NONE;
	char name[PATH_MAX];
	int result = suffixed(path, ".lock", name, err);

	if (!result)
		result = open_lock_file(name, &lock.fd, err);
	if (!result)
		result = try_lock(lock.fd, path, name, err);
	if (result < 0)
		lock_release(&lock);
	else
		*ret = lock;
	return result;
}

void lock_release(struct db_lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	*lock = DB_LOCK_NONE;
}

/*
 * The descriptor of this process that has a file open; -1: none. It is found without the use of a descriptor that
 * another thread may close.
 */
static int find_open(const struct stat *file)
{
	DIR *descriptors = opendir("/proc/self/fd");
	const struct dirent *entry;
	struct stat st;
	int fd = -1;

	while (descriptors && fd < 0 && (entry = readdir(descriptors)))
		if (fstatat(dirfd(descriptors), entry->d_name, &st, 0) == 0 && same_file(file, &st))
			fd = atoi(entry->d_name);
	if (descriptors)
		closedir(descriptors);
	return fd;
}

/*
 * Probe the write lock with the open descriptor of PATH-shm: to open and close another one would drop SQLite's locks.
 * SQLite has one for all connections of a process, which remains open while the caller's connection is.
 */
static bool probe_write_lock(const char *path, struct flock *ret)
{
	char name[PATH_MAX];
	struct stat st;
	int fd = suffixed(path, "-shm", name, NULL) < 0 || stat(name, &st) < 0 ? -1 : find_open(&st);

	return fd >= 0 && probe(fd, F_WRLCK, SHM_WRITE_BYTE, 1, ret);
}

/*
 * Find the lock on PATH.lock in the kernel's list, without access to the file. On some file systems (btrfs)
 * the list and stat() have different devices: then a collector's lock on a file with this inode counts.
 */
static bool find_listed(const char *name, struct flock *ret)
{
	bool found = false, same_device = false;
	struct stat st;
	char line[256];
	FILE *list;

	if (stat(name, &st) < 0)
		return false;
	list = fopen("/proc/locks", "re");
	while (list && !same_device && fgets(line, sizeof(line), list)) {
		unsigned device_major, device_minor;
		unsigned long inode;
		long long last = 0;

		if (sscanf(line, "%*d: OFDLCK ADVISORY WRITE %*d %x:%x:%lu 0 %lld", &device_major, &device_minor,
			   &inode, &last) < 3 || inode != st.st_ino)
			continue;
		found = true;
		same_device = makedev(device_major, device_minor) == st.st_dev;
		*ret = (struct flock){ .l_type = F_WRLCK, .l_len = last + 1 };
	}
	if (list)
		fclose(list);
	return found;
}

bool lock_held(const char *path, int64_t *ret_pid)
{
	struct flock other;
	char name[PATH_MAX];
	bool held = false;
	int fd = -1;

	if (suffixed(path, ".lock", name, NULL) == 0) {
		/* To close it drops no lock: only collectors lock it, by open file descriptions. */
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		held = fd >= 0 ? probe(fd, F_RDLCK, 0, 1, &other) : find_listed(name, &other);
	}
	if (fd >= 0)
		close(fd);
	*ret_pid = held ? holder_pid(&other) : 0;
	return held;
}

/* Append "process 4711 (less)", without the name if it is unknown, or nothing if it does not fit. */
static void append_process(long long pid, char *ret, size_t size)
{
	char name[64], comm[32] = "", line[96];
	size_t len = strlen(ret);
	FILE *file;
	int added;

	snprintf(name, sizeof(name), "/proc/%lld/comm", pid);
	file = fopen(name, "re");
	if (file) {
		if (fgets(line, sizeof(line), file))
			text_sanitise(line, strcspn(line, "\n"), comm, sizeof(comm));
		fclose(file);
	}
	added = snprintf(line, sizeof(line), "%sprocess %lld%s%s%s", len ? ", " : "", pid, *comm ? " (" : "", comm,
			 *comm ? ")" : "");
	if (len + (size_t)added < size)
		memcpy(ret + len, line, (size_t)added + 1);
}

size_t lock_holders(const char *path, int64_t first, int64_t last, char *ret, size_t size)
{
	FILE *locks = fopen("/proc/locks", "re");
	long long pid, before = 0, from;
	unsigned long long inode;
	unsigned major, minor;
	char line[256], to[32];
	size_t count = 0;
	struct stat st;

	*ret = '\0';
	if (!locks || stat(path, &st) < 0)
		st.st_ino = 0;
	/* "1: POSIX  ADVISORY  READ  4711 fe:01:131075 123 EOF"; "1: ->" for a waiting process. */
	while (locks && st.st_ino && fgets(line, sizeof(line), locks)) {
		if (sscanf(line, "%*d: %*s %*s %*s %lld %x:%x:%llu %lld %31s", &pid, &major, &minor, &inode, &from,
			   to) != 6 ||
		    inode != st.st_ino || makedev(major, minor) != st.st_dev || pid <= 0 || pid == getpid() ||
		    pid == before || from > last || (strcmp(to, "EOF") && strtoll(to, NULL, 10) < first))
			continue;
		append_process(pid, ret, size);
		before = pid;
		count++;
	}
	if (locks)
		fclose(locks);
	return count;
}

bool lock_blocks_store(const char *path, int64_t *ret_pid)
{
	struct flock other;
	bool blocks = probe_write_lock(path, &other);

	*ret_pid = blocks ? holder_pid(&other) : 0;
	return blocks;
}
