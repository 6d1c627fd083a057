/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_folder.h - a folder of its own for each test, the database in it, and bytes of files (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_FOLDER_H
#define IBWIRE_STORAGE_TEST_FOLDER_H

#include <stddef.h>

/* Of the test that runs: its folder, and the file in it that is its database. */
extern char folder[64], path[80];

/* Set-up and tear-down of a test (cmocka's state is not used): makes the folder, and removes it with what is in it. */
int test_folder_make(void **state);
int test_folder_remove(void **state);

/* test_folder_renew - another folder, empty, for the next round of a test. */
void test_folder_renew(void);

/* TEST_IN_FOLDER - a test of cmocka's table that runs in a folder of its own. */
#define TEST_IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, test_folder_make, test_folder_remove)

/* test_file_read - all bytes of a file (caller frees). */
char *test_file_read(const char *of, size_t *ret_len);

/* test_file_write - a file of these bytes, whatever was there. */
void test_file_write(const char *to, const char *bytes, size_t len);

#endif
