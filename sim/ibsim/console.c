/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/console.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* --- slots of clients that were killed --- */

static bool has_ended(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

void slots_init(struct slots *slots)
{
	memset(slots, 0, sizeof(*slots));
	slots->console_fd = -1;
	slots->start = time(NULL);
	if (!getcwd(slots->start_dir, sizeof(slots->start_dir)))
		slots->start_dir[0] = '\0';
}

void slots_query(const struct slots *slots)
{
	/* If the console is full, ibsim is busy: the next query is sent in a second. */
	console_send(slots->console_fd, "Attached\n", NULL);
}

static struct slots_client *find_recent(struct slots *slots, pid_t pid)
{
	for (size_t i = 0; i < SLOTS_RECENT_MAX; i++)
		if (slots->recent[i].pid == pid)
			return &slots->recent[i];
	return NULL;
}

static void remember(struct slots *slots, pid_t pid)
{
	struct slots_client *client = &slots->recent[slots->next++ % SLOTS_RECENT_MAX];
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%ld/cwd", (long)pid);
	len = readlink(link, client->dir, sizeof(client->dir) - 1);
	client->dir[len > 0 ? len : 0] = '\0';
	client->pid = pid;
}

void slots_attached(void *ctx, int number, pid_t pid)
{
	struct slots *slots = ctx;
	struct slots_client *client = find_recent(slots, pid);
	char command[16];

	if (!has_ended(pid)) {
		if (!client)
			remember(slots, pid);
		return;
	}
	snprintf(command, sizeof(command), "X %d\n", number);
	console_send(slots->console_fd, command, NULL);
	rundir_remove_sys(client && client->dir[0] ? client->dir : slots->start_dir, pid);
}

/* Remove directories sys-<pid> of ended processes that were created since the launcher started. */
static void clean_dir(const struct slots *slots, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct stat status;
		char *end;
		long pid;

		if (strncmp(entry->d_name, "sys-", 4) || !isdigit((unsigned char)entry->d_name[4]))
			continue;
		pid = strtol(entry->d_name + 4, &end, 10);
		if (*end || !has_ended((pid_t)pid) || fstatat(dirfd(dir), entry->d_name, &status, 0) < 0)
			continue;
		if (status.st_mtime >= slots->start)
			rundir_remove_sys(path, (pid_t)pid);
	}
	if (dir)
		closedir(dir);
}

void slots_clean(const struct slots *slots)
{
	if (slots->start_dir[0])
		clean_dir(slots, slots->start_dir);
	for (size_t i = 0; i < SLOTS_RECENT_MAX; i++)
		if (slots->recent[i].pid && slots->recent[i].dir[0] && has_ended(slots->recent[i].pid))
			rundir_remove_sys(slots->recent[i].dir, slots->recent[i].pid);
}
