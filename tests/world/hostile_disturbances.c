/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The disturbances of hostile.h: of the wire, nodes, cables, LIDs, the subnet manager, the store. */
#include "base/clock.h"
#include "fabric/fabric.h"
#include "tests/world/hostile.h"

#define OUTAGE (BIT(COVERAGE) | BIT(NODE_SILENT))
/* Several incomplete discoveries in a row are believed (collector/topology_monitor.h). */
#define LOSSES (OUTAGE | BIT(TOPOLOGY_CHANGED) | BIT(SM_LOST) | BIT(HOST_RESTART) | BIT(NODE_MISSING))
#define CABLES (BIT(LINK_DOWN) | BIT(NODE_MISSING) | BIT(TOPOLOGY_CHANGED) | BIT(HOST_RESTART) | \
		BIT(UPLINKS_MISSING) | BIT(LINK_FLAPPING) | OUTAGE)

/* Those that are a flag of the lab. */
#define SET_FLAG(function, flag) \
	static void function(struct hostile *h, struct active *active, bool on) \
	{ \
		(void)active; \
		(flag) = on; \
	}
SET_FLAG(set_dead, h->lab->agents[active->node].dead)
SET_FLAG(set_off, h->lab->nodes[active->node].absent)
SET_FLAG(set_locked, h->lab->run.world->nodes[active->node].locked)
SET_FLAG(set_down, lab_port(h->lab, active->node, active->num)->down)
SET_FLAG(set_init, lab_port(h->lab, active->node, active->num)->init)
SET_FLAG(set_sm_silent, h->lab->agents[OWN_HOST].sm_silent)

static void set_slow(struct hostile *h, struct active *active, bool on)
{
	h->lab->agents[active->node].latency_us = on ? (int64_t)random_below(h, 300 * US_PER_MS) : 0;
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

		h->lab->agents[i].redirect = chosen ? h->lab->nodes[(i + 1 + random_below(h, 5)) % LAB_NODES].lid : 0;
		h->lab->agents[i].redirect_loop = chosen;
		h->lab->agents[i].redirect_closed = !on;
	}
}

void hostile_clear(struct hostile *h, size_t node, unsigned num)
{
	lab_clear(h->lab, node, num);
	h->cleared[node][num] = true;
	h->allowed[node][FINDING_COUNTERS_CLEARED] = h->undisturbed_sweeps + GRACE;
}

static void set_clear(struct hostile *h, struct active *active, bool on)
{
	for (unsigned num = 1; on && num <= LAB_SWITCH_PORTS; num++)
		if (num == 1 || chance(h, 50))
			hostile_clear(h, active->node, num);
}

/* The second node has the GUID of the first one. Neither is compared until they were discovered again. */
static void set_guid(struct hostile *h, struct active *active, bool on)
{
	if (active->peer == active->node)
		active->peer = active->node == HOST ? HOST + 1 : HOST;
	h->lab->run.world->built->nodes[active->node].guid = lab_guid(on ? active->peer : active->node);
}

static void step_guid(struct hostile *h, struct active *active)
{
	h->guid_ambiguous[active->node] = h->guid_ambiguous[active->peer] = h->sweep + GUID_AMBIGUOUS;
}

static void step_flap(struct hostile *h, struct active *active)
{
	set_down(h, active, chance(h, 50));
}

static void set_degraded(struct hostile *h, struct active *active, bool on)
{
	struct fabric *built = h->lab->run.world->built;
	struct port *port = &built->ports[fabric_node_port(built, (uint32_t)active->node, (uint8_t)active->num)];

	port->width = built->ports[port->peer].width = on ? LINK_WIDTH_1X : LINK_WIDTH_4X;
}

/* The half without the collector: a spine, two leaves and their hosts. */
static bool is_far_half(size_t node)
{
	return node == 0 || node == LEAF || node == LEAF + 1 || (node >= HOST && node < HOST + 8);
}

static void set_half(struct hostile *h, struct active *active, bool on)
{
	active->node = LEAF;
	for (size_t i = 0; i < LAB_NODES; i++)
		if (is_far_half(i))
			h->lab->nodes[i].absent = on;
}

static void set_swapped(struct hostile *h, struct active *active, bool on)
{
	active->node = HOST;
	active->peer = HOST + 1;
	h->lab->cables_swapped = on;
}

static void renumber(struct hostile *h)
{
	uint16_t base = (uint16_t)(1 + random_below(h, 2) * 1000);

	for (size_t i = 0; i < LAB_NODES; i++)
		h->lab->nodes[i].lid = (uint16_t)(base + i);
	for (size_t i = LAB_NODES - 1; i > 0; i--) {
		size_t other = random_below(h, i + 1);
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
	active->unverifiable = true;
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

static void set_two_masters(struct hostile *h, struct active *active, bool on)
{
	h->lab->agents[active->node].sm_state = on ? 3 : 0;
}

static void set_store_fails(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	h->lab->store_fails = on;
}

/* That it failed is stored when it works again. */
static void step_store_fails(struct hostile *h, struct active *active)
{
	h->lab->store_fails = h->sweep + 3 < active->until;
	if (h->lab->store_fails)
		active->visible = 0;
}

static void set_store_slow(struct hostile *h, struct active *active, bool on)
{
	(void)active;
	h->lab->store_us = on ? 25 * US_PER_S : 0;
}

const struct disturbance hostile_disturbances[DISTURBANCES] = {
	{ "garbage", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .wire = GARBAGE },
	{ "duplicated responses", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .wire = DUPLICATES },
	{ "late responses", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .findings = LOSSES, .wire = LATE },
	{ "foreign responses", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .wire = FOREIGN },
	{ "damaged headers", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .findings = LOSSES, .wire = DAMAGED },
	{ "wrong statuses", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .findings = LOSSES,
	  .required = BIT(COVERAGE), .detected = 30, .wire = WRONG_STATUS },
	{ "responses for another port", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .findings = LOSSES,
	  .required = BIT(COVERAGE), .detected = 30, .wire = WRONG_PORT },
	{ "20 % loss", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .findings = LOSSES, .wire = LOSS },
	{ "no responses at all", OF_WIRE, ANY_NODE, 12, .set = hostile_set_wire, .findings = OUTAGE | BIT(SM_LOST),
	  .required = BIT(SM_LOST), .detected = 4, .wire = SILENCE, .wide = true },
	{ "reordered responses", OF_WIRE, ANY_NODE, 60, .set = hostile_set_wire, .wire = REORDER },
	{ "a node is unresponsive", OF_NODES, ANY_HOST, 150, .set = set_dead, .findings = CABLES,
	  .required = BIT(NODE_SILENT) },
	{ "a switch is unresponsive", OF_NODES, ANY_SWITCH, 150, .set = set_dead, .findings = CABLES,
	  .required = BIT(NODE_SILENT), .wide = true },
	{ "a node is powered off", OF_NODES, ANY_HOST, 150, .set = set_off, .findings = CABLES,
	  .required = BIT(HOST_RESTART) | BIT(NODE_MISSING) },
	{ "a node is M_Key-protected", OF_NODES, ANY_NODE, 150, .set = set_locked, .findings = BIT(LOCKED),
	  .required = BIT(LOCKED) },
	{ "a node is slow", OF_NODES, ANY_NODE, 60, .set = set_slow, .findings = OUTAGE | BIT(LOCKED) },
	{ "a node is busy", OF_NODES, ANY_NODE, 60, .step = step_busy },
	{ "redirect loops", OF_NODES, ANY_NODE, 40, .set = set_redirect, .findings = OUTAGE, .wide = true },
	{ "counters are reset", OF_NODES, ANY_NODE, 60, .set = set_clear, .findings = BIT(COUNTERS_CLEARED),
	  .required = BIT(COUNTERS_CLEARED), .detected = 15 },
	{ "duplicate GUIDs", OF_NODES, ANY_HOST, 90, .set = set_guid, .findings = UINT64_MAX, .step = step_guid,
	  .wide = true, .pair = true },
	{ "a trunk is down", OF_CABLES, UPLINK, 150, .set = set_down, .findings = CABLES, .required = BIT(LINK_DOWN) },
	{ "a trunk flaps", OF_CABLES, UPLINK, 60, .set = set_down, .findings = CABLES,
	  .required = BIT(LINK_FLAPPING), .detected = 20, .step = step_flap },
	{ "a host's link is down", OF_CABLES, HOST_LINK, 150, .set = set_down, .findings = CABLES,
	  .required = BIT(HOST_RESTART) | BIT(NODE_MISSING) },
	{ "a host's link flaps", OF_CABLES, HOST_LINK, 60, .set = set_down, .findings = CABLES, .step = step_flap },
	{ "a link stays in Init", OF_CABLES, HOST_LINK, 150, .set = set_init, .findings = CABLES | BIT(LINK_NOT_ACTIVE),
	  .required = BIT(LINK_NOT_ACTIVE) },
	{ "a link is degraded", OF_CABLES, UPLINK, 150, .set = set_degraded, .findings = BIT(LINK_DEGRADED),
	  .required = BIT(LINK_DEGRADED) },
	{ "cables are swapped", OF_CABLES, ANY_NODE, 150, .set = set_swapped, .findings = CABLES | BIT(RAIL_MISWIRED),
	  .required = BIT(TOPOLOGY_CHANGED),
	  .wide = true },
	{ "half of the fabric is gone", OF_CABLES, ANY_NODE, 150, .set = set_half, .findings = CABLES,
	  .required = BIT(NODE_MISSING), .wide = true },
	{ "two fabrics are merged", OF_CABLES, ANY_NODE, 150, .set = set_merge, .findings = CABLES,
	  .required = BIT(NODE_MISSING), .detected = 30,
	  .step = step_merge, .wide = true },
	{ "all LIDs are renumbered", OF_LIDS, ANY_NODE, 1, .set = set_renumbered, .findings = OUTAGE, .wide = true },
	{ "SM failover every 30 s", OF_SM, ANY_HOST, 90, .set = set_sm, .findings = BIT(SM_LOST),
	  .required = BIT(SM_LOST), .detected = 20,
	  .step = step_failover },
	{ "the SM does not respond", OF_SM, ANY_NODE, 150, .set = set_sm_silent, .findings = BIT(SM_LOST),
	  .required = BIT(SM_LOST) },
	{ "two master SMs", OF_SM, ANY_HOST, 150, .set = set_two_masters, .findings = BIT(SM_LOST),
	  .required = BIT(SM_LOST) },
	{ "the store fails", OF_STORE, ANY_NODE, 20, .set = set_store_fails, .findings = BIT(STORE_STALLED),
	  .required = BIT(STORE_STALLED), .detected = 2, .step = step_store_fails,
	  .wide = true },
	{ "the store is slow", OF_STORE, ANY_NODE, 20, .set = set_store_slow },
	{ "two LIDs are exchanged", OF_LIDS, ANY_NODE, 1, .set = set_lids_swapped, .findings = OUTAGE, .wide = true,
	  .pair = true },
};
