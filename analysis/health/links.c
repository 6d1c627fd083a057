/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links that are down, not Active, degraded or flapping. */
#include <stdlib.h>

#include "analysis/health/state.h"
#include "fabric/shape.h"

/*
 * One end represents a link: the switch if the other end is an HCA, else the lower tier, else the
 * lower GUID.
 */
static bool represents_link(const struct health_port *port)
{
	const struct health_node *node = port->node, *other;

	if (!port->peer)
		return false;
	other = port->peer->node;
	if ((node->type == NODE_SWITCH) != (other->type == NODE_SWITCH))
		return node->type == NODE_SWITCH;
	if (node->tier != other->tier)
		return node->tier < other->tier;
	if (node->guid != other->guid)
		return node->guid < other->guid;
	return port->num < port->peer->num;
}

/* Percentage of the uplinks of a switch that are down. */
static double uplinks_down_percent(const struct health_node *node)
{
	uint32_t built = 0, down = 0;

	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *port = &node->ports[i];

		if (port->way != WAY_UP || !port->peer || port->link == LINK_NEVER_UP)
			continue;
		built++;
		down += health_link_is_down(port);
	}
	return built ? 100.0 * down / built : 0;
}

static void hold_down(struct health *health, const struct health_port *port)
{
	const struct health_port *down = port->link == LINK_IS_DOWN ? port : port->peer;
	double percent = 0, limit = health->settings.limits[FINDING_LINK_DOWN].critical;
	int64_t down_us = health->now_us - down->changed_us;
	bool trunk = health_is_trunk(port), uplink = trunk && port->way == WAY_UP;
	struct health_open_finding *open;
	char since[32];

	if (port->node->claimed || port->peer->node->claimed || health_is_charged(health, port) ||
	    down_us >= health->settings.forget_us)
		return;
	/* An open finding continues without the delay. */
	if (down_us < health->settings.down_after_us && !health_find_link(health, FINDING_LINK_DOWN, port))
		return;
	if (uplink)
		percent = uplinks_down_percent(port->node);
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_LINK_DOWN, .severity = trunk && percent >= limit ? FINDING_CRITICAL : FINDING_WARNING,
		.port = port, .link = true, .either_end = true, .since = down->began,
		.cause = trunk ? LINK_CAUSE_TRUNK : LINK_CAUSE_EDGE });
	health_duration(down_us, since);
	if (uplink)
		health_text(open, TENSE("down", "was down") " for %s; %.0f %% of the uplinks of %s "
			    TENSE("are", "were") " down (critical from %.0f %%)", since, percent,
			    port->node->name, limit);
	else
		health_text(open, TENSE("down", "was down") " for %s; both nodes " TENSE("have", "had")
			    " other links that " TENSE("are", "were") " up, or responded until then", since);
	health_number(open, "down_s", (double)down_us / SECOND_US);
	if (trunk)
		health_number(open, "uplinks_down_percent", percent);
}

static const struct port *port_now(const struct health *health, const struct health_port *port)
{
	const struct fabric *fabric = health->input->fabric;
	uint32_t node = port->node->now, at;

	if (node == FABRIC_NONE)
		return NULL;
	at = fabric_node_port(fabric, node, port->num);
	return at == FABRIC_NONE ? NULL : &fabric->ports[at];
}

/* The link is up, and the subnet manager has not set this end to Active. */
static bool is_not_active(const struct port *port)
{
	return port->state == PORT_INIT || port->state == PORT_ARMED;
}

/* The verdict of fabric/shape, unless the link is not Active. */
static uint8_t check_rate(const struct health *health, const struct health_port *port)
{
	const struct port *a, *b;

	if (!represents_link(port) || port->link != LINK_IS_UP)
		return LINK_NOT_DEGRADED;
	a = port_now(health, port);
	b = port_now(health, port->peer);
	if (!a || !b)
		return LINK_NOT_DEGRADED;
	if (is_not_active(a) || is_not_active(b))
		return HEALTH_NOT_ACTIVE;
	return health->input->shape->ports[a - health->input->fabric->ports].verdict;
}

static void update_degraded(struct health *health, struct health_port *port)
{
	uint8_t was = port->degraded;

	port->degraded = check_rate(health, port);
	if (port->degraded && (!was || (was == HEALTH_NOT_ACTIVE) != (port->degraded == HEALTH_NOT_ACTIVE))) {
		/* The collector may start with the fabric: links become Active in the seconds after. */
		port->degraded_us = health->step || port->degraded == HEALTH_NOT_ACTIVE ? health->now_us :
			HEALTH_LONG_AGO;
		port->degraded_since = health_now(health);
		port->degraded_at_least = !health->step;
		port->waiting_us = health->now_us;
	}
}

void health_find_degraded(struct health *health)
{
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		update_degraded(health, port);
}

struct rates {
	uint8_t width, speed, best_width, best_speed;
	bool supported; /* the best is supported by both ends; else, where that is unknown, enabled */
};

/* Rates of a link in the fabric of this step. Return: false: unknown. */
static bool find_rates(const struct health *health, const struct health_port *port, struct rates *ret)
{
	const struct port *a = port_now(health, port), *b = port_now(health, port->peer);
	bool supported;

	if (!a || !b)
		return false;
	supported = ports_best_rate(a, b, true);
	*ret = (struct rates){ a->width, a->speed, ports_best_width(a, b, supported),
			       (uint8_t)ports_best_speed(a, b, supported), supported };
	return true;
}

static void describe_rates(const struct rates *rates, enum link_verdict verdict, char ret[160])
{
	uint64_t now = link_rate_bits_per_s(rates->width, (enum link_speed)rates->speed);
	uint64_t best = link_rate_bits_per_s(rates->best_width, (enum link_speed)rates->best_speed);

	snprintf(ret, 160, "at %ux %s (%.0f Gb/s), both ends %s %ux %s (%.0f Gb/s)%s",
		 link_width_lanes(rates->width), link_speed_name((enum link_speed)rates->speed), (double)now / 1e9,
		 rates->supported ? "support" : "have enabled", link_width_lanes(rates->best_width),
		 link_speed_name((enum link_speed)rates->best_speed), (double)best / 1e9,
		 verdict == LINK_LIMITED ? "; less is enabled by configuration" :
		 verdict == LINK_BELOW_NEIGHBORS ? "; comparable links are faster" : "");
}

static void hold_degraded(struct health *health, struct health_port *port)
{
	struct health_open_finding *open;
	struct rates rates;
	char at[160];

	if (!find_rates(health, port, &rates) ||
	    (health->now_us - port->degraded_us < health->settings.degraded_after_us &&
	     !health_find_link(health, FINDING_LINK_DEGRADED, port)))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_LINK_DEGRADED,
		.severity = health_is_trunk(port) ? FINDING_CRITICAL : FINDING_WARNING,
		.since = port->degraded_since, .cause = link_verdict_name(port->degraded),
		.port = port, .link = true, .either_end = true,
		.equal = (uint64_t)port->degraded << 32 | (uint64_t)rates.width << 24 | (uint64_t)rates.speed << 16 |
			 (uint64_t)rates.best_width << 8 | rates.best_speed });
	describe_rates(&rates, (enum link_verdict)port->degraded, at);
	health_text(open, TENSE("runs", "ran") " %s", at);
	health_number(open, "rate_gbps",
		      (double)link_rate_bits_per_s(rates.width, (enum link_speed)rates.speed) / 1e9);
	health_number(open, "best_gbps",
		      (double)link_rate_bits_per_s(rates.best_width, (enum link_speed)rates.best_speed) / 1e9);
}

/* It does not respond to SMPs, so no subnet manager can bring up its links: node-silent. */
static bool is_kept(const struct health *health, const struct health_node *node)
{
	return node->now != FABRIC_NONE && health->input->fabric->nodes[node->now].kept;
}

/*
 * No subnet manager can set this link to Active: node-silent or sm-lost. It needs time for that once both ends and a
 * master respond again; a single lost response of the master starts no such time.
 */
static bool is_out_of_reach(struct health *health, const struct health_port *port)
{
	return is_kept(health, port->node) || is_kept(health, port->peer->node) ||
	       (!health->input->sm_known && health_find(health, FINDING_SM_LOST, NULL, 0, 0));
}

static void hold_not_active(struct health *health, struct health_port *port)
{
	const struct port *a = port_now(health, port), *b = port_now(health, port->peer);
	bool is_open = health_find_link(health, FINDING_LINK_NOT_ACTIVE, port);
	struct health_open_finding *open;
	int64_t state_us = health->now_us - port->degraded_us;
	char since[32];

	if (!is_open && is_out_of_reach(health, port))
		port->waiting_us = health->now_us;
	if (!a || !b || (!is_open && (health->now_us - port->waiting_us < health->settings.degraded_after_us ||
				      !health->input->sm_known || health_is_charged(health, port))))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_LINK_NOT_ACTIVE, .severity = FINDING_WARNING, .since = port->degraded_since,
		.port = port, .link = true, .either_end = true, .cause = "subnet-manager" });
	health_text(open, TENSE("has", "had") " been in state %s for %s%s: up, but not set to Active by the subnet "
		    "manager", port_state_name(is_not_active(a) ? a->state : b->state),
		    port->degraded_at_least ? "at least " : "", health_duration(state_us, since));
	health_number(open, "not_active_s", (double)state_us / SECOND_US);
	health_lower_bound(open, port->degraded_at_least);
}

/* Flaps that a port counted in the last @since_us. */
static unsigned count_flaps(const struct health *health, const struct health_port *port, int64_t since_us)
{
	unsigned count = 0;

	for (unsigned i = 0; port && port->tracker && i < FLAPS_MAX; i++)
		count += health->now_us - port->tracker->flaps[i].us < since_us;
	return count;
}

/*
 * On a host link wait for restart_within: by then a restart of the host is detected by its other
 * links.
 */
static bool may_report_flaps(struct health *health, const struct health_port *port, bool passed)
{
	struct health_tracker *tracker = port->tracker;

	if (!passed) {
		tracker->flap_since_us = HEALTH_LONG_AGO;
		return false;
	}
	if (tracker->flap_since_us == HEALTH_LONG_AGO)
		tracker->flap_since_us = health->now_us;
	return !health_edge_host(port) ||
	       health->now_us - tracker->flap_since_us >= health->settings.restart_within_us;
}

/* LinkDowned was reset in this time: what it counted just before is lost. */
static bool is_reset(const struct health *health, const struct health_port *port, int64_t within_us)
{
	return port->bound_us && health->now_us - port->bound_us < within_us;
}

/* Flaps of a link, from the end that counted more. */
static void hold_flapping(struct health *health, const struct health_port *port)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_LINK_FLAPPING];
	bool far = count_flaps(health, port->peer, FLAPS_LAST_US) > count_flaps(health, port, FLAPS_LAST_US);
	const struct health_port *end = far ? port->peer : port;
	unsigned day = count_flaps(health, end, FLAPS_LAST_US), hour = count_flaps(health, port, HOUR_US);
	unsigned far_hour = count_flaps(health, port->peer, HOUR_US);
	struct health_open_finding *open = health_find_link(health, FINDING_LINK_FLAPPING, port);
	const struct health_time *flaps;
	bool more, more_now;

	if (!day || (!may_report_flaps(health, end, day >= limits->warning) && !open))
		return;
	/* Its last flap is so long ago that the finding would close again. */
	if (!open && health->now_us - end->tracker->flaps[0].us >= health->settings.flap_recovery_us)
		return;
	hour = far_hour > hour ? far_hour : hour;
	flaps = end->tracker->flaps;
	more = day == FLAPS_MAX || is_reset(health, end, FLAPS_LAST_US);
	more_now = hour == FLAPS_MAX || is_reset(health, end, HOUR_US);
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_LINK_FLAPPING,
		.severity = hour >= limits->critical ? FINDING_CRITICAL : FINDING_WARNING, .port = port,
		.link = true, .either_end = true, .since = flaps[day - 1], .at = flaps[0], .cause = "cable" });
	health_text(open, "went down and came back %u%s times in 24 h, %u%s of them in the last hour; warning "
		    "threshold: %.0f in 24 h",
		    day, more ? " or more" : "", hour, more_now ? " or more" : "", limits->warning);
	health_number(open, "downs_24h", day);
	health_number(open, "downs_1h", hour);
	health_lower_bound(open, more || more_now);
	health_increase(health, open, flaps[0],
			day > 1 ? (flaps[0].us - flaps[day - 1].us) / (day - 1) : 0);
}

static void sweep_port(struct health *health, struct health_port *port)
{
	if (represents_link(port) && health_link_is_down(port))
		hold_down(health, port);
	if (port->degraded == HEALTH_NOT_ACTIVE)
		hold_not_active(health, port);
	else if (port->degraded != LINK_NOT_DEGRADED)
		hold_degraded(health, port);
	if (port->peer && port->tracker && port->tracker->flaps[0].us != HEALTH_LONG_AGO)
		hold_flapping(health, represents_link(port) ? port : port->peer);
}

static void sweep(struct health *health, void *state)
{
	(void)state;
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		sweep_port(health, port);
}

const struct health_rule health_links = { .sweep = sweep };
