/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* new_file_test.c - files are complete or unchanged */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/new_file.h"
#include "base/text.h"

#define UNIT_TEST_SETUP enter
#define UNIT_TEST_TEARDOWN leave
#include "base/unit_test.h"

static char folder[] = "/tmp/ibwire-new-file.XXXXXX";

int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

int leave(void **state)
{
	(void)state;
	return chdir("/") || rmdir(folder);
}

static void check_content(const char *path, const char *wanted, mode_t mode)
{
	struct text text = { 0 };
	struct stat st;

	assert_int_equal(text_read_file(path, "", 1000, &text, NULL), 0);
	assert_string_equal(text_chars(&text), wanted);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	text_done(&text);
}

/* Return: that of new_file_end(). */
static int write_file(const char *path, bool is_private, const char *content, int code, struct error *err)
{
	struct new_file file;
	int result = new_file_open(path, is_private, &file, err);

	if (result < 0)
		return result;
	fputs(content, file.stream);
	return new_file_end(&file, code, err);
}

static void check_line(const struct error *err, const char *part)
{
	if (!strstr(err->text, part) || strchr(err->text, '\n'))
		fail_msg("'%s' is not in: %s", part, err->text);
}

TEST(a_file_is_replaced_when_it_is_complete)
{
	umask(022);
	assert_int_equal(write_file("report", false, "first", 0, NULL), 0);
	check_content("report", "first", 0644);
	assert_int_equal(write_file("report", false, "half", ERR_NOMEM, NULL), ERR_NOMEM);
	check_content("report", "first", 0644);
	assert_int_equal(chmod("report", 0640), 0);
	assert_int_equal(write_file("report", false, "second", 0, NULL), 0);
	check_content("report", "second", 0640);
	assert_int_equal(write_file("report", true, "secret", 0, NULL), 0);
	check_content("report", "secret", 0600);
	/* A link stays one. */
	assert_int_equal(symlink("report", "link"), 0);
	assert_int_equal(write_file("link", true, "third", 0, NULL), 0);
	check_content("report", "third", 0600);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(unlink("report"), 0);
}

TEST(a_process_that_was_killed_leaves_no_file_beside_a_locked_one)
{
	struct new_file file;
	struct error err = { 0 };

	for (int i = 0; i < 2; i++) {
		assert_int_equal(new_file_open_locked("state", &file, &err), 0);
		/* As a process that is killed. */
		if (i == 0) {
			fclose(file.stream);
			free(file.path);
			free(file.part);
		}
	}
	fputs("whole", file.stream);
	assert_int_equal(new_file_end(&file, 0, &err), 0);
	check_content("state", "whole", 0600);
	assert_int_equal(unlink("state"), 0);
	/* The folder must be empty at the end of the tests. */
}

TEST(a_failure_leaves_the_old_file)
{
	struct error err;

	assert_int_equal(write_file("missing/report", false, "x", 0, &err), ERR_IO);
	check_line(&err, "cannot write missing/report: No such file or directory");
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(write_file("pipe", false, "x", 0, &err), ERR_IO);
	check_line(&err, "cannot write pipe: no process reads this pipe");
	assert_int_equal(unlink("pipe"), 0);
	assert_int_equal(write_file("/dev/full", false, "x", 0, &err), ERR_IO);
	check_line(&err, "cannot write /dev/full: No space left on device");
	/* What the shell has opened is not replaced, nor what it has written. */
	assert_int_equal(write_file("log", false, "before ", 0, &err), 0);
	assert_int_equal(dup2(open("log", O_WRONLY | O_APPEND), 77), 77);
	assert_int_equal(write_file("/dev/fd/77", false, "after", 0, &err), 0);
	check_content("log", "before after", 0644);
	assert_int_equal(close(77), 0);
	assert_int_equal(unlink("log"), 0);
	assert_int_equal(write_file("/dev/null", true, "x", 0, &err), 0);
	assert_int_equal(access("/dev/null", W_OK), 0);
}
