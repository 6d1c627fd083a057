/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "sim/process.h"

int rundir_create(const char *wanted, char ret[PATH_MAX], struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];

	if (wanted) {
		/* rmdir fails on a directory that is not empty: no other file is mixed up or lost. */
		if (rmdir(wanted) < 0 && errno != ENOENT)
			return err_set(err, ERR_IO, "cannot use %s: %s; name a new or empty directory", wanted,
				       strerror(errno));
		if (mkdir(wanted, 0700) < 0)
			return err_set(err, ERR_IO, "cannot create %s: %s", wanted, strerror(errno));
		snprintf(path, sizeof(path), "%s", wanted);
	} else {
		snprintf(path, sizeof(path), "%s/ibwire-sim.XXXXXX", tmp && *tmp ? tmp : "/tmp");
		if (!mkdtemp(path))
			return err_set(err, ERR_IO, "cannot create %s: %s; set TMPDIR", path, strerror(errno));
	}
	if (!realpath(path, ret))
		return err_set(err, ERR_IO, "cannot use %s: %s", path, strerror(errno));
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
	(void)status;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

void rundir_remove(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int rundir_write(const char *dir, const char *name, const char *chars, size_t len, struct error *err)
{
	char path[PATH_MAX + 64];
	FILE *file;
	bool written;

	snprintf(path, sizeof(path), "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
	file = fopen(path, "we");
	if (!file)
		return err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
	written = fwrite(chars, 1, len, file) == len;
	if (fclose(file) != 0 || !written)
		return err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
	return 0;
}

int rundir_read(const char *path, char **ret, size_t *ret_len, struct error *err)
{
	struct text text = { 0 };
	int code = text_read_file(path, "", TEXT_FABRIC_MOST, &text, err);

	if (code < 0) {
		text_done(&text);
		return code;
	}
	*ret = text.chars;
	*ret_len = text.len;
	return 0;
}

void rundir_remove_sys(const char *dir, pid_t pid)
{
	char path[PATH_MAX + 32];
	struct stat status;

	snprintf(path, sizeof(path), "%s/sys-%ld", dir, (long)pid);
	if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid())
		rundir_remove(path);
}

/* --- the cleanup process --- */

static void wait_and_clean(int fd, const char *dir)
{
	const struct timespec delay = { .tv_nsec = 300000000 };
	char byte;
	ssize_t got;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* A reader of the launcher's output must not wait for this process. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 0 || !dir)
		return;
	/* The other processes are ending: let them finish writing. */
	nanosleep(&delay, NULL);
	rundir_remove(dir);
}

int janitor_start(struct janitor *janitor, const char *dir, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, ERR_NOMEM, "cannot make a pipe: %s", strerror(errno));
	janitor->pid = process_fork(0, err);
	if (janitor->pid == 0) {
		close(ends[1]);
		wait_and_clean(ends[0], dir);
		_exit(0);
	}
	close(ends[0]);
	janitor->fd = ends[1];
	return janitor->pid < 0 ? ERR_NOMEM : 0;
}

void janitor_dismiss(struct janitor *janitor)
{
	if (janitor->fd < 0)
		return;
	if (write(janitor->fd, "", 1) < 0)
		log_debug("the cleanup process has ended already");
	close(janitor->fd);
	janitor->fd = -1;
	process_stop(&janitor->pid, 0, 2000);
}
