/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scenario_draw.h - what random scenarios and days are drawn with: between tests/world/scenario_*.c only */
#ifndef IBWIRE_TESTS_WORLD_SCENARIO_DRAW_H
#define IBWIRE_TESTS_WORLD_SCENARIO_DRAW_H

#include "base/text.h"
#include "sim/job.h"
#include "tests/world/scenario.h"

struct fabric;
struct virtual;

struct draw {
	uint64_t random;
	enum net_shape_kind kind;
	struct text *text;
	struct virtual *world;        /* at rest: for tables */
	const struct fabric *built;   /* its fabric */
	struct host_table hosts;
	bool *used;                   /* by node: something happens to it or next to it */
	bool follows_tables;          /* packets do: no adaptive routing */
	bool no_sm;
	size_t storage;               /* so many hosts, the last ones, have no part in the main job */
	uint32_t *trunks;             /* ports of switches that lead to other switches */
	size_t trunk_count;
	uint32_t *leafs, *spines;     /* switches with hosts, and without */
	size_t leaf_count, spine_count;
};

/*
 * draw_begin - write the shape, and get to know it
 * draw_end - write @lines behind all that was written; frees them and @draw. Return: 0, ERR_NOMEM
 */
int draw_begin(struct draw *draw, uint64_t seed, enum net_shape_kind kind, enum scenario_size size,
	       struct text *text, struct error *err);
int draw_end(struct draw *draw, struct text *lines, struct error *err);

/* draw_number - 0 .. below - 1. draw_between - from .. to. draw_share - 0..1. */
uint64_t draw_number(struct draw *draw, uint64_t below);
int64_t draw_between(struct draw *draw, int64_t from, int64_t to);
double draw_share(struct draw *draw);

/* draw_port_name, draw_node_name - as scenario files have it, in quotes. Return: @ret. */
#define DRAW_NAME_SIZE 300
const char *draw_port_name(const struct draw *draw, uint32_t port, char ret[DRAW_NAME_SIZE]);
const char *draw_node_name(const struct draw *draw, uint32_t node, char ret[DRAW_NAME_SIZE]);

/* Nodes of ports: of one, of the port at the other end of its link. */
bool draw_is_switch(const struct draw *draw, uint32_t node);
uint32_t draw_node_of(const struct draw *draw, uint32_t port);
uint32_t draw_peer_node(const struct draw *draw, uint32_t port);

/*
 * draw_trunk, draw_switch, draw_host, draw_hca, draw_link - a place with nothing else around it, in use from then on
 * @switches:  @count to choose from
 * @trunk:     a link between switches; else one to an HCA
 * @ret:       of a trunk, of an HCA and of a link (the end that a switch has): a port; a node; an index of draw->hosts
 *
 * Hosts are those of the main job. Return: whether one was found in DRAW_TRIES tries.
 */
#define DRAW_TRIES 300
bool draw_trunk(struct draw *draw, uint32_t *ret);
bool draw_switch(struct draw *draw, const uint32_t *switches, size_t count, uint32_t *ret);
bool draw_host(struct draw *draw, size_t *ret);
bool draw_hca(struct draw *draw, uint32_t *ret);
bool draw_link(struct draw *draw, bool trunk, uint32_t *ret);

/* draw_host_is_free - all of its HCAs, and their leafs, are left alone. draw_use_host - no longer. */
bool draw_host_is_free(const struct draw *draw, const struct host *host);
void draw_use_host(struct draw *draw, const struct host *host);

/*
 * draw_say_port, draw_say_node - "at 301s WHAT NAME REST" and "expect KIND NAME TRUTH", NAME that of the port or node
 *
 * Return: true.
 */
bool draw_say_port(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t port);
bool draw_say_node(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t node);

/* What a fault wants of the jobs that run. */
enum draw_needs { NEEDS_NOTHING, NEEDS_TRAFFIC, NEEDS_QUIET };

struct draw_fault {
	const char *name;
	enum draw_needs needs;
	bool (*draw)(struct draw *draw, int64_t at_s); /* NULL: @at */
	const struct place_fault *at;
};

/* draw_faults - all faults. */
const struct draw_fault *draw_faults(size_t *ret_count);

/* draw_fault - write the lines of a fault that begins at @at_s seconds. Return: whether there is a free place. */
bool draw_fault(struct draw *draw, const struct draw_fault *fault, int64_t at_s);

#endif
