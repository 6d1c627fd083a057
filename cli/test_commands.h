/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_commands.h - run commands over a database with known contents */
#ifndef IBWIRE_CLI_TEST_COMMANDS_H
#define IBWIRE_CLI_TEST_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct error;

/* How many sweeps of the model the database holds. */
enum { SWEEPS = 12 };

/* The truth, with its history; made and removed by a group's setup and teardown. */
extern struct model *model;
extern char db_path[80];
int make_database(void **state);
int remove_database(void **state);

/* Commands that follow go to another database (borrowed; NULL: the model's). */
void use_database(const char *other);

/*
 * Run a command; words are separated by '|' (names hold spaces). Return: its
 * exit code; @ret_output what it wrote, for free().
 */
int run(const char *line, char **ret_output, struct error *err);

/* A command line, its error code, and a part of its error. */
struct refused {
	const char *line;
	int code;
	const char *says;
};

/* assert_refused - each of @count lines fails with one error line and no output. */
void assert_refused(const struct refused *refused, size_t count);

/* run_json - the same with --format json; fails the test where the command does. */
json_t *run_json(const char *line);

/* Cells of a row. What is null is GUID 0 or integer -1. */
uint64_t guid_of(const json_t *row, const char *key);
int64_t integer_of(const json_t *row, const char *key);

/* unsigned_of - an integer, or its digits where it does not fit. */
uint64_t unsigned_of(const json_t *value);
bool list_has(const json_t *list, const char *word);

/* NULL and NAN: null is expected. */
void assert_text(const json_t *row, const char *key, const char *expected);
void assert_number(const json_t *row, const char *key, double expected);

/* find_row - of a node, or of its port (@port -1: any). NULL: there is none. */
const json_t *find_row(const json_t *rows, uint64_t guid, int64_t port);

#endif
