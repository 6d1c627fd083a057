/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/child_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

/* Read at most so much at once: a key is not to wait for a command that prints without end. */
enum { CHUNK = 16384, CHUNKS_AT_ONCE = 64 };

/* A command that is not wanted any more has so long to end by itself. */
enum { PATIENCE_MS = 500, LOOK_MS = 10 };

/* In the new process; nothing here may fail loudly but by its exit status. */
static void become(const char *program, char *const *argv, pid_t parent, int columns, int output)
{
	int null = open("/dev/null", O_RDWR);
	char width[16];

	/* The parent may have exited before the call. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(output, STDERR_FILENO) < 0)
		_exit(127);
	snprintf(width, sizeof(width), "%d", columns);
	if (columns)
		setenv("COLUMNS", width, 1);
	signal(SIGPIPE, SIG_DFL);
	execv(program, argv);
	_exit(127);
}

int child_command_start(struct child_command *run, const char *program, char *const *argv, int columns,
			struct error *err)
{
	pid_t parent = getpid();
	int ends[2];

	child_command_stop(run);
	if (!program)
		return err_set(err, ERR_UNAVAILABLE, "commands cannot be run from this screen");
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, ERR_NOMEM, "cannot start a command: %s", strerror(errno));
	run->pid = fork();
	if (run->pid < 0) {
		run->pid = 0;
		close(ends[0]);
		close(ends[1]);
		return err_set(err, ERR_NOMEM, "cannot start a command: %s", strerror(errno));
	}
	if (!run->pid) {
		/* Only this end waits where the pipe is full: a command need not expect EAGAIN from stdout. */
		fcntl(ends[1], F_SETFL, 0);
		become(program, argv, parent, columns, ends[1]);
	}
	/* Parent and child both set the group, so that it exists whichever runs first. */
	setpgid(run->pid, run->pid);
	close(ends[1]);
	run->fd = ends[0];
	return 0;
}

static void append_output(struct child_command *run, const char *bytes, size_t len)
{
	size_t room = COMMAND_OUTPUT_MOST - run->output.len;

	run->cut |= len > room;
	/* A NUL byte would end the text. */
	for (size_t i = 0; i < len && i < room; i++)
		text_append_bytes(&run->output, bytes[i] ? &bytes[i] : " ", 1);
	run->cut |= text_failed(&run->output);
}

/* Return: whether something came. */
static bool read_output(struct child_command *run)
{
	char bytes[CHUNK];
	ssize_t len = 0;
	bool news = false;

	if (run->fd < 0)
		return false;
	for (int i = 0; i < CHUNKS_AT_ONCE && (len = read(run->fd, bytes, sizeof(bytes))) > 0; i++) {
		append_output(run, bytes, (size_t)len);
		news = true;
	}
	if (len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR)))
		return news;
	close(run->fd);
	run->fd = -1;
	return news;
}

bool child_command_poll(struct child_command *run)
{
	bool news;
	int status;

	if (!run->pid)
		return false;
	news = read_output(run);
	/* Ended means also that all that it printed was read; what a child of its own holds open is not waited for. */
	if (run->ended || (run->fd >= 0 && news) || waitpid(run->pid, &status, WNOHANG) != run->pid)
		return news;
	while (read_output(run))
		;
	if (run->fd >= 0)
		close(run->fd);
	run->fd = -1;
	run->ended = true;
	run->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return true;
}

/* Its number is not given back by this: as long as that is taken, its process group can be killed. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* SIGTERM first, so that it can clean up, then SIGKILL; both to the process group. */
static void end(struct child_command *run)
{
	kill(-run->pid, SIGTERM);
	for (int waited_ms = 0; waited_ms < PATIENCE_MS && !has_ended(run->pid); waited_ms += LOOK_MS)
		poll(NULL, 0, LOOK_MS);
	kill(-run->pid, SIGKILL);
	waitpid(run->pid, NULL, 0);
}

void child_command_stop(struct child_command *run)
{
	if (run->pid && run->fd >= 0)
		close(run->fd);
	if (run->pid && !run->ended)
		end(run);
	text_done(&run->output);
	*run = (struct child_command){ 0 };
}
