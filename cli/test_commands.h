/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_commands.h - run commands over a database with known contents */
#ifndef IBWIRE_CLI_TEST_COMMANDS_H
#define IBWIRE_CLI_TEST_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct error;

/* Number of sweeps in the database. */
enum { SWEEPS = 12 };

/* The model of the database; created and removed by the setup and teardown of a group. */
extern struct model *model;
extern char db_path[80];
int make_database(void **state);
int remove_database(void **state);

/* Use another database for the following commands (borrowed; NULL: that of the model). */
void use_database(const char *other);

/* Run a command; words are separated by '|'. @ret_output: its output, for free(). Return: its code. */
int run(const char *line, char **ret_output, struct error *err);

/* run_text - the output of a command without an error, for free(). */
char *run_text(const char *line);

/* assert_shows - the output of a command without an error contains a text. */
void assert_shows(const char *line, const char *text);

/* A command line, its error code, and a part of its error. */
struct refused {
	const char *line;
	int code;
	const char *error;
};

/* assert_refused - each of the lines, { line, code, error }, fails with one error line and no output. */
#define assert_refused(...) assert_all_refused((const struct refused[]){ __VA_ARGS__, { 0 } })
void assert_all_refused(const struct refused *refused);

/* run_json - the same with --format json; the test fails if the command fails. */
json_t *run_json(const char *line);

/* Cells of a row; null is GUID 0 or integer -1. */
uint64_t guid_of(const json_t *row, const char *key);
int64_t integer_of(const json_t *row, const char *key);

/* unsigned_of - an integer, or a string of digits. */
uint64_t unsigned_of(const json_t *value);
bool list_has(const json_t *list, const char *word);

/* NULL and NAN: null is expected. */
void assert_text(const json_t *row, const char *key, const char *expected);
void assert_number(const json_t *row, const char *key, double expected);

/* find_row - the row of a node or port (@port -1: any), or NULL. */
const json_t *find_row(const json_t *rows, uint64_t guid, int64_t port);

#endif
