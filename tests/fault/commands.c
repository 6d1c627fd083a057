/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of fault_test.c: the program itself, in a child process. */
#include <dirent.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/map.h"
#include "storage/admin.h"
#include "storage/admin/catalog.h"
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
	/*
	 * SQLite's temporary files are there too: the seed below gives them the same names in each run, and SQLite
	 * gives up after 12 that exist because unlink() failed.
	 */
	sqlite3_free(sqlite3_temp_directory);
	sqlite3_temp_directory = sqlite3_mprintf("%s", folder);
	test_folder_empty(folder);
	if (bytes)
		test_file_write(path, bytes, len);
	/* The child inherits it: without a fault, each run writes the same log. */
	sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 1, NULL);
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

/*
 * The name of a file that is neither a part of the database nor what the command writes, or NULL. SQLite
 * ignores that it cannot remove the index of a log, which has no data.
 */
static const char *other_file(void)
{
	static char name[256];
	DIR *dir = opendir(folder);
	bool found = false;

	for (struct dirent *entry; !found && (entry = readdir(dir));) {
		snprintf(name, sizeof(name), "%s", entry->d_name);
		found = name[0] != '.' && strncmp(name, "fabric.db", strlen("fabric.db")) != 0 &&
			strcmp(name, strrchr(copy_path, '/') + 1) != 0 && !strstr(name, "-shm");
	}
	closedir(dir);
	return found ? name : NULL;
}

uint64_t fault_hash(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = map_mix(hash ^ word);
	}
	while (len)
		hash = map_mix(hash ^ at[--len]);
	return hash;
}

/* Return: 0: there is no such file. */
static uint64_t hash_file(const char *of)
{
	size_t len;
	char *bytes;
	uint64_t hash;

	if (access(of, F_OK) < 0)
		return 0;
	bytes = test_file_read(of, &len);
	hash = fault_hash(len + 1, bytes, len);
	free(bytes);
	return hash;
}

bool fault_was_checked(uint64_t result)
{
	static struct map checked;
	uint64_t hash = fault_hash(result, fault_current, strlen(fault_current));
	char log[128];
	uint32_t seen;

	if (fault_counting)
		return false;
	snprintf(log, sizeof(log), "%s-wal", path);
	hash = map_mix(map_mix(map_mix(hash ^ hash_file(path)) ^ hash_file(log)) ^ hash_file(copy_path));
	if (map_get(&checked, hash, &seen))
		return true;
	assert_int_equal(map_put(&checked, hash, 0), 0);
	return false;
}

/* All rows of a database, in any order. Of a copy with random GUIDs and names only the types of the values count. */
static uint64_t hash_rows(const char *of, bool types_only)
{
	uint64_t sum = 0;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(of, &db), SQLITE_OK);
	for (size_t i = 0; i < catalog_table_count; i++) {
		char sql[96];
		sqlite3_stmt *row;

		snprintf(sql, sizeof(sql), "SELECT * FROM %s", catalog_tables[i].name);
		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
		while (sqlite3_step(row) == SQLITE_ROW) {
			uint64_t hash = i;

			for (int c = 0; c < sqlite3_column_count(row); c++) {
				hash = map_mix(hash ^ (uint64_t)sqlite3_column_type(row, c));
				if (!types_only)
					hash = fault_hash(hash, sqlite3_column_blob(row, c),
							  (size_t)sqlite3_column_bytes(row, c));
			}
			sum += map_mix(hash);
		}
		assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
	}
	sqlite3_close(db);
	return sum;
}

struct contents {
	uint64_t database, file; /* file: 0: absent */
};

static struct contents hash_contents(void)
{
	struct contents contents = { hash_rows(path, false), 0 };

	contents.file = hash_file(copy_path);
	if (contents.file && strstr(fault_current, "|COPY"))
		contents.file = hash_rows(copy_path, strstr(fault_current, "--anonymise") != NULL);
	return contents;
}

static bool same(const struct contents *a, const struct contents *b)
{
	return a->database == b->database && a->file == b->file;
}

const char *fault_check_files(bool failed)
{
	static struct contents before, after;
	struct contents now;
	const char *other = other_file();
	uint64_t faults = 0;
	struct error err = { 0 };

	if (other)
		return other;
	if (fault_was_checked(failed))
		return NULL;
	if (admin_check(path, NULL, NULL, &faults, &err) < 0 || faults)
		return "the database is damaged";
	if (strstr(fault_current, "|COPY") && access(copy_path, F_OK) == 0 &&
	    (admin_check(copy_path, NULL, NULL, &faults, &err) < 0 || faults))
		return "the copy is damaged";
	now = hash_contents();
	if (fault_counting) {
		after = now;
		fault_renew_database();
		before = hash_contents();
		return NULL;
	}
	/* It may be complete before the command fails. */
	if (failed && same(&now, &before)) {
		if (fault_repeat(fault_command))
			return "the next attempt fails";
		now = hash_contents();
	}
	return same(&now, &after) ? NULL : "wrong content";
}
