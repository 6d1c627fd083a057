/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"

static int lock_path(const char *path, char ret[PATH_MAX])
{
	int len = snprintf(ret, PATH_MAX, "%s.lock", path);

	return len < 0 || len >= PATH_MAX ? -1 : 0;
}

static int64_t read_pid(int fd)
{
	char chars[32] = "";
	ssize_t len = pread(fd, chars, sizeof(chars) - 1, 0);
	long long pid;

	if (len <= 0)
		return 0;
	pid = strtoll(chars, NULL, 10);
	return pid > 0 ? pid : 0;
}

int lock_take(const char *path, int *ret_fd, struct error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[PATH_MAX], pid[32];
	int fd, len;

	if (lock_path(path, name) < 0)
		return err_set(err, ERR_IO, "the path of the database is too long; give a shorter --db");
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %s; see that its folder is there and may be written", name,
			       strerror(errno));
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		int reason = errno;
		int64_t holder = read_pid(fd);

		close(fd);
		if (reason != EAGAIN && reason != EACCES)
			return err_set(err, ERR_IO, "cannot lock %s: %s; give a --db on a local disk", name,
				       strerror(reason));
		if (!holder)
			return err_set(err, ERR_UNAVAILABLE,
				       "another collector writes to %s; stop it, or give another --db", path);
		return err_set(err, ERR_UNAVAILABLE,
			       "another collector writes to %s: process %lld; stop it, or give another --db", path,
			       (long long)holder);
	}
	len = snprintf(pid, sizeof(pid), "%lld\n", (long long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) != len) {
		int reason = errno;

		close(fd);
		return err_set(err, ERR_IO, "cannot write %s: %s; see its disk", name, strerror(reason));
	}
	*ret_fd = fd;
	return 0;
}

void lock_release(int fd)
{
	if (fd < 0)
		return;
	/* Emptied while still ours, so that no process id of the past is ever named. */
	if (ftruncate(fd, 0) < 0) {
		/* An id that stays behind is only read while the lock is held. */
	}
	close(fd);
}

bool lock_held(const char *path, int64_t *ret_pid)
{
	/* Would a read lock be refused? Asking for one needs no write access. */
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char name[PATH_MAX];
	bool held = false;
	int fd;

	*ret_pid = 0;
	if (lock_path(path, name) < 0)
		return false;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fcntl(fd, F_OFD_GETLK, &lock) == 0)
		held = lock.l_type != F_UNLCK;
	if (held)
		*ret_pid = read_pid(fd);
	close(fd);
	return held;
}

/* Append "process 4711 (less)"; without the name where /proc does not tell it, nothing where it does not fit. */
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
	/* "1: POSIX  ADVISORY  READ  4711 fe:01:131075 123 EOF"; one who waits has an arrow behind the number. */
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
