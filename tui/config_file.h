/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * config_file.h - settings saved from one start of the display to the next
 *
 * A small text file of "name = value" lines, such as "links.sort = errors"; "#" begins a comment.
 * Unknown names stay in the file.
 */
#ifndef IBWIRE_TUI_CONFIG_FILE_H
#define IBWIRE_TUI_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct error;

#define CONFIG_NAME_SIZE 48
#define CONFIG_VALUE_SIZE 512
#define CONFIG_MOST 96

struct config_pair {
	char name[CONFIG_NAME_SIZE], value[CONFIG_VALUE_SIZE];
};

/* A zeroed struct is empty. */
struct config {
	struct config_pair pairs[CONFIG_MOST];
	size_t count;
};

/*
 * config_put - set a value, without leading and trailing blanks
 * A pair that cannot be stored is dropped: a name with characters other than a-z, 0-9 and ". - _",
 * or a value that is too long, not UTF-8, or has control characters.
 */
void config_put(struct config *config, const char *name, const char *value);

/* config_get - the value of a full name, or NULL. */
const char *config_get(const struct config *config, const char *name);

/*
 * config_read - add the pairs of a file; the last of repeated names is used
 * Return: 0, also if it does not exist; ERR_USAGE with the first invalid line, the valid ones were
 * added, or if it is too long; ERR_IO.
 */
int config_read(struct config *config, const char *path, struct error *err);

/*
 * config_update - copy the pairs of @now that differ from @before. Return: whether there were any.
 */
bool config_update(struct config *config, const struct config *before, const struct config *now);

/*
 * config_write - replace the file atomically, and create its directory if necessary
 * The target of a symbolic link is replaced. Return: whether it was written.
 */
bool config_write(const struct config *config, const char *path);

#endif
