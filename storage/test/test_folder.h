/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_folder.h - a separate folder for each test, its database, and bytes of files (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_FOLDER_H
#define IBWIRE_STORAGE_TEST_FOLDER_H

#include <stddef.h>

/* Folder and database of the current test. */
extern char folder[64], path[80];

/* Set-up and tear-down of a test: create the folder, remove it with its content. */
int test_folder_make(void **state);
int test_folder_remove(void **state);

/* test_folder_for_nobody - open the folder to user 65534; skips the test if no child process can become that user. */
void test_folder_for_nobody(void);

/* test_folder_empty - remove the files of a folder. */
void test_folder_empty(const char *of);

/* test_folder_renew - change to a new, empty folder. */
void test_folder_renew(void);

/* TEST_IN_FOLDER - a test (base/unit_test.h) in a folder of its own. */
#define TEST_IN_FOLDER(name) TEST_WITH(name, test_folder_make, test_folder_remove)

/* test_file_read - all bytes of a file, with room for one more (caller frees). */
char *test_file_read(const char *of, size_t *ret_len);

/* test_file_write - create or replace a file. */
void test_file_write(const char *to, const char *bytes, size_t len);

/* test_file_copy - the same with the bytes of another file. */
void test_file_copy(const char *from, const char *to);

#endif
