/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"

/*
 * The launcher reads signals from a descriptor; its children have the default actions, even if a shell
 * ignores SIGINT for background commands. An ignored SIGHUP stays ignored, for nohup.
 */
static void reset_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGQUIT };
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Exit with the parent process, which may have ended already. */
static void exit_with_parent(pid_t parent, int death_signal)
{
	prctl(PR_SET_PDEATHSIG, death_signal);
	if (getppid() != parent)
		_exit(1);
}

static void exec_program(const struct process_spec *spec, int report_fd)
{
	int code;

	if (spec->own_group)
		setpgid(0, 0);
	if (spec->in >= 0)
		dup2(spec->in, STDIN_FILENO);
	if (spec->out >= 0) {
		dup2(spec->out, STDOUT_FILENO);
		dup2(spec->out, STDERR_FILENO);
	}
	for (size_t i = 0; i < PROCESS_ENV_MAX && spec->env[i]; i++)
		putenv((char *)(uintptr_t)spec->env[i]);
	if (!spec->dir || chdir(spec->dir) == 0)
		execvp(spec->argv[0], spec->argv);
	code = errno;
	if (write(report_fd, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

int process_start(const struct process_spec *spec, pid_t *ret, struct error *err)
{
	pid_t parent = getpid(), pid;
	int report[2], code = 0;
	ssize_t got;

	/* The error of exec arrives through a pipe that a successful exec closes. */
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(err, ERR_NOMEM, "cannot start %s: %s", spec->argv[0], strerror(errno));
	pid = fork();
	if (pid < 0) {
		code = errno;
		close(report[0]);
		close(report[1]);
		return err_set(err, ERR_NOMEM, "cannot start %s: %s", spec->argv[0], strerror(code));
	}
	if (pid == 0) {
		reset_signals();
		exit_with_parent(parent, spec->death_signal);
		exec_program(spec, report[1]);
	}
	close(report[1]);
	do
		got = read(report[0], &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	close(report[0]);
	if (got == (ssize_t)sizeof(code)) {
		waitpid(pid, NULL, 0);
		return err_set(err, ERR_UNAVAILABLE, "cannot run %s: %s", spec->argv[0], strerror(code));
	}
	*ret = pid;
	return 0;
}

pid_t process_fork(int death_signal, struct error *err)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return err_set(err, ERR_NOMEM, "cannot start a process: %s", strerror(errno));
	if (pid == 0) {
		setpgid(0, 0);
		reset_signals();
		if (death_signal)
			exit_with_parent(parent, death_signal);
	}
	return pid;
}

void process_stop(pid_t *pid, int signal, int wait_ms)
{
	const struct timespec nap = { .tv_nsec = 2000000 };

	if (*pid <= 0)
		return;
	kill(*pid, signal);
	for (int waited_ms = 0; waited_ms < wait_ms; waited_ms += 2) {
		if (waitpid(*pid, NULL, WNOHANG) != 0)
			goto out;
		nanosleep(&nap, NULL);
	}
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
out:
	*pid = 0;
}

void process_report_ready(int *fd)
{
	if (write(*fd, "", 1) < 0)
		log_debug("the launcher does not wait for this process");
	close(*fd);
	*fd = -1;
}

int process_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
