/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/slots.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim/ibsim/console.h"
#include "sim/rundir.h"

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
