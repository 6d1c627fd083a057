/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bed.h - a fabric with tables, jobs and the counters of its ports, for tests of balance
 *
 * Tables, flows and their routes are known. Rates are max-min fair (sim/traffic.h).
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
#include "tests/world/spread.h"

#define BED_WINDOW_US 60e6

struct bed {
	struct fabric *fabric;
	struct shape *shape;
	struct spread spread;
	uint32_t lids;          /* number of LIDs, LID 0 included */
	struct lft lft;         /* forwarding tables, for traffic and as ibwire read them */
	struct host_table hosts;
	struct flow_list flows;
	struct traffic traffic; /* of the current flows */
	size_t solved;          /* 1 + number of flows that it was computed for; 0: not computed */
	struct balance_load *loads;
	struct balance_settings settings;
	struct balance_memory *memory;
	struct balance balance; /* of the last window */
	uint8_t *adaptive;      /* by node, configured; NULL: none; freed with the bed */
	uint64_t random;
};

/* Communication patterns of a job. */
enum bed_pattern { BED_RING, BED_ALL_TO_ALL, BED_PERMUTATION, BED_INCAST, BED_PATTERNS };

/* bed_init - a fabric of this shape with even tables. bed_done() frees it. */
void bed_init(struct bed *bed, const struct net_shape *shape, uint64_t seed);
void bed_done(struct bed *bed);

uint32_t bed_below(struct bed *bed, uint32_t limit); /* a random number below */
struct net_shape bed_random_shape(uint64_t seed);    /* one that can be built */

/* bed_route - compute even tables over Active links (tests/world/spread.h). */
void bed_route(struct bed *bed);

/* bed_skew - route @part of the destinations of a group through one port (index). Return: their number. */
unsigned bed_skew(struct bed *bed, uint32_t port, double part);

/* bed_table - the mutable table of a switch; NULL for an HCA. Before bed_run() call bed_reroute(). */
uint8_t *bed_table(struct bed *bed, uint32_t node);
void bed_reroute(struct bed *bed);

/* bed_reshape - compute the shape again, after links went down. */
void bed_reshape(struct bed *bed);

/*
 * bed_job - a job over hosts first to last - 1 with @flows of each HCA if the pattern has several
 * @share:  demand of all flows of an HCA, as a share of its rate
 */
void bed_job(struct bed *bed, enum bed_pattern pattern, size_t first, size_t last, unsigned flows, double share);
void bed_flow(struct bed *bed, uint32_t from, uint32_t to, double share);
void bed_no_jobs(struct bed *bed);

/*
 * bed_run - run and evaluate a window
 * @spread_at: by node, or NULL: switches that distribute load evenly over their uplinks, regardless of their tables
 */
void bed_run(struct bed *bed, const bool *spread_at);

/* bed_result - of a group; bed_count - number of results with a cause; bed_member - index of the member of a port. */
const struct balance_result *bed_result(const struct bed *bed, uint32_t group, enum balance_direction direction);
size_t bed_count(const struct bed *bed, enum balance_cause cause);
uint32_t bed_member(const struct bed *bed, uint32_t port);

/* bed_flows - number of flows that the tables route through a port. */
unsigned bed_flows(const struct bed *bed, uint32_t port);

/* bed_leaf - the @nth (modulo) switch of tier 1 with at least @uplinks uplinks; FABRIC_NONE: none. */
uint32_t bed_leaf(const struct bed *bed, uint32_t nth, uint32_t uplinks);

#endif
