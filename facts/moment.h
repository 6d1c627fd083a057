/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* moment.h - the fabric at the selected time: its reader, the numbers of each port, names and shape */
#ifndef IBWIRE_FACTS_MOMENT_H
#define IBWIRE_FACTS_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/pkeys.h"
#include "facts/order.h"
#include "facts/port_facts.h"

struct error;
struct fabric;
struct finding_row;
struct name_map;
struct reader;
struct selection;
struct shape;
struct shape_settings;
struct snapshot;
struct snapshot_query;

/* Where the settings of a shape come from. They are loaded when something needs the shape. */
struct moment_settings {
	/* @ret_owned: for free(), also after an error. Return: 0 or an error. */
	int (*load)(void **ret_owned, const struct shape_settings **ret, struct error *err);
	void (*free)(void *owned);
};

struct moment {
	struct reader *reader;
	struct name_map *names;     /* may be NULL */
	struct snapshot *snapshot;  /* NULL before moment_load() */
	const struct fabric *fabric; /* of the snapshot */
	const struct moment_settings *settings; /* NULL: defaults */
	void *settings_owned;
	const struct shape_settings *shape_settings; /* NULL before moment_find_shape() */
	struct shape *shape;        /* the same */
	struct finding_row *findings; /* open at this time; NULL before moment_find_findings() */
	size_t finding_count;
	uint32_t *finding_of;       /* open_findings_mark() */
	struct order names_shown;   /* names of its nodes as shown in tables */
	const uint32_t *nodes;      /* indices of its nodes sorted by these names */
	struct pkeys pkeys;         /* of moment_load_pkeys() */
	bool has_pkeys;
	int64_t reference_us;       /* reference time of ages: now, or the selected time */
	int64_t at_us, window_us;   /* start of the window, as in struct snapshot_query */
	int64_t covered_us;         /* snapshot_covered_us() of the window; 0: of one sweep */
	bool since_reset;           /* errors of a port count from the reset of its counters */
};

/*
 * moment_load - load the fabric with its counters; the reader and the name map are set
 * @query:  its names are those of @moment
 * moment_done - close the reader, too
 *
 * Return: 0 or an error of snapshot_load(); moment_done() is needed in any case.
 */
int moment_load(struct moment *moment, const struct snapshot_query *query, struct error *err);
void moment_done(struct moment *moment);

/* moment_count_since_reset - count error counters that were reset in the window from their reset. */
void moment_count_since_reset(struct moment *moment);

/* moment_format_window - "20m00s up to 2026-11-23 13:53:51 UTC (all that is stored)" */
#define MOMENT_WINDOW_SIZE 160
#define MOMENT_SINCE_RESET ", or since the last reset"
const char *moment_format_window(const struct moment *moment, char ret[MOMENT_WINDOW_SIZE]);

/* moment_find_shape - analyse the topology. Return: 0, ERR_NOMEM, or an error of the settings. */
int moment_find_shape(struct moment *moment, struct error *err);

/* moment_find_findings - the same, and read the open findings, for the column finding. */
int moment_find_findings(struct moment *moment, struct error *err);

/* moment_load_pkeys - read the P_Key tables, for the columns of P_Keys. Return: 0 or an error of reader_pkeys(). */
int moment_load_pkeys(struct moment *moment, struct error *err);

/*
 * moment_select - resolve subjects, as selection_init()
 * moment_find - resolve a subject that must select one node or one port, as selection_find()
 */
int moment_select(const struct moment *moment, char **args, int count, struct selection *ret, struct error *err);
int moment_find(const struct moment *moment, const char *typed, uint32_t *ret_node, uint32_t *ret_port,
		struct error *err);

/* moment_scope - what rows of ports are of. Borrows from @moment. */
struct port_scope moment_scope(const struct moment *moment);

/* moment_port_was_seen - was this port ever up: is it up, has it a peer, or was it read? */
bool moment_port_was_seen(const struct moment *moment, uint32_t port);

#endif
