/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lab.h - a small virtual fabric, a collector on it, and a store that verifies what it is given
 *
 * Two spines, four leaves and sixteen hosts. A test sets the state of links, agents (agents.h) and
 * counters; the store compares every reading with the counters of its port, and adds up the deltas.
 */
#ifndef IBWIRE_TESTS_WORLD_LAB_H
#define IBWIRE_TESTS_WORLD_LAB_H

/* What cmocka.h needs; tests get it from here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"
#include "collector/sink.h"
#include "tests/world/agents.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

/* Nodes by number: spines, leaves, hosts. The collector runs on the last host, which has the SM. */
#define LAB_SPINES 2
#define LAB_LEAVES 4
#define LAB_HOSTS 16
#define LEAF LAB_SPINES
#define HOST (LAB_SPINES + LAB_LEAVES)
#define LAB_NODES (HOST + LAB_HOSTS)
#define OWN_HOST (LAB_NODES - 1)

/*
 * Port L of a spine is cabled to leaf L, ports 1 and 2 of a leaf to the spines, 3 to 6 to port 1 of its
 * hosts. The other ports, and port 2 of a host, have no cable.
 */
#define LAB_SWITCH_PORTS 8
#define LIVE_PORTS (LAB_SPINES * LAB_LEAVES + LAB_LEAVES * 6 + LAB_HOSTS)

#define LAB_EVENTS_MAX 4096
#define LAB_SCHEDULES_MAX 64

/* What the store was given of an attribute of detail counters. */
struct lab_detail {
	struct detail_reading first, last;
	uint64_t sum[DETAIL_MAX];
	uint32_t marked; /* bits of counters that were reset, saturated or unknown */
	int64_t last_wall_us, elapsed_us;
	uint64_t reads;
};

struct lab_port {
	struct port_counters *now;
	bool down, init; /* the link is down, or in state Init */
	/* What the store was given. */
	bool has_first;
	struct reading first, last;
	struct delta sum;
	int64_t last_wall_us;
	enum sample_status status; /* in the last sweep */
	struct lab_detail details[DETAIL_ATTRIBUTE_COUNT];
};

struct lab_node {
	uint16_t lid;
	bool absent; /* powered off */
	bool planes; /* the ports of the host have one GUID */
	bool tick_known; /* as stored */
	bool guid_ambiguous; /* another node has its GUID: what is stored of it is not compared */
	struct lab_port ports[LAB_SWITCH_PORTS + 1];
};

struct lab {
	struct world_run run;
	struct agent *agents; /* by number of the node */
	struct lab_node nodes[LAB_NODES];
	bool cables_swapped;     /* the first two hosts have each other's cable */
	bool traffic;            /* counters increase between sweeps */
	bool drops;              /* VL15Dropped and QP1Dropped as well */
	uint64_t detail_draws;   /* random numbers drawn for detail counters, beginning with the seed */
	bool no_downs;           /* LinkDowned does not: no random indication of a change */
	size_t sm_node;          /* MasterSMLID of the collector's host */
	/* Flags that are set in some sweeps: lab_during(). */
	struct {
		bool *flag;
		uint64_t from, until;
	} schedules[LAB_SCHEDULES_MAX];
	size_t schedule_count;
	/* Called while the collector sleeps or waits for a discovery, after the traffic; or NULL. */
	void (*before_sweep)(struct lab *lab);
	/* Called once, with the n-th MAD from now; 0: never. */
	void (*act)(struct lab *lab);
	unsigned act_after;
	struct collector_report report; /* of the last run */
	struct error err;
	/* The store. */
	struct sink sink;
	bool store_fails, store_taken, store_ended;
	int64_t store_us;        /* time to store a sweep */
	uint64_t sweeps;
	struct sweep last_sweep; /* its pointers are not valid */
	struct text fabric;      /* the stored topology, as records */
	uint64_t generation;
	struct routes routes;
	struct event events[LAB_EVENTS_MAX];
	size_t event_count;
};

/* lab_create - at rest, all links up, with random traffic and a sweep every ten seconds */
struct lab *lab_create(uint64_t seed);
void lab_destroy(struct lab *lab);

/* LAB_TEST, LAB_TEST_WITH - a test with a lab of its own, `lab`; the latter names a function that creates it */
#define LAB_TEST(name) LAB_TEST_WITH(name, lab_setup)
#define LAB_TEST_WITH(name, setup) \
	static void name##_with(struct lab *lab); \
	TEST_WITH(name, setup, lab_teardown) \
	{ \
		name##_with(*state); \
	} \
	static void name##_with(struct lab *lab)
int lab_setup(void **state);
int lab_teardown(void **state);

/* lab_run - run the collector, which must succeed; lab_try - it may fail. Both set `report` and `err`. */
void lab_run(struct lab *lab, uint64_t sweeps);
int lab_try(struct lab *lab, uint64_t sweeps);

/* lab_run_with - set before_sweep, then lab_run() */
void lab_run_with(struct lab *lab, void (*before_sweep)(struct lab *lab), uint64_t sweeps);

/* lab_during - a flag of the lab is set after @from sweeps, until @until sweeps are stored; 0: forever */
void lab_during(struct lab *lab, bool *flag, uint64_t from, uint64_t until);

/* lab_apply - links, LIDs and GUIDs as the test has set them; lab_run() and the callbacks do that. */
void lab_apply(struct lab *lab);

/* lab_random - a random number from 0 to 2^53 - 1 */
uint64_t lab_random(struct lab *lab);

uint64_t lab_guid(size_t node);

/* lab_port - a port by the number of its node and its own */
struct lab_port *lab_port(struct lab *lab, size_t node, unsigned num);

/* lab_clear - all counters of a port are 0 */
void lab_clear(struct lab *lab, size_t node, unsigned num);

/* lab_set_tables - random forwarding tables of 192 LIDs; lab_table - that of a switch, which may be changed */
void lab_set_tables(struct lab *lab);
uint8_t *lab_table(struct lab *lab, size_t node);

/* lab_swap_lids - for before_sweep: after the third sweep HOST and HOST + 4 exchange LIDs */
void lab_swap_lids(struct lab *lab);

/* lab_sink - the store (lab_store.c) */
struct sink lab_sink(struct lab *lab);

/* lab_store_block - store a block of a table: set, or cut where the table ends before it */
void lab_store_block(struct routes *stored, const struct routes *routes, const struct route_block *block);

/* lab_same - compare a reading with the counters of its port. Return: the number of compared counters. */
size_t lab_same(struct lab *lab, const struct fabric *fabric, uint32_t port, const struct reading *reading);
size_t lab_same_detail(struct lab *lab, const struct fabric *fabric, uint32_t port,
		       const struct detail_reading *reading);

/* lab_node_of - the number of the node of a port of a discovered fabric */
size_t lab_node_of(const struct fabric *fabric, uint32_t port);

/* lab_events_of - the number of stored events of a kind */
size_t lab_events_of(const struct lab *lab, const char *kind);

/* lab_check - first reading + sum of deltas = last reading, for unmarked counters. Return: their number. */
size_t lab_check(const struct lab *lab);
size_t lab_check_details(const struct lab *lab);

/* lab_check_own - the counters that are stored of a host's port are its own and are current */
void lab_check_own(struct lab *lab, size_t host);

/* lab_reads_of - the number of reads of a detail attribute, of all ports */
uint64_t lab_reads_of(const struct lab *lab, enum detail_attribute attribute);

#endif
