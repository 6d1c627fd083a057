/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Windows of a minute: sums over all ports, and the rules that evaluate them. The rule for
 * congestion is here; health_balance() and health_rails() run on the same window.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"

enum { WINDOW_SWEEPS = 3, CONGESTION_WINDOWS = 10, CONGESTION_STALLED = 5, HOPS_MOST = 5 };

/* Share of the bytes of a full port that one output must send for the stall to continue there. */
#define FULL_GOES_ON 0.9

static void start_window(struct health *health)
{
	if (health->window.load_capacity)
		memset(health->window.loads, 0, health->window.load_capacity * sizeof(*health->window.loads));
	health->window.start_us = health->now_us;
	health->window.start_wall_us = health->wall_us;
	health->window.sweeps = 0;
}

/* The sums of a port in the form that the rules evaluate. */
static struct balance_load make_load(const struct health_load *load)
{
	struct balance_load ret = load->sum;

	ret.known = ret.elapsed_us > 0 && !load->lost;
	ret.stall = ret.elapsed_us > 0 ? ret.stall / ret.elapsed_us : NAN;
	return ret;
}

/* The load of an HCA port that is not polled is taken from the switch port at its other end. */
static void mirror(const struct fabric *fabric, struct balance_load *loads)
{
	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (loads[i].known || port->peer == FABRIC_NONE || !loads[port->peer].known ||
		    fabric->nodes[port->node].type == NODE_SWITCH)
			continue;
		loads[i] = (struct balance_load){
			.known = true, .elapsed_us = loads[port->peer].elapsed_us,
			.xmit_bytes = loads[port->peer].rcv_bytes, .rcv_bytes = loads[port->peer].xmit_bytes,
			.stall = NAN, .xmit_discards = NAN,
		};
	}
}

static bool end_window(struct health *health)
{
	const struct fabric *fabric = health->input->fabric;
	struct balance_load *loads = reallocarray(health->balance.loads, fabric->port_count + 1, sizeof(*loads));

	if (!loads) {
		health->failed = true;
		return false;
	}
	health->balance.loads = loads;
	for (size_t i = 0; i < fabric->port_count; i++)
		loads[i] = make_load(&health->window.loads[health->port_of[i]]);
	mirror(fabric, loads);
	health->balance.generation = health->generation;
	health->balance.window_us = (double)(health->now_us - health->window.start_us);
	health->balance.start_wall_us = health->window.start_wall_us;
	return true;
}

static double utilization(const struct health_port *port, const struct balance_load *load)
{
	double rate = (double)link_rate_bits_per_s(port->width, (enum link_speed)port->speed);

	return load->elapsed_us > 0 && rate > 0 ? load->xmit_bytes * 8e6 / load->elapsed_us / rate : 0;
}

/* Where the cause of a stall is. */
enum stall_reason {
	STALLS_ITSELF,   /* at this port: nothing behind it explains the stall */
	STALLS_BEHIND,   /* behind it: the next switch has an output that stalls, too */
	STALLS_FOR_FULL, /* the next switch has an output that is full */
};

static enum stall_reason find_stall_cause(const struct health *health, uint32_t at, double stall, uint32_t *ret_full)
{
	uint32_t peer = health->ports[at].peer, unknown = 0, up = 0;
	enum stall_reason reason = STALLS_ITSELF;
	const struct health_node *node;
	double most = 0;

	*ret_full = HEALTH_NONE;
	if (peer == HEALTH_NONE)
		return STALLS_BEHIND;
	node = &health->nodes[health->ports[peer].node];
	if (node->type != NODE_SWITCH)
		return STALLS_ITSELF;
	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		unknown += health->ports[i].link == LINK_IS_UP && i != peer &&
			   !make_load(&health->window.loads[i]).known;
		up += health->ports[i].link == LINK_IS_UP;
	}
	/* An output that was not read may be the cause. */
	if (unknown > (1 - health->settings.balance.coverage) * up)
		return STALLS_BEHIND;
	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		struct balance_load load = make_load(&health->window.loads[i]);
		double waits = isnan(load.stall) ? 0 : load.stall, used = utilization(&health->ports[i], &load);

		if (i == peer || !load.known || 2 * (waits + used) < stall)
			continue;
		if (waits > used)
			return STALLS_BEHIND;
		reason = STALLS_FOR_FULL;
		if (used > most) {
			most = used;
			*ret_full = i;
		}
	}
	return reason;
}

/* Record for one minute whether the port was the root of a stall. */
static void record_minute(struct health *health, uint32_t at, double stall, bool stalled)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_CONGESTION];
	struct health_tracker *tracker;

	if (!stalled && health->ports[at].tracker == HEALTH_NONE)
		return;
	tracker = health_track(health, at);
	if (!tracker)
		return;
	if (stalled && !(tracker->stalled & ((1u << CONGESTION_WINDOWS) - 1)))
		tracker->stall_wall_us = health->window.start_wall_us;
	tracker->stall_us = health->now_us;
	tracker->stalled = tracker->stalled << 1 | stalled;
	tracker->stalled_critical = tracker->stalled_critical << 1 | (stalled && stall * 100 >= limits->critical);
	if (stalled)
		tracker->stall_percent = stall * 100;
}

/* The output of the switch behind a full port that sends nearly all of its traffic on, or NONE. */
static uint32_t next_full(const struct health *health, uint32_t at)
{
	double carried = health->window.loads[at].sum.xmit_bytes, most = 0;
	uint32_t peer = health->ports[at].peer, best = HEALTH_NONE;
	const struct health_node *node = &health->nodes[health->ports[peer].node];

	for (uint32_t i = node->first_port; i < node->first_port + node->slots; i++) {
		double bytes = health->window.loads[i].sum.xmit_bytes;

		if (i == peer || health->ports[i].peer == HEALTH_NONE || bytes <= most)
			continue;
		most = bytes;
		best = i;
	}
	return most >= FULL_GOES_ON * carried ? best : HEALTH_NONE;
}

/*
 * Mark a host link that is full while a switch stalls for it, or for a trunk that sends to it
 * alone: the root of the stall is there.
 */
static void mark_full(struct health *health, uint32_t at, double stall)
{
	struct health_tracker *tracker;

	for (unsigned hops = 0; hops < HOPS_MOST && at != HEALTH_NONE && health_is_trunk(health, at); hops++)
		at = next_full(health, at);
	if (at == HEALTH_NONE || health_is_trunk(health, at) || health_edge_host(health, at) == HEALTH_NONE)
		return;
	tracker = health_track(health, at);
	if (!tracker)
		return;
	if (tracker->awaited_us != health->now_us || stall > tracker->awaited_stall)
		tracker->awaited_stall = stall;
	tracker->awaited_us = health->now_us;
}

static void record_stall(struct health *health, uint32_t at, const struct balance_load *load)
{
	double limit = health->settings.limits[FINDING_CONGESTION].warning;
	enum stall_reason reason;
	uint32_t full;

	if (!(load->stall * 100 >= limit))
		return;
	reason = find_stall_cause(health, at, load->stall, &full);
	if (reason == STALLS_FOR_FULL)
		mark_full(health, full, load->stall);
	if (reason == STALLS_ITSELF)
		record_minute(health, at, load->stall, true);
}

/* Active minutes in which this port did not stall itself; runs after all stalls are recorded. */
static void record_clear_minute(struct health *health, uint32_t at, const struct balance_load *load)
{
	struct health_tracker *tracker;
	bool active;

	if (health->ports[at].tracker == HEALTH_NONE)
		return;
	tracker = &health->trackers[health->ports[at].tracker];
	active = utilization(&health->ports[at], load) >= health->settings.balance.active_mean ||
		 load->stall * 100 >= health->settings.limits[FINDING_CONGESTION].warning;
	if (tracker->stall_us == health->now_us || !active)
		return;
	tracker->is_full = tracker->awaited_us == health->now_us;
	record_minute(health, at, tracker->is_full ? tracker->awaited_stall : 0, tracker->is_full);
}

static unsigned count_bits(uint32_t mask)
{
	return (unsigned)__builtin_popcount(mask & ((1u << CONGESTION_WINDOWS) - 1));
}

/* A finding about the group or about the rate of the link explains the stall. */
static bool is_explained(struct health *health, uint32_t at)
{
	const struct health_node *node = &health->nodes[health->ports[at].node];

	return health_find_link(health, FINDING_LINK_DEGRADED, at) ||
	       health_find(health, FINDING_UPLINK_IMBALANCE, node->guid, 0, BALANCE_XMIT + 1);
}

static void check_congestion(struct health *health, const struct health_tracker *tracker)
{
	uint32_t at = tracker->port;
	const struct health_port *port = &health->ports[at];
	unsigned stalled = count_bits(tracker->stalled);
	bool trunk = health_is_trunk(health, at), critical;
	double limit = health->settings.limits[FINDING_CONGESTION].warning;
	struct health_open_finding *open = health_find(health, FINDING_CONGESTION, health->nodes[port->node].guid,
						       port->num, 0);

	if (stalled < (open ? CONGESTION_STALLED / 2 : CONGESTION_STALLED) || is_explained(health, at))
		return;
	/* It is the hottest of its group in this window, with harm. */
	critical = trunk && count_bits(tracker->stalled_critical) >= CONGESTION_STALLED &&
		   tracker->harm_us == health->now_us;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_CONGESTION, .port = port, .link = true,
		.severity = critical ? FINDING_CRITICAL : trunk ? FINDING_WARNING : FINDING_INFO,
		.since_wall_us = tracker->stall_wall_us,
		.cause = trunk ? "trunk" : tracker->is_full ? "incast" : "slow-receiver" });
	if (tracker->is_full && !trunk)
		health_text(open, "full; switch ports stall for it up to %.0f %% of the time (estimate; threshold %.0f "
			    "%%), in %u of the last 10 active min: incast to this host",
			    tracker->stall_percent, limit, stalled);
	else
		health_text(open, "stalled %.0f %% of the time (estimate; threshold %.0f %%), in %u of the last 10 "
			    "active min; %s", tracker->stall_percent, limit, stalled,
			    trunk ? "no port behind it stalls or is full" : "the host receives too slowly");
	health_number(open, "stall_percent", tracker->stall_percent);
	health_number(open, "stalled_minutes_of_10", stalled);
}

static void congestion(struct health *health)
{
	const struct fabric *fabric = health->input->fabric;

	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < fabric->port_count; i++) {
			uint32_t at = health->port_of[i];
			const struct balance_load *load = &health->balance.loads[i];

			/* The stall of an HCA is caused by its leaf, whose ports show the root. */
			if (!load->known || health->nodes[health->ports[at].node].type != NODE_SWITCH)
				continue;
			if (pass == 0)
				record_stall(health, at, load);
			else
				record_clear_minute(health, at, load);
		}
	for (size_t i = 0; i < health->tracker_count; i++)
		if (health->trackers[i].stalled)
			check_congestion(health, &health->trackers[i]);
}

void health_window(struct health *health)
{
	health_reread(health);
	if (!health->step || !health->window.load_capacity) {
		start_window(health);
		return;
	}
	health->window.sweeps++;
	if (health->now_us - health->window.start_us < health->settings.window_us ||
	    health->window.sweeps < WINDOW_SWEEPS)
		return;
	if (end_window(health)) {
		health_balance(health);
		congestion(health);
		health_rails(health);
	}
	start_window(health);
}
