/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* view.h - the fabric at the selected time, and the numbers of each port */
#ifndef IBWIRE_CLI_VIEW_H
#define IBWIRE_CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/order.h"
#include "facts/port_facts.h"

struct error;
struct fabric;
struct name_map;
struct options;
struct reader;
struct selection;
struct settings;
struct shape;
struct snapshot;

struct view {
	struct reader *reader;
	struct name_map *names;     /* may be NULL */
	struct snapshot *snapshot;  /* NULL after view_open_reader() */
	const struct fabric *fabric; /* of the snapshot */
	struct settings *settings;  /* NULL before view_find_shape() */
	struct shape *shape;        /* NULL before view_find_shape() */
	struct order names_shown;   /* names of its nodes as shown in tables */
	const uint32_t *nodes;      /* indices of its nodes sorted by these names */
	int64_t reference_us;       /* reference time of ages: now, or the selected time */
	int64_t at_us, window_us;   /* start of the window, as in struct snapshot_query */
	bool since_reset;           /* errors of a port count from the reset of its counters */
};

/*
 * view_open_reader - open the database and the name map
 * view_open - and load the fabric at --at or --until, with counters since --since, or of one
 * sweep (options->window_sweeps) without it
 * @absolute:  load absolute counters too
 *
 * Return: 0, or a negative error with nothing to close.
 */
int view_open_reader(const struct options *options, struct view *ret, struct error *err);
int view_open(const struct options *options, bool absolute, struct view *ret, struct error *err);
void view_done(struct view *view);

/*
 * view_open_errors - view_open() for --errors
 * Without --since the window is the last 24 hours, and error counters of a port that were reset in
 * it count from their reset. Sets the members window_us and notes of @options.
 * view_format_window - "20m00s up to 2026-11-23 13:53:51 UTC (all that is stored)"
 */
int view_open_errors(struct options *options, bool absolute, struct view *ret, struct error *err);
#define VIEW_WINDOW_SIZE 160
#define VIEW_SINCE_RESET ", or since the last reset"
const char *view_format_window(const struct view *view, char ret[VIEW_WINDOW_SIZE]);

/* view_warn_damage - warn if @count packs of samples are unreadable, once in a thread. */
void view_warn_damage(size_t count, const char *first);

/*
 * view_find_shape - analyse the topology with the settings file. Return: 0, ERR_USAGE, ERR_IO,
 * ERR_NOMEM.
 */
int view_find_shape(struct view *view, struct error *err);

/*
 * view_select - resolve subjects, as selection_init()
 * view_find - resolve a subject that must select one node or one port, as selection_find()
 */
int view_select(const struct view *view, char **args, int count, struct selection *ret, struct error *err);
int view_find(const struct view *view, const char *typed, uint32_t *ret_node, uint32_t *ret_port, struct error *err);

/* view_scope - what rows of ports are of. Borrows from @view. */
struct port_scope view_scope(const struct view *view);

/* view_port_was_seen - was this port ever up: is it up, has it a peer, or was it read? */
bool view_port_was_seen(const struct view *view, uint32_t port);

#endif
