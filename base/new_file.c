/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static int fail(struct new_file *file, struct error *err)
{
	int code = err_set(err, ERR_IO, "cannot write %.200s: %s", file->path, errno == ENXIO ?
			   "no process reads this pipe" : strerror(errno));

	free(file->path);
	free(file->part);
	*file = (struct new_file){ 0 };
	return code;
}

/* Not to be replaced: /dev/stdout may lead to a file that the shell has opened. */
static bool is_special(const char *path)
{
	struct stat st;

	return (!strncmp(path, "/dev/", strlen("/dev/")) && strncmp(path, "/dev/shm/", strlen("/dev/shm/"))) ||
	       !strncmp(path, "/proc/", strlen("/proc/")) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

/* Without O_NONBLOCK a pipe without a reader would block. */
static int open_directly(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

/* @suffix: of the new file, after its path */
static int open_part(const char *path, bool is_private, const char *suffix, struct new_file *ret, struct error *err)
{
	bool special = is_special(path);
	char real[PATH_MAX];
	int fd = -1;

	*ret = (struct new_file){ .path = strdup(!special && realpath(path, real) ? real : path),
				  .is_private = is_private };
	if (!ret->path)
		return err_nomem(err);
	if (special) {
		fd = open_directly(ret->path);
	} else if (access(ret->path, W_OK) == 0 || errno == ENOENT) {
		if (asprintf(&ret->part, "%s%s", ret->path, suffix) < 0) {
			free(ret->path);
			*ret = (struct new_file){ 0 };
			return err_nomem(err);
		}
		/* Of a killed process that had this id; a link in the folder is not followed. */
		unlink(ret->part);
		fd = open(ret->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_private ? 0600 : 0666);
	}
	ret->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (ret->stream)
		return 0;
	if (fd >= 0) {
		close(fd);
		if (ret->part)
			unlink(ret->part);
	}
	return fail(ret, err);
}

int new_file_open(const char *path, bool is_private, struct new_file *ret, struct error *err)
{
	char suffix[32];

	snprintf(suffix, sizeof(suffix), ".%d.part", (int)getpid());
	return open_part(path, is_private, suffix, ret, err);
}

int new_file_open_locked(const char *path, struct new_file *ret, struct error *err)
{
	return open_part(path, true, ".part", ret, err);
}

static bool finish(const struct new_file *file)
{
	int fd = fileno(file->stream);
	struct stat old;

	/* The error of an earlier write is the one of the next. */
	errno = EIO;
	if (fflush(file->stream) || ferror(file->stream))
		return false;
	if (!file->part)
		return true;
	if (!file->is_private && stat(file->path, &old) == 0)
		fchmod(fd, old.st_mode & 0777);
	/* Some file systems have no fsync(). */
	return fsync(fd) == 0 || errno == EINVAL;
}

int new_file_end(struct new_file *file, int code, struct error *err)
{
	bool good = code >= 0 && finish(file);
	int failure = errno;

	if (fclose(file->stream) && good) {
		good = false;
		failure = errno;
	}
	if (good && file->part && rename(file->part, file->path) < 0) {
		good = false;
		failure = errno;
	}
	if (!good && file->part)
		unlink(file->part);
	errno = failure;
	if (!good && code >= 0)
		return fail(file, err);
	free(file->path);
	free(file->part);
	*file = (struct new_file){ 0 };
	return code;
}
