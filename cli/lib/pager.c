/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int terminal = -1, output = -1; /* stdout before pager_begin(), and its replacement */

void pager_begin(void)
{
	const char *program = getenv("PAGER"), *term = getenv("TERM");

	if (output >= 0 || (program && (!*program || !strcmp(program, "cat"))) || !term || !strcmp(term, "dumb"))
		return;
	fflush(stdout);
	output = memfd_create("ibwire output", MFD_CLOEXEC);
	terminal = output < 0 ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (terminal < 0 || dup2(output, STDOUT_FILENO) < 0)
		pager_cancel();
}

void pager_cancel(void)
{
	if (output < 0)
		return;
	fflush(stdout);
	if (terminal >= 0) {
		dup2(terminal, STDOUT_FILENO);
		close(terminal);
	}
	close(output);
	terminal = output = -1;
}

static void run_pager(void)
{
	const char *program = getenv("PAGER");

	dup2(output, STDIN_FILENO);
	dup2(terminal, STDOUT_FILENO);
	signal(SIGPIPE, SIG_DFL);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	if (program)
		execl("/bin/sh", "sh", "-c", program, (char *)NULL);
	else
		execlp("less", "less", (char *)NULL);
	_exit(127);
}

static void copy_output(void)
{
	char chars[65536];
	ssize_t len;

	lseek(output, 0, SEEK_SET);
	while ((len = read(output, chars, sizeof(chars))) > 0)
		for (ssize_t done = 0, more; done < len; done += more)
			if ((more = write(terminal, chars + done, (size_t)(len - done))) <= 0)
				return;
}

void pager_finish(void)
{
	int status = 127 << 8;
	pid_t pid;

	if (output < 0)
		return;
	fflush(stdout);
	if (lseek(output, 0, SEEK_END) > 0) {
		lseek(output, 0, SEEK_SET);
		pid = fork();
		if (pid == 0)
			run_pager();
		/* Ctrl-C belongs to the pager. */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		if (pid > 0)
			waitpid(pid, &status, 0);
		/* As in a shell: 126 and 127 if it cannot be executed. */
		if (WIFEXITED(status) && WEXITSTATUS(status) >= 126)
			copy_output();
	}
	pager_cancel();
}
