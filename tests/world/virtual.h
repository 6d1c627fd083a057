/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * virtual.h - a simulated fabric in virtual time: links, forwarding tables, traffic and counters
 *
 * Events change links, nodes and tables; jobs share links max-min fairly; counters are computed from the
 * rates. tests/world/collect.h runs the collector on it. It aborts if out of memory.
 */
#ifndef IBWIRE_TESTS_WORLD_VIRTUAL_H
#define IBWIRE_TESTS_WORLD_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "fabric/counter.h"
#include "fabric/fabric.h"
#include "fabric/pkeys.h"
#include "sim/job.h"
#include "tests/world/agents.h"
#include "tests/world/spread.h"

struct error;
struct health_settings;

/* Wall clock at the beginning: 2026-01-01T00:00:00Z. */
#define VIRTUAL_WALL_US INT64_C(1767225600000000)

/* virtual_alloc - zeroed memory; virtual_grow - as array_grow(). Both abort if there is none. */
static inline void *virtual_alloc(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	if (!memory)
		abort();
	return memory;
}

static inline void *virtual_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	array = array_grow(array, count, capacity, size);
	if (!array)
		abort();
	return array;
}

#define VIRTUAL_ERRORS (COUNTER_COUNT - COUNTER_TRAFFIC_COUNT)

enum job_pattern { PATTERN_RING, PATTERN_SHUFFLE, PATTERN_ALLTOALL, PATTERN_TREE, PATTERN_INCAST, PATTERN_PAIRS };

struct virtual_flow {
	uint32_t from, to; /* ports; `to` FABRIC_NONE: only the link of `from` */
};

/* A port that a job loads, while it communicates. */
struct virtual_load { uint32_t port; double bits_per_s, wait_bits_per_s; };

struct virtual_job {
	char name[32];
	enum job_pattern pattern;
	double load;            /* of each HCA's link */
	bool adaptive, coupled;
	bool runs;
	int64_t on_us, off_us, phase_us; /* communication and computation times; off_us 0: no computation */
	double pace;            /* speed of its computation, or share of its load without phases; 0: it is stopped */
	double noise;           /* random reduction of the rate in each sweep, at most this share */
	uint64_t stride, fan, seed;
	bool *hosts, *targets;  /* by host */
	bool *left;             /* by node: has left the job */
	uint64_t members;       /* checksum of the HCAs for which the flows were computed */
	uint64_t rails;         /* bits */
	struct virtual_flow *flows;
	size_t flow_count, flow_capacity;
	struct virtual_load *loads;
	size_t load_count, load_capacity;
};

enum change_kind {
	CHANGE_LINK_DOWN, CHANGE_LINK_UP, CHANGE_WIDTH, CHANGE_SPEED, CHANGE_NODE_OFF, CHANGE_NODE_ON, CHANGE_SILENT,
	CHANGE_ANSWERS, CHANGE_HANG, CHANGE_HANG_END, CHANGE_IDLE, CHANGE_BUSY,
	CHANGE_NARROW, CHANGE_WIDE,
	CHANGE_LOCK, CHANGE_UNLOCK, CHANGE_ADAPTIVE, CHANGE_STATIC, CHANGE_ERRORS, CHANGE_ERRORS_END,
	CHANGE_SKEW, CHANGE_SKEW_END,
	CHANGE_ORDER, CHANGE_BLACK_HOLE, CHANGE_CLEAR, CHANGE_SM_STOP, CHANGE_SM_START, CHANGE_SM_HANDOVER,
	CHANGE_SM_TWO, CHANGE_JOB_START, CHANGE_JOB_STOP, CHANGE_JOB_LEAVE, CHANGE_JOB_PACE, CHANGE_SWAP, CHANGE_UNPLUG,
	CHANGE_NAME,
};

struct virtual_event {
	int64_t at_us;
	uint64_t order; /* of those at the same time */
	enum change_kind what;
	uint32_t a, b;
	double x;
	uint8_t n;
};

/* A port that counts errors at some rate. */
struct error_source { uint32_t port; uint8_t counter; double per_s, echo; };

/* A skew of a switch's table, repeated after rerouting. */
struct virtual_skew { uint32_t node; uint8_t port; double part; };

/* An HCA without an entry in a switch's table. */
struct virtual_hole { uint32_t node; uint16_t lid; };

struct virtual_port {
	double xmit, rcv, wait;      /* bits since the beginning; wait: bit times */
	double rate, wait_rate;      /* bits per second, now */
	double zero_xmit, zero_rcv, zero_wait; /* values at the last reset */
	uint64_t errors[VIRTUAL_ERRORS], zero_errors[VIRTUAL_ERRORS];
	bool cut;                    /* the link is down although both nodes have power */
	uint8_t speed, width;        /* of the link while it is up */
};

struct virtual_node { bool off, silent, hung, locked, idle; };

struct virtual {
	struct fabric *built;
	struct host_table hosts;
	int64_t interval_us, now_us;
	int64_t read_us; /* time of the latest reading; earlier events do not change the rates before it */
	uint64_t random, order;
	struct health_settings *health; /* thresholds of findings, for free(); NULL: the defaults */
	bool detect_jobs;            /* by the collector */
	int64_t restart_us;          /* of the collector, since the beginning; 0: never (collect.h) */
	struct virtual_port *ports;  /* by port of built */
	struct virtual_node *nodes;  /* by node of built */
	struct agent *agents;        /* by node of built */
	struct port_counters *counters; /* by port of built, set by a test; or NULL */
	unsigned qp_shift; /* redirections lead to the node that follows the right one by this number */
	struct virtual_job *jobs;
	size_t job_count, job_capacity;
	struct virtual_event *events; /* sorted by time from `event_next` on */
	size_t event_count, event_capacity, event_next;
	struct error_source *sources;
	size_t source_count, source_capacity;
	struct virtual_skew *skews;
	size_t skew_count, skew_capacity;
	struct virtual_hole *holes;
	size_t hole_count, hole_capacity;
	uint32_t route_order;
	struct spread spread;
	struct routes tables;
	struct pkeys pkeys; /* of agents; a port without any is a full member of the default partition */
	uint32_t lids;
	bool trunks_changed, tables_changed, loads_changed; /* since they were last computed */
	/* The subnet manager. */
	bool sm_runs;
	bool wrong_routes;  /* routes may lead nowhere: nodes hang, or no subnet manager updates the tables */
	uint32_t sm_port, sm_other; /* of the master; of the standby or second master */
	unsigned sm_masters;
	uint32_t act_count; /* SMInfo.ActCount of SMs that struct agent defines */
};

/*
 * virtual_create - create a fabric without traffic, with all links up and balanced tables
 * @built:       ownership passes to the function; it assigns LIDs and masks of speed and width
 * @interval_us: between sweeps
 * @seed:        of random numbers
 */
struct virtual *virtual_create(struct fabric *built, int64_t interval_us, uint64_t seed);
void virtual_destroy(struct virtual *world);

/*
 * virtual_job - add a job, as in "NAME ring hosts=all load=0.5" (docs/scenarios.md)
 * virtual_at - schedule an event, as in "width leaf-1/33 1x for=10m"
 * @at_us:  since the beginning
 *
 * Return: 0; ERR_USAGE, naming the invalid word.
 */
int virtual_job(struct virtual *world, const char *spec, struct error *err);
int virtual_at(struct virtual *world, int64_t at_us, const char *what, struct error *err);

/* virtual_advance - advance the time to @to_us since the beginning. */
void virtual_advance(struct virtual *world, int64_t to_us);

/*
 * virtual_read_port - the counters of a port, 64 bits wide
 * @port:   index into world->built->ports
 * @at_us:  since the beginning; not before the last virtual_advance()
 */
void virtual_read_port(struct virtual *world, uint32_t port, int64_t at_us, uint64_t ret[COUNTER_COUNT]);

/* virtual_discover - the fabric as discovered: the nodes reachable over Active links; freed by the caller. */
struct fabric *virtual_discover(struct virtual *world);

/* virtual_load - the present transmit rate of a port, as a share of its link's data rate. */
double virtual_load(const struct virtual *world, uint32_t port);

/* --- for the files of tests/world only --- */

/*
 * virtual_whole, virtual_real - parse the number of an option "@name=", from @least to @most
 * virtual_choice - parse one of two words; @ret: true for @yes
 * Return: 0; ERR_USAGE, and @ret is unchanged.
 */
int virtual_whole(const char *name, const char *value, uint64_t least, uint64_t most, uint64_t *ret,
		  struct error *err);
int virtual_real(const char *name, const char *value, double least, double most, double *ret, struct error *err);
int virtual_choice(const char *name, const char *value, const char *yes, const char *no, bool *ret,
		   struct error *err);

/* virtual_random - uniform in 0..1; virtual_poisson - Poisson-distributed. */
double virtual_random(struct virtual *world);
uint64_t virtual_poisson(struct virtual *world, double mean);

/* virtual_schedule - add an event. */
void virtual_schedule(struct virtual *world, const struct virtual_event *event);

/* virtual_apply - apply an event (virtual_fault.c). */
void virtual_apply(struct virtual *world, const struct virtual_event *event);

/* virtual_route - recalculate all tables, skews included (virtual_fault.c). */
void virtual_route(struct virtual *world);

/* virtual_count_errors - add the errors of @elapsed_s (virtual_fault.c). */
void virtual_count_errors(struct virtual *world, double elapsed_s);

/*
 * virtual_fill_job - compute the flows of a job from pattern, hosts and rails (virtual_job.c)
 * HCAs whose link is down are excluded.
 */
void virtual_fill_job(struct virtual *world, struct virtual_job *job);

/* virtual_share - recalculate the loads of all running jobs (virtual_flow.c). */
void virtual_share(struct virtual *world);

/* virtual_rates - mean rates of all ports between two times (virtual_flow.c). */
void virtual_rates(struct virtual *world, int64_t from_us, int64_t to_us);

/* virtual_next_host - the port of the first powered HCA after a port's node. */
uint32_t virtual_next_host(const struct virtual *world, uint32_t port);

#endif
