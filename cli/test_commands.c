/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/test_commands.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "cli/command.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { WORDS_MOST = 16 };

static char own_folder[sizeof(folder)]; /* a test of the group may have another one meanwhile */
static const char *other_path;
char db_path[sizeof(path)];
struct model *model;

int make_database(void **state)
{
	struct writer *writer;

	(void)state;
	/* Independent of files on this machine. */
	unsetenv("IBWIRE_DB");
	test_folder_make(NULL);
	memcpy(own_folder, folder, sizeof(folder));
	memcpy(db_path, path, sizeof(path));
	model = model_create(7, 6, 12, 20);
	model->keep_history = true;
	if (writer_open(db_path, &writer, NULL) < 0)
		return -1;
	for (int i = 0; i < SWEEPS; i++)
		if (writer_sink(writer)->store(writer_sink(writer)->ctx, model_step(model), NULL) < 0)
			return -1;
	writer_close(writer);
	return 0;
}

int remove_database(void **state)
{
	(void)state;
	model_destroy(model);
	memcpy(folder, own_folder, sizeof(folder));
	return test_folder_remove(NULL);
}

void use_database(const char *other)
{
	other_path = other;
}

int run(const char *line, char **ret_output, struct error *err)
{
	FILE *output = tmpfile();
	char *words = strdup(line), *word, *save = NULL, *argv[WORDS_MOST];
	int argc = 0, before = dup(STDOUT_FILENO), code;
	const struct command *command;
	long len;

	for (word = strtok_r(words, "|", &save); word && argc < WORDS_MOST - 3; word = strtok_r(NULL, "|", &save))
		argv[argc++] = word;
	argv[argc++] = (char[]){ "--db" };
	argv[argc++] = other_path ? (char *)other_path : db_path;
	argv[argc] = NULL;
	command = command_find(argv[0]);
	assert_non_null(command);
	fflush(stdout);
	dup2(fileno(output), STDOUT_FILENO);
	code = command->run(command, argc, argv, err);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	free(words);
	fseek(output, 0, SEEK_END);
	len = ftell(output);
	rewind(output);
	*ret_output = calloc(1, (size_t)len + 1);
	assert_int_equal(fread(*ret_output, 1, (size_t)len, output), len);
	fclose(output);
	return code;
}

char *run_text(const char *line)
{
	struct error err = { 0 };
	char *output;

	if (run(line, &output, &err) < 0)
		fail_msg("%s: %s", line, err.text);
	return output;
}

void assert_shows(const char *line, const char *text)
{
	char *output = run_text(line);

	if (!strstr(output, text))
		fail_msg("%s: no '%s' in: %s", line, text, output);
	free(output);
}

void assert_all_refused(const struct refused *refused)
{
	for (; refused->line; refused++) {
		struct error err = { 0 };
		char *output;
		int code = run(refused->line, &output, &err);

		if (code != refused->code || *output || !*err.text || strchr(err.text, '\n') ||
		    !strstr(err.text, refused->error))
			fail_msg("%s: %d \"%s\", \"%s\"", refused->line, code, err.text, output);
		free(output);
	}
}

json_t *run_json(const char *line)
{
	char *output, with_format[512];
	json_t *json;

	snprintf(with_format, sizeof(with_format), "%s|--format|json", line);
	output = run_text(with_format);
	json = json_loads(output, 0, NULL);
	assert_non_null(json);
	free(output);
	return json;
}

uint64_t guid_of(const json_t *row, const char *key)
{
	const json_t *guid = json_object_get(row, key);

	assert_true(json_is_string(guid) || json_is_null(guid));
	return json_is_string(guid) ? strtoull(json_string_value(guid), NULL, 16) : 0;
}

int64_t integer_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	assert_true(json_is_integer(value) || json_is_null(value));
	return json_is_integer(value) ? json_integer_value(value) : -1;
}

void assert_text(const json_t *row, const char *key, const char *expected)
{
	const json_t *value = json_object_get(row, key);

	if (expected)
		assert_string_equal(json_string_value(value), expected);
	else
		assert_true(json_is_null(value));
}

void assert_number(const json_t *row, const char *key, double expected)
{
	const json_t *value = json_object_get(row, key);

	if (isnan(expected))
		assert_true(json_is_null(value));
	else
		assert_true(fabs(json_number_value(value) - expected) <= 1e-9 * fabs(expected));
}

uint64_t unsigned_of(const json_t *value)
{
	if (json_is_string(value))
		return strtoull(json_string_value(value), NULL, 10);
	return (uint64_t)json_integer_value(value);
}

bool list_has(const json_t *list, const char *word)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(json_string_value(json_array_get(list, i)), word))
			return true;
	return false;
}

const json_t *find_row(const json_t *rows, uint64_t guid, int64_t port)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (guid_of(row, "node_guid") == guid && (port < 0 || integer_of(row, "port") == port))
			return row;
	}
	return NULL;
}
