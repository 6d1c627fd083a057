/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

/* A file for the output: on disk, so that the memory of the server does not grow; else in memory. */
static int open_output(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("ibwire output", MFD_CLOEXEC);
}

/* If memory runs out, the kernel kills the command before the server. */
static void prefer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "500", 3);
}

static void execute(const struct metrics_child *child, int messages, char *const argv[])
{
	const struct rlimit output = { (rlim_t)METRICS_CHILD_MB << 20, (rlim_t)METRICS_CHILD_MB << 20 };
	int null = open("/dev/null", O_RDONLY);

	/* A write beyond the limit fails, because SIGXFSZ is ignored. */
	setrlimit(RLIMIT_FSIZE, &output);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prefer_for_oom();
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(child->output, STDOUT_FILENO) < 0 ||
	    dup2(messages, STDERR_FILENO) < 0)
		_exit(127);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	execv("/proc/self/exe", argv);
	_exit(127);
}

int metrics_child_start(struct metrics_child *child, char *const argv[], int64_t now_us, struct error *err)
{
	int messages[2] = { -1, -1 };

	*child = (struct metrics_child){ .output = open_output(), .messages = -1,
					 .deadline_us = now_us + METRICS_CHILD_SECONDS * US_PER_S };
	if (child->output >= 0 && pipe2(messages, O_CLOEXEC) == 0)
		child->pid = fork();
	if (child->pid == 0 && messages[1] >= 0)
		execute(child, messages[1], argv);
	if (messages[1] >= 0)
		close(messages[1]);
	child->messages = messages[0];
	if (child->pid > 0) {
		fcntl(child->messages, F_SETFL, O_NONBLOCK);
		return 0;
	}
	child->pid = 0;
	err_set(err, ERR_UNAVAILABLE, "cannot start a process for the request: %s", strerror(errno));
	metrics_child_done(child);
	return ERR_UNAVAILABLE;
}

/* Read messages, and store the beginning of the first ones. Return: can more follow? */
static bool read_messages(struct metrics_child *child)
{
	char block[4096];
	ssize_t len;

	while ((len = read(child->messages, block, sizeof(block))) > 0) {
		size_t used = strlen(child->line);

		snprintf(child->line + used, sizeof(child->line) - used, "%.*s", (int)len, block);
	}
	return len < 0 && (errno == EAGAIN || errno == EINTR);
}

static void trim_line(char *line)
{
	const char *colon = strstr(line, ": ");

	line[strcspn(line, "\n")] = '\0';
	if (colon && !strncmp(line, "ibwire", 6))
		memmove(line, colon + 2, strlen(colon + 2) + 1);
}

static void judge(struct metrics_child *child, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -ERR_IO;
	struct stat st = { 0 };

	child->status = code <= 2 ? 200 : code == -ERR_USAGE ? 400 : code == -ERR_UNAVAILABLE ? 503 : 500;
	if (fstat(child->output, &st)) {
		snprintf(child->line, sizeof(child->line), "cannot read the result: %s", strerror(errno));
		child->status = 500;
	}
	child->size = (uint64_t)st.st_size;
	trim_line(child->line);
	if (child->expired) {
		child->status = 504;
		snprintf(child->line, sizeof(child->line), "no result within %d s", METRICS_CHILD_SECONDS);
	} else if (child->status == 500 && child->size >= (uint64_t)METRICS_CHILD_MB << 20) {
		snprintf(child->line, sizeof(child->line), "the result is larger than %d MB; select fewer ports",
			 METRICS_CHILD_MB);
	} else if (WIFSIGNALED(status)) {
		snprintf(child->line, sizeof(child->line), "the command was ended by signal %d", WTERMSIG(status));
	} else if (child->status != 200 && !*child->line) {
		snprintf(child->line, sizeof(child->line), "the command failed with status %d", code);
	}
}

bool metrics_child_poll(struct metrics_child *child, int64_t now_us)
{
	int status = 0;

	if (!child->pid)
		return false;
	if (now_us >= child->deadline_us && !child->expired) {
		child->expired = true;
		kill(child->pid, SIGKILL);
	}
	if (child->messages >= 0 && !read_messages(child)) {
		close(child->messages);
		child->messages = -1;
	}
	if (waitpid(child->pid, &status, WNOHANG) != child->pid)
		return true;
	/* Messages that were written since the last call. */
	if (child->messages >= 0)
		read_messages(child);
	child->pid = 0;
	judge(child, status);
	return false;
}

void metrics_child_done(struct metrics_child *child)
{
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		waitpid(child->pid, NULL, 0);
	}
	if (child->output >= 0)
		close(child->output);
	if (child->messages >= 0)
		close(child->messages);
	*child = (struct metrics_child){ .output = -1, .messages = -1 };
}
