/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uneven groups. balance_evaluate() evaluates a window; this file decides what is reported. The
 * cause `routing` requires a fresh read of the forwarding table, because a subnet manager can
 * change it without notice. A load that contradicts the known table therefore triggers a read, and
 * the same window is evaluated again with the new table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/text.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* Each time a requested table is unchanged, the next request waits longer: 5 min, 10 min, ... at most 1 h. */
#define PAUSE_US (5 * (int64_t)MINUTE_US)
#define PAUSE_MOST_US HOUR_US
/* The last ten windows, one bit each. */
#define LAST_WINDOWS 0x3ffu
#define REQUEST_AGAIN_US (30 * (int64_t)SECOND_US)

/* The last complete window, kept to be evaluated again with new tables. */
struct imbalance {
	struct balance_memory *history;
	uint8_t *adaptive;          /* by node of the fabric; NULL: no window yet */
	int64_t end_us;
	bool table_reread;          /* requested tables were read in this step */
};

void health_request_table(struct health *health, struct health_node *node)
{
	uint64_t *grown;

	if (node->table_wanted_us && health->now_us - node->table_requested_us < REQUEST_AGAIN_US)
		return;
	grown = array_grow(health->table_requests.guids, health->table_requests.count, &health->table_requests.capacity,
			   sizeof(*grown));
	if (!grown) {
		health->failed = true;
		return;
	}
	health->table_requests.guids = grown;
	grown[health->table_requests.count++] = node->guid;
	if (!node->table_wanted_us)
		node->table_wanted_us = health->now_us;
	node->table_requested_us = health->now_us;
}

static struct health_node *node_of_group(const struct health *health, const struct shape_group *group)
{
	return health_find_node(health, health->input->fabric->nodes[group->node].guid);
}

/* Identity of the finding of a group: links to one switch are represented by the first of them. */
static struct health_case group_case(const struct health *health, const struct balance_result *result,
				     const struct health_node *node)
{
	const struct shape *shape = health->input->shape;
	const struct shape_group *group = &shape->groups[result->group];

	return (struct health_case){
		.kind = FINDING_UPLINK_IMBALANCE, .severity = FINDING_WARNING, .node = node,
		.port = group->kind == GROUP_UP ? NULL : health->port_of[shape->members[group->first]],
		.tag = (uint8_t)(result->direction + 1), .cause = balance_cause_name(result->cause),
	};
}

static struct health_open_finding *find_group(struct health *health, const struct health_case *what)
{
	return health_find(health, what->kind, what->node, what->port ? what->port->num : 0, what->tag);
}

static void describe(struct health *health, struct health_open_finding *open, const struct balance_result *result,
		     const struct health_node *node)
{
	const struct shape *shape = health->input->shape;
	const struct shape_group *group = &shape->groups[result->group];
	const struct balance_member *hot = &result->members[result->hottest];
	const struct health_port *port = health->port_of[hot->port];
	char reason[160];
	struct measure share = balance_share(result, hot), excess = balance_excess(result);
	double fair = 100 * hot->capacity, measured = 100 * share.value;

	health_subject(open, group->kind == GROUP_UP ? "%s uplinks" : "%s links", node->name);
	if (group->peer != FABRIC_NONE)
		open->finding.peer_guid = health->input->fabric->nodes[group->peer].guid;
	if (result->cause == BALANCE_FLOWS)
		snprintf(reason, sizeof(reason), "the tables " TENSE("are", "were") " even: flows repeatedly "
			 TENSE("collide", "collided") " on this port");
	else if (result->cause == BALANCE_NOT_FOLLOWING)
		snprintf(reason, sizeof(reason), "this switch " TENSE("follows its table while its peers route",
			 "followed its table while its peers routed") " adaptively");
	else
		snprintf(reason, sizeof(reason), hot->lids == 1 ?
			 "%u LID " TENSE("is", "was") " routed through it%s" :
			 "%u LIDs " TENSE("are", "were") " routed through it%s", hot->lids,
			 result->adaptive == ADAPTIVE_OFF ? "" : " (if adaptive routing is off)");
	health_text(open, "port %u " TENSE("carries", "carried") " %s%.0f %% of the traffic %s over %u links (fair "
		    "share %.0f %%); %s", port->num, measure_is_exact(share) ? "" : "at least ", measured,
		    result->direction == BALANCE_XMIT ? "sent" : "received", group->count, fair, reason);
	health_number(open, "hottest_port", port->num);
	health_number(open, "measured_percent", measured);
	if (!isnan(hot->predicted))
		health_number(open, "predicted_percent", 100 * hot->predicted);
	health_number(open, "fair_percent", fair);
	health_number(open, "excess_percent", 100 * excess.value);
	if (!isnan(hot->utilization))
		health_number(open, "hottest_utilization_percent", 100 * hot->utilization);
	if (!isnan(hot->stall))
		health_number(open, "hottest_stall_percent", 100 * hot->stall);
	health_number(open, "harm", result->harmful);
	health_lower_bound(open, !measure_is_exact(share) || !measure_is_exact(excess) ||
			   (!isnan(hot->stall) && hot->stall_at_least));
	health_window(health, open, health->window.start.us, health->window.end_us);
	health_affected_below(health, open, node);
}

/*
 * Start of an imbalance: the change of the table, if one was seen. If the change was detected
 * because the load did not match, the share of the new load in its window gives the time.
 */
static struct health_time imbalance_since(const struct health *health, const struct health_node *node)
{
	if (node->shift.us)
		return node->shift;
	if (node->routes_changed.us)
		return node->routes_changed;
	return health->window.start;
}

/*
 * A link of the group went down or came up minutes ago, or the node behind it does not respond, and no
 * destination is routed through it any more: the subnet manager reroutes around it.
 */
static bool is_unsettled(const struct health *health, const struct balance_result *result)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];

	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];
		const struct health_port *port = health->port_of[member->port];
		const struct health_node *peer = port->peer ? port->peer->node : NULL;

		if (health_is_training(health, port) ||
		    (peer && peer->polled && !peer->responded && member->works && !member->lids))
			return true;
	}
	return false;
}

/* The tables changed in the first window of this run: those before are not known, nor is their load. */
static bool is_of_former_tables(const struct health *health, const struct health_node *node)
{
	return health->window.start.us <= health->first_us && node->routes_changed.us > health->window.start.us;
}

/*
 * A link of the group is down, and so not in the group any more: discovery does not see its peer.
 * The additional load of the other links is a symptom.
 */
static bool has_link_down(const struct health *health, const struct balance_result *result,
			  const struct health_node *node)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];

	for (uint32_t i = 0; i < node->slots; i++) {
		const struct health_port *port = &node->ports[i];

		if (health_link_is_down(port) &&
		    (group->kind == GROUP_UP ? port->way == WAY_UP : port->peer->node->now == group->peer))
			return true;
	}
	return false;
}

/*
 * Record the hottest member of each active window; a lasting imbalance started with the first of
 * them.
 */
static void record_hottest(struct health *health, const struct balance_result *result)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];
	int direction = result->direction;

	for (uint32_t i = 0; result->state == BALANCE_ACTIVE && i < group->count; i++) {
		struct health_port *port = health->port_of[result->members[i].port];
		bool hottest = result->load_uneven && i == result->hottest;
		struct health_tracker *tracker = hottest ? health_track(health, port) : port->tracker;

		if (!tracker)
			continue;
		if (hottest && !(tracker->hot[direction] & LAST_WINDOWS))
			tracker->hot_since[direction] = health->window.start;
		tracker->hot[direction] = tracker->hot[direction] << 1 | hottest;
	}
}

/* Since when the hottest member has been the hottest. */
static struct health_time hot_since(const struct health *health, const struct balance_result *result)
{
	const struct health_port *port = health->port_of[result->members[result->hottest].port];

	return port->tracker ? port->tracker->hot_since[result->direction] : health->window.start;
}

static void hold_group(struct health *health, const struct imbalance *last, const struct balance_result *result,
		       struct health_node *node)
{
	struct health_case what = group_case(health, result, node);
	struct health_open_finding *open = find_group(health, &what);
	bool routing = result->cause == BALANCE_ROUTING || result->cause == BALANCE_NOT_FOLLOWING;

	if (!open && ((routing && (is_unsettled(health, result) || is_of_former_tables(health, node))) ||
		      has_link_down(health, result, node)))
		return;
	/* Collisions of flows around a failed switch are a symptom of its failure. */
	if (!open && !routing && health->isolated_switches)
		return;
	if (routing && !open && node->read_us < last->end_us - (int64_t)health->window.window_us) {
		health_request_table(health, node);
		return;
	}
	if (result->harmful && routing)
		what.severity = FINDING_CRITICAL;
	what.since = routing ? imbalance_since(health, node) : hot_since(health, result);
	describe(health, health_hold(health, &what), result, node);
}

/*
 * A window without traffic, or without readings, does not end a finding: the tables are unchanged.
 */
static void extend_group(struct health *health, const struct balance_result *result, const struct health_node *node)
{
	struct health_case what = group_case(health, result, node);
	struct health_open_finding *open = find_group(health, &what);
	bool same;

	if (!open || result->state == BALANCE_ACTIVE)
		return;
	same = result->state == BALANCE_UNKNOWN ||
	       (result->tables_uneven && open->finding.cause &&
		!strcmp(open->finding.cause, balance_cause_name(BALANCE_ROUTING)));
	if (same)
		health_extend(health, open);
}

/* The load contradicts the known tables. */
static bool is_misplaced(const struct balance_result *result)
{
	const struct balance_member *hot;
	double off;

	if (result->direction != BALANCE_XMIT || result->state != BALANCE_ACTIVE || !result->load_uneven ||
	    result->adaptive == ADAPTIVE_ON || result->hottest == UINT32_MAX)
		return false;
	hot = &result->members[result->hottest];
	if (!result->predicted_known || isnan(hot->predicted))
		return result->harmful;
	off = hot->measured - hot->predicted;
	return off > 0.02 && off > 0.2 * hot->predicted;
}

static bool is_uplinks(const struct health *health, const struct balance_result *result)
{
	return health->input->shape->groups[result->group].kind == GROUP_UP && result->direction == BALANCE_XMIT;
}

static void suspect(struct health *health, const struct balance_result *result, struct health_node *node)
{
	const struct balance_member *hot = &result->members[result->hottest];

	if (node->table_wanted_us || health->now_us < node->table_next_us)
		return;
	node->suspect = health->port_of[hot->port];
	node->suspect_measured = hot->measured;
	node->suspect_predicted = hot->predicted;
	node->suspect_mean = result->mean_utilization;
	node->suspect_before = is_uplinks(health, result) ? node->uplinks_mean : 0;
	health_request_table(health, node);
}

static void store_adaptive(struct health *health, struct imbalance *last, const struct balance *balance)
{
	const struct shape *shape = health->input->shape;
	size_t nodes = health->input->fabric->node_count;
	uint8_t *grown = reallocarray(last->adaptive, nodes + 1, sizeof(*grown));

	if (!grown) {
		health->failed = true;
		return;
	}
	last->adaptive = grown;
	memset(grown, ADAPTIVE_UNKNOWN, nodes + 1);
	for (size_t i = 0; i < balance->count; i++)
		if (balance->results[i].direction == BALANCE_XMIT)
			grown[shape->groups[balance->results[i].group].node] = (uint8_t)balance->results[i].adaptive;
}

static void record_harm(struct health *health, const struct balance_result *result)
{
	struct health_tracker *tracker;

	if (!result->harmful || result->direction != BALANCE_XMIT || result->hottest == UINT32_MAX)
		return;
	tracker = health->port_of[result->members[result->hottest].port]->tracker;
	if (tracker)
		tracker->harm_us = health->now_us;
}

static bool is_reported(enum balance_cause cause)
{
	/* Missing and slow links have findings of their own; their imbalance is a symptom. */
	return cause == BALANCE_ROUTING || cause == BALANCE_FLOWS || cause == BALANCE_NOT_FOLLOWING;
}

static int run_balance(struct health *health, const uint8_t *adaptive, struct balance *ret)
{
	const struct health_input *input = health->input;
	struct balance_input what = {
		.shape = input->shape, .routes = input->routes, .loads = health->window.loads, .adaptive = adaptive,
		.window_us = health->window.window_us,
	};

	return balance_evaluate(&what, &health->settings.balance, ret, NULL);
}

static void run_window(struct health *health, void *state)
{
	struct imbalance *last = state;
	struct balance balance = { 0 };

	last->end_us = health->now_us;
	if (!last->history)
		last->history = balance_memory_create();
	if (!last->history || run_balance(health, health->input->adaptive, &balance) < 0 ||
	    balance_memory_step(last->history, health->input->shape, &health->settings.balance, &balance,
				NULL) < 0)
		health->failed = true;
	for (size_t i = 0; i < balance.count && !health->failed; i++) {
		const struct balance_result *result = &balance.results[i];
		struct health_node *node = node_of_group(health, &health->input->shape->groups[result->group]);

		if (!node)
			continue;
		record_hottest(health, result);
		record_harm(health, result);
		if (is_reported(result->cause) && result->hottest != UINT32_MAX)
			hold_group(health, last, result, node);
		else
			extend_group(health, result, node);
		if (!is_reported(result->cause) && is_misplaced(result))
			suspect(health, result, node);
		if (is_uplinks(health, result) && result->state == BALANCE_ACTIVE)
			node->uplinks_mean = result->mean_utilization;
	}
	if (!health->failed)
		store_adaptive(health, last, &balance);
	balance_done(&balance);
}

/*
 * @part_since is the share of the bytes that were sent with the new table. A job that waits for the
 * uplink sends more slowly since then, so the rest was sent at the rate of the previous window.
 * Return: the share of the window before the change.
 */
static double part_before(const struct health_node *node, double part_since)
{
	double slower = node->suspect_before > node->suspect_mean ? node->suspect_mean / node->suspect_before : 1;

	return (1 - part_since) * slower;
}

static void date_shift(struct health *health, struct health_node *node, const struct balance_result *result)
{
	const struct shape_group *group = &health->input->shape->groups[result->group];
	double was = node->suspect_predicted, now = NAN, part;
	int64_t after_us;

	for (uint32_t i = 0; i < group->count; i++)
		if (health->port_of[result->members[i].port] == node->suspect)
			now = result->members[i].predicted;
	if (isnan(was) || isnan(now) || fabs(now - was) < 0.02)
		return;
	part = (node->suspect_measured - was) / (now - was);
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	after_us = (int64_t)(part_before(node, part) * health->window.window_us);
	node->shift = (struct health_time){ health->window.start.us + after_us,
					    health->window.start.wall_us + after_us };
}

/* The table was repaired: the condition of a finding ends now, not at the end of the window. */
static void end_routing(struct health *health, const struct balance_result *result, const struct health_node *node)
{
	struct health_case what = group_case(health, result, node);
	struct health_open_finding *open = find_group(health, &what);

	if (open && open->finding.cause && !strcmp(open->finding.cause, balance_cause_name(BALANCE_ROUTING)))
		open->held_step = 0;
}

static void recheck_groups(struct health *health, const struct imbalance *last)
{
	struct balance balance = { 0 };

	if (run_balance(health, last->adaptive, &balance) < 0) {
		health->failed = true;
		return;
	}
	for (size_t i = 0; i < balance.count; i++) {
		const struct balance_result *result = &balance.results[i];
		struct health_node *node = node_of_group(health, &health->input->shape->groups[result->group]);

		if (!node || !node->table_reread || result->direction != BALANCE_XMIT)
			continue;
		if (node->suspect && node->routes_changed.us)
			date_shift(health, node, result);
		if (result->cause == BALANCE_ROUTING &&
		    balance_memory_explains(last->history, health->input->shape, result, 1))
			hold_group(health, last, result, node);
		else if (node->routes_changed.us == health->now_us)
			end_routing(health, result, node);
		balance_memory_reread(last->history, health->input->shape, &health->settings.balance, result);
	}
	balance_done(&balance);
}

static void record_table_read(struct health *health, struct imbalance *last, struct health_node *node)
{
	bool changed = node->routes_changed.us == health->now_us;

	health->first_table_read |= node->read_us == HEALTH_LONG_AGO;
	node->read_us = health->now_us;
	if (!node->table_wanted_us)
		return;
	node->table_reread = last->table_reread = true;
	node->table_wanted_us = 0;
	/* Back off while the table is unchanged. */
	node->table_pause_us = changed ? 0 : node->table_pause_us ? 2 * node->table_pause_us : PAUSE_US;
	if (node->table_pause_us > PAUSE_MOST_US)
		node->table_pause_us = PAUSE_MOST_US;
	node->table_next_us = health->now_us + node->table_pause_us;
}

/* Requested tables that were read. */
static void sweep(struct health *health, void *state)
{
	const struct health_input *input = health->input;
	struct imbalance *last = state;
	struct health_node *node;

	last->table_reread = false;
	for (size_t i = 0; i < input->routes_changed_count; i++) {
		node = health_find_node(health, input->routes_changed_guids[i]);
		if (!node)
			continue;
		node->routes_changed = health_now(health);
		node->shift.us = 0;
		node->table_reread = last->table_reread = health_find(health, FINDING_UPLINK_IMBALANCE, node, 0,
								      BALANCE_XMIT + 1) || last->table_reread;
	}
	for (size_t i = 0; i < input->routes_read_count; i++) {
		node = health_find_node(health, input->routes_read_guids[i]);
		if (node)
			record_table_read(health, last, node);
	}
	if (!last->table_reread)
		return;
	if (health->window.generation == health->generation && last->adaptive)
		recheck_groups(health, last);
	for (size_t i = 0; i < health->node_count; i++) {
		if (health->nodes[i]->table_reread)
			health->nodes[i]->suspect = NULL;
		health->nodes[i]->table_reread = false;
	}
}

static void done(void *state)
{
	struct imbalance *last = state;

	balance_memory_destroy(last->history);
	free(last->adaptive);
}

const struct health_rule health_imbalance = {
	.state_size = sizeof(struct imbalance), .sweep = sweep, .window = run_window, .done = done,
};
