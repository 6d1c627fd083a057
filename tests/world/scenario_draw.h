/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scenario_draw.h - helpers for random scenarios, for tests/world/scenario_*.c only */
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
	struct virtual *world;        /* without events, for its tables */
	const struct fabric *built;   /* its fabric */
	struct host_table hosts;
	bool *used;                   /* by node: in or next to a fault */
	bool follows_tables;          /* no adaptive routing */
	bool no_sm;
	size_t storage;               /* number of hosts, at the end of the table, outside the main job */
	uint32_t *trunks;             /* ports of switches that are connected to other switches */
	size_t trunk_count;
	uint32_t *leafs, *spines;     /* switches with hosts, and without */
	size_t leaf_count, spine_count;
};

/* draw_number - 0 .. below - 1. draw_between - from .. to. draw_share - 0..1. */
uint64_t draw_number(struct draw *draw, uint64_t below);
int64_t draw_between(struct draw *draw, int64_t from, int64_t to);
double draw_share(struct draw *draw);

/* draw_port_name, draw_node_name - in the syntax of scenario files, quoted. Return: @ret. */
#define DRAW_NAME_SIZE 300
const char *draw_port_name(const struct draw *draw, uint32_t port, char ret[DRAW_NAME_SIZE]);
const char *draw_node_name(const struct draw *draw, uint32_t node, char ret[DRAW_NAME_SIZE]);

/* The node of a port, and of the port's peer. */
bool draw_is_switch(const struct draw *draw, uint32_t node);
uint32_t draw_node_of(const struct draw *draw, uint32_t port);
uint32_t draw_peer_node(const struct draw *draw, uint32_t port);

/*
 * draw_trunk, draw_switch, draw_host, draw_hca, draw_link - choose a place away from used ones, and mark it used
 * @switches:  @count to choose from
 * @trunk:     a link between switches; else one to an HCA
 * @ret:       a port (trunk, HCA; the switch's end of a link), a node (switch) or an index of draw->hosts
 *
 * Hosts are those of the main job. Return: false without a free place.
 */
bool draw_trunk(struct draw *draw, uint32_t *ret);
bool draw_switch(struct draw *draw, const uint32_t *switches, size_t count, uint32_t *ret);
bool draw_host(struct draw *draw, size_t *ret);
bool draw_hca(struct draw *draw, uint32_t *ret);
bool draw_link(struct draw *draw, bool trunk, uint32_t *ret);

/* draw_host_is_free - are its HCAs and their leafs unused? draw_use_host - mark them used. */
bool draw_host_is_free(const struct draw *draw, const struct host *host);
void draw_use_host(struct draw *draw, const struct host *host);

/*
 * draw_add_port, draw_add_node - append "at 301s WHAT NAME REST" and "expect KIND NAME TRUTH" for a port or node
 *
 * Return: true.
 */
bool draw_add_port(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t port);
bool draw_add_node(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t node);

/* The jobs that a fault needs to be detected. */
enum draw_needs { NEEDS_NOTHING, NEEDS_TRAFFIC, NEEDS_QUIET };

/* A fault with one event and one finding. */
struct place_fault {
	const char *event;
	enum { ON_TRUNK, ON_HOST_LINK, ON_LINK, AT_HCA, AT_SWITCH, AT_SPINE, AT_MIRRORED_SPINE } place;
	const char *rest;   /* of the line; with @most a format */
	const char *other;  /* an equally likely alternative to @rest, or NULL */
	int least, most;    /* number in @rest */
	const char *kind, *truth;
};

struct draw_fault {
	const char *name;
	enum draw_needs needs;
	bool (*draw)(struct draw *draw, int64_t at_s); /* NULL: @at */
	struct place_fault at;
};

/* draw_faults - the table of faults. */
const struct draw_fault *draw_faults(size_t *ret_count);

/* draw_fault - append the lines of a fault that begins at @at_s seconds. Return: false without a free place. */
bool draw_fault(struct draw *draw, const struct draw_fault *fault, int64_t at_s);

#endif
