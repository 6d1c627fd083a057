/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of fault_test.c: the program itself, in a child process. */
#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "storage/admin.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "tests/fault/bodies.h"
#include "tests/fault/inject.h"
#include "tests/fault/points.h"

/* The program itself, to be called by tests. */
int ibwire_main(int argc, char **argv);
#define main ibwire_main
#include "cli/main.c"
#undef main

enum { WORDS_MOST = 24 };

struct model *model;
char *base;
size_t base_len;
char copy_path[96];
bool fault_clock_runs;
static bool is_command;
static time_t stopped_s;

static time_t time_of_model(void)
{
	return model ? model->wall_us / 1000000 + 7 : stopped_s;
}

/* The wall clock stands still, and for commands all clocks, so that two runs print the same times. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	time_t now = time_of_model();

	if (!now || (clock != CLOCK_REALTIME && (!is_command || fault_clock_runs)))
		return (int)syscall(SYS_clock_gettime, clock, ret);
	*ret = (struct timespec){ .tv_sec = now };
	return 0;
}

/* The server and the screen run /proc/self/exe: this program, which is a command then, at the same time. */
__attribute__((constructor)) static void become_command(int argc, char **argv)
{
	const char *now = getenv("IBWIRE_FAULT_NOW");

	if (!now)
		return;
	is_command = true;
	stopped_s = atoll(now);
	ibwire_main(argc, argv);
}

/* That of glibc 2.36 ends the process without memory (an assertion in nss_database.c). */
struct passwd *getpwuid(uid_t uid)
{
	static struct passwd user;
	static char name[] = "user";

	user = (struct passwd){ .pw_name = name, .pw_dir = name, .pw_uid = uid };
	return &user;
}

void fault_command(void *name)
{
	char chars[512], *argv[WORDS_MOST] = { (char[]){ "ibwire" } }, *save = NULL;
	int argc = 1;

	fault_pause();
	is_command = true;
	snprintf(chars, sizeof(chars), "%lld", (long long)time_of_model());
	setenv("IBWIRE_FAULT_NOW", chars, 1);
	snprintf(chars, sizeof(chars), "%s", (const char *)name);
	for (char *word = strtok_r(chars, "|", &save); word; word = strtok_r(NULL, "|", &save))
		argv[argc++] = !strcmp(word, "COPY") || !strcmp(word, "PAGE") ? copy_path :
			       !strcmp(word, "URL") ? fault_url :
			       !strcmp(word, "ADDRESS") ? fault_url + strlen("http://") : word;
	argv[argc++] = (char[]){ "--db" };
	argv[argc++] = path;
	fault_resume();
	ibwire_main(argc, argv);
}

void fault_renew(const char *bytes, size_t len)
{
	static const char *const of[] = { path, copy_path }, *const suffixes[] = { "", "-wal", "-shm", ".part" };
	char name[128];

	for (size_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%s%s", of[i / 4], suffixes[i % 4]);
		unlink(name);
	}
	if (bytes)
		test_file_write(path, bytes, len);
}

void fault_renew_database(void)
{
	fault_renew(base, base_len);
}

void fault_renew_database_and_log(void)
{
	static const char log[] =
		"node1:7:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:10.0.0.1<0>\n"
		"node1:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n"
		"node1:7:7 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n";

	fault_renew_database();
	test_file_write(copy_path, log, strlen(log));
}

/* Return: the name of a file that is not a part of the database, or NULL. */
static const char *other_file(void)
{
	static char name[256];
	DIR *dir = opendir(folder);
	bool found = false;

	for (struct dirent *entry; !found && (entry = readdir(dir));) {
		snprintf(name, sizeof(name), "%s", entry->d_name);
		found = name[0] != '.' && strncmp(name, "fabric.db", strlen("fabric.db")) != 0;
	}
	closedir(dir);
	return found ? name : NULL;
}

const char *fault_check_files(bool reported)
{
	static char *page;
	static size_t page_len;
	const char *other = other_file();
	uint64_t faults = 0;
	struct error err = { 0 };
	char *bytes;
	size_t len;

	if (admin_check(path, NULL, NULL, &faults, &err) < 0 || faults)
		return "the database is damaged";
	/* The file may be complete before the command fails. */
	if (reported && (!other || strcmp(other, "copy.db") != 0))
		return other;
	if (strstr(fault_current, "|COPY") && (admin_check(copy_path, NULL, NULL, &faults, &err) < 0 || faults))
		return "the copy is damaged";
	if (!strstr(fault_current, "|PAGE"))
		return NULL;
	bytes = test_file_read(copy_path, &len);
	if (fault_counting) {
		free(page);
		page = bytes;
		page_len = len;
		return NULL;
	}
	faults = len != page_len || memcmp(bytes, page, len) != 0;
	free(bytes);
	return faults ? "wrong content of the page" : NULL;
}
