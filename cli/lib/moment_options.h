/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* moment_options.h - the database and the time that options select */
#ifndef IBWIRE_CLI_MOMENT_OPTIONS_H
#define IBWIRE_CLI_MOMENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "facts/moment.h"

struct error;
struct options;

/*
 * options_open_reader - open the database and the name map
 * options_open_moment - and load the fabric at --at or --until, with counters since --since, or of one
 * sweep (options->window_sweeps) without it
 * @absolute:  load absolute counters too
 *
 * Return: 0, or a negative error with nothing to close.
 */
int options_open_reader(const struct options *options, struct moment *ret, struct error *err);
int options_open_moment(const struct options *options, bool absolute, struct moment *ret, struct error *err);

/*
 * options_open_errors - options_open_moment() for --errors
 * Without --since the window is the last 24 hours, and error counters of a port that were reset in
 * it count from their reset. Sets the members window_us and notes of @options.
 */
int options_open_errors(struct options *options, bool absolute, struct moment *ret, struct error *err);

/* options_warn_damage - warn if @count packs of samples are unreadable, once in a thread. */
void options_warn_damage(size_t count, const char *first);

#endif
