/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile_test.c - disturbances of all kinds, at random times and together, on the fabric of lab.h
 *
 * Rounds of hostile sweeps each end with quiet ones. In each sweep every stored delta is compared
 * with the counters of its port, and each open finding must be the consequence of a disturbance. At
 * the end of a round all ports respond, the topology is complete, and no finding is open. The
 * collector restarts after some rounds.
 *
 * A week of the same is stored in a database, with the retention of `ibwire collect`: each day must
 * be read back exactly, and the total after the samples of the first days have expired.
 *
 * IBWIRE_HOSTILE_SWEEPS is the number of sweeps, IBWIRE_WEEK_SWEEPS that of the week (0: none),
 * IBWIRE_HOSTILE_SEED the seed. A failure prints the seed, the sweep and the active disturbances;
 * IBWIRE_HOSTILE_TRACE prints each of them as it begins and ends.
 *
 * Not tested are responses that no receiver can recognize: with wrong data and the transaction ID
 * of a request in flight, and redirections to agents of other nodes.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/world/lab.h"

/* Sweeps of a round, and the quiet ones at its end; rounds until the collector restarts. */
enum { ROUND = 450, QUIET = 180, ROUNDS_OF_RUN = 4, USUAL_SWEEPS = 12 * ROUND, WEEK_SWEEPS = 4 * ROUND };

/* Sweeps after a disturbance in which its findings may be open; those of flapping links: two days. */
enum { GRACE = 120, GRACE_FLAPPING = 17280 };

/* Sweeps, without a disturbance that hides it, after which the finding of a lasting one must be open. */
enum { DETECTED = 75 };

/* Sweeps after which two nodes that had one GUID are compared again: those of a discovery interval. */
enum { DOUBTFUL = 75 };

/* Freed memory in the thread cache of glibc counts as allocated: 7 chunks of each size up to 1 KB, 240 KB. */
enum { HEAP_SLACK = 256 << 10 };

/* Size of a database besides its readings: topologies, events, findings, and the log. */
enum { WEEK_BYTES = 48 << 20 };

/* Days that are stored. */
enum { DAYS_MAX = 16 };

enum { ACTIVE_MAX = 6, PENDING_MAX = 16, HEAPS_MAX = 4096 };

/* Events per disturbance, on average: a renumbering of all LIDs alone has one for each node. */
enum { EVENTS_EACH = 40 };

#define BIT(kind) (1u << FINDING_##kind)
#define OUTAGE (BIT(COVERAGE) | BIT(NODE_SILENT))
/* Several incomplete discoveries in a row are believed (collector/topology_monitor.h). */
#define LOSSES (OUTAGE | BIT(TOPOLOGY_CHANGED) | BIT(SM_LOST))
#define CABLES (BIT(LINK_DOWN) | BIT(NODE_MISSING) | BIT(TOPOLOGY_CHANGED) | BIT(HOST_RESTART) | \
		BIT(UPLINKS_MISSING) | BIT(LINK_FLAPPING) | OUTAGE)

enum wire_kind {
	NO_WIRE, GARBAGE, DUPLICATES, LATE, FOREIGN, DAMAGED, WRONG_STATUS, WRONG_PORT, LOSS, SILENCE, REORDER,
	WIRE_KINDS,
};

/* At most one disturbance of a group is active; of the wire any number. */
enum group { OF_WIRE, OF_NODES, OF_CABLES, OF_LIDS, OF_SM, OF_STORE };
enum target { ANY_NODE, ANY_HOST, ANY_SWITCH, UPLINK, HOST_LINK };

struct hostile;
struct active;

struct disturbance {
	const char *name;
	enum group group;
	enum target target;
	unsigned longest; /* sweeps */
	void (*set)(struct hostile *hostile, struct active *active, bool on);
	void (*step)(struct hostile *hostile, struct active *active); /* before each sweep; or NULL */
	enum wire_kind wire;
	bool wide;         /* it concerns all nodes, and hides other disturbances */
	uint32_t findings; /* kinds that it justifies, of the nodes that it concerns */
	uint32_t required; /* the kind that must be open while it lasts; 0: none */
};

struct active {
	const struct disturbance *what; /* NULL: unused */
	size_t node, peer;
	unsigned num;
	uint64_t since, until, visible;
	bool spoiled; /* another disturbance concerns its place, or removed nodes from the topology */
};

/* A wire of the collector or of the explorer. */
struct wire {
	struct hostile *hostile;
	struct transport inner;
	struct { enum transport_event event; uint8_t mad[MAD_SIZE]; } pending[PENDING_MAX];
	size_t pending_count;
};

struct hostile {
	struct lab *lab;
	uint64_t seed, random, sweep, sweeps;
	uint64_t plain; /* sweeps without a disturbance that hides others: the clock of `allowed` */
	int64_t next_us; /* the next sweep of the schedule */
	struct wire sweeps_wire, explorer_wire;
	struct sink lab_sink;
	bool wire_on[WIRE_KINDS];
	struct active active[ACTIVE_MAX];
	uint64_t begun[64], mads[WIRE_KINDS];
	uint64_t allowed[LAB_NODES + 1][FINDING_KIND_COUNT]; /* until this plain sweep */
	uint64_t doubtful[LAB_NODES];                        /* until this sweep */
	uint64_t unknown[LAB_NODES];                         /* may not be in the topology, until this sweep */
	bool cleared[LAB_NODES][LAB_SWITCH_PORTS + 1], was_up[LAB_NODES][LAB_SWITCH_PORTS + 1];
	uint64_t deltas, resets, findings_seen, required_seen, events, exact;
	size_t heaps[HEAPS_MAX], heap_count;
	/* What is stored of each day, and in all. */
	struct writer *writer; /* NULL: nothing */
	int64_t begin_us;
	struct history_sum days[DAYS_MAX][LAB_NODES][LAB_SWITCH_PORTS + 1];
	struct history_sum total[LAB_NODES][LAB_SWITCH_PORTS + 1];
	uint64_t days_checked, sums_compared, readings, missed, reported_late;
	int64_t last_start_us;
	bool trace, done;
};

static struct hostile *hostile;

/* As `ibwire collect` without options. */
static const struct writer_retention week_retention = {
	.raw_us = 7 * 86400 * US_PER_S, .sums_us = 30 * 86400 * US_PER_S, .hours_us = 730 * 86400 * US_PER_S,
};

static uint64_t below(struct hostile *h, uint64_t most)
{
	return (h->random = map_mix(h->random + 0x9e3779b97f4a7c15ULL)) % most;
}

static bool chance(struct hostile *h, unsigned percent)
{
	return below(h, 100) < percent;
}

/* --- the wire --- */

static void fill_random(struct hostile *h, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)below(h, 256);
}

/* A field of the header that a response is matched by gets another value. */
static void change_header(struct hostile *h, uint8_t mad[MAD_SIZE])
{
	static const uint8_t classes[] = { CLASS_SUBN_LID, CLASS_SUBN_DIRECTED, CLASS_PERFORMANCE, 0x03, 0x07, 0x32 };
	static const uint8_t methods[] = { 0x01, 0x02, 0x05, 0x06, 0x07, 0x12, 0x92, 0xc1 };
	uint8_t was;

	switch (below(h, 4)) {
	case 0:
		was = mad[1];
		while (mad[1] == was)
			mad[1] = classes[below(h, sizeof(classes))];
		break;
	case 1:
		mad[3] = methods[below(h, sizeof(methods))];
		break;
	case 2:
		put_be16(mad + 16, (uint16_t)(get_be16(mad + 16) + 1 + below(h, 0x40)));
		break;
	default:
		/* Of no request in flight: a forged response to one cannot be recognized. */
		put_be32(mad + 12, get_be32(mad + 12) + (uint32_t)(1 + below(h, 0x1000)) * 0x100);
		break;
	}
}

static void push(struct wire *wire, enum transport_event event, const uint8_t mad[MAD_SIZE])
{
	size_t at = wire->pending_count;

	if (at == PENDING_MAX)
		at = below(wire->hostile, PENDING_MAX);
	else
		wire->pending_count++;
	wire->pending[at].event = event;
	memcpy(wire->pending[at].mad, mad, MAD_SIZE);
}

static bool occurs(struct hostile *h, enum wire_kind kind, unsigned percent)
{
	if (!h->wire_on[kind] || !chance(h, percent))
		return false;
	h->mads[kind]++;
	return true;
}

static void push_garbage(struct wire *wire)
{
	uint8_t mad[MAD_SIZE];

	fill_random(wire->hostile, mad, sizeof(mad));
	push(wire, chance(wire->hostile, 80) ? TRANSPORT_MAD : TRANSPORT_TIMEOUT, mad);
}

/* Change a response, or add MADs that will be received later. */
static void disturb(struct wire *wire, uint8_t mad[MAD_SIZE])
{
	static const uint16_t statuses[] = { 0x0001, 0x0002, 0x0004, 0x0008, 0x000c, 0x001c, 0x7f00, 0xffff };
	struct hostile *h = wire->hostile;
	uint8_t copy[MAD_SIZE];

	if (occurs(h, DUPLICATES, 30))
		push(wire, TRANSPORT_MAD, mad);
	if (occurs(h, FOREIGN, 30)) {
		memcpy(copy, mad, MAD_SIZE);
		change_header(h, copy);
		fill_random(h, copy + 24, MAD_SIZE - 24);
		push(wire, TRANSPORT_MAD, copy);
	}
	if (occurs(h, GARBAGE, 20))
		push_garbage(wire);
	if (occurs(h, DAMAGED, 5))
		change_header(h, mad);
	if (occurs(h, WRONG_STATUS, 4)) {
		put_be16(mad + 4, statuses[below(h, sizeof(statuses) / sizeof(statuses[0]))]);
		/* A redirection to nowhere. */
		if (get_be16(mad + 4) == 0x0002)
			memset(mad + PMA_DATA_OFFSET, 0, MAD_SIZE - PMA_DATA_OFFSET);
	}
	if (mad[1] == CLASS_PERFORMANCE && get_be16(mad + 16) != PMA_CLASS_PORT_INFO && occurs(h, WRONG_PORT, 4))
		mad[PMA_DATA_OFFSET + 1] = (uint8_t)(mad[PMA_DATA_OFFSET + 1] + 1 + below(h, 200));
}

static int wire_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		     struct error *err)
{
	struct wire *wire = ctx;
	struct hostile *h = wire->hostile;
	int64_t late_us = occurs(h, LATE, 10) ? (int64_t)below(h, 2 * US_PER_S) : 0;
	struct agent *agents = h->lab->agents;
	int code;

	for (size_t i = 0; i < LAB_NODES; i++)
		agents[i].latency_us += late_us;
	code = wire->inner.send(wire->inner.ctx, to, mad, timeout_ms, err);
	for (size_t i = 0; i < LAB_NODES; i++)
		agents[i].latency_us -= late_us;
	return code;
}

static int wire_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct wire *wire = ctx;
	int event;

	/* Some stay until a later sweep. */
	if (wire->pending_count && chance(wire->hostile, 50)) {
		size_t at = below(wire->hostile, wire->pending_count);

		memcpy(mad, wire->pending[at].mad, MAD_SIZE);
		event = (int)wire->pending[at].event;
		wire->pending[at] = wire->pending[--wire->pending_count];
		return event;
	}
	event = wire->inner.receive(wire->inner.ctx, mad, timeout_ms, err);
	if (event == TRANSPORT_MAD)
		disturb(wire, mad);
	return event;
}

static void set_wire(struct hostile *h, struct active *active, bool on)
{
	h->wire_on[active->what->wire] = on;
	h->lab->run.loss = h->wire_on[SILENCE] ? 1 : h->wire_on[LOSS] ? 0.2 : 0;
	h->lab->run.jitter_us = h->wire_on[REORDER] ? 15000 : 200;
	h->mads[active->what->wire] += active->what->wire >= LOSS && on;
}

static void on_explore(struct world_run *run, struct world_run *copy)
{
	struct wire *wire = &hostile->explorer_wire;

	(void)run;
	*wire = (struct wire){ .hostile = hostile, .inner = copy->transport };
	copy->transport = (struct transport){ wire_send, wire_receive, wire };
}

/* --- nodes, cables, LIDs, the subnet manager, the store --- */

static void set_dead(struct hostile *h, struct active *active, bool on)
{
	h->lab->agents[active->node].dead = on;
}

static void set_off(struct hostile *h, struct active *active, bool on)
{
	h->lab->nodes[active->node].absent = on;
}

static void set_locked(struct hostile *h, struct active *active, bool on)
{
	h->lab->run.world->nodes[active->node].locked = on;
}

static void set_slow(struct hostile *h, struct active *active, bool on)
{
	h->lab->agents[active->node].latency_us = on ? (int64_t)below(h, 300 * US_PER_MS) : 0;
}

static void step_busy(struct hostile *h, struct active *active)
{
	h->lab->agents[active->node].busy_once = chance(h, 50) ? PMA_PORT_COUNTERS : PMA_PORT_COUNTERS_EXTENDED;
}

/* Each node redirects to another one, which redirects again. */
static void set_redirect(struct hostile *h, struct active *active, bool on)
{
	for (size_t i = 0; i < LAB_NODES; i++) {
		bool chosen = on && (i == active->node || i == active->peer || chance(h, 30));

		h->lab->agents[i].redirect = chosen ? h->lab->nodes[(i + 1 + below(h, 5)) % LAB_NODES].lid : 0;
		h->lab->agents[i].redirect_loop = chosen;
		h->lab->agents[i].redirect_closed = !on;
	}
}

static void clear_port(struct hostile *h, size_t node, unsigned num)
{
	lab_clear(h->lab, node, num);
	h->cleared[node][num] = true;
	h->allowed[node][FINDING_COUNTERS_CLEARED] = h->plain + GRACE;
}

static void set_clear(struct hostile *h, struct active *active, bool on)
{
	for (unsigned num = 1; on && num <= LAB_SWITCH_PORTS; num++)
		if (chance(h, 50))
			clear_port(h, active->node, num);
}

/* The second node has the GUID of the first one. Neither is compared until they were discovered again. */
static void set_guid(struct hostile *h, struct active *active, bool on)
{
	h->lab->run.world->built->nodes[active->node].guid = lab_guid(on ? active->peer : active->node);
}

static void step_guid(struct hostile *h, struct active *active)
{
	h->doubtful[active->node] = h->doubtful[active->peer] = h->sweep + DOUBTFUL;
}

static void set_down(struct hostile *h, struct active *active, bool on)
{
	lab_port(h->lab, active->node, active->num)->down = on;
}

static void step_flap(struct hostile *h, struct active *active)
{
	set_down(h, active, chance(h, 50));
}

static void set_init(struct hostile *h, struct active *active, bool on)
{
	lab_port(h->lab, active->node, active->num)->init = on;
}

static void set_degraded(struct hostile *h, struct active *active, bool on)
{
	struct fabric *built = h->lab->run.world->built;
	struct port *port = &built->ports[fabric_node_port(built, (uint32_t)active->node, (uint8_t)active->num)];

	port->width = built->ports[port->peer].width = on ? LINK_WIDTH_1X : LINK_WIDTH_4X;
}

static void set_swapped(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	h->lab->cables_swapped = on;
}

/* The half without the collector: a spine, two leaves and their hosts. */
static bool is_far_half(size_t node)
{
	return node == 0 || node == LEAF || node == LEAF + 1 || (node >= HOST && node < HOST + 8);
}

static void set_half(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	for (size_t i = 0; i < LAB_NODES; i++)
		if (is_far_half(i))
			h->lab->nodes[i].absent = on;
}

static void renumber(struct hostile *h)
{
	uint16_t base = (uint16_t)(1 + below(h, 2) * 1000);

	for (size_t i = 0; i < LAB_NODES; i++)
		h->lab->nodes[i].lid = (uint16_t)(base + i);
	for (size_t i = LAB_NODES - 1; i > 0; i--) {
		size_t other = below(h, i + 1);
		uint16_t lid = h->lab->nodes[i].lid;

		h->lab->nodes[i].lid = h->lab->nodes[other].lid;
		h->lab->nodes[other].lid = lid;
	}
}

static void set_renumbered(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	if (on)
		renumber(h);
}

static void set_lids_swapped(struct hostile *h, struct active *active, bool on)
{
	uint16_t lid = h->lab->nodes[active->node].lid;

	if (!on)
		return;
	h->lab->nodes[active->node].lid = h->lab->nodes[active->peer].lid;
	h->lab->nodes[active->peer].lid = lid;
}

/* The far half is another fabric at first; it has LIDs of this one until its subnet manager has lost the election. */
static void set_merge(struct hostile *h, struct active *active, bool on)
{
	set_half(h, active, on);
	if (!on)
		renumber(h);
}

static void step_merge(struct hostile *h, struct active *active)
{
	if (h->sweep + 12 != active->until)
		return;
	set_half(h, active, false);
	for (size_t i = 0; i < 8; i++)
		if (chance(h, 70))
			h->lab->nodes[HOST + i].lid = h->lab->nodes[HOST + 8 + i].lid;
	h->lab->nodes[LEAF].lid = h->lab->nodes[LEAF + 2].lid;
	h->lab->nodes[0].lid = h->lab->nodes[1].lid;
}

static void set_sm(struct hostile *h, struct active *active, bool on)
{
	h->lab->agents[h->lab->sm_node].sm_state = 2;
	h->lab->sm_node = on ? active->node : OWN_HOST;
	h->lab->agents[active->node].sm_state = on ? 3 : 0;
	h->lab->agents[OWN_HOST].sm_state = on ? 2 : 3;
}

/* Every 30 s. */
static void step_failover(struct hostile *h, struct active *active)
{
	if ((h->sweep - active->since) % 3 == 0)
		set_sm(h, active, h->lab->sm_node == OWN_HOST);
	h->lab->agents[active->node].sm_state = h->lab->sm_node == OWN_HOST ? 2 : 3;
}

static void set_sm_silent(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	h->lab->agents[OWN_HOST].sm_silent = on;
}

static void set_two_masters(struct hostile *h, struct active *active, bool on)
{
	h->lab->agents[active->node].sm_state = on ? 3 : 0;
}

static void set_store_fails(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	h->lab->store_fails = on;
}

static void set_store_slow(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	h->lab->store_us = on ? 12 * US_PER_S : 0;
}

static const struct disturbance disturbances[] = {
	{ "garbage", OF_WIRE, ANY_NODE, 60, set_wire, NULL, GARBAGE, false, 0, 0 },
	{ "duplicated responses", OF_WIRE, ANY_NODE, 60, set_wire, NULL, DUPLICATES, false, 0, 0 },
	{ "late responses", OF_WIRE, ANY_NODE, 60, set_wire, NULL, LATE, false, LOSSES, 0 },
	{ "foreign responses", OF_WIRE, ANY_NODE, 60, set_wire, NULL, FOREIGN, false, 0, 0 },
	{ "damaged headers", OF_WIRE, ANY_NODE, 60, set_wire, NULL, DAMAGED, false, LOSSES, 0 },
	{ "wrong statuses", OF_WIRE, ANY_NODE, 60, set_wire, NULL, WRONG_STATUS, false, LOSSES, 0 },
	{ "responses for another port", OF_WIRE, ANY_NODE, 60, set_wire, NULL, WRONG_PORT, false, LOSSES, 0 },
	{ "20 % loss", OF_WIRE, ANY_NODE, 60, set_wire, NULL, LOSS, false, LOSSES, 0 },
	{ "no responses at all", OF_WIRE, ANY_NODE, 4, set_wire, NULL, SILENCE, true, OUTAGE | BIT(SM_LOST), 0 },
	{ "reordered responses", OF_WIRE, ANY_NODE, 60, set_wire, NULL, REORDER, false, 0, 0 },
	{ "a node is silent", OF_NODES, ANY_HOST, 150, set_dead, NULL, NO_WIRE, false,
	  CABLES, BIT(NODE_SILENT) },
	{ "a switch is silent", OF_NODES, ANY_SWITCH, 150, set_dead, NULL, NO_WIRE, true,
	  CABLES, BIT(NODE_SILENT) },
	{ "a node is off", OF_NODES, ANY_HOST, 150, set_off, NULL, NO_WIRE, false, CABLES, 0 },
	{ "a node is locked", OF_NODES, ANY_NODE, 90, set_locked, NULL, NO_WIRE, false, BIT(LOCKED), 0 },
	{ "a node is slow", OF_NODES, ANY_NODE, 60, set_slow, NULL, NO_WIRE, false, OUTAGE | BIT(LOCKED), 0 },
	{ "a node is busy", OF_NODES, ANY_NODE, 60, NULL, step_busy, NO_WIRE, false, 0, 0 },
	{ "redirect loops", OF_NODES, ANY_NODE, 40, set_redirect, NULL, NO_WIRE, true, OUTAGE, 0 },
	{ "counters are reset", OF_NODES, ANY_NODE, 1, set_clear, NULL, NO_WIRE, false,
	  BIT(COUNTERS_CLEARED), 0 },
	{ "duplicate GUIDs", OF_NODES, ANY_HOST, 90, set_guid, step_guid, NO_WIRE, true, UINT32_MAX, 0 },
	{ "a trunk is down", OF_CABLES, UPLINK, 150, set_down, NULL, NO_WIRE, false, CABLES, BIT(LINK_DOWN) },
	{ "a trunk flaps", OF_CABLES, UPLINK, 60, set_down, step_flap, NO_WIRE, false, CABLES, 0 },
	{ "a host's link is down", OF_CABLES, HOST_LINK, 90, set_down, NULL, NO_WIRE, false, CABLES, 0 },
	{ "a host's link flaps", OF_CABLES, HOST_LINK, 60, set_down, step_flap, NO_WIRE, false, CABLES, 0 },
	{ "a link stays in Init", OF_CABLES, HOST_LINK, 60, set_init, NULL, NO_WIRE, false, CABLES, 0 },
	{ "a link is degraded", OF_CABLES, UPLINK, 150, set_degraded, NULL, NO_WIRE, false,
	  BIT(LINK_DEGRADED), BIT(LINK_DEGRADED) },
	{ "cables are swapped", OF_CABLES, ANY_NODE, 60, set_swapped, NULL, NO_WIRE, true,
	  CABLES | BIT(RAIL_MISWIRED), 0 },
	{ "half of the fabric is gone", OF_CABLES, ANY_NODE, 150, set_half, NULL, NO_WIRE, true, CABLES, 0 },
	{ "two fabrics are merged", OF_CABLES, ANY_NODE, 60, set_merge, step_merge, NO_WIRE, true, CABLES, 0 },
	{ "all LIDs are renumbered", OF_LIDS, ANY_NODE, 1, set_renumbered, NULL, NO_WIRE, true, OUTAGE, 0 },
	{ "SM failover every 30 s", OF_SM, ANY_HOST, 90, set_sm, step_failover, NO_WIRE, false,
	  BIT(SM_LOST), 0 },
	{ "the SM is silent", OF_SM, ANY_NODE, 150, set_sm_silent, NULL, NO_WIRE, false,
	  BIT(SM_LOST), BIT(SM_LOST) },
	{ "two master SMs", OF_SM, ANY_HOST, 60, set_two_masters, NULL, NO_WIRE, false, BIT(SM_LOST), 0 },
	{ "the store fails", OF_STORE, ANY_NODE, 20, set_store_fails, NULL, NO_WIRE, true,
	  BIT(STORE_STALLED), 0 },
	{ "the store is slow", OF_STORE, ANY_NODE, 20, set_store_slow, NULL, NO_WIRE, false, 0, 0 },
	{ "two LIDs are exchanged", OF_LIDS, ANY_NODE, 1, set_lids_swapped, NULL, NO_WIRE, true, OUTAGE, 0 },
};
enum { DISTURBANCES = sizeof(disturbances) / sizeof(disturbances[0]) };

/* --- the schedule --- */

static void trace(const struct hostile *h, const struct active *active, const char *what)
{
	if (h->trace)
		print_message("# sweep %" PRIu64 ": %s %s: node %zu port %u, peer %zu\n", h->sweep, active->what->name,
			      what, active->node, active->num, active->peer);
}

/* Its findings are justified from now on for some sweeps. */
static void justify(struct hostile *h, const struct active *active)
{
	for (size_t node = 0; node <= LAB_NODES; node++) {
		bool concerned = node == LAB_NODES || active->what->wide || active->what->group == OF_WIRE ||
				 node == active->node || node == active->peer;

		for (unsigned kind = 0; concerned && kind < FINDING_KIND_COUNT; kind++)
			if (active->what->findings & 1u << kind && h->allowed[node][kind] < h->plain + GRACE)
				h->allowed[node][kind] = h->plain + GRACE;
	}
}

static void choose_place(struct hostile *h, struct active *active)
{
	size_t leaf = LEAF + below(h, LAB_LEAVES);

	switch (active->what->target) {
	case ANY_NODE:
		active->node = below(h, OWN_HOST);
		break;
	case ANY_HOST:
		active->node = HOST + below(h, LAB_HOSTS - 1);
		break;
	case ANY_SWITCH:
		active->node = below(h, HOST);
		break;
	case UPLINK:
		active->node = leaf;
		active->num = 1 + (unsigned)below(h, LAB_SPINES);
		active->peer = active->num - 1;
		return;
	case HOST_LINK:
		active->peer = HOST + below(h, LAB_HOSTS - 1);
		active->node = LEAF + (active->peer - HOST) / 4;
		active->num = 3 + (unsigned)(active->peer - HOST) % 4;
		return;
	}
	/* The leaf of a host; another host if two are concerned. */
	active->peer = active->node < HOST ? active->node : LEAF + (active->node - HOST) / 4;
	if (active->what->set == set_guid || active->what->set == set_lids_swapped)
		active->peer = HOST + (active->node + 1 + below(h, LAB_HOSTS - 3)) % (LAB_HOSTS - 1);
}

static void begin_one(struct hostile *h, const struct disturbance *what)
{
	uint64_t until = h->sweep + 1 + what->longest / 3 + below(h, what->longest - what->longest / 3);
	struct active *free_one = NULL;

	for (size_t i = 0; i < ACTIVE_MAX; i++) {
		struct active *active = &h->active[i];

		if (!active->what)
			free_one = active;
		else if (active->what == what || (what->group && active->what->group == what->group))
			return;
	}
	if (!free_one)
		return;
	*free_one = (struct active){ .what = what, .since = h->sweep, .until = until };
	choose_place(h, free_one);
	if (free_one->peer == free_one->node && what->set == set_guid)
		free_one->peer = free_one->node == HOST ? HOST + 1 : HOST;
	free_one->spoiled = h->sweep < h->unknown[free_one->node] || h->sweep < h->unknown[free_one->peer];
	h->begun[what - disturbances]++;
	trace(h, free_one, "begins");
	if (what->set)
		what->set(h, free_one, true);
}

/* A disturbance that ends before the quiet sweeps. */
static void begin_any(struct hostile *h)
{
	const struct disturbance *what = &disturbances[below(h, DISTURBANCES - 1)];

	if (h->sweep % ROUND + what->longest < ROUND - QUIET)
		begin_one(h, what);
}

static void end_one(struct hostile *h, struct active *active)
{
	trace(h, active, "ends");
	if (active->what->set)
		active->what->set(h, active, false);
	justify(h, active);
	for (size_t i = 0; i < LAB_NODES; i++)
		if (active->what->findings & BIT(NODE_MISSING) &&
		    (active->what->wide || i == active->node || i == active->peer))
			h->unknown[i] = h->sweep + DOUBTFUL;
	active->what = NULL;
}

/* Packets and words are conserved on each link; LinkDowned counts. */
static void count_traffic(struct hostile *h)
{
	struct virtual *world = h->lab->run.world;

	for (uint32_t i = 0; i < world->built->port_count; i++) {
		const struct port *port = &world->built->ports[i];
		uint64_t words = below(h, 1000), *down = &world->counters[i].value[COUNTER_LINK_DOWNED];
		bool *was_up = &h->was_up[port->node][port->num], up = port->state >= PORT_INIT;

		if (port->peer == FABRIC_NONE)
			continue;
		if (*was_up && !up) {
			++*down;
			h->allowed[port->node][FINDING_LINK_FLAPPING] = h->plain + GRACE_FLAPPING;
		}
		/* An operator clears a port before its 8 bits are full. */
		if (*down > 200)
			clear_port(h, port->node, port->num);
		*was_up = up;
		if (port->state < PORT_ACTIVE)
			continue;
		world->counters[i].value[COUNTER_XMIT_DATA] += words;
		world->counters[i].value[COUNTER_XMIT_PACKETS] += words / 8;
		world->counters[port->peer].value[COUNTER_RCV_DATA] += words;
		world->counters[port->peer].value[COUNTER_RCV_PACKETS] += words / 8;
	}
}

static void before_sweep(struct lab *lab)
{
	struct hostile *h = hostile;
	bool wide = false;

	if (lab->run.now_us < h->next_us)
		return;
	h->next_us = lab->run.now_us + lab->run.settings.interval_us / 2;
	h->sweep++;
	lab->run.world->act_count++;
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (h->active[i].what && h->active[i].until <= h->sweep)
			end_one(h, &h->active[i]);
	if (chance(h, 18))
		begin_any(h);
	/* While all are read: if one of two nodes is not, the counters of the other one may look plausible. */
	if (h->sweep % ROUND == ROUND - QUIET / 3)
		begin_one(h, &disturbances[DISTURBANCES - 1]);
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		wide |= h->active[i].what && h->active[i].what->wide;
	h->plain += !wide;
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (h->active[i].what && h->active[i].what->step)
			h->active[i].what->step(h, &h->active[i]);
	for (size_t i = 0; i < LAB_NODES; i++)
		lab->nodes[i].doubtful = h->sweep < h->doubtful[i];
	lab_apply(lab);
	count_traffic(h);
}

/* --- what is stored --- */

static size_t node_of(uint64_t guid)
{
	return guid ? guid - lab_guid(0) : LAB_NODES;
}

/* Without marks the delta is the difference of the readings; a reset was one. */
static void check_delta(struct hostile *h, size_t node, unsigned num, const struct port_sample *sample)
{
	const struct lab_port *port = lab_port(h->lab, node, num);
	const struct delta *delta = sample->delta;

	assert_true(delta->elapsed_us == sample->reading->at_us - port->last.at_us);
	if (delta->reset && !h->cleared[node][num])
		fail_msg("a reset of node %zu port %u that was none", node, num);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		counter_set bit = COUNTER_BIT(i);

		if (!(delta->known & bit) || (delta->reset | delta->saturated) & bit)
			continue;
		assert_true(port->last.value[i] + delta->value[i] == sample->reading->value[i]);
		h->deltas++;
	}
	h->resets += delta->reset != 0;
	h->cleared[node][num] = false;
}

static bool names(const struct finding *finding, size_t node)
{
	for (unsigned i = 0; i < finding->port_count; i++)
		if (node_of(finding->ports[i].node_guid) == node)
			return true;
	return node_of(finding->node_guid) == node || node_of(finding->peer_guid) == node;
}

static void check_finding(struct hostile *h, const struct finding *finding)
{
	size_t node = node_of(finding->node_guid), peer = node_of(finding->peer_guid);

	h->findings_seen++;
	if (h->allowed[node][finding->kind] < h->plain &&
	    (!finding->peer_guid || h->allowed[peer][finding->kind] < h->plain))
		fail_msg("without a cause: %s %s: %s", finding_kind_name(finding->kind), finding->subject,
			 finding->text);
}

static void check_findings(struct hostile *h, const struct sweep *sweep)
{
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (h->active[i].what)
			justify(h, &h->active[i]);
	for (size_t i = 0; i < sweep->finding_count; i++)
		check_finding(h, sweep->findings[i]);
	for (size_t i = 0; i < ACTIVE_MAX; i++) {
		struct active *active = &h->active[i];
		bool found = false, hidden = false;

		if (!active->what || !active->what->required)
			continue;
		for (size_t j = 0; j < ACTIVE_MAX; j++) {
			const struct active *other = &h->active[j];

			if (j == i || !other->what)
				continue;
			hidden |= other->what->wide;
			active->spoiled |= other->what->group == OF_CABLES &&
					   (other->what->wide || other->node == active->node ||
					    other->peer == active->node);
		}
		active->visible = hidden ? 0 : active->visible + 1;
		for (size_t j = 0; j < sweep->finding_count; j++)
			found |= active->what->required & 1u << sweep->findings[j]->kind &&
				 (active->what->group == OF_SM || names(sweep->findings[j], active->node));
		h->required_seen += found;
		if (active->visible > DETECTED && !found && !active->spoiled)
			fail_msg("not found: %s, node %zu port %u", active->what->name, active->node, active->num);
	}
}

static void measure_heap(struct hostile *h)
{
	struct mallinfo2 heap = mallinfo2();

	if (h->heap_count < HEAPS_MAX)
		h->heaps[h->heap_count++] = heap.uordblks + heap.hblkhd;
}

/* The end of a round: nothing of the disturbances is left. */
static void check_quiet(struct hostile *h, const struct sweep *sweep)
{
	assert_int_equal(sweep->ports_polled, LIVE_PORTS);
	assert_int_equal(sweep->ports_answered, LIVE_PORTS);
	assert_int_equal(sweep->fabric->node_count, LAB_NODES);
	assert_int_equal(fabric_count_links(sweep->fabric), LIVE_PORTS / 2);
	for (size_t i = 0; i < sweep->finding_count; i++)
		if (sweep->findings[i]->kind != FINDING_LINK_FLAPPING)
			fail_msg("still open: %s %s: %s", finding_kind_name(sweep->findings[i]->kind),
				 sweep->findings[i]->subject, sweep->findings[i]->text);
	h->exact += lab_check(h->lab) + lab_check_details(h->lab);
	for (size_t i = 0; i < LAB_NODES; i++)
		for (unsigned num = 1; num <= LAB_SWITCH_PORTS; num++) {
			struct lab_port *port = lab_port(h->lab, i, num);

			port->first = port->last;
			port->sum = (struct delta){ 0 };
		}
	if (!h->writer)
		measure_heap(h);
}

/* Sweeps begin in each interval, or an event says that they did not. */
static void check_pace(struct hostile *h, const struct sweep *sweep)
{
	int64_t interval_us = h->lab->run.settings.interval_us;
	bool late = h->last_start_us && sweep->start_us - h->last_start_us > interval_us * 3 / 2;

	for (size_t i = 0; i < sweep->event_count; i++)
		h->reported_late += !strcmp(sweep->events[i].kind, EVENT_SWEEP_LATE);
	h->missed += late;
	assert_true(!late || h->reported_late);
	h->last_start_us = sweep->start_us;
}

/* --- a week in a database --- */

static void store_in_week(struct hostile *h, const struct sweep *sweep)
{
	const struct sink *sink = writer_sink(h->writer);
	int64_t day = (sweep->wall_us - h->begin_us - 1) / (86400 * US_PER_S);
	struct error err = { 0 };

	if (sink->store(sink->ctx, sweep, &err) < 0)
		fail_msg("%s", err.text);
	assert_in_range(day, 0, DAYS_MAX - 1);
	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		size_t node = lab_node_of(sweep->fabric, sample->port);
		unsigned num = sweep->fabric->ports[sample->port].num;

		h->readings += sample->reading != NULL;
		if (!sample->delta)
			continue;
		delta_add(&h->days[day][node][num].sum, sample->delta);
		delta_add(&h->total[node][num].sum, sample->delta);
		h->days[day][node][num].samples++;
		h->total[node][num].samples++;
	}
}

static int store_week_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	const struct sink *sink = writer_sink(hostile->writer);

	if (hostile->lab_sink.store_events(ctx, events, count, err) < 0)
		return ERR_IO;
	return sink->store_events(sink->ctx, events, count, err);
}

static int store_week_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	const struct sink *sink = writer_sink(hostile->writer);

	(void)ctx;
	return sink->store_caps(sink->ctx, caps, count, err);
}

static int restore_week(void *ctx, struct restored *ret, struct error *err)
{
	const struct sink *sink = writer_sink(hostile->writer);

	(void)ctx;
	return sink->restore(sink->ctx, ret, err);
}

/* The sums of a window are those of the stored deltas. */
static void check_sums(struct hostile *h, struct reader *reader, int64_t since_us, int64_t until_us,
		       struct history_sum (*truth)[LAB_SWITCH_PORTS + 1])
{
	struct history_port ports[LAB_NODES * LAB_SWITCH_PORTS];
	struct history_sum sums[LAB_NODES * LAB_SWITCH_PORTS];
	struct history_range range;
	size_t count = 0;

	for (size_t node = 0; node < LAB_NODES; node++)
		for (unsigned num = 1; num <= LAB_SWITCH_PORTS; num++)
			if (truth[node][num].samples)
				ports[count++] = (struct history_port){ lab_guid(node), (uint8_t)num };
	assert_int_equal(reader_history_range(reader, since_us, until_us, &range, NULL), 0);
	assert_int_equal(reader_history_sums(reader, &(struct history_query){
		.after = range.after, .until = range.until, .ports = ports, .port_count = count,
		.counters = COUNTER_BIT(COUNTER_COUNT) - 1 }, sums, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		const struct history_sum *right = &truth[ports[i].node_guid - lab_guid(0)][ports[i].num];

		assert_true(sums[i].sum.elapsed_us == right->sum.elapsed_us);
		assert_true(sums[i].samples == right->samples);
		for (int c = 0; c < COUNTER_COUNT; c++) {
			if (!(sums[i].sum.known & right->sum.known & COUNTER_BIT(c)))
				continue;
			assert_true(sums[i].sum.value[c] == right->sum.value[c]);
			h->sums_compared++;
		}
	}
}

/* Days that have ended, while their samples are stored; then all of it, from sums where samples have expired. */
static void check_week(struct hostile *h)
{
	struct reader *reader = check_open_reader(path);
	const int64_t day_us = 86400 * US_PER_S;
	struct db_status status;

	assert_int_equal(reader_status(reader, &status, NULL), 0);
	for (; h->begin_us + (int64_t)(h->days_checked + 1) * day_us < status.last_wall_us; h->days_checked++)
		check_sums(h, reader, h->begin_us + (int64_t)h->days_checked * day_us,
			   h->begin_us + (int64_t)(h->days_checked + 1) * day_us, h->days[h->days_checked]);
	check_sums(h, reader, 0, 0, h->total);
	assert_true(status.size_bytes < (int64_t)h->readings * WRITER_BYTES_PER_SAMPLE + WEEK_BYTES);
	print_message("# %" PRIu64 " sweeps: %" PRId64 " bytes, %" PRId64 " sweeps with samples\n", h->sweep,
		      status.size_bytes, status.sweeps);
	reader_close(reader);
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct hostile *h = hostile;
	struct lab *lab = ctx;

	for (size_t i = 0; i < sweep->sample_count && !lab->store_fails; i++) {
		size_t node = lab_node_of(sweep->fabric, sweep->samples[i].port);
		unsigned num = sweep->fabric->ports[sweep->samples[i].port].num;

		if (lab->nodes[node].doubtful)
			h->cleared[node][num] = true;
		else if (sweep->samples[i].delta)
			check_delta(h, node, num, &sweep->samples[i]);
	}
	check_findings(h, sweep);
	check_pace(h, sweep);
	h->events += lab->store_fails ? 0 : sweep->event_count;
	if (h->lab_sink.store(h->lab_sink.ctx, sweep, err) < 0)
		return ERR_IO;
	if (h->writer)
		store_in_week(h, sweep);
	if (h->sweep % ROUND == ROUND - 2)
		check_quiet(h, sweep);
	/* A late sweep is followed by the next one without a pause. */
	if (lab->store_us)
		before_sweep(lab);
	return 0;
}

static int stop_hostile(void **state)
{
	struct hostile *h = hostile;

	(void)state;
	if (!h)
		return 0;
	if (!h->done)
		print_message("# seed %" PRIu64 ", sweep %" PRIu64 "\n", h->seed, h->sweep);
	for (size_t i = 0; i < ACTIVE_MAX && !h->done; i++)
		if (h->active[i].what)
			trace(&(struct hostile){ .trace = true, .sweep = h->active[i].since }, &h->active[i],
			      "is active");
	return 0;
}

static uint64_t number(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : usual;
}

static void start_hostile(struct hostile *h, struct lab *lab)
{
	struct virtual *world = lab->run.world;

	h->lab = lab;
	h->random = h->seed;
	h->trace = getenv("IBWIRE_HOSTILE_TRACE") != NULL;
	lab->traffic = false;
	lab->before_sweep = before_sweep;
	for (uint32_t i = 0; i < world->built->port_count; i++) {
		h->was_up[world->built->ports[i].node][world->built->ports[i].num] = true;
		/* Those of FEC are equal: of nodes that had one GUID they would be findings for hours. */
		for (int attribute = 0; attribute < DETAIL_EXTENDED_SPEEDS; attribute++)
			for (int number = 0; number < DETAIL_MAX; number++)
				world->counters[i].details[attribute][number] = below(h, 1000);
	}
	h->sweeps_wire = (struct wire){ .hostile = h, .inner = lab->run.transport };
	lab->run.transport = (struct transport){ wire_send, wire_receive, &h->sweeps_wire };
	lab->run.explorer = true;
	lab->run.on_explore = on_explore;
	h->lab_sink = lab->sink;
	lab->sink.store = store;
}

/* The heap at quiet times: no more in the last third than in the second one. */
static void check_heaps(struct hostile *h)
{
	size_t most[3] = { 0 };

	for (size_t i = 0; i < h->heap_count; i++)
		if (h->heaps[i] > most[3 * i / h->heap_count])
			most[3 * i / h->heap_count] = h->heaps[i];
	print_message("# heap at quiet times: at most %zu, %zu, %zu bytes in thirds of %" PRIu64 " sweeps\n", most[0],
		      most[1], most[2], h->sweep);
	assert_true(most[2] <= most[1] + HEAP_SLACK);
}

static uint64_t count_begun(const struct hostile *h)
{
	uint64_t begun = 0;

	for (size_t i = 0; i < DISTURBANCES; i++)
		begun += h->begun[i];
	return begun;
}

static void report(const struct hostile *h)
{
	if (!getenv("IBWIRE_RELIABILITY") || !h->sweep)
		return;
	for (size_t i = 0; i < DISTURBANCES; i++)
		printf("RELIABILITY\tvirtual fabric: %s\t%" PRIu64 "\tdeltas, findings, recovery\t0 failures\n",
		       disturbances[i].name, h->begun[i]);
	printf("RELIABILITY\tvirtual fabric: all of these\t%" PRIu64 " sweeps\t%" PRIu64 " deltas against the "
	       "counters, %" PRIu64 " open findings against their causes, heap, %" PRIu64 " events\t0 failures\n",
	       h->sweep, h->deltas, h->findings_seen, h->events);
}

/* Run until the number of sweeps is reached, with a restart of the collector after some rounds. */
static void run_hostile(struct hostile *h, uint64_t wanted)
{
	while (h->sweep < wanted) {
		h->lab->event_count = 0;
		h->last_start_us = 0;
		if (h->begin_us) {
			h->writer = check_open_writer(path);
			writer_set_retention(h->writer, &week_retention);
		}
		lab_run(h->lab, ROUNDS_OF_RUN * ROUND);
		if (!h->writer)
			continue;
		/* Without SQLite's caches and the thread that packs. */
		writer_close(h->writer);
		h->writer = NULL;
		check_week(h);
		measure_heap(h);
	}
	check_heaps(h);
	assert_true(h->events <= EVENTS_EACH * count_begun(h));
}

TEST_WITH(a_hostile_fabric_disturbs_neither_sums_nor_findings_nor_memory, NULL, stop_hostile)
{
	static struct hostile all;
	struct hostile *h = hostile = &all;

	h->seed = number("IBWIRE_HOSTILE_SEED", 1);
	start_hostile(h, lab_create(h->seed));
	run_hostile(h, number("IBWIRE_HOSTILE_SWEEPS", test_cases(USUAL_SWEEPS)));
	for (size_t i = 0; i < DISTURBANCES && h->sweep >= USUAL_SWEEPS; i++)
		assert_true(h->begun[i]);
	report(h);
	h->done = true;
	lab_destroy(h->lab);
}

static int begin_week(void **state)
{
	hostile = NULL;
	return test_folder_make(state);
}

static int end_week(void **state)
{
	stop_hostile(state);
	return test_folder_remove(state);
}

TEST_WITH(a_hostile_week_is_stored_exactly, begin_week, end_week)
{
	static struct hostile all;
	struct hostile *h = hostile = &all;

	h->seed = number("IBWIRE_HOSTILE_SEED", 1) + 1000;
	start_hostile(h, lab_create(h->seed));
	h->begin_us = h->lab->run.wall_us;
	h->lab->sink.store_events = store_week_events;
	h->lab->sink.store_caps = store_week_caps;
	h->lab->sink.restore = restore_week;
	h->lab->run.settings.routes_interval_us = 60 * US_PER_S;
	run_hostile(h, number("IBWIRE_WEEK_SWEEPS", test_cases(WEEK_SWEEPS)));
	if (getenv("IBWIRE_RELIABILITY") && h->sweep)
		printf("RELIABILITY\ta week in virtual time, stored\t%" PRIu64 " sweeps\t%" PRIu64 " sums of days and "
		       "of all, size, heap, %" PRIu64 " missed sweeps reported\t0 failures\n", h->sweep,
		       h->sums_compared, h->missed);
	h->done = true;
	lab_destroy(h->lab);
}
