/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lock_test.c - one collector per database, which readers cannot block */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "storage/file/lock.h"
#include "storage/file/schema.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/write/writer_internal.h"

TEST_IN_FOLDER(a_second_collector_is_refused_with_the_pid_of_the_first)
{
	struct writer *first = check_open_writer(path), *second = NULL;
	struct reader *reader = check_open_reader(path);
	struct db_status status;
	struct error err = { 0 };
	char pid[32];

	snprintf(pid, sizeof(pid), "process %lld;", (long long)getpid());
	assert_int_equal(writer_open(path, &second, &err), ERR_UNAVAILABLE);
	assert_null(second);
	check_error_line(&err, pid);
	assert_int_equal(reader_status(reader, &status, &err), 0);
	assert_true(status.live);
	assert_int_equal(status.collector_pid, getpid());
	assert_int_equal(status.schema_version, SCHEMA_VERSION);
	assert_int_equal(status.sweeps, 0);
	writer_close(first);
	assert_int_equal(reader_status(reader, &status, &err), 0);
	assert_false(status.live);
	assert_int_equal(status.collector_pid, 0);
	reader_close(reader);
	writer_close(check_open_writer(path));
}

/* Before it has created the database. */
TEST_IN_FOLDER(a_collector_that_starts_is_found)
{
	struct db_lock lock;

	assert_false(reader_has_collector(path));
	assert_int_equal(lock_take(path, &lock, NULL), 0);
	assert_true(reader_has_collector(path));
	lock_release(&lock);
	assert_false(reader_has_collector(path));
}

/* A user who cannot open PATH.lock. */
TEST_IN_FOLDER(a_collector_of_another_user_is_found)
{
	struct db_lock lock;
	int status;
	pid_t child;

	if (geteuid())
		skip();
	assert_int_equal(lock_take(path, &lock, NULL), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		int64_t pid = 0;

		if (setuid(65534) < 0)
			_exit(1);
		_exit(!lock_held(path, &pid) || pid != getppid());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	lock_release(&lock);
}

static const char *in_folder(const char *name)
{
	static char full[100];

	snprintf(full, sizeof(full), "%s/%s", folder, name);
	return full;
}

/* Open @where in another process as a collector. Return: the result. */
static int open_in_child(const char *where, struct error *ret)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct writer *writer;

		writer_open(where, &writer, ret);
		_exit(write(ends[1], ret, sizeof(*ret)) < 0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], ret, sizeof(*ret)), sizeof(*ret));
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return ret->code;
}

static void assert_second_refused(const char *where)
{
	struct error err = { 0 };
	struct reader *reader;
	struct db_status status;
	char pid[32];

	snprintf(pid, sizeof(pid), "process %lld;", (long long)getpid());
	assert_int_equal(open_in_child(where, &err), ERR_UNAVAILABLE);
	check_error_line(&err, pid);
	reader = check_open_reader(where);
	assert_int_equal(reader_status(reader, &status, &err), 0);
	assert_true(status.live);
	assert_int_equal(status.collector_pid, getpid());
	reader_close(reader);
}

TEST_IN_FOLDER(a_database_has_one_collector_under_all_its_symbolic_links)
{
	struct model *model = model_create(5, 1, 4, 2);
	struct writer *writer = check_open_writer(path);

	assert_int_equal(symlink("fabric.db", in_folder("symbolic.db")), 0);
	assert_second_refused(in_folder("symbolic.db"));
	assert_int_equal(writer_forget_fabric(writer, NULL), 0);
	assert_second_refused(path);
	writer_close(writer);
	/* With a symbolic link, the log is next to the file itself, and the file is renamed, not the link. */
	writer = check_open_writer(in_folder("symbolic.db"));
	check_store(writer, model_step(model));
	assert_int_equal(writer_forget_fabric(writer, NULL), 0);
	writer_close(writer);
	assert_int_equal(access(in_folder("symbolic.db-wal"), F_OK), -1);
	assert_int_equal(readlink(in_folder("symbolic.db"), (char[64]){ 0 }, 63), strlen("fabric.db"));
	model_destroy(model);
}

TEST_IN_FOLDER(a_second_collector_stores_nothing)
{
	struct model *model = model_create(5, 1, 4, 2);
	struct writer *writer = check_open_writer(path);
	struct error err = { 0 };

	check_store(writer, model_step(model));
	check_change(path, "CREATE TEMP TABLE one AS SELECT * FROM sweep; UPDATE one SET id = id + 1;"
			   "INSERT INTO sweep SELECT * FROM one");
	assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_UNAVAILABLE);
	check_error_line(&err, "another process stores sweeps");
	writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(a_reader_cannot_stop_a_collector)
{
	struct model *model = model_create(5, 1, 4, 2);
	struct error err = { 0 };
	struct writer *writer;
	struct stat st;
	char words[64];
	pid_t child;

	/* A lock file of an earlier version. */
	test_file_write(in_folder("fabric.db.lock"), "123\n", 4);
	assert_int_equal(chmod(in_folder("fabric.db.lock"), 0644), 0);
	writer_close(check_open_writer(path));
	assert_int_equal(stat(in_folder("fabric.db.lock"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	child = check_lock_in_child(path, 0);
	writer = check_open_writer(path);
	assert_second_refused(path);
	check_store(writer, model_step(model));
	check_end_child(child);
	writer_close(writer);
	/* A lock that was taken while the lock file was readable for all. */
	child = check_lock_in_child(in_folder("fabric.db.lock"), 0);
	assert_int_equal(writer_open(path, &writer, &err), ERR_UNAVAILABLE);
	snprintf(words, sizeof(words), "process %lld holds a read lock", (long long)child);
	check_error_line(&err, words);
	check_end_child(child);
	model_destroy(model);
}

TEST_IN_FOLDER(the_holder_of_a_lock_that_blocks_storing_is_reported)
{
	struct model *model = model_create(5, 1, 4, 2);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	struct db_status status;
	struct error err = { 0 };
	char holder[64];
	pid_t child;

	check_store(writer, model_step(model));
	/* Stop the compactor before fork(): its thread may hold a lock of SQLite; and do not wait for the lock. */
	writer_set_retention(writer, &(struct writer_retention){ 0 });
	sqlite3_busy_timeout(writer->db, 0);
	assert_int_equal(reader_status(reader, &status, NULL), 0);
	assert_false(status.store_blocked);
	child = check_lock_in_child(in_folder("fabric.db-shm"), 120);
	assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_IO);
	snprintf(holder, sizeof(holder), "locked by process %lld,", (long long)child);
	check_error_line(&err, holder);
	assert_int_equal(reader_status(reader, &status, NULL), 0);
	assert_true(status.store_blocked);
	assert_int_equal(status.blocker_pid, child);
	check_end_child(child);
	assert_int_equal(reader_status(reader, &status, NULL), 0);
	assert_false(status.store_blocked);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

static void *open_and_close(void *ctx)
{
	atomic_bool *ends = ctx;

	while (!*ends)
		close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	return NULL;
}

/* ThreadSanitizer reports what two threads do with one descriptor. */
TEST_IN_FOLDER(a_probe_uses_no_descriptor_of_another_thread)
{
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	struct db_status status;
	atomic_bool ends = false;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, open_and_close, &ends), 0);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(reader_status(reader, &status, NULL), 0);
		assert_true(status.live && !status.store_blocked);
	}
	ends = true;
	pthread_join(thread, NULL);
	reader_close(reader);
	writer_close(writer);
}

/* The folder may be another user's. */
TEST_IN_FOLDER(a_lock_file_that_is_a_link_is_rejected_and_its_target_unchanged)
{
	struct writer *writer = NULL;
	struct error err = { 0 };
	struct stat st;

	for (int kind = 0; kind < 3; kind++) {
		size_t len;
		char *bytes;

		test_file_write(in_folder("victim"), "precious", 8);
		assert_int_equal(chmod(in_folder("victim"), 0644), 0);
		if (kind == 0) {
			assert_int_equal(symlink("victim", in_folder("fabric.db.lock")), 0);
		} else if (kind == 1) {
			char victim[100];

			snprintf(victim, sizeof(victim), "%s", in_folder("victim"));
			assert_int_equal(link(victim, in_folder("fabric.db.lock")), 0);
		} else {
			assert_int_equal(mkfifo(in_folder("fabric.db.lock"), 0600), 0);
		}
		assert_int_equal(writer_open(path, &writer, &err), ERR_IO);
		check_error_line(&err, "not a regular file");
		assert_int_equal(stat(in_folder("victim"), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0644);
		bytes = test_file_read(in_folder("victim"), &len);
		assert_int_equal(len, 8);
		free(bytes);
		assert_int_equal(unlink(in_folder("fabric.db.lock")), 0);
	}
}
