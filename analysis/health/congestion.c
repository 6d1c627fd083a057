/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Windows of a minute: sums over all ports, for the rules that evaluate them; and congestion. */
#include <math.h>
#include <stdlib.h>

#include "analysis/health/state.h"

enum { CONGESTION_WINDOWS = 10, CONGESTION_STALLED = 5, HOPS_MOST = 5 };

/* Share of the bytes of a full port that one output must send for the stall to continue there. */
#define FULL_GOES_ON 0.9

/* The current window. */
struct congestion {
	struct health_time start;
	unsigned sweeps;
};

static void start_window(struct health *health, struct congestion *window)
{
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		port->load = (struct balance_load){ .known = false };
		port->load_lost = false;
	}
	*window = (struct congestion){ health_now(health), 0 };
}

/* The sums of a port in the form that the rules evaluate. */
static struct balance_load make_load(const struct health_port *port)
{
	struct balance_load ret = port->load;

	ret.known = ret.elapsed_us > 0 && !port->load_lost;
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

static bool end_window(struct health *health, const struct congestion *window)
{
	const struct fabric *fabric = health->input->fabric;
	struct balance_load *loads = reallocarray(health->window.loads, fabric->port_count + 1, sizeof(*loads));

	if (!loads) {
		health->failed = true;
		return false;
	}
	health->window.loads = loads;
	for (size_t i = 0; i < fabric->port_count; i++)
		loads[i] = make_load(health->port_of[i]);
	mirror(fabric, loads);
	health->window.generation = health->generation;
	health->window.window_us = (double)(health->now_us - window->start.us);
	health->window.start = window->start;
	health->window.end_us = health->now_us;
	health->window.step = health->step;
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

static enum stall_reason find_stall_cause(const struct health *health, const struct health_port *port, double stall,
					  struct health_port **ret_full)
{
	const struct health_node *node = port->peer ? port->peer->node : NULL;
	enum stall_reason reason = STALLS_ITSELF;
	uint32_t unknown = 0, up = 0;
	double most = 0;

	*ret_full = NULL;
	if (!node)
		return STALLS_BEHIND;
	if (node->type != NODE_SWITCH)
		return STALLS_ITSELF;
	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *output = &node->ports[i];

		unknown += output->link == LINK_IS_UP && output != port->peer && !make_load(output).known;
		up += output->link == LINK_IS_UP;
	}
	/* An output that was not read may be the cause. */
	if (unknown > (1 - health->settings.balance.coverage) * up)
		return STALLS_BEHIND;
	for (uint32_t i = 0; i < node->slots; i++) {
		struct health_port *output = &node->ports[i];
		struct balance_load load = make_load(output);
		double waits = isnan(load.stall) ? 0 : load.stall, used = utilization(output, &load);

		if (output == port->peer || !load.known || 2 * (waits + used) < stall)
			continue;
		if (waits > used)
			return STALLS_BEHIND;
		reason = STALLS_FOR_FULL;
		if (used > most) {
			most = used;
			*ret_full = output;
		}
	}
	return reason;
}

/* Record for one minute whether the port was the root of a stall. */
static void record_minute(struct health *health, struct health_port *port, double stall, bool at_least,
			  bool stalled)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_CONGESTION];
	struct health_tracker *tracker = stalled ? health_track(health, port) : port->tracker;

	if (!tracker)
		return;
	if (stalled && !(tracker->stalled & ((1u << CONGESTION_WINDOWS) - 1)))
		tracker->stall_since = health->window.start;
	tracker->stall_us = health->now_us;
	tracker->stalled = tracker->stalled << 1 | stalled;
	tracker->stalled_critical = tracker->stalled_critical << 1 | (stalled && stall * 100 >= limits->critical);
	if (!stalled)
		return;
	tracker->stall_percent = stall * 100;
	tracker->stall_at_least = at_least;
}

/* The output of the switch behind a full port that sends nearly all of its traffic on, or NULL. */
static struct health_port *next_full(const struct health_port *port)
{
	const struct health_node *node = port->peer->node;
	struct health_port *best = NULL;
	double most = 0;

	for (uint32_t i = 0; i < node->slots; i++) {
		struct health_port *output = &node->ports[i];

		if (output == port->peer || !output->peer || output->load.xmit_bytes <= most)
			continue;
		most = output->load.xmit_bytes;
		best = output;
	}
	return most >= FULL_GOES_ON * port->load.xmit_bytes ? best : NULL;
}

/*
 * Mark a host link that is full while a switch stalls for it, or for a trunk that sends to it
 * alone: the root of the stall is there.
 */
static void mark_full(struct health *health, struct health_port *port, double stall, bool at_least)
{
	struct health_tracker *tracker;

	for (unsigned hops = 0; hops < HOPS_MOST && port && health_is_trunk(port); hops++)
		port = next_full(port);
	if (!port || health_is_trunk(port) || !health_edge_host(port))
		return;
	tracker = health_track(health, port);
	if (!tracker)
		return;
	if (tracker->awaited_us != health->now_us || stall > tracker->awaited_stall)
		tracker->awaited_stall = stall;
	tracker->awaited_at_least = at_least || (tracker->awaited_us == health->now_us && tracker->awaited_at_least);
	tracker->awaited_us = health->now_us;
}

static void record_stall(struct health *health, struct health_port *port, const struct balance_load *load)
{
	double limit = health->settings.limits[FINDING_CONGESTION].warning;
	enum stall_reason reason;
	struct health_port *full;

	if (!(load->stall * 100 >= limit))
		return;
	reason = find_stall_cause(health, port, load->stall, &full);
	if (reason == STALLS_FOR_FULL)
		mark_full(health, full, load->stall, load->stall_at_least);
	if (reason == STALLS_ITSELF)
		record_minute(health, port, load->stall, load->stall_at_least, true);
}

/* Active minutes in which this port did not stall itself; runs after all stalls are recorded. */
static void record_clear_minute(struct health *health, struct health_port *port, const struct balance_load *load)
{
	struct health_tracker *tracker = port->tracker;
	bool active = utilization(port, load) >= health->settings.balance.active_mean ||
		      load->stall * 100 >= health->settings.limits[FINDING_CONGESTION].warning;

	if (!tracker || tracker->stall_us == health->now_us || !active)
		return;
	tracker->is_full = tracker->awaited_us == health->now_us;
	record_minute(health, port, tracker->is_full ? tracker->awaited_stall : 0, tracker->awaited_at_least,
		      tracker->is_full);
}

static unsigned count_bits(uint32_t mask)
{
	return (unsigned)__builtin_popcount(mask & ((1u << CONGESTION_WINDOWS) - 1));
}

/* A finding about the group or about the rate of the link explains the stall. */
static bool is_explained(struct health *health, const struct health_port *port)
{
	return health_find_link(health, FINDING_LINK_DEGRADED, port) ||
	       health_find(health, FINDING_UPLINK_IMBALANCE, port->node, 0, BALANCE_XMIT + 1);
}

static void check_congestion(struct health *health, const struct health_port *port)
{
	const struct health_tracker *tracker = port->tracker;
	unsigned stalled = count_bits(tracker->stalled);
	bool trunk = health_is_trunk(port), critical;
	const char *least = tracker->stall_at_least ? "at least " : "";
	double limit = health->settings.limits[FINDING_CONGESTION].warning;
	struct health_open_finding *open = health_find(health, FINDING_CONGESTION, port->node, port->num, 0);

	if (stalled < (open ? CONGESTION_STALLED / 2 : CONGESTION_STALLED) || is_explained(health, port))
		return;
	/* It is the hottest of its group in this window, with harm. */
	critical = trunk && count_bits(tracker->stalled_critical) >= CONGESTION_STALLED &&
		   tracker->harm_us == health->now_us;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_CONGESTION, .port = port, .link = true,
		.severity = critical ? FINDING_CRITICAL : trunk ? FINDING_WARNING : FINDING_INFO,
		.since = tracker->stall_since,
		.cause = trunk ? "trunk" : tracker->is_full ? "incast" : "slow-receiver" });
	if (tracker->is_full && !trunk)
		health_text(open, TENSE("full; switch ports stall", "was full; switch ports stalled") " for it up to "
			    "%s%.0f %% of the time (estimate; threshold %.0f %%), in %u of the last 10 active min: "
			    "incast to this host",
			    least, tracker->stall_percent, limit, stalled);
	else
		health_text(open, "stalled %s%.0f %% of the time (estimate; threshold %.0f %%), in %u of the last 10 "
			    "active min; %s", least, tracker->stall_percent, limit, stalled,
			    trunk ? "no port behind it " TENSE("stalls or is", "stalled or was") " full" :
				    "the host " TENSE("receives", "received") " too slowly");
	health_number(open, "stall_percent", tracker->stall_percent);
	health_number(open, "stalled_minutes_of_10", stalled);
	health_lower_bound(open, tracker->stall_at_least);
	if (tracker->stall_us == health->now_us && tracker->stalled & 1)
		health_window(health, open, health->window.start.us, health->now_us);
}

static void run_window(struct health *health, void *state)
{
	(void)state;
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < health->input->fabric->port_count; i++) {
			const struct balance_load *load = &health->window.loads[i];
			struct health_port *port = health->port_of[i];

			/* The stall of an HCA is caused by its leaf, whose ports show the root. */
			if (load->known && port->node->type == NODE_SWITCH)
				(pass ? record_clear_minute : record_stall)(health, port, load);
		}
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		if (port->tracker && port->tracker->stalled)
			check_congestion(health, port);
}

static void sweep(struct health *health, void *state)
{
	struct congestion *window = state;

	window->sweeps++;
	if (health->step && (health->now_us - window->start.us < health->settings.balance.window_us ||
			     window->sweeps < BALANCE_WINDOW_SWEEPS))
		return;
	if (health->step && end_window(health, window))
		health_run_window(health);
	start_window(health, window);
}

const struct health_rule health_congestion = {
	.state_size = sizeof(struct congestion), .sweep = sweep, .window = run_window,
};
