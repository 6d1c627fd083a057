/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_model.h - a fabric in memory with virtual time, and a sink that knows the truth
 *
 * For tests of the collector: its wire, its discovery, its clock and its store,
 * all behind the tables of functions that it takes. Ports count at random; what
 * really happened is kept beside what the collector stored.
 */
#ifndef IBWIRE_COLLECTOR_TEST_MODEL_H
#define IBWIRE_COLLECTOR_TEST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collector/collector.h"
#include "collector/topology_monitor.h"
#include "collector/sink.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/routes.h"
#include "wire/transport.h"

#define MODEL_SPINES 2
#define MODEL_LEAFS 4
#define MODEL_HOSTS 16
#define MODEL_NODES (MODEL_SPINES + MODEL_LEAFS + MODEL_HOSTS)
#define MODEL_PORTS_MAX 8
#define MODEL_OWN_NODE (MODEL_NODES - 1) /* where the collector runs */

/* The first leaf and the first host, by number; live ports: leafs have six cables, spines four, hosts one. */
#define LEAF MODEL_SPINES
#define HOST (MODEL_SPINES + MODEL_LEAFS)
#define LIVE_PORTS (MODEL_SPINES * MODEL_LEAFS + MODEL_LEAFS * 6 + MODEL_HOSTS)
#define MODEL_EVENTS_MAX 4096
#define MODEL_LIDS 256 /* of forwarding tables */

/* Slow counters of one attribute, and what the sink was given of them. */
struct model_detail {
	uint64_t value[DETAIL_MAX];
	bool has_first;
	struct detail_reading first, last;
	uint64_t sum[DETAIL_MAX];
	uint32_t marked; /* bits of counters that were reset, full, or not known */
	int64_t last_wall_us, elapsed_us;
	uint64_t reads;
};

struct model_port {
	uint64_t value[COUNTER_COUNT]; /* 64 bits wide, whatever is shown of it */
	struct model_detail details[DETAIL_ATTRIBUTE_COUNT];
	bool down;
	bool init; /* has a link, but the SM has not brought it up */
	/* What the sink was given. */
	bool has_first;
	struct reading first, last;
	struct delta sum;
	int64_t last_wall_us;
	enum sample_status status; /* in the last sweep */
};

struct model_node {
	uint16_t lid;
	struct pma_caps caps;
	bool silent;       /* answers nothing */
	bool planes;       /* discovery finds a second port with the first one's GUID (hosts) */
	uint64_t mkey;     /* SMPs without it are dropped; 0: none */
	unsigned smps_refused; /* SMPs that were dropped for it */
	int64_t answer_us; /* takes so long to answer, beside the wire's own time */
	bool ports_lost;   /* the next discovery finds it without its ports, as where an SMP is lost */
	bool desc_lost;    /* and without its description */
	bool absent;       /* discovery does not find it */
	uint8_t sm;        /* SMInfo.SMState of a subnet manager at its first port; 0: none runs here */
	bool sm_silent;    /* it does not answer SMInfo; its node does */
	unsigned sm_asked; /* how often it was asked for SMInfo */
	bool hung;         /* nor this one, but its links are up */
	bool no_caps;      /* has no ClassPortInfo */
	bool busy_once;    /* says "busy" to the next question for PortCounters */
	bool no_counters;  /* says "unsupported" to everything */
	bool caps_busy_once; /* the same for ClassPortInfo */
	uint16_t extended_status; /* what it answers PortCountersExtended with; 0: with its counters */
	uint8_t refused;   /* detail attributes that it has not: bits 1 << enum detail_attribute */
	bool tick_refused; /* the same for PortSamplesControl */
	bool tick_known;   /* the store was told its tick */
	uint8_t ignored;   /* the same, but it does not answer */
	uint8_t fec_mode;  /* PortInfoExtended.FECModeActive */
	uint16_t lft_top;  /* SwitchInfo.LinearFDBTop; 0: it has no table */
	uint8_t lft[MODEL_LIDS];
	unsigned lft_reads; /* blocks it was asked for */
	uint16_t redirect; /* performance queries are to be sent to this LID, another queue pair */
	struct model_port ports[MODEL_PORTS_MAX + 1];
};

struct model {
	struct clock clock;
	struct transport transport;
	struct discoverer discoverer;
	struct sink sink;
	struct collector_wire wire; /* directed_smps: SMPs by LID are lost, as among planes */
	uint64_t random;
	int64_t now_us, wall_offset_us;
	char boot_id[BOOT_ID_SIZE];
	struct model_node nodes[MODEL_NODES];
	unsigned loss_percent; /* of all MADs: questions and answers */
	unsigned smps_by_lid, smps_by_path;
	/* MADs on their way. */
	struct {
		int64_t at_us;
		uint8_t mad[MAD_SIZE];
	} flying[256];
	size_t flying_count;
	bool cables_swapped;     /* the first two hosts have each other's cable */
	bool traffic;            /* counters grow between sweeps */
	bool drops;              /* VL15Dropped does too */
	bool no_downs;           /* LinkDowned does not: no sign of a change comes by chance */
	bool state_change_stuck; /* SwitchInfo.PortStateChange is always set */
	bool store_fails;
	bool store_taken;        /* another collector stores there */
	int64_t store_us;        /* so long a sweep takes to be stored */
	unsigned queue_pairs_moved; /* at what was a node's queue pair answers the node so much behind it */
	unsigned stop_after;     /* so many MADs, then somebody stops the collector; 0: nobody does */
	unsigned act_after;      /* so many MADs, then act() is called, once; 0: it is not */
	void (*act)(struct model *model);
	bool discovery_fails;
	int64_t discovery_us;    /* a discovery takes so long, 50 ms at least, and sweeps go on meanwhile */
	int64_t discovery_end_us; /* the last one's */
	bool knows_fabric;       /* restore() gives the fabric and readings back */
	uint64_t sweeps;
	unsigned discoveries;
	void (*before_sweep)(struct model *model); /* called while the collector sleeps, or waits for a discovery */
	/* Events that were stored. */
	struct event events[MODEL_EVENTS_MAX];
	size_t event_count;
	struct sweep last_sweep; /* its pointers are not valid */
	/* Performance MADs each node was sent: counters and capabilities; slow questions. */
	uint64_t requests_to[MODEL_NODES], slow_requests_to[MODEL_NODES];
	unsigned max_mads_per_s; /* for model_run() */
	int64_t interval_us, routes_interval_us;
	struct routes routes;    /* what the sink was given; routes_done() */
	bool switches_only;
	size_t sm_node;          /* whom the collector's host takes for its master */
	uint32_t sm_act_count;
};

/* model_create - one on the heap, initialised; free() it. */
struct model *model_create(uint64_t seed);

/* model_random - the next number of the model's own sequence. */
uint64_t model_random(struct model *model);

/*
 * model_run - run the collector for so many sweeps, ten seconds apart unless interval_us says else.
 * Return: as collector_run().
 */
int model_run(struct model *model, uint64_t sweeps, struct collector_report *ret, struct error *err);

/* model_guid - GUID of a node by its number: spines first, then leafs, then hosts. */
uint64_t model_guid(size_t node);

/* model_is_switch - is this node one, by its number? Else it is a host. */
bool model_is_switch(size_t node);

/* model_peer_of - the other end of a port's cable. Return: whether it has one. */
bool model_peer_of(const struct model *model, size_t node, unsigned port, size_t *ret_node, unsigned *ret_port);

/* model_is_up - whether it has a link: both ends there, and not pulled. */
bool model_is_up(const struct model *model, size_t node, unsigned port);

/*
 * model_build_fabric - the topology now
 * @all: as it is; else as the collector's host sees it, which is nothing where its own port is down
 * Return: it (caller owns).
 */
struct fabric *model_build_fabric(const struct model *model, bool all);

/* model_swap_lids - for before_sweep: after the third sweep HOST and HOST + 4 have each other's LID. */
void model_swap_lids(struct model *model);

/* model_transport - the wire, and the nodes' agents at its end (test_agents.c). */
struct transport model_transport(struct model *model);

/* model_sink - takes what the collector stores, and remembers it beside what is true (test_truth.c). */
struct sink model_sink(struct model *model);

/* model_events_of - how many events of a kind were stored. */
size_t model_events_of(const struct model *model, const char *kind);

/*
 * model_check - first + sum = last for each port and counter that carries no mark
 * Return: how many counters were exact; fails the test where one is not.
 */
size_t model_check(const struct model *model);

/* model_check_details - the same for slow counters. */
size_t model_check_details(const struct model *model);

/* model_check_own - fails unless what was stored of a host's port is its own: no mark, and last what it shows now. */
void model_check_own(const struct model *model, size_t host);

/* model_reads_of - how often one attribute of slow counters was read, over all ports. */
uint64_t model_reads_of(const struct model *model, enum detail_attribute attribute);

#endif
