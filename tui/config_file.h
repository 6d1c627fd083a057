/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * keep.h - what is kept from one start of the screen to the next: pairs of a name and a value in a small file
 *
 * One pair a line, "links.sort = errors"; "#" begins a comment. Names that this
 * version does not know stay in the file. No curses here.
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

/* A zeroed struct keeps nothing. */
struct config {
	struct config_pair pairs[CONFIG_MOST];
	size_t count;
	char scope[CONFIG_NAME_SIZE]; /* "links.": config_put() writes it before the names; "": nothing */
};

/*
 * config_path - where the file belongs: ibwire/top.conf in $XDG_CONFIG_HOME, else in ~/.config
 * As the XDG Base Directory Specification says, a path that is not absolute does not count.
 * Return: false where neither is set, or it is too long: nothing is kept then.
 */
bool config_path(char *ret, size_t size);

/*
 * config_put - set a pair, or set it anew
 * A value's blanks at its ends are left out. A pair that could not stand in a file (a name with others than small
 * letters, digits and . - _; a value that is too long, no UTF-8, or with control characters) is left out altogether.
 */
__attribute__((format(printf, 3, 4))) void config_put(struct config *config, const char *name, const char *fmt, ...);

/* config_put_flag - the same of "yes" or "no". */
void config_put_flag(struct config *config, const char *name, bool value);

/* config_get - the value of a whole name, or NULL. */
const char *config_get(const struct config *config, const char *name);

/*
 * config_parse - add the pairs of a text; what a line of it repeats counts as it stands last
 * @text:  of @len bytes, anything
 * Return: 0; ERR_USAGE that tells the first line that was left out: the others were taken.
 */
int config_parse(struct config *config, const char *text, size_t len, struct error *err);

/*
 * config_read - the file
 * Return: 0, also where there is none; ERR_USAGE as config_parse(); ERR_IO where it cannot be read.
 */
int config_read(struct config *config, const char *path, struct error *err);

/* config_update - take over of @now what is not as in @before. Return: whether there was any of it. */
bool config_update(struct config *config, const struct config *before, const struct config *now);

/*
 * config_write - the file anew, as a whole or not at all, in a folder that is made where it is missing
 * A link stays one: what it leads to is written. Return: whether it was written.
 */
bool config_write(const struct config *config, const char *path);

/*
 * config_choice - the index of a value in a list of words that ends with NULL
 * Return: -1 where it is none of them.
 */
int config_choice(const char *value, const char *const *words);

/* config_flag - "yes" or "no". Return: false where it is neither; @ret is untouched then. */
bool config_flag(const char *value, bool *ret);

#endif
