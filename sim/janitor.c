/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "sim/process.h"
#include "sim/rundir.h"

static void wait_and_clean(int fd, const char *dir)
{
	const struct timespec nap = { .tv_nsec = 300000000 };
	char byte;
	ssize_t got;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Whoever waits for the end of our output shall not wait for this process. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 0 || !dir)
		return;
	/* The others are dying: let them write their last. */
	nanosleep(&nap, NULL);
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
		log_debug("the janitor is gone already");
	close(janitor->fd);
	janitor->fd = -1;
	process_stop(&janitor->pid, 0, 2000);
}
