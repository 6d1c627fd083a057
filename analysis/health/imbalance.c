/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uneven groups. balance_judge() says what a window shows; here is decided what is
 * told: a cause `routing` only once the switch's table was read again, as a subnet
 * manager can change it without any sign. So a load that is not where the tables that
 * we know would put it makes them be read, and the same window is judged again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* Where tables turn out to be what they were, they are looked at again after 5 min, 10 min, ... an hour. */
#define PAUSE_US (5 * (int64_t)MINUTE_US)
#define PAUSE_MOST_US HOUR_US
/* Bits of the last ten windows. */
#define WINDOWS_LATELY 0x3ffu
#define ASK_AGAIN_US (30 * (int64_t)SECOND_US)

void health_want(struct health *health, uint32_t at)
{
	struct health_node *node = &health->nodes[at];
	uint64_t *grown;

	if (node->want_us && health->now_us - node->asked_us < ASK_AGAIN_US)
		return;
	grown = array_grow(health->wants, health->want_count, &health->want_capacity, sizeof(*grown));
	if (!grown) {
		health->failed = true;
		return;
	}
	health->wants = grown;
	grown[health->want_count++] = node->guid;
	if (!node->want_us)
		node->want_us = health->now_us;
	node->asked_us = health->now_us;
}

static uint32_t node_of_group(const struct health *health, const struct shape_group *group)
{
	uint32_t at;

	return map_get(&health->by_guid, health->input->fabric->nodes[group->node].guid, &at) ? at : HEALTH_NONE;
}

/* What a group's finding is known by: of links to one switch the first of them stands for the group. */
static struct health_case group_case(const struct health *health, const struct balance_result *result, uint32_t node)
{
	const struct shape *shape = health->input->shape;
	const struct shape_group *group = &shape->groups[result->group];
	struct health_case what = {
		.kind = FINDING_UPLINK_IMBALANCE, .severity = FINDING_WARNING, .node = node, .port = HEALTH_NONE,
		.peer = HEALTH_NONE, .tag = (uint8_t)(result->direction + 1),
			.cause = balance_cause_name(result->cause),
	};

	if (group->kind != GROUP_UP)
		what.port = health->port_of[shape->members[group->first]];
	return what;
}

static struct health_open_finding *find_group(struct health *health, const struct health_case *what)
{
	uint8_t num = what->port == HEALTH_NONE ? 0 : health->ports[what->port].num;

	return health_find(health, what->kind, health->nodes[what->node].guid, num, what->tag);
}

static void describe(struct health *health, struct health_open_finding *open, const struct balance_result *result,
		     uint32_t node)
{
	const struct shape *shape = health->input->shape;
	const struct shape_group *group = &shape->groups[result->group];
	const struct balance_member *hot = &result->members[result->hottest];
	const struct health_port *port = &health->ports[health->port_of[hot->port]];
	const char *way = result->direction == BALANCE_XMIT ? "sent" : "received";
	double fair = 100 * hot->capacity, measured = 100 * hot->measured;

	health_subject(open, group->kind == GROUP_UP ? "%s uplinks" : "%s links", health->nodes[node].name);
	if (group->peer != FABRIC_NONE)
		open->finding.peer_guid = health->input->fabric->nodes[group->peer].guid;
	if (result->cause == BALANCE_FLOWS)
		health_text(open, "port %u carries %.0f %% of what is %s over %u links, fair is %.0f %%; the tables "
			    "are even: the same flows meet there again and again",
			    port->num, measured, way, group->count, fair);
	else if (result->cause == BALANCE_NOT_FOLLOWING)
		health_text(open, "port %u carries %.0f %% of what is %s over %u links, fair is %.0f %%: it follows "
			    "its table, which the switches beside it do not",
			    port->num, measured, way, group->count, fair);
	else
		health_text(open, "port %u carries %.0f %% of what is %s over %u links, fair is %.0f %%; its table "
			    "sends %u of the destinations there%s",
			    port->num, measured, way, group->count, fair, hot->lids,
			    result->adaptive == ADAPTIVE_OFF ? "" : " (if adaptive routing is off)");
	health_number(open, "hottest_port", port->num);
	health_number(open, "measured_percent", measured);
	if (!isnan(hot->predicted))
		health_number(open, "predicted_percent", 100 * hot->predicted);
	health_number(open, "fair_percent", fair);
	health_number(open, "excess_percent", 100 * result->excess);
	if (!isnan(hot->utilization))
		health_number(open, "hottest_utilization_percent", 100 * hot->utilization);
	if (!isnan(hot->stall))
		health_number(open, "hottest_stall_percent", 100 * hot->stall);
	health_number(open, "harm", result->h);
	if (open->touched != health->generation) {
		open->touched = health->generation;
		health_touch_below(health, open, node);
	}
}

/*
 * When it began: at the change of the table, where one was seen. Where the change came to light because the load
 * did not fit, the load tells when in its window it was: the part of it that is new.
 */
static int64_t began(const struct health *health, const struct health_node *node)
{
	if (node->turned_wall_us)
		return node->turned_wall_us;
	if (node->routes_wall_us && node->routes_wall_us <= health->wall_us)
		return node->routes_wall_us;
	return health->last_window_wall_us;
}

/* A link of the group went or came within minutes: tables are made anew around it, and then once more. */
static bool is_unsettled(const struct health *health, const struct balance_result *result)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];
	uint32_t i;

	for (i = 0; i < group->count; i++)
		if (health_is_training(health, health->port_of[result->members[i].port]))
			return true;
	return false;
}

/*
 * Is a link of the group down? A discovery does not know any more where it led, and so the group has not got it:
 * what the others carry for it is its echo.
 */
static bool is_short(const struct health *health, const struct balance_result *result, uint32_t at)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];
	const struct health_node *node = &health->nodes[at];
	uint32_t i;

	for (i = node->first_port; i < node->first_port + node->slots; i++) {
		const struct health_port *port = &health->ports[i];

		if (!health_link_is_down(health, port))
			continue;
		if (group->kind == GROUP_UP ? port->way == WAY_UP :
		    health->nodes[health->ports[port->peer].node].now == group->peer)
			return true;
	}
	return false;
}

/*
 * Who was the hottest in the active windows: what lasts for many began with the first of them.
 */
static void note_hottest(struct health *health, const struct balance_result *result)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];
	int direction = result->direction;
	uint32_t i;

	if (result->state != BALANCE_ACTIVE)
		return;
	for (i = 0; i < group->count; i++) {
		uint32_t at = health->port_of[result->members[i].port];
		bool hottest = result->m && i == result->hottest;
		struct health_tracker *tracker;

		if (!hottest && health->ports[at].tracker == HEALTH_NONE)
			continue;
		tracker = health_track(health, at);
		if (!tracker)
			return;
		if (hottest && !(tracker->hot[direction] & WINDOWS_LATELY))
			tracker->hot_wall_us[direction] = health->last_window_wall_us;
		tracker->hot[direction] = tracker->hot[direction] << 1 | hottest;
	}
}

/* When the hottest began to be it. */
static int64_t hot_since(const struct health *health, const struct balance_result *result)
{
	const struct health_port *port = &health->ports[health->port_of[result->members[result->hottest].port]];

	return port->tracker == HEALTH_NONE ? health->last_window_wall_us :
					      health->trackers[port->tracker].hot_wall_us[result->direction];
}

static void hold_group(struct health *health, const struct balance_result *result, uint32_t at)
{
	struct health_node *node = &health->nodes[at];
	struct health_case what = group_case(health, result, at);
	struct health_open_finding *open = find_group(health, &what);
	bool routing = result->cause == BALANCE_ROUTING || result->cause == BALANCE_NOT_FOLLOWING;

	if (!open && ((routing && is_unsettled(health, result)) || is_short(health, result, at)))
		return;
	/* Around a switch that is gone flows meet where they did not: its echo. */
	if (!open && !routing && health->dark_switches)
		return;
	if (routing && !open && node->read_us < health->last_end_us - (int64_t)health->last_window_us) {
		health_want(health, at);
		return;
	}
	if (result->h && routing)
		what.severity = FINDING_CRITICAL;
	what.since_wall_us = routing ? began(health, node) : hot_since(health, result);
	open = health_hold(health, &what);
	if (open)
		describe(health, open, result, at);
}

/* Nothing to see is no end: traffic pauses, and the tables are as they were. */
static void go_on(struct health *health, const struct balance_result *result, uint32_t at)
{
	struct health_case what = group_case(health, result, at);
	struct health_open_finding *open = find_group(health, &what);
	bool same;

	if (!open || result->state == BALANCE_ACTIVE)
		return;
	same = result->state == BALANCE_UNKNOWN ||
	       (result->t && open->finding.cause && !strcmp(open->finding.cause, balance_cause_name(BALANCE_ROUTING)));
	if (same)
		open->held_us = health->now_us;
}

/* Is the load where the tables that we know do not put it? */
static bool is_misplaced(const struct balance_result *result)
{
	const struct balance_member *hot;
	double off;

	if (result->direction != BALANCE_XMIT || result->state != BALANCE_ACTIVE || !result->m ||
	    result->adaptive == ADAPTIVE_ON || result->hottest == UINT32_MAX)
		return false;
	hot = &result->members[result->hottest];
	if (!result->predicted_known || isnan(hot->predicted))
		return result->h;
	off = hot->measured - hot->predicted;
	return off > 0.02 && off > 0.2 * hot->predicted;
}

static bool is_uplinks(const struct health *health, const struct balance_result *result)
{
	return health->input->shape->groups[result->group].kind == GROUP_UP && result->direction == BALANCE_XMIT;
}

static void suspect(struct health *health, const struct balance_result *result, uint32_t at)
{
	struct health_node *node = &health->nodes[at];
	const struct balance_member *hot = &result->members[result->hottest];

	if (node->want_us || health->now_us < node->want_again_us)
		return;
	node->suspect_port = health->port_of[hot->port];
	node->suspect_measured = hot->measured;
	node->suspect_predicted = hot->predicted;
	node->suspect_mean = result->mean_utilization;
	node->suspect_before = is_uplinks(health, result) ? node->uplinks_mean : 0;
	health_want(health, at);
}

static void keep_adaptive(struct health *health, const struct balance *balance)
{
	const struct shape *shape = health->input->shape;
	size_t nodes = health->input->fabric->node_count, i;
	uint8_t *grown = reallocarray(health->last_adaptive, nodes + 1, sizeof(*grown));

	if (!grown) {
		health->failed = true;
		return;
	}
	health->last_adaptive = grown;
	memset(grown, ADAPTIVE_UNKNOWN, nodes + 1);
	for (i = 0; i < balance->count; i++)
		if (balance->results[i].direction == BALANCE_XMIT)
			grown[shape->groups[balance->results[i].group].node] = (uint8_t)balance->results[i].adaptive;
}

static void note_harm(struct health *health, const struct balance_result *result)
{
	uint32_t at;

	if (!result->h || result->direction != BALANCE_XMIT || result->hottest == UINT32_MAX)
		return;
	at = health->port_of[result->members[result->hottest].port];
	if (health->ports[at].tracker != HEALTH_NONE)
		health->trackers[health->ports[at].tracker].harm_us = health->now_us;
}

static bool is_told(enum balance_cause cause)
{
	/* What is missing or slow has findings of its own, and the imbalance is their echo. */
	return cause == BALANCE_ROUTING || cause == BALANCE_FLOWS || cause == BALANCE_NOT_FOLLOWING;
}

static int judge(struct health *health, const uint8_t *adaptive, struct balance *ret)
{
	const struct health_input *input = health->input;
	struct balance_input what = {
		.shape = input->shape, .routes = input->routes, .loads = health->last_loads, .adaptive = adaptive,
		.window_us = health->last_window_us,
	};

	return balance_judge(&what, &health->settings.balance, ret, NULL);
}

void health_balance(struct health *health)
{
	struct balance balance = { 0 };
	size_t i;

	health->last_end_us = health->now_us;
	if (judge(health, health->input->adaptive, &balance) < 0 ||
	    balance_memory_step(health->balance_memory, health->input->shape, &health->settings.balance, &balance,
				NULL) < 0)
		health->failed = true;
	for (i = 0; i < balance.count && !health->failed; i++) {
		const struct balance_result *result = &balance.results[i];
		uint32_t at = node_of_group(health, &health->input->shape->groups[result->group]);

		if (at == HEALTH_NONE)
			continue;
		note_hottest(health, result);
		note_harm(health, result);
		if (is_told(result->cause) && result->hottest != UINT32_MAX)
			hold_group(health, result, at);
		else
			go_on(health, result, at);
		if (!is_told(result->cause) && is_misplaced(result))
			suspect(health, result, at);
		if (is_uplinks(health, result) && result->state == BALANCE_ACTIVE)
			health->nodes[at].uplinks_mean = result->mean_utilization;
	}
	if (!health->failed)
		keep_adaptive(health, &balance);
	balance_done(&balance);
}

/*
 * The part of the load that the new table explains is what was sent since it is there. A job that waits for the
 * uplink sends less from then on: what was sent before is a part of the time at the pace of the window before.
 */
static double part_before(const struct health_node *node, double part_since)
{
	double slower = node->suspect_before > node->suspect_mean ? node->suspect_mean / node->suspect_before : 1;

	return (1 - part_since) * slower;
}

static void date_turn(struct health *health, struct health_node *node, const struct balance_result *result)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];
	double was = node->suspect_predicted, now = NAN, part;
	uint32_t i;

	for (i = 0; i < group->count; i++)
		if (health->port_of[result->members[i].port] == node->suspect_port)
			now = result->members[i].predicted;
	if (isnan(was) || isnan(now) || fabs(now - was) < 0.02)
		return;
	part = (node->suspect_measured - was) / (now - was);
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	node->turned_wall_us = health->last_window_wall_us +
			       (int64_t)(part_before(node, part) * health->last_window_us);
}

static void judge_again(struct health *health)
{
	struct balance balance = { 0 };
	size_t i;

	if (judge(health, health->last_adaptive, &balance) < 0) {
		health->failed = true;
		return;
	}
	for (i = 0; i < balance.count; i++) {
		const struct balance_result *result = &balance.results[i];
		uint32_t at = node_of_group(health, &health->input->shape->groups[result->group]);

		if (at == HEALTH_NONE || !health->nodes[at].reread || result->direction != BALANCE_XMIT)
			continue;
		if (health->nodes[at].suspect_port != HEALTH_NONE && health->nodes[at].routes_wall_us)
			date_turn(health, &health->nodes[at], result);
		if (result->cause == BALANCE_ROUTING)
			hold_group(health, result, at);
	}
	balance_done(&balance);
}

static void note_read(struct health *health, struct health_node *node)
{
	bool changed = node->routes_us == health->now_us;

	health->first_reads |= node->read_us == HEALTH_LONG_AGO;
	node->read_us = health->now_us;
	if (!node->want_us)
		return;
	node->reread = true;
	health->reread = true;
	node->want_us = 0;
	/* A table that is found as it was need not be read so soon again. */
	node->want_pause_us = changed ? 0 : node->want_pause_us ? 2 * node->want_pause_us : PAUSE_US;
	if (node->want_pause_us > PAUSE_MOST_US)
		node->want_pause_us = PAUSE_MOST_US;
	node->want_again_us = health->now_us + node->want_pause_us;
}

void health_reread(struct health *health)
{
	const struct health_input *input = health->input;
	uint32_t at;
	size_t i;

	for (i = 0; i < input->routes_changed_count; i++) {
		if (!map_get(&health->by_guid, input->routes_changed_guids[i], &at))
			continue;
		health->nodes[at].routes_us = health->now_us;
		health->nodes[at].routes_wall_us =
			input->routes_changed_us ? input->routes_changed_us : health->wall_us;
		health->nodes[at].turned_wall_us = 0;
	}
	health->reread = false;
	for (i = 0; i < input->routes_read_count; i++)
		if (map_get(&health->by_guid, input->routes_read_guids[i], &at))
			note_read(health, &health->nodes[at]);
	if (!health->reread)
		return;
	if (health->last_generation == health->generation && health->last_adaptive)
		judge_again(health);
	for (i = 0; i < health->node_count; i++) {
		health->nodes[i].suspect_port = health->nodes[i].reread ? HEALTH_NONE : health->nodes[i].suspect_port;
		health->nodes[i].reread = false;
	}
}
