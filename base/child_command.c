/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/child_command.h"

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

/* A poll reads at most 1 MB, so that endless output does not block the caller. */
enum { CHUNK = 16384, CHUNKS_AT_ONCE = 64 };

/* Poll interval while waiting for the exit. */
enum { POLL_MS = 10 };

/* Runs in the new process and reports failures by exit status only. */
static void become(const char *program, const char *const *argv, pid_t parent, bool errors_only, int output)
{
	int null = open("/dev/null", O_RDWR);

	/* The parent may have exited before the call. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(errors_only ? null : output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	/* execv() takes char * for historical reasons and does not modify the strings. */
	execv(program, (char *const *)argv);
	_exit(127);
}

int child_command_start(struct child_command *run, const char *program, const char *const *argv,
			bool errors_only, struct error *err)
{
	pid_t parent = getpid();
	int ends[2];

	child_command_stop(run, COMMAND_WAIT_MS);
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
		/* Blocking for the writer: commands do not handle EAGAIN on stdout and stderr. */
		fcntl(ends[1], F_SETFL, 0);
		become(program, argv, parent, errors_only, ends[1]);
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

	/* A NUL byte would end the text. */
	for (size_t i = 0; i < len && i < room; i++)
		text_append_bytes(&run->output, bytes[i] ? &bytes[i] : " ", 1);
}

/* Return: whether there was new output. */
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
	/* At its end all its output is in the pipe, which a process of its own may keep open. */
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

bool child_command_wait(struct child_command *run, int wait_ms)
{
	child_command_poll(run);
	for (int waited_ms = 0; run->pid && !run->ended && waited_ms < wait_ms; waited_ms += POLL_MS) {
		poll(NULL, 0, POLL_MS);
		child_command_poll(run);
	}
	return run->ended;
}

bool child_command_last_line(const struct child_command *run, char *ret, size_t size)
{
	static const char name[] = "ibwire: ";
	const char *text = text_chars(&run->output);
	size_t end = run->output.len, begin;

	if (!run->ended && (!end || text[end - 1] != '\n'))
		return false;
	while (end && (text[end - 1] == '\n' || text[end - 1] == ' '))
		end--;
	for (begin = end; begin && text[begin - 1] != '\n'; begin--)
		;
	if (end - begin >= strlen(name) && !strncmp(text + begin, name, strlen(name)))
		begin += strlen(name);
	if (begin == end)
		return false;
	text_sanitise(text + begin, end - begin, ret, size);
	return true;
}

/* Leaves its process id allocated, so that its process group can be killed. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* SIGTERM first, so that it can clean up, then SIGKILL; both to the process group. */
static bool end(struct child_command *run, int wait_ms)
{
	bool in_time = false;

	kill(-run->pid, SIGTERM);
	for (int waited_ms = 0; waited_ms < wait_ms && !in_time; waited_ms += POLL_MS) {
		read_output(run);
		poll(NULL, 0, POLL_MS);
		in_time = has_ended(run->pid);
	}
	kill(-run->pid, SIGKILL);
	waitpid(run->pid, NULL, 0);
	return in_time;
}

bool child_command_stop(struct child_command *run, int wait_ms)
{
	bool in_time = !run->pid || run->ended || end(run, wait_ms);

	if (run->pid && run->fd >= 0)
		close(run->fd);
	text_done(&run->output);
	*run = (struct child_command){ 0 };
	return in_time;
}
