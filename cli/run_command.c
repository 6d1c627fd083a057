/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

/* The first PASSED_COUNT are passed on; the others are those that stop_install() changes too. */
enum { PASSED_COUNT = 6 };
static const int numbers[RUN_SIGNALS] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGXFSZ,
};

void run_save_signals(struct run_signals *ret)
{
	for (int i = 0; i < RUN_SIGNALS; i++)
		sigaction(numbers[i], NULL, &ret->actions[i]);
	sigprocmask(SIG_BLOCK, NULL, &ret->mask);
}

/* Signals that are waited for while the command runs. */
static sigset_t waited_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (int i = 0; i < PASSED_COUNT; i++)
		sigaddset(&set, numbers[i]);
	return set;
}

/* In the child: execute, or write errno to @failure. Uses only async-signal-safe functions and execvp(). */
static _Noreturn void execute(char **argv, const struct run_signals *signals, int failure)
{
	ssize_t written;
	int reason;

	for (int i = 0; i < RUN_SIGNALS; i++)
		/* Handlers are reset by the execution; only ignored signals stay ignored. */
		signal(numbers[i], signals->actions[i].sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
	execvp(argv[0], argv);
	reason = errno;
	written = write(failure, &reason, sizeof(reason));
	_exit(written == sizeof(reason) && reason == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE);
}

/*
 * Wait for the end of the command. A signal of the terminal has reached the command already, one that
 * a process sent to this one has not.
 */
static int wait_for_end(pid_t child, const sigset_t *waited)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (waitpid(child, &status, WNOHANG) == child)
			break;
		if (sigwaitinfo(waited, &info) > 0 && info.si_signo != SIGCHLD && info.si_code <= 0)
			kill(child, info.si_signo);
	}
	return WIFSIGNALED(status) ? RUN_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_command(char **argv, const struct run_signals *signals, int *ret_status, struct error *err)
{
	sigset_t waited = waited_signals(), before;
	int failure[2], reason = 0;
	pid_t child = -1;

	*ret_status = RUN_CANNOT_EXECUTE;
	if (pipe2(failure, O_CLOEXEC) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot run %s: %s", argv[0], strerror(errno));
	fflush(NULL);
	/* Blocked first: none of these signals is lost between the start and the wait. */
	sigprocmask(SIG_BLOCK, &waited, &before);
	child = fork();
	if (child == 0)
		execute(argv, signals, failure[1]);
	reason = child < 0 ? errno : 0;
	close(failure[1]);
	if (child > 0) {
		if (read(failure[0], &reason, sizeof(reason)) != sizeof(reason))
			reason = 0;
		*ret_status = wait_for_end(child, &waited);
	}
	close(failure[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return reason ? err_set(err, ERR_UNAVAILABLE, "cannot run %s: %s", argv[0], strerror(reason)) : 0;
}
