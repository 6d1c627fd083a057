/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_parse.h - parse words and numbers of scenario lines */
#ifndef IBWIRE_TESTS_WORLD_VIRTUAL_PARSE_H
#define IBWIRE_TESTS_WORLD_VIRTUAL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/*
 * virtual_split - split a line at spaces outside double quotes
 * @line:  modified: quotes are removed, words end with NUL
 * Return: 0; ERR_USAGE for more than @room words or an open quote.
 */
int virtual_split(char *line, char **ret, size_t room, size_t *ret_count, struct error *err);

/*
 * virtual_whole, virtual_real - parse the number of an option "@name="
 * @least, @most:  inclusive bounds
 * @ret:           unchanged on failure
 * Return: 0; ERR_USAGE if it is not a number within the bounds.
 */
int virtual_whole(const char *name, const char *value, uint64_t least, uint64_t most, uint64_t *ret,
		  struct error *err);
int virtual_real(const char *name, const char *value, double least, double most, double *ret, struct error *err);

/* virtual_choice - parse one of two words. @ret: true for @yes. Return: 0 or ERR_USAGE. */
int virtual_choice(const char *name, const char *value, const char *yes, const char *no, bool *ret,
		   struct error *err);

#endif
