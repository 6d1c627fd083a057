/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * explore_part.h - the state of an exploration, shared by the files of the explorer
 *
 * explore.c sends queries, retries them and follows all links. explore_part.c decides what is queried
 * if only ports of the last topology are explored (explore.h). Functions without a result set
 * explore->code if they fail: then no query is started any more, and pending ones complete.
 */
#ifndef IBWIRE_WIRE_EXPLORE_PART_H
#define IBWIRE_WIRE_EXPLORE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/path.h"
#include "wire/explore.h"
#include "wire/mad.h"
#include "wire/survey.h"

struct engine;

/* A query about a port; a probe is one about the node behind it, QUERY_BORDER about a switch of the last topology. */
enum query_kind {
	QUERY_OWN, QUERY_BORDER, QUERY_PROBE, QUERY_SWITCH_INFO, QUERY_PORT_INFO, QUERY_EXTENDED, QUERY_DESCRIPTION,
};

struct query {
	struct explore *explore;
	enum query_kind kind;
	uint32_t node; /* index in the survey; of QUERY_BORDER in the last topology */
	uint8_t num;
	uint32_t request_node;
	unsigned attempt;
	uint64_t mkey;
	struct path path;
	bool answered;      /* a probe, also by a late response */
	bool lost;          /* a probe that was counted in explore.silent */
	struct query *next; /* next of the deferred queries */
	struct query *next_probe;
};

struct explore {
	const struct explore_settings *settings;
	struct engine *engine;
	struct survey survey;
	struct query *probes;   /* all of them: late responses refer to them */
	struct query *deferred; /* to be sent a last time after all others */
	uint32_t request_nodes;            /* number of request nodes in use */
	/* Of a part; base NULL: the whole fabric is explored. */
	const struct fabric *base; /* the last topology */
	struct path *paths;        /* by node of base */
	bool *queried;             /* by node of base: QUERY_BORDER was sent */
	struct explore_port *ports; /* to read */
	size_t port_count, port_capacity;
	uint64_t queries;
	bool keys_differ;          /* the M_Key of an unknown node is unknown, too */
	uint64_t mkey;             /* else that of all nodes; 0: none */
	uint64_t lost, silent;
	unsigned hops;
	bool finished;             /* the survey is complete: late responses are ignored */
	bool dropping;             /* cancelled queries are deferred */
	int code;                  /* error of a callback */
	struct error *err;
};

/* --- explore.c --- */

/* explore_start_query - submit a query */
void explore_start_query(struct explore *explore, const struct query *what);

/* explore_mkey_of - M_Key of a node; 0: not in the table. @port_guid: 0: unknown */
uint64_t explore_mkey_of(const struct explore *explore, uint64_t node_guid, uint64_t port_guid);

/* explore_query_node - query a node of the survey, or one of its ports, along the path of @found_by */
void explore_query_node(struct explore *explore, enum query_kind kind, uint32_t index, uint8_t num,
			const struct query *found_by);

/* explore_query_new_node - query everything of a node that was found by its port @num */
void explore_query_new_node(struct explore *explore, uint32_t index, uint8_t num, const struct query *found_by);

/* --- explore_part.c --- */

/* part_begin - query the switches of the ports. Return: 0; ERR_UNAVAILABLE; ERR_NOMEM. */
int part_begin(struct explore *explore);

/* part_give_up - ports cannot be explored by themselves, with the reason */
void part_give_up(struct explore *explore, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* part_handle_border - the response to QUERY_BORDER */
void part_handle_border(struct explore *explore, const struct query *query, const uint8_t mad[MAD_SIZE]);

/*
 * part_handle_node - a node was found behind a port
 * @found, @num, @is_new:  its index in the survey, its port, and whether the survey did not have it
 */
void part_handle_node(struct explore *explore, const struct query *query, uint32_t found, uint8_t num, bool is_new);

/* part_list_last_peer - the link of a port has changed: read the port at the other end of its last cable */
void part_list_last_peer(struct explore *explore, uint64_t guid, uint8_t num);

/*
 * part_query_pending - query switches that no path avoiding the ports leads to, along what was found
 * Return: 1: there are any; 0; ERR_UNAVAILABLE; ERR_NOMEM.
 */
int part_query_pending(struct explore *explore);

/* part_done - free what it has allocated. */
void part_done(struct explore *explore);

#endif
