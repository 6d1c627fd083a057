/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>
#include <cmocka.h>

char folder[64], path[80];

/* Maximum length of the temporary folder's path. */
enum { TEMPORARY_LENGTH = sizeof(folder) - sizeof("/ibwire-storage-XXXXXX") };

/* The folder of run-tests is in memory if possible. */
static const char *temporary(void)
{
	const char *given = getenv("TMPDIR");

	return given && *given && strlen(given) <= TEMPORARY_LENGTH ? given : "/tmp";
}

int test_folder_make(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%.*s/ibwire-storage-XXXXXX", TEMPORARY_LENGTH, temporary());
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fabric.db", folder);
	return 0;
}

void test_folder_for_nobody(void)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit(setgid(65534) < 0 || setuid(65534) < 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status) {
		print_message("# no permission to become another user\n");
		skip();
	}
	assert_int_equal(chmod(folder, 0755), 0);
}

void test_folder_empty(const char *of)
{
	DIR *dir = opendir(of);
	char name[512];

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		snprintf(name, sizeof(name), "%s/%s", of, entry->d_name);
		unlink(name); /* fails for . and .. */
	}
	if (dir)
		closedir(dir);
}

int test_folder_remove(void **state)
{
	(void)state;
	test_folder_empty(folder);
	rmdir(folder);
	return 0;
}

void test_folder_renew(void)
{
	test_folder_remove(NULL);
	test_folder_make(NULL);
}

char *test_file_read(const char *of, size_t *ret_len)
{
	FILE *file = fopen(of, "rb");
	char *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*ret_len = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*ret_len + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *ret_len, file), *ret_len);
	fclose(file);
	return bytes;
}

void test_file_write(const char *to, const char *bytes, size_t len)
{
	FILE *file = fopen(to, "wb");

	assert_non_null(file);
	assert_true(!len || fwrite(bytes, 1, len, file) == len); /* an empty file may have no bytes */
	assert_int_equal(fclose(file), 0);
}

void test_file_copy(const char *from, const char *to)
{
	size_t len;
	char *bytes = test_file_read(from, &len);

	test_file_write(to, bytes, len);
	free(bytes);
}
