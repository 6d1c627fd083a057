/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_world.h - a small fat-tree with generated sweeps, for tests of health
 *
 * Leaves "leaf0"..., spines "spine0"..., hosts "h0"... with HCAs "h0 mlx5_0"... With one rail the
 * hosts are distributed over the leaves in blocks; with several, HCA r is on leaf r. Ports of a
 * leaf: from 1 to hosts, from 101 to spines.
 */
#ifndef IBWIRE_ANALYSIS_TEST_WORLD_H
#define IBWIRE_ANALYSIS_TEST_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/health.h"
#include "fabric/fabric.h"
#include "fabric/pkeys.h"
#include "fabric/plan.h"
#include "fabric/routes.h"

enum { WORLD_NODES = 256, WORLD_LINKS = 1024, WORLD_REPORTS = 256, WORLD_JOBS = 4 };
/* CLOCK_BOOTTIME and the wall clock at the first sweep. */
#define WORLD_BOOT_US INT64_C(1000000000)
#define WORLD_WALL_US INT64_C(1700000000000000)

struct world_shape { unsigned leaves, spines, parallel, hosts, rails; };

struct world_node {
	char name[32];
	uint64_t guid;
	uint8_t type, ports;
	bool dead, silent, locked;
	bool refuses; /* its performance agent responds with an error */
	struct firmware firmware;
	bool hung; /* it does not respond to discovery either; its links are up */
};

struct world_end {
	uint32_t node;
	uint8_t num;
	double load, stall; /* sent, as a share of the rate; stalled, as a share of the time */
	/* Of the next sweep; saturated: of all. */
	uint64_t counts[COUNTER_COUNT];
	counter_set reset, saturated;
	uint32_t uncorrected, corrected; /* FEC blocks, symbols */
};

struct world_link {
	struct world_end end[2];
	bool down, init;
	uint8_t width, speed;
};

/* Sets of widths and speeds of all ports. */
struct world_rates {
	uint8_t widths, widths_enabled;
	uint16_t speeds, speeds_enabled;
};

/* The reports of one finding. */
struct world_report {
	struct finding finding; /* as reported last */
	unsigned opened, changed, closed;
	enum finding_severity worst;
	int64_t opened_us; /* after the first sweep */
};

struct world {
	struct world_shape made;
	struct world_node nodes[WORLD_NODES];
	uint32_t node_count;
	struct world_link links[WORLD_LINKS];
	uint32_t link_count;
	struct world_link *link_of[WORLD_NODES][256]; /* by node and port */
	int64_t now_us, interval_us; /* since the first sweep */
	int64_t clock_us;            /* by which the wall clock was set forward since */
	bool changed;                /* the topology must be discovered again */
	struct world_rates rates;    /* 1x, 4x and 8x to NDR, all enabled but 8x: as some ports of four lanes report */
	unsigned unread_percent, sm_masters;
	bool sm_lost;
	uint64_t sm_guid;
	int64_t log_bytes, stalled_us;
	size_t left_out;
	struct fabric *fabric, *old_fabric;
	uint32_t node_of[WORLD_NODES]; /* by node of the fabric */
	struct shape *shape, *old_shape;
	uint8_t tables[WORLD_NODES][WORLD_NODES + 1]; /* by node and LID: index of a node + 1 */
	uint32_t changes[WORLD_NODES]; /* entries that changed since they were read */
	struct routes routes;          /* tables that were read */
	bool has_routes;
	uint64_t read_guids[WORLD_NODES], changed_guids[WORLD_NODES];
	uint32_t changed_entries[WORLD_NODES];
	size_t read_count, changed_count;
	struct { unsigned number, first, last; } jobs[WORLD_JOBS]; /* hosts; number 0: none */
	struct health_count *counts; /* of all sweeps */
	size_t count_count, count_capacity;
	struct plan plan;
	uint64_t plan_generation; /* 0: there is no plan */
	const struct health_cable *cables; /* temperatures of transceivers; set by the test */
	size_t cable_count;
	struct pkeys pkeys;       /* P_Key tables; without any, none is given */
	uint64_t pkeys_revision;
	bool pkeys_unsettled;
	unsigned shuffle; /* samples in another order; 0: in order of port */
	struct health_settings settings;
	struct health *health;
	struct world_report reports[WORLD_REPORTS];
	size_t report_count;
};

/* Bits 1 << enum finding_kind: the kinds that were reported in this process, each with its place. */
extern uint64_t world_kinds;

struct world *world_create(const struct world_shape *shape);
void world_destroy(struct world *world);

/* world_sweeps - run sweeps with the current traffic. */
void world_sweeps(struct world *world, unsigned count);

/* world_plan - the links that are up are the cabling plan. */
void world_plan(struct world *world);

/* world_restart - restart the collector: open findings and error counts are restored. */
void world_restart(struct world *world);

/*
 * world_run - carry out a script: commands with ';' between them
 *
 *   wait SECONDS          sweeps for this time
 *   init PORT, active PORT  the state of a link that is up
 *   down PORT, up PORT    a link; ports are "leaf0/1", "spine0/3", or "h0.2" for the third HCA of host 0
 *   kill NODE, revive NODE  "leaf0", "h0.2"; "h0" is all of its HCAs
 *   silent NODE, answer NODE, lock NODE, unlock NODE, hang NODE, unhang NODE, refuse NODE, accept NODE
 *   rate PORT LANES SPEED, e.g. "rate leaf0/101 1 NDR"
 *   count PORT COUNTER N  in the next sweep: symbol_errors, rcv_errors ...
 *   spread PORT COUNTER N SWEEPS  N in total over the next sweeps
 *   reset PORT, full PORT COUNTER, fec PORT BLOCKS (uncorrected), corrected PORT SYMBOLS
 *   load PORT SHARE       sent by the port, of its rate; stall PORT SHARE
 *   loads SHARE [NODE]    of all ports, or of the links of a node
 *   job N FIRST LAST      job N runs on hosts FIRST to LAST; end N
 *   unread PERCENT        of the ports of each node, in each sweep
 *   expect HOSTS HCAS SWITCHES LINKS  settings; restarts the collector
 *   routes                even forwarding tables, which are read
 *   skew LEAF PORT N      N more destinations are routed through PORT; not read yet
 *   avoid NODE PORT PORT  the destinations of the first are routed through the second; not read yet
 *   reread NODE           its table is read
 *   plan                  the present cables are the plan; move PORT N: to port N of its node
 *   pkeys                 all HCA ports are full members of the default partition
 *   pkey NODE KEY KEY KEY the P_Key table of the first port of an HCA; KEY: hexadecimal, or none
 *   enforce PORT KEY KEY  a switch port enforces this table
 *   unsettled, settled    whether tables are being changed
 *   sm lost|ok|GUID, masters N, log BYTES, stalled SECONDS, restart, route-change NODE ENTRIES, swap PORT PORT
 */
void world_run(struct world *world, const char *script);

/*
 * world_summary - the findings so far, sorted: "link-down warning leaf0/101; ..."
 * With the worst severity; "x2" if it opened twice, "closed" if it closed.
 * @infos:  also those that were info all the time
 */
const char *world_summary(const struct world *world, bool infos, char *ret, size_t size);

/*
 * A script, and its findings; each has a world of its own. It starts after the first minute, with
 * "cold;" at once.
 */
struct world_case { const char *name, *script, *expected; };

/* world_check - run them up to one without a name, and print those with other findings. Return: their number. */
unsigned world_check(const struct world_shape *shape, bool infos, const struct world_case *cases);
#define WORLD_CHECK(shape, infos, ...) \
	assert_int_equal(world_check(shape, infos, (const struct world_case[]){ __VA_ARGS__, { 0 } }), 0)

/* world_find - the first report of a kind, or NULL. world_find_tag - with this tag. */
const struct world_report *world_find(const struct world *world, enum finding_kind kind);
const struct world_report *world_find_tag(const struct world *world, enum finding_kind kind, uint8_t tag);

/* world_number - a number of the evidence; NAN: it has none with this key. */
double world_number(const struct finding *finding, const char *key);

/*
 * world_settle_routes - all tables become even; they are not read
 * world_make_routes   - and are read
 * world_skew_routes   - route @count more destinations of a switch through port @num; its table is not read
 * world_read_table    - read the table of a switch
 */
void world_settle_routes(struct world *world);
void world_make_routes(struct world *world);
void world_skew_routes(struct world *world, uint32_t at, uint8_t num, unsigned count);
void world_read_table(struct world *world, uint32_t at);

/* world_end_of - index of the end of a link that is at this port */
int world_end_of(const struct world_link *link, uint32_t node, unsigned num);

#endif
