/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * explore_bed.h - a virtual fabric that the explorer discovers, for tests
 *
 * bed_stop(), bed_add() for each node, bed_start() and bed_cable() make one; bed_build(), bed_star() and
 * bed_draw() do so at once. Node 0 is the host that discovers. Failed checks fail the test.
 */
#ifndef IBWIRE_TESTS_WIRE_EXPLORE_BED_H
#define IBWIRE_TESTS_WIRE_EXPLORE_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "fabric/record.h"
#include "tests/world/collect.h"
#include "wire/explore.h"

enum { NODES_MAX = 128 };

struct agent;
struct fabric;
struct keys;
struct port;

struct explore_bed {
	/* The fabric, which may be changed at any time. */
	struct world_run run;
	struct fabric *built;
	struct agent *agents; /* by node */
	uint32_t count;       /* of nodes */
	uint64_t random_state;
	/* Settings of a discovery. */
	const struct fabric *last;
	struct explore_port parts[EXPLORE_PORTS_MAX];
	size_t part_count;
	int64_t deadline_us;
	unsigned max_smps;
	/* Results of the last one. */
	struct fabric *fabric; /* NULL: it failed */
	struct record_trailer trailer;
	struct text notes;
	unsigned sent, node_infos; /* SMPs since bed_start() */
};
extern struct explore_bed bed;

/* bed_random - a random number below @most */
uint64_t bed_random(uint64_t most);

/* bed_stop - free the fabric. bed_teardown - and all results, after the last test. */
void bed_stop(void);
int bed_teardown(void **state);

/* bed_add - add a node without cables, before bed_start(). Return: its index. */
uint32_t bed_add(uint8_t type, unsigned port_count);

/* bed_start - create the fabric of all added nodes, without cables. */
void bed_start(void);

/* bed_build - this host, @switches with @ports each, the first of which it is cabled to, and @hosts. */
void bed_build(unsigned switches, unsigned ports, unsigned hosts);

/* bed_star - this host, a switch, and other hosts at its ports from 2 on */
void bed_star(unsigned hosts);

/* bed_draw - switches, HCAs with one or two ports, routers, and cables at random; some nodes are dead. */
void bed_draw(uint64_t seed);

void bed_cable(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num);
void bed_cut(uint32_t a, unsigned a_num);

/* bed_port_of - a port of the fabric. bed_peer_of - the node at its other end, or FABRIC_NONE. */
struct port *bed_port_of(uint32_t node, unsigned num);
uint32_t bed_peer_of(uint32_t node, unsigned num);

/* bed_on_send - counts SMPs; run.on_send after bed_start() */
void bed_on_send(struct world_run *at, const uint8_t mad[MAD_SIZE]);

/* bed_discover - with these settings. @keys: or NULL */
void bed_discover(unsigned retries, const struct keys *keys);

/* bed_reach - which nodes can be found, by node. @ret: of NODES_MAX */
void bed_reach(bool *ret);

/* bed_has_node, bed_has_link - whether the last discovery found a node or a link */
bool bed_has_node(uint32_t node);
bool bed_has_link(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num);

/* bed_check_found - all that can be found was found, and nothing else. bed_check_peers - peers are mutual. */
void bed_check_found(void);
void bed_check_peers(void);

#endif
