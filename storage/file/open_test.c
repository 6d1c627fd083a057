/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* open_test.c - which files are opened, by which users, and which are rejected unchanged */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "storage/reader.h"
#include "storage/file/schema.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static size_t files_in_folder(void)
{
	size_t count = 0;
	DIR *dir = opendir(folder);

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* Reader and writer reject the file with @word in the error, and change nothing but the lock file. */
static void assert_refused_untouched(const char *word, bool lock_allowed)
{
	struct reader *reader = NULL;
	struct writer *writer = NULL;
	struct error err = { 0 };
	size_t before_len, after_len, files = files_in_folder();
	char *before = test_file_read(path, &before_len), *after, lock[100];

	assert_int_equal(writer_open(path, &writer, &err), ERR_IO);
	assert_null(writer);
	check_error_line(&err, word);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	if (lock_allowed)
		unlink(lock);
	assert_int_equal(files_in_folder(), files);
	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	assert_null(reader);
	check_error_line(&err, word);
	after = test_file_read(path, &after_len);
	assert_int_equal(after_len, before_len);
	assert_memory_equal(after, before, before_len);
	free(before);
	free(after);
}

TEST_IN_FOLDER(a_file_of_another_kind_is_unchanged)
{
	static const char text[] = "Dear diary, today I did not back up anything. That was a mistake.\n"
				   "More than a hundred bytes of it, so that there could be a header.";

	test_file_write(path, text, strlen(text));
	assert_refused_untouched("not an ibwire database", false);
	test_file_write(path, "short", 5);
	assert_refused_untouched("not an ibwire database", false);
}

TEST_IN_FOLDER(a_database_of_another_program_is_unchanged)
{
	check_change(path, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
	assert_refused_untouched("another program", false);
	unlink(path);
	check_change(path, "PRAGMA journal_mode = WAL; PRAGMA application_id = 99; CREATE TABLE delta (x)");
	assert_refused_untouched("another program", false);
}

static void store_some(const char *where, size_t sweeps)
{
	struct writer *writer = check_open_writer(where);
	struct model *model = model_create(5, 2, 8, 6);

	check_store_steps(writer, model, sweeps);
	writer_close(writer);
	model_destroy(model);
}

/* As if the file had been copied alone: without the log and its index. */
static void forget_log(void)
{
	char name[100];

	snprintf(name, sizeof(name), "%s-wal", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s-shm", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s.lock", path);
	unlink(name);
}

TEST_IN_FOLDER(a_newer_database_is_unchanged)
{
	size_t len;
	char *bytes;

	store_some(path, 3);
	forget_log();
	bytes = test_file_read(path, &len);
	bytes[63] = SCHEMA_VERSION + 1;
	test_file_write(path, bytes, len);
	free(bytes);
	assert_refused_untouched("newer or unreleased ibwire", false);
}

TEST_IN_FOLDER(a_truncated_database_is_unchanged)
{
	size_t len;
	char *bytes;

	store_some(path, 20);
	forget_log();
	bytes = test_file_read(path, &len);
	test_file_write(path, bytes, len / 2);
	assert_refused_untouched("damaged", true);
	/* The header only. */
	memset(bytes + 100, 0xa5, len - 100);
	test_file_write(path, bytes, len);
	assert_refused_untouched("damaged", true);
	free(bytes);
}

TEST_IN_FOLDER(what_is_no_file_is_rejected)
{
	struct writer *writer = NULL;
	struct reader *reader = NULL;
	struct error err = { 0 };

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(writer_open(path, &writer, &err), ERR_IO);
	check_error_line(&err, "not a regular file");
	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(writer_open(path, &writer, &err), ERR_IO);
	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	assert_int_equal(reader_open("/nonexistent/fabric.db", &reader, &err), ERR_UNAVAILABLE);
	check_error_line(&err, "collect");
	assert_int_equal(writer_open("/nonexistent/fabric.db", &writer, &err), ERR_IO);
	check_error_line(&err, "/nonexistent");
}

/* A collector in a child stores five sweeps and is killed: they are in the log only. */
static void store_and_be_killed(struct model *model)
{
	struct writer *writer;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		if (writer_open(path, &writer, NULL) < 0)
			_exit(1);
		for (int i = 0; i < 5; i++)
			writer_sink(writer)->store(writer, model_step(model), NULL);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

TEST_IN_FOLDER(the_log_of_a_removed_database_is_not_recovered_into_a_new_one)
{
	struct model *model = model_create(9, 1, 4, 2);
	struct reader *reader;
	struct writer *writer;
	int64_t newest = -1;

	store_and_be_killed(model);
	assert_int_equal(unlink(path), 0);
	writer = check_open_writer(path);
	reader = check_open_reader(path);
	assert_int_equal(reader_newest(reader, &newest, NULL), 0);
	assert_int_equal(newest, 0);
	check_store(writer, model_step(model));
	reader_close(reader);
	writer_close(writer);
	check_integrity(path);
	model_destroy(model);
}

/* Read as user "nobody", in a child. Return: 0 if that succeeded. */
static int read_as_nobody(int64_t sweeps, bool live)
{
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		struct snapshot_query query = { .absolute = true };
		struct snapshot *snapshot = NULL;
		struct reader *reader = NULL;
		struct db_status found;
		struct error err = { 0 };

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(90);
		if (reader_open(path, &reader, &err) < 0 || reader_status(reader, &found, &err) < 0 ||
		    snapshot_load(reader, &query, &snapshot, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			_exit(strstr(err.text, "-shm is missing") && strstr(err.text, "ibwire status --db ") ? 94 :
			      strstr(err.text, "-wal: Permission denied") ? 95 : 91);
		}
		if (found.sweeps != sweeps || snapshot->sweep.id != sweeps)
			_exit(92);
		if (found.live != live)
			_exit(93);
		snapshot_destroy(snapshot);
		reader_close(reader);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_IN_FOLDER(users_without_write_access_can_read)
{
	struct model *model;
	struct writer *writer;
	char log[100], index[100];

	test_folder_for_nobody();
	model = model_create(5, 2, 8, 6);
	writer = check_open_writer(path);
	check_store_steps(writer, model, 5);
	/* Stop the compactor before fork(): its thread may hold a lock of SQLite. */
	writer_set_retention(writer, &(struct writer_retention){ 0 });
	assert_int_equal(read_as_nobody(5, true), 0);
	writer_close(writer);
	/* The log remains: a reader without it would open the file as immutable and miss the next collector. */
	snprintf(log, sizeof(log), "%s-wal", path);
	assert_int_equal(access(log, F_OK), 0);
	assert_int_equal(read_as_nobody(5, false), 0);
	assert_int_equal(access(log, F_OK), 0);
	store_and_be_killed(model);
	assert_int_equal(read_as_nobody(10, false), 0);
	/* The log cannot be read without its index, nor without permission. */
	snprintf(index, sizeof(index), "%s-shm", path);
	unlink(index);
	assert_int_equal(read_as_nobody(10, false), 94);
	reader_close(check_open_reader(path));
	assert_int_equal(read_as_nobody(10, false), 0);
	assert_int_equal(chmod(log, 0600), 0);
	assert_int_equal(read_as_nobody(10, false), 95);
	assert_int_equal(chmod(log, 0644), 0);
	/* A copy of the file alone. */
	writer_close(check_open_writer(path));
	forget_log();
	assert_int_equal(read_as_nobody(10, false), 0);
	model_destroy(model);
}

TEST_IN_FOLDER(another_fabric_is_refused_until_the_old_file_is_renamed)
{
	struct model *model = model_create(5, 2, 8, 6);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	const struct sweep *sweep = model_step(model);
	struct fabric *other = fabric_create(NULL);
	struct node node = { .guid = 0xabcdef, .type = NODE_SWITCH, .port_count = 1 };
	struct error err = { 0 };
	int64_t newest = 0;

	assert_true(fabric_add_node(other, &node, NULL) == 0);
	/* This host's own HCA, which is ignored. */
	node = sweep->fabric->nodes[0];
	for (size_t i = 0; i < sweep->fabric->node_count; i++)
		if (sweep->fabric->nodes[i].type == NODE_CA)
			node = sweep->fabric->nodes[i];
	assert_true(fabric_add_node(other, &node, NULL) == 1);
	other->from_node = 1;
	assert_int_equal(fabric_finish(other, NULL, NULL), 0);
	assert_int_equal(writer_check_fabric(writer, other, &err), 0);
	check_store(writer, sweep);
	assert_int_equal(writer_check_fabric(writer, sweep->fabric, &err), 0);
	assert_int_equal(writer_check_fabric(writer, other, &err), ERR_UNAVAILABLE);
	check_error_line(&err, "--new-fabric");
	assert_int_equal(writer_forget_fabric(writer, &err), 0);
	assert_int_equal(writer_check_fabric(writer, other, &err), 0);
	/* An open reader switches to the new file. */
	assert_int_equal(reader_newest(reader, &newest, &err), 0);
	assert_int_equal(newest, 0);
	check_store(writer, model_step(model));
	assert_int_equal(reader_newest(reader, &newest, &err), 0);
	assert_int_equal(newest, 1);
	reader_close(reader);
	writer_close(writer);
	fabric_destroy(other);
	model_destroy(model);
	check_integrity(path);
	for (DIR *dir = opendir(folder); dir; dir = NULL) {
		struct dirent *entry;
		bool found = false;

		while ((entry = readdir(dir)))
			found = found || strncmp(entry->d_name, "fabric.db.old-", 14) == 0;
		closedir(dir);
		assert_true(found);
	}
}

TEST_IN_FOLDER(a_removed_file_is_detected)
{
	struct model *model = model_create(5, 1, 4, 2);
	struct writer *writer = check_open_writer(path);
	struct error err = { 0 };

	check_store(writer, model_step(model));
	unlink(path);
	assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_IO);
	check_error_line(&err, "moved or removed");
	writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(the_default_path_is_the_documented_one)
{
	char found[4096], expected[128];

	setenv("IBWIRE_DB", "/some/where.db", 1);
	assert_int_equal(storage_default_path(true, found, sizeof(found), NULL), 0);
	assert_string_equal(found, "/some/where.db");
	unsetenv("IBWIRE_DB");
	setenv("XDG_STATE_HOME", folder, 1);
	if (access("/var/lib/ibwire", F_OK) == 0)
		return; /* this host has a system-wide database */
	assert_int_equal(storage_default_path(false, found, sizeof(found), NULL), 0);
	snprintf(expected, sizeof(expected), "%s/ibwire/fabric.db", folder);
	assert_string_equal(found, expected);
	snprintf(expected, sizeof(expected), "%s/ibwire", folder);
	assert_int_not_equal(access(expected, F_OK), 0);
	assert_int_equal(storage_default_path(true, found, sizeof(found), NULL), 0);
	assert_int_equal(access(expected, W_OK), 0);
	rmdir(expected);
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "/home/x", 1);
	assert_int_equal(storage_default_path(false, found, sizeof(found), NULL), 0);
	assert_string_equal(found, "/home/x/.local/state/ibwire/fabric.db");
	unsetenv("HOME");
	assert_int_equal(storage_default_path(false, found, sizeof(found), NULL), ERR_IO);
}

/* The text between two strings of the manual, or NULL. */
static char *section_of(const char *manual, const char *table)
{
	char begin[80];
	const char *at, *end;

	snprintf(begin, sizeof(begin), "\n.Ss %s\n", table);
	at = strstr(manual, begin);
	end = at ? strstr(at, "\n.El\n") : NULL;
	return end ? strndup(at, (size_t)(end - at)) : NULL;
}

TEST_IN_FOLDER(the_manual_describes_each_column_of_its_tables)
{
	const char *source = getenv("IBWIRE_SRCDIR");
	static char manual[100000];
	char name[512], item[80];
	int tables = 0, columns = 0;
	sqlite3_stmt *rows;
	sqlite3 *db;
	FILE *file;

	if (!source) {
		print_message("skipped: IBWIRE_SRCDIR is not set\n");
		skip();
	}
	snprintf(name, sizeof(name), "%s/man/ibwire-storage.5", source);
	file = fopen(name, "rb");
	assert_non_null(file);
	manual[fread(manual, 1, sizeof(manual) - 1, file)] = '\0';
	fclose(file);
	writer_close(check_open_writer(path));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT m.name, c.name, c.name IN (SELECT key FROM counter UNION ALL"
					    " SELECT key FROM detail_counter), c.cid = 0"
					    " FROM sqlite_schema m, pragma_table_info(m.name) c"
					    " WHERE m.type = 'table'", -1, &rows, NULL), SQLITE_OK);
	while (sqlite3_step(rows) == SQLITE_ROW) {
		char *section = section_of(manual, (const char *)sqlite3_column_text(rows, 0));

		if (!section)
			continue;
		tables += sqlite3_column_int(rows, 3);
		columns++;
		snprintf(item, sizeof(item), "\n.It %s\n", (const char *)sqlite3_column_text(rows, 1));
		if (!sqlite3_column_int(rows, 2) && !strstr(section, item))
			fail_msg("%s.%s is not in the manual", (const char *)sqlite3_column_text(rows, 0),
				 (const char *)sqlite3_column_text(rows, 1));
		free(section);
	}
	assert_true(tables >= 29);
	assert_true(columns > 200);
	sqlite3_finalize(rows);
	sqlite3_close(db);
}
