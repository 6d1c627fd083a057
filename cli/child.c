/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

/* How often a child that may end is looked at where nothing else tells. */
#define LOOK_MS 20

/* In the new process; nothing here may fail loudly but by its exit status. */
static void become(char *const *argv, pid_t parent, int stderr_fd)
{
	int null = open("/dev/null", O_RDWR);

	/* The parent may have died before this was asked for. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(stderr_fd, STDERR_FILENO) < 0)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	execv("/proc/self/exe", argv);
	_exit(127);
}

int child_start(struct child *child, char *const *argv, struct error *err)
{
	pid_t parent = getpid();
	int ends[2];

	memset(child, 0, sizeof(*child));
	child->stderr_fd = -1;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, ERR_NOMEM, "cannot start a collector: %s", strerror(errno));
	child->pid = fork();
	if (child->pid < 0) {
		child->pid = 0;
		close(ends[0]);
		close(ends[1]);
		return err_set(err, ERR_NOMEM, "cannot start a collector: %s", strerror(errno));
	}
	if (!child->pid) {
		/* Only this end waits where the pipe is full: a collector need not expect EAGAIN from stderr. */
		fcntl(ends[1], F_SETFL, 0);
		become(argv, parent, ends[1]);
	}
	close(ends[1]);
	child->stderr_fd = ends[0];
	return 0;
}

static void end_line(struct child *child)
{
	static const char name[] = "ibwire: ";
	const char *start = child->partial;
	size_t len = child->partial_len;

	if (len >= strlen(name) && !strncmp(start, name, strlen(name))) {
		start += strlen(name);
		len -= strlen(name);
	}
	if (len)
		text_sanitise(start, len, child->line, sizeof(child->line));
	child->partial_len = 0;
}

static void read_lines(struct child *child)
{
	char bytes[512];
	ssize_t len = 0, i;

	while (child->stderr_fd >= 0 && (len = read(child->stderr_fd, bytes, sizeof(bytes))) > 0)
		for (i = 0; i < len; i++) {
			if (bytes[i] == '\n')
				end_line(child);
			else if (child->partial_len < sizeof(child->partial))
				child->partial[child->partial_len++] = bytes[i];
		}
	if (child->stderr_fd < 0 || (len < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	end_line(child);
	close(child->stderr_fd);
	child->stderr_fd = -1;
}

void child_poll(struct child *child)
{
	int status;

	if (!child->pid)
		return;
	if (!child->ended && waitpid(child->pid, &status, WNOHANG) == child->pid) {
		child->ended = true;
		child->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	/* After it ended all that it said is there. */
	read_lines(child);
	if (child->ended && child->exit_status > 128 && !child->line[0])
		snprintf(child->line, sizeof(child->line), "it died of signal %d (%s)", child->exit_status - 128,
			 strsignal(child->exit_status - 128));
}

void child_settle(struct child *child, int64_t wait_us)
{
	const struct clock *clock = clock_system();
	int64_t until_us = clock_boottime_us(clock) + wait_us;

	for (child_poll(child); !child->ended && clock_boottime_us(clock) < until_us; child_poll(child))
		poll(NULL, 0, LOOK_MS);
}

bool child_stop(struct child *child, int64_t patience_us)
{
	bool killed = false;

	if (!child->pid)
		return true;
	child_poll(child);
	if (!child->ended) {
		kill(child->pid, SIGTERM);
		child_settle(child, patience_us);
	}
	if (!child->ended) {
		killed = true;
		/* Its discovery helper has asked the kernel to die with it. */
		kill(child->pid, SIGKILL);
		child_settle(child, US_PER_S);
	}
	if (child->stderr_fd >= 0)
		close(child->stderr_fd);
	child->stderr_fd = -1;
	child->pid = 0;
	return !killed;
}
