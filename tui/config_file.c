/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/new_file.h"
#include "base/text.h"

/* Maximum size of the file. */
#define FILE_SIZE_MOST 65536

static bool is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-_");

	return len && !name[len] && len < CONFIG_NAME_SIZE;
}

/* Valid UTF-8 without control characters, and without blanks at the ends. */
static bool is_value(const char *value)
{
	size_t len = strlen(value);
	char clean[CONFIG_VALUE_SIZE];

	if (len >= CONFIG_VALUE_SIZE)
		return false;
	text_sanitise(value, len, clean, sizeof(clean));
	return !strcmp(clean, value);
}

static struct config_pair *find(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->count; i++)
		if (!strcmp(config->pairs[i].name, name))
			return (struct config_pair *)&config->pairs[i];
	return NULL;
}

static bool set(struct config *config, const char *name, const char *value)
{
	struct config_pair *pair = find(config, name);

	if (!is_name(name) || !is_value(value) || (!pair && config->count == CONFIG_MOST))
		return false;
	if (!pair)
		pair = &config->pairs[config->count++];
	snprintf(pair->name, sizeof(pair->name), "%s", name);
	snprintf(pair->value, sizeof(pair->value), "%s", value);
	return true;
}

/* Remove blanks at both ends, in place. */
static char *trim(char *text)
{
	text += strspn(text, " \t\r");
	for (size_t len = strlen(text); len && strchr(" \t\r", text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

void config_put(struct config *config, const char *name, const char *value)
{
	char text[CONFIG_VALUE_SIZE + 1];

	if (snprintf(text, sizeof(text), "%s", value) < (int)sizeof(text))
		set(config, name, trim(text));
}

const char *config_get(const struct config *config, const char *name)
{
	const struct config_pair *pair = find(config, name);

	return pair ? pair->value : NULL;
}

/* Parse one line without its end. Return: whether it is valid. */
static bool parse_line(struct config *config, char *line)
{
	char *equals;

	line = trim(line);
	if (!*line || *line == '#')
		return true;
	equals = strchr(line, '=');
	if (!equals)
		return false;
	*equals = '\0';
	return set(config, trim(line), trim(equals + 1));
}

/* Add the pairs of all lines. */
static int parse_lines(struct config *config, FILE *file, const char *path, struct error *err)
{
	char *line = NULL;
	size_t size = 0, number = 0, wrong = 0;

	for (ssize_t len; (len = getline(&line, &size, file)) >= 0;) {
		line[strcspn(line, "\n")] = '\0';
		number++;
		/* A NUL in the line: it is not text. */
		if ((strlen(line) + 1 < (size_t)len || !parse_line(config, line)) && !wrong)
			wrong = number;
	}
	free(line);
	if (wrong)
		return err_set(err, ERR_USAGE, "ignored: line %zu is not \"name = value\" (%.200s)", wrong, path);
	return 0;
}

int config_read(struct config *config, const char *path, struct error *err)
{
	/* Not blocking, in case the file is a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;
	struct stat st;
	FILE *file;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		status = err_set(err, ERR_IO, "ignored: %s (%.200s)", strerror(errno), path);
		if (fd >= 0)
			close(fd);
		return status;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		status = err_set(err, ERR_IO, "ignored: not a regular file (%.200s)", path);
	else if (st.st_size > FILE_SIZE_MOST)
		status = err_set(err, ERR_USAGE, "ignored: file too long (%.200s)", path);
	else
		status = parse_lines(config, file, path, err);
	fclose(file);
	return status;
}

bool config_update(struct config *config, const struct config *before, const struct config *now)
{
	bool any = false;

	for (size_t i = 0; i < now->count; i++) {
		const struct config_pair *pair = &now->pairs[i];
		const char *old = config_get(before, pair->name);

		if (old && !strcmp(old, pair->value))
			continue;
		any |= set(config, pair->name, pair->value);
	}
	return any;
}

/* Create the directories of a path, readable by the user only. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

bool config_write(const struct config *config, const char *path)
{
	char real[PATH_MAX];
	struct new_file file;

	if (!realpath(path, real)) {
		if (snprintf(real, sizeof(real), "%s", path) >= (int)sizeof(real))
			return false;
		make_folders(real);
	}
	if (new_file_open(path, true, &file, NULL) < 0)
		return false;
	fputs("# ibwire top: written on exit if settings were changed\n", file.stream);
	for (size_t i = 0; i < config->count; i++)
		fprintf(file.stream, "%s = %s\n", config->pairs[i].name, config->pairs[i].value);
	return new_file_end(&file, 0, NULL) == 0;
}
