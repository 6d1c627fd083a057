/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_parse.h - lines of scenarios as words */
#ifndef IBWIRE_TESTS_WORLD_VIRTUAL_PARSE_H
#define IBWIRE_TESTS_WORLD_VIRTUAL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/*
 * virtual_split - a line's words, which are separated by spaces; in double quotes a space is none
 * @line:  is written to: quotes go, words end with NUL
 * Return: 0; ERR_USAGE where there are more than @room, or a quote is open.
 */
int virtual_split(char *line, char **ret, size_t room, size_t *ret_count, struct error *err);

/*
 * virtual_whole, virtual_real - a number as typed behind "@name="
 * @least, @most:  the bounds, which belong to it
 * @ret:           untouched on failure
 * Return: 0; ERR_USAGE where it is no number, has something behind it, or is out of bounds.
 */
int virtual_whole(const char *name, const char *value, uint64_t least, uint64_t most, uint64_t *ret,
		  struct error *err);
int virtual_real(const char *name, const char *value, double least, double most, double *ret, struct error *err);

/* virtual_choice - one of two words. @ret: whether it is @yes. Return: 0; ERR_USAGE where it is neither. */
int virtual_choice(const char *name, const char *value, const char *yes, const char *no, bool *ret,
		   struct error *err);

#endif
