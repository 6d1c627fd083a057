/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bed.h - a fabric with tables, jobs and what its ports would count, to judge balance on
 *
 * The truth is known: who has which tables, which flows there are and where they
 * go. Rates are max-min fair (sim/traffic.h).
 */
#ifndef IBWIRE_TESTS_BALANCE_BED_H
#define IBWIRE_TESTS_BALANCE_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "fabric/routes.h"
#include "fabric/shape.h"
#include "sim/job.h"
#include "sim/lft.h"
#include "sim/net_shape.h"
#include "sim/traffic.h"

#define BED_WINDOW_US 60e6

struct bed {
	struct fabric *fabric;
	struct shape *shape;
	uint8_t **tables;       /* by node: output port by LID; NULL for HCAs */
	uint32_t table_size;    /* LIDs in each */
	struct lft lft;         /* the same, for traffic */
	struct routes routes;   /* and as ibwire read it */
	struct host_table hosts;
	struct flow_list flows;
	struct traffic traffic; /* of the flows as they are */
	size_t solved;          /* 1 + how many flows it was worked out for; 0: not */
	struct balance_load *loads;
	struct balance_settings settings;
	struct balance_memory *memory;
	struct balance balance; /* of the last window */
	uint8_t *adaptive;      /* by node, what a person set; NULL: nothing; freed with the bed */
	uint64_t random;
};

/* How flows go. */
enum bed_pattern { BED_RING, BED_ALL_TO_ALL, BED_PERMUTATION, BED_INCAST, BED_PATTERNS };

/* bed_init - a fabric of this shape with even tables; @seed also gives the order of its LIDs. bed_done() frees it. */
void bed_init(struct bed *bed, const struct net_shape *shape, uint64_t seed);
void bed_done(struct bed *bed);

uint32_t bed_below(struct bed *bed, uint32_t limit); /* a random number below */
struct net_shape bed_random_shape(uint64_t seed);    /* one that can be built */

/* bed_route - tables as a subnet manager makes them: shortest ways over Active links, the least loaded first. */
void bed_route(struct bed *bed);

/* bed_skew - of the destinations elsewhere a switch sends @part of its table by one port (index). Return: how many. */
unsigned bed_skew(struct bed *bed, uint32_t port, double part);

/* bed_publish - the tables are those of the switches from now on, and ibwire has read them. */
void bed_publish(struct bed *bed);

/* bed_reshape - find the shape again, after links went down. */
void bed_reshape(struct bed *bed);

/*
 * bed_job - a job over hosts first to last - 1: @flows of each HCA where the pattern has several
 * @share:  of the HCA's rate that all flows of one together want
 */
void bed_job(struct bed *bed, enum bed_pattern pattern, size_t first, size_t last, unsigned flows, double share);
void bed_flow(struct bed *bed, uint32_t from, uint32_t to, double share);
void bed_no_jobs(struct bed *bed);

/*
 * bed_run - let a window pass, judge it, step the memory
 * @spread_at: by node, or NULL: switches that send what goes up over all their uplinks alike, whatever their tables say
 */
void bed_run(struct bed *bed, const bool *spread_at);

/* bed_result - of a group; bed_count - how many results have a cause; bed_member - which member a port is. */
const struct balance_result *bed_result(const struct bed *bed, uint32_t group, enum balance_direction direction);
size_t bed_count(const struct bed *bed, enum balance_cause cause);
uint32_t bed_member(const struct bed *bed, uint32_t port);

/* bed_flows - how many flows go out of a port, by the tables. */
unsigned bed_flows(const struct bed *bed, uint32_t port);

/* bed_leaf - a switch of tier 1 with so many uplinks at least, the @nth (going round); FABRIC_NONE: there is none. */
uint32_t bed_leaf(const struct bed *bed, uint32_t nth, uint32_t uplinks);

#endif
