/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links that are down, degraded or flapping. */
#include <stdlib.h>
#include <string.h>

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
		.port = port, .link = true, .either_end = true, .since_wall_us = down->changed_wall_us,
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

/* The class of a link by the nodes at its ends. Most links of a class run at the expected rate. */
static unsigned class_of(const struct health_port *port)
{
	const struct health_node *other = port->peer->node;
	unsigned far = other->type == NODE_SWITCH ? other->tier : 8u + other->class;

	return (port->node->tier & 7u) << 4 | (far & 15u);
}

static const uint8_t ranked_widths[] = { LINK_WIDTH_1X, LINK_WIDTH_2X, LINK_WIDTH_4X, LINK_WIDTH_8X, LINK_WIDTH_12X };

enum { WIDTHS = sizeof(ranked_widths), LINK_CLASSES = 128, RATES = LINK_SPEED_COUNT * WIDTHS };

static unsigned width_rank(uint8_t width)
{
	unsigned rank = 0;

	while (rank + 1 < WIDTHS && ranked_widths[rank] != width)
		rank++;
	return ranked_widths[rank] == width ? rank : 0;
}

/* Number of links by class and rate. */
struct usual { uint32_t count[LINK_CLASSES][RATES]; };

static unsigned rate_index(uint8_t width, uint8_t speed)
{
	return speed * WIDTHS + width_rank(width);
}

/* The most frequent rate of a class, on a tie the higher one. 0: fewer than three links. */
static uint64_t usual_rate(const uint32_t count[RATES])
{
	uint32_t all = 0, most = 0;
	uint64_t best = 0;

	for (unsigned i = 0; i < RATES; i++) {
		uint64_t rate = link_rate_bits_per_s(ranked_widths[i % WIDTHS], (enum link_speed)(i / WIDTHS));

		all += count[i];
		if (count[i] > most || (count[i] && count[i] == most && rate > best)) {
			most = count[i];
			best = rate;
		}
	}
	return all >= 3 ? best : 0;
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

/*
 * The best width that both ends support or have enabled. ibsim and some devices report 8x or 12x
 * for a port of four lanes, so a width above 4x counts only if the link runs at it.
 */
static uint8_t best_width(const struct port *a, const struct port *b, bool supported)
{
	uint8_t widths = supported ? a->width_supported & b->width_supported : a->width_enabled & b->width_enabled;

	if (link_width_lanes(a->width) <= 4 && widths & (LINK_WIDTH_1X | LINK_WIDTH_2X | LINK_WIDTH_4X))
		widths &= LINK_WIDTH_1X | LINK_WIDTH_2X | LINK_WIDTH_4X;
	return link_width_best(widths);
}

static enum link_speed best_speed(const struct port *a, const struct port *b, bool supported)
{
	return link_speed_best(supported ? a->speed_supported & b->speed_supported :
					   a->speed_enabled & b->speed_enabled);
}

static uint64_t best_rate(const struct port *a, const struct port *b, bool supported)
{
	return link_rate_bits_per_s(best_width(a, b, supported), best_speed(a, b, supported));
}

/* Expected rate of a link in bits per second; 0: unknown. */
static uint64_t expected_rate(const struct port *a, const struct port *b, uint64_t usual)
{
	uint64_t supported = best_rate(a, b, true), enabled = best_rate(a, b, false);
	uint64_t best = supported ? supported : enabled;

	if (usual && best)
		return usual < best ? usual : best;
	return enabled && enabled < best ? enabled : best;
}

static void check_rate(struct health *health, struct health_port *port, uint64_t usual)
{
	const struct port *a = port_now(health, port), *b = port_now(health, port->peer);
	uint64_t now, expected;

	if (!a || !b)
		return;
	now = port_rate_bits_per_s(a);
	expected = expected_rate(a, b, usual);
	if (!now || now >= expected) {
		port->degraded = DEGRADED_NO;
		return;
	}
	/* Less is enabled than expected: limited by configuration. */
	if (best_rate(a, b, false) && best_rate(a, b, false) < expected)
		port->degraded = DEGRADED_BY_CONFIG;
	else if (link_width_lanes(a->width) < 4 && link_width_best(a->width_enabled & b->width_enabled) != a->width)
		port->degraded = DEGRADED_WIDTH;
	else
		port->degraded = DEGRADED_SPEED;
}

static void update_degraded(struct health *health, struct health_port *port, const struct usual *usual)
{
	enum health_degraded was = port->degraded;

	port->degraded = DEGRADED_NO;
	if (represents_link(port) && port->link == LINK_IS_UP)
		check_rate(health, port, usual_rate(usual->count[class_of(port)]));
	if (!port->degraded)
		port->merged = 0;
	health->degraded_ports += port->degraded != DEGRADED_NO;
	if (port->degraded && !was) {
		port->degraded_us = health->step ? health->now_us : HEALTH_LONG_AGO;
		port->degraded_wall_us = health->wall_us;
	}
}

void health_find_degraded(struct health *health)
{
	struct usual *usual = calloc(1, sizeof(*usual));

	if (!usual) {
		health->failed = true;
		return;
	}
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		if (represents_link(port) && port->link == LINK_IS_UP)
			usual->count[class_of(port)][rate_index(port->width, port->speed)]++;
	health->degraded_ports = 0;
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		update_degraded(health, port, usual);
	free(usual);
}

/*
 * Degraded links that are equal: of one class, with the same devices, rates and cause. From this
 * number on, those that are to be reported in the same sweep are one finding of the fabric.
 */
enum { MANY_EQUAL = 10 };

struct equal_links {
	uint64_t key;        /* 0: not used */
	uint32_t merged, due; /* links of the finding; others that are to be reported */
	struct health_open_finding *open; /* in this sweep; or NULL */
	unsigned named;
};

/* By tag of the finding. If two keys have the same tag, links of the second one are not merged. */
struct degraded_links { struct equal_links equal[256]; };

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
	supported = best_rate(a, b, true);
	*ret = (struct rates){ a->width, a->speed, best_width(a, b, supported),
			       (uint8_t)best_speed(a, b, supported), supported };
	return true;
}

static unsigned device_of(const struct health *health, const struct health_node *node)
{
	return health->input->fabric->nodes[node->now].device_id;
}

/* The group of a link, and its @tag. Return: NULL: the tag belongs to another group. */
static struct equal_links *find_equal(const struct health *health, struct degraded_links *state,
				      const struct health_port *port, const struct rates *rates, uint8_t *tag)
{
	uint64_t devices = (uint64_t)device_of(health, port->node) << 16 | device_of(health, port->peer->node);
	uint64_t now = (uint64_t)rates->width << 24 | (uint64_t)rates->speed << 16 |
		       (uint64_t)rates->best_width << 8 | rates->best_speed;
	uint64_t key = map_mix(map_mix(devices << 16 | class_of(port) << 8 | port->degraded) ^ now) | 1;
	struct equal_links *equal;

	*tag = (uint8_t)(key % 255 + 1);
	equal = &state->equal[*tag];
	if (!equal->key)
		equal->key = key;
	return equal->key == key ? equal : NULL;
}

/* It has lasted for the delay, and has no finding yet. */
static bool is_due(struct health *health, const struct health_port *port)
{
	return !port->merged && health->now_us - port->degraded_us >= health->settings.degraded_after_us &&
	       !health_find_link(health, FINDING_LINK_DEGRADED, port);
}

static void count_equal(struct health *health, struct degraded_links *state)
{
	for (struct equal_links *equal = state->equal; equal < state->equal + 256; equal++)
		*equal = (struct equal_links){ .key = equal->merged || equal->open ? equal->key : 0 };
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		struct equal_links *equal;
		struct rates rates;
		uint8_t tag;

		if (!port->degraded || !find_rates(health, port, &rates))
			continue;
		equal = find_equal(health, state, port, &rates, &tag);
		/* With another rate it belongs to another group. */
		if (!equal || port->merged != tag)
			port->merged = 0;
		if (equal && port->merged)
			equal->merged++;
		else if (equal && is_due(health, port))
			equal->due++;
	}
}

/*
 * Links that are due join the finding of their group, or have their own. After a restart of the
 * collector, the links of a restored finding are those that are degraded at first sight.
 */
static bool due_links_join(struct health *health, const struct equal_links *equal, uint8_t tag)
{
	return equal->due >= MANY_EQUAL ||
	       (!health->step && health_find(health, FINDING_LINK_DEGRADED, NULL, 0, tag));
}

static void describe_rates(const struct rates *rates, enum health_degraded degraded, char ret[128])
{
	uint64_t now = link_rate_bits_per_s(rates->width, (enum link_speed)rates->speed);
	uint64_t best = link_rate_bits_per_s(rates->best_width, (enum link_speed)rates->best_speed);

	snprintf(ret, 128, "at %ux %s (%.0f Gb/s), both ends %s %ux %s (%.0f Gb/s)%s",
		 link_width_lanes(rates->width), link_speed_name((enum link_speed)rates->speed), (double)now / 1e9,
		 rates->supported ? "support" : "have enabled", link_width_lanes(rates->best_width),
		 link_speed_name((enum link_speed)rates->best_speed), (double)best / 1e9,
		 degraded == DEGRADED_BY_CONFIG ? "; less is enabled by configuration" : "");
}

/* Hold the finding of one link, or with a subject that of its group. */
static struct health_open_finding *hold_rate(struct health *health, const struct health_port *port,
					     const struct rates *rates, const char *subject)
{
	static const char *const causes[] = { "", "width", "speed", "enabled" };
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_LINK_DEGRADED,
		.severity = health_is_trunk(port) ? FINDING_CRITICAL : FINDING_WARNING,
		.since_wall_us = port->degraded_wall_us, .cause = causes[port->degraded],
		.port = subject ? NULL : port, .link = !subject, .either_end = !subject,
		.tag = subject ? port->merged : 0, .subject = subject });

	health_number(open, "rate_gbps",
		      (double)link_rate_bits_per_s(rates->width, (enum link_speed)rates->speed) / 1e9);
	health_number(open, "best_gbps",
		      (double)link_rate_bits_per_s(rates->best_width, (enum link_speed)rates->best_speed) / 1e9);
	return open;
}

static const char *end_name(const struct health_node *node, char ret[SHAPE_TIER_SIZE])
{
	return node->type == NODE_SWITCH ? shape_tier_name(node->tier, ret) : node_class_name(node->class);
}

/* Hold the finding of a group, at its first link in this sweep. */
static void hold_equal(struct health *health, const struct health_port *port, const struct rates *rates,
		       struct equal_links *equal)
{
	uint32_t joining = due_links_join(health, equal, port->merged) ? equal->due : 0;
	uint32_t links = equal->merged + joining;
	char subject[64], low[SHAPE_TIER_SIZE], high[SHAPE_TIER_SIZE], at[128];

	snprintf(subject, sizeof(subject), "%s - %s links", end_name(port->node, low),
		 end_name(port->peer->node, high));
	equal->open = hold_rate(health, port, rates, subject);
	equal->open->changed |= joining && health->step; /* not by a restart */
	health_number(equal->open, "links", links);
	health_clear_affected(equal->open);
	health->affected_pass++;
	describe_rates(rates, port->degraded, at);
	health_text(equal->open, "%u equal link%s (device ID %u) " TENSE("run%s", "ran") " %s; first: ", links,
		    links == 1 ? "" : "s", device_of(health, port->peer->node), links == 1 ? "s" : "", at);
}

/* Name a link of a group by its host, or by its port if it is between switches. */
static void add_equal(struct health *health, const struct health_port *port, struct equal_links *equal)
{
	struct health_host *host = health_edge_host(port);
	struct finding *finding = &equal->open->finding;
	const char *comma = equal->named ? ", " : "";
	size_t len = strlen(finding->text);

	if (host && host->affected_pass == health->affected_pass)
		return;
	if (equal->named++ < 3) {
		size_t past = strlen(equal->open->past);

		if (host)
			snprintf(finding->text + len, sizeof(finding->text) - len, "%s%.48s", comma, host->name);
		else
			snprintf(finding->text + len, sizeof(finding->text) - len, "%s%.44s/%u", comma,
				 port->node->name, port->num);
		snprintf(equal->open->past + past, sizeof(equal->open->past) - past, "%s", finding->text + len);
	}
	if (!host)
		return;
	host->affected_pass = health->affected_pass;
	health_add_affected(equal->open, host->name);
}

static void hold_degraded(struct health *health, struct degraded_links *state, struct health_port *port)
{
	struct health_open_finding *open;
	struct equal_links *equal;
	struct rates rates;
	char at[128];
	uint8_t tag;

	if (!find_rates(health, port, &rates))
		return;
	equal = find_equal(health, state, port, &rates, &tag);
	if (equal && is_due(health, port) && due_links_join(health, equal, tag))
		port->merged = tag;
	if (port->merged) {
		if (!equal->open)
			hold_equal(health, port, &rates, equal);
		add_equal(health, port, equal);
	} else if (is_due(health, port) || health_find_link(health, FINDING_LINK_DEGRADED, port)) {
		open = hold_rate(health, port, &rates, NULL);
		describe_rates(&rates, port->degraded, at);
		health_text(open, TENSE("runs", "ran") " %s", at);
	}
}

bool health_is_degraded(struct health *health, const struct health_port *port)
{
	return port->merged || (port->peer && port->peer->merged) ||
	       health_find_link(health, FINDING_LINK_DEGRADED, port);
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

/* Flaps of a link, from the end that counted more. */
static void hold_flapping(struct health *health, const struct health_port *port)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_LINK_FLAPPING];
	bool far = count_flaps(health, port->peer, FLAPS_LAST_US) > count_flaps(health, port, FLAPS_LAST_US);
	const struct health_port *end = far ? port->peer : port;
	unsigned day = count_flaps(health, end, FLAPS_LAST_US), hour = count_flaps(health, port, HOUR_US);
	unsigned far_hour = count_flaps(health, port->peer, HOUR_US);
	struct health_open_finding *open = health_find_link(health, FINDING_LINK_FLAPPING, port);
	const struct health_flap *flaps;

	if (!day || (!may_report_flaps(health, end, day >= limits->warning) && !open))
		return;
	hour = far_hour > hour ? far_hour : hour;
	flaps = end->tracker->flaps;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_LINK_FLAPPING,
		.severity = hour >= limits->critical ? FINDING_CRITICAL : FINDING_WARNING, .port = port,
		.link = true, .either_end = true, .since_wall_us = flaps[day - 1].wall_us,
		.at_us = flaps[0].us, .at_wall_us = flaps[0].wall_us, .cause = "cable" });
	health_text(open, "went down and came back %u%s times in 24 h, %u%s of them in the last hour; warning "
		    "threshold: %.0f in 24 h", day, day == FLAPS_MAX ? " or more" : "", hour,
		    hour == FLAPS_MAX ? " or more" : "", limits->warning);
	health_number(open, "downs_24h", day);
	health_number(open, "downs_1h", hour);
}

static void sweep_port(struct health *health, struct degraded_links *state, struct health_port *port)
{
	if (represents_link(port) && health_link_is_down(port))
		hold_down(health, port);
	if (port->degraded != DEGRADED_NO)
		hold_degraded(health, state, port);
	if (port->peer && port->tracker && port->tracker->flaps[0].us != HEALTH_LONG_AGO)
		hold_flapping(health, represents_link(port) ? port : port->peer);
}

static void sweep(struct health *health, void *state)
{
	count_equal(health, state);
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port))
		sweep_port(health, state, port);
}

const struct health_rule health_links = { .state_size = sizeof(struct degraded_links), .sweep = sweep };
