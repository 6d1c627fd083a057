/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "sim/rundir.h"

#define PROMPT "sim> "
#define MARK_BEGIN "# ibwire-sim begin "
#define MARK_END "# ibwire-sim end "

/* Skip prompts: the first line of a response follows the prompts of earlier commands. */
static const char *skip_prompts(const char *line)
{
	while (!strncmp(line, PROMPT, strlen(PROMPT)))
		line += strlen(PROMPT);
	return line;
}

static void process_line(struct console_output *output, const char *line)
{
	const char *text = skip_prompts(line);
	int client, pid;

	if (output->attached && sscanf(text, "Client %d: pid %d connected", &client, &pid) == 2) {
		output->attached(output->ctx, client, pid);
		if (!output->quoting)
			return;
	}
	if (strstr(text, MARK_BEGIN))
		output->quoting = true;
	if (!output->quoting && (!*text || strstr(text, " has been set to ")))
		return;
	if (strstr(text, "Network simulator ready"))
		output->ready = true;
	if (strstr(text, MARK_END))
		output->quoting = false;
	if (strstr(text, "ibpanic") || strstr(text, "ibwarn") || strstr(text, "fatal"))
		snprintf(output->last, sizeof(output->last), "%s", text);
	/* Errors are ignored: only the log is affected. */
	if (dprintf(output->log_fd, "%s\n", line) < 0)
		return;
}

void console_filter(struct console_output *output, const char *bytes, size_t len)
{
	while (len > 0) {
		const char *newline = memchr(bytes, '\n', len);
		size_t part = newline ? (size_t)(newline - bytes) : len;

		text_append_bytes(&output->line, bytes, part);
		if (!newline)
			return;
		process_line(output, text_chars(&output->line));
		text_clear(&output->line);
		bytes += part + 1;
		len -= part + 1;
	}
}

bool console_drain(struct console_output *output)
{
	char bytes[65536];
	ssize_t got;

	for (;;) {
		got = read(output->fd, bytes, sizeof(bytes));
		if (got > 0)
			console_filter(output, bytes, (size_t)got);
		else if (got == 0 || (errno != EINTR && errno != EAGAIN))
			return false;
		else if (errno == EAGAIN)
			return true;
	}
}

int console_send(int fifo_fd, const char *lines, struct error *err)
{
	size_t len = strlen(lines);

	if (write(fifo_fd, lines, len) != (ssize_t)len)
		return err_set(err, ERR_IO, "cannot write to the console of ibsim: %s", strerror(errno));
	return 0;
}

/* The response is the text between the marks, without prompts. */
static bool extract_response(const char *log, const char *begin, const char *end, struct text *response)
{
	const char *from = strstr(log, begin), *to, *prompt;

	if (!from)
		return false;
	from += strlen(begin);
	to = strstr(from, end);
	if (!to)
		return false;
	while ((prompt = strstr(from, PROMPT)) && prompt < to) {
		text_append_bytes(response, from, (size_t)(prompt - from));
		from = prompt + strlen(PROMPT);
	}
	text_append_bytes(response, from, (size_t)(to - from));
	return true;
}

int console_run(const char *fifo_path, const char *dir, const char *command, struct text *response, struct error *err)
{
	const struct timespec interval = { .tv_nsec = 10000000 };
	char path[PATH_MAX], begin[64], end[64], lines[512];
	int fd, code;

	if (strlen(command) > CONSOLE_MAX_LINE || strchr(command, '\n'))
		return err_set(err, ERR_USAGE, "a command is one line of at most %d characters: write longer ones to a "
			       "file and run '!FILE'", CONSOLE_MAX_LINE);
	snprintf(begin, sizeof(begin), MARK_BEGIN "%ld", (long)getpid());
	snprintf(end, sizeof(end), MARK_END "%ld", (long)getpid());
	/* ibsim ends the echo of a comment with the next response: the last command is there for its newline. */
	snprintf(lines, sizeof(lines), "%s\n%s\n%s\nVerbose\n", begin, command, end);
	snprintf(path, sizeof(path), "%s/" CONSOLE_LOG, dir);
	fd = open(fifo_path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE, "no simulation is running: %s: %s", fifo_path, strerror(errno));
	code = console_send(fd, lines, err);
	close(fd);
	for (int tries = 0; code == 0 && tries < 1000; tries++) {
		char *log;
		size_t len;
		bool found;

		nanosleep(&interval, NULL);
		code = rundir_read(path, &log, &len, err);
		if (code < 0)
			break;
		found = extract_response(log, begin, end, response);
		free(log);
		if (found)
			return 0;
	}
	return code < 0 ? code : err_set(err, ERR_UNAVAILABLE, "ibsim does not respond; its log is %s", path);
}
