/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * diff_units.c - switches and hosts that are in a wrong place as a whole
 *
 * Each planned link of a unit that is not there votes for the unit that has its place at the other end. Three
 * quarters of the votes decide, so that a few wrong cables of the same unit remain differences of their own.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/plan.h"
#include "fabric/plan/diff.h"
#include "fabric/shape.h"

/* Fewer links are cables. */
enum { UNIT_LINKS = 2 };

static bool is_most(uint32_t part, uint32_t all)
{
	return part >= UNIT_LINKS && 4 * (uint64_t)part >= 3 * (uint64_t)all;
}

static uint32_t unit_of(const struct plan_work *work, uint32_t port)
{
	return work->unit[work->fabric->ports[port].node];
}

/* The ports of two units correspond if these are equal. */
static uint32_t slot_of(const struct plan_work *work, uint32_t port)
{
	return work->position[work->fabric->ports[port].node] << 8 | work->fabric->ports[port].num;
}

static uint32_t port_at(const struct plan_work *work, uint32_t unit, uint32_t slot)
{
	const uint32_t *nodes;
	uint32_t count = plan_unit_nodes(work, &unit, &nodes);

	return slot >> 8 < count ? fabric_node_port(work->fabric, nodes[slot >> 8], (uint8_t)slot) : FABRIC_NONE;
}

/* Call a function for all ports of a unit. */
typedef void each_port(struct plan_work *work, uint32_t port, void *ctx);

static void for_ports(struct plan_work *work, uint32_t unit, each_port *call, void *ctx)
{
	const uint32_t *nodes;
	uint32_t count = plan_unit_nodes(work, &unit, &nodes);

	for (uint32_t i = 0; i < count; i++) {
		const struct node *node = &work->fabric->nodes[nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
			call(work, port, ctx);
	}
}

/* --- units in the place of others --- */

struct poll {
	uint32_t *votes;   /* by unit */
	uint32_t *fan;     /* by unit: present links whose other end the plan has */
	uint32_t *next;    /* by unit: the unit in its place, or FABRIC_NONE */
	uint32_t *before;  /* the inverse */
	uint32_t best;     /* of the current unit */
};

static void vote(struct plan_work *work, uint32_t port, void *ctx)
{
	struct poll *poll = ctx;
	uint32_t peer = work->planned[port], other = peer == FABRIC_NONE ? FABRIC_NONE : work->present[peer], unit;

	if (other == FABRIC_NONE || other == port || slot_of(work, other) != slot_of(work, port))
		return;
	unit = unit_of(work, other);
	if (unit == unit_of(work, port) || (work->fabric->nodes[unit].type == NODE_SWITCH) !=
	    (work->fabric->nodes[unit_of(work, port)].type == NODE_SWITCH))
		return;
	poll->votes[unit]++;
	if (poll->best == FABRIC_NONE || poll->votes[unit] > poll->votes[poll->best])
		poll->best = unit;
}

static void clear_vote(struct plan_work *work, uint32_t port, void *ctx)
{
	struct poll *poll = ctx;
	uint32_t peer = work->planned[port];

	if (peer != FABRIC_NONE && work->present[peer] != FABRIC_NONE)
		poll->votes[unit_of(work, work->present[peer])] = 0;
}

/* Find a next unit for each. Return: whether there is any. */
static bool run_poll(struct plan_work *work, struct poll *poll)
{
	bool any = false;

	memset(poll->fan, 0, work->fabric->node_count * sizeof(*poll->fan));
	for (uint32_t i = 0; i < work->fabric->port_count; i++)
		if (work->present[i] != FABRIC_NONE && (work->planned[work->present[i]] != FABRIC_NONE ||
							work->claimed[work->present[i]]))
			poll->fan[unit_of(work, i)]++;
	for (uint32_t i = 0; i < work->fabric->node_count; i++)
		poll->next[i] = poll->before[i] = FABRIC_NONE;
	for (uint32_t i = 0; i < work->fabric->node_count; i++) {
		if (work->unit[i] != i || work->size[i] < UNIT_LINKS)
			continue;
		poll->best = FABRIC_NONE;
		for_ports(work, i, vote, poll);
		if (poll->best != FABRIC_NONE && poll->before[poll->best] == FABRIC_NONE &&
		    is_most(poll->votes[poll->best], work->size[i]) &&
		    is_most(poll->votes[poll->best], poll->fan[poll->best])) {
			poll->next[i] = poll->best;
			poll->before[poll->best] = i;
			any = true;
		}
		for_ports(work, i, clear_vote, poll);
	}
	return any;
}

/* One port of each unit in turn: the next one is in its place, and the first one in that of the last. */
static void turn_port(struct plan_work *work, uint32_t first_port, void *ctx)
{
	const struct poll *poll = ctx;
	uint32_t slot = slot_of(work, first_port), first = unit_of(work, first_port), port = first_port, unit, other;
	uint32_t actual = work->actual[first_port];

	for (unit = poll->next[first]; unit != FABRIC_NONE && unit != first; unit = poll->next[unit])
		if (port_at(work, unit, slot) == FABRIC_NONE)
			return;
	for (unit = poll->next[first]; unit != FABRIC_NONE && unit != first; unit = poll->next[unit]) {
		other = port_at(work, unit, slot);
		work->actual[port] = work->actual[other];
		port = other;
	}
	work->actual[port] = actual;
}

static void turn(struct plan_work *work, struct poll *poll, uint32_t first)
{
	uint32_t unit = first, place = work->place_of[first], next;

	for_ports(work, first, turn_port, poll);
	for (next = poll->next[unit]; next != FABRIC_NONE && next != first; unit = next, next = poll->next[unit])
		work->place_of[unit] = work->place_of[next];
	work->place_of[unit] = place;
	for (unit = first; unit != FABRIC_NONE; unit = next) {
		next = poll->next[unit];
		poll->next[unit] = FABRIC_NONE;
	}
}

static void turn_all(struct plan_work *work, struct poll *poll)
{
	for (int rings = 0; rings < 2; rings++)
		for (uint32_t i = 0; i < work->fabric->node_count; i++)
			if (poll->next[i] != FABRIC_NONE && (rings || poll->before[i] == FABRIC_NONE))
				turn(work, poll, i);
	for (uint32_t i = 0; i < work->fabric->port_count; i++)
		work->role[work->actual[i]] = i;
	for (uint32_t i = 0; i < work->fabric->port_count; i++)
		work->present[i] = fabric_is_linked(work->fabric, work->actual[i]) ?
			work->role[work->fabric->ports[work->actual[i]].peer] : FABRIC_NONE;
}

/* Units whose neighbors are in wrong places, too, are found once these are known. */
enum { ROUNDS_MOST = 8 };

int plan_find_roles(struct plan_work *work)
{
	size_t nodes = work->fabric->node_count + 1;
	struct poll poll = { .votes = calloc(nodes, sizeof(uint32_t)), .fan = calloc(nodes, sizeof(uint32_t)),
			     .next = calloc(nodes, sizeof(uint32_t)), .before = calloc(nodes, sizeof(uint32_t)) };
	bool complete = poll.votes && poll.fan && poll.next && poll.before;

	for (int i = 0; complete && i < ROUNDS_MOST && run_poll(work, &poll); i++)
		turn_all(work, &poll);
	free(poll.votes);
	free(poll.fan);
	free(poll.next);
	free(poll.before);
	return complete ? 0 : ERR_NOMEM;
}

static void report_link(struct plan_work *work, uint32_t port, void *ctx)
{
	(void)ctx;
	if (work->planned[port] == FABRIC_NONE || work->planned[port] != work->present[port])
		return;
	plan_diff_add_link(work, work->link[port]);
	plan_diff_add_present(work, port);
	plan_diff_drop_planned(work, port);
	plan_diff_drop_present(work, port);
}

static void count_linked(struct plan_work *work, uint32_t port, void *ctx)
{
	uint32_t *count = ctx;

	*count += fabric_is_linked(work->fabric, port);
}

static bool has_link(struct plan_work *work, uint32_t unit)
{
	uint32_t count = 0;

	for_ports(work, unit, count_linked, &count);
	return count > 0;
}

void plan_report_roles(struct plan_work *work)
{
	for (uint32_t unit = 0; unit < work->fabric->node_count; unit++) {
		uint32_t other = work->place_of[unit];

		/* One without a link is in no place, but a ring of units needs a last one. */
		if (other == unit || !has_link(work, other))
			continue;
		if (work->place_of[other] == unit && work->size[unit] && work->size[other] && has_link(work, unit)) {
			if (unit > other)
				continue;
			plan_diff_begin(work, PLAN_EXCHANGED, unit, other);
			for_ports(work, other, report_link, NULL);
		} else if (!work->size[other]) {
			plan_diff_begin(work, PLAN_REPLACED, unit, other);
		} else {
			plan_diff_begin(work, PLAN_MOVED, other, unit);
		}
		for_ports(work, unit, report_link, NULL);
	}
}

/* --- units at ports that are free in the plan, or without a link --- */

struct unit_counts {
	uint32_t moved;   /* planned links whose cable is at a free port instead */
	uint32_t missing; /* planned links of which both ports have no link */
	uint32_t planned, present; /* links that are not as planned */
};

/* The cable of a planned link leads to a port that is free in the plan, and its own port there has no link. */
static bool is_moved(const struct plan_work *work, uint32_t port)
{
	uint32_t to = work->planned[port], at = work->present[port];

	return to != FABRIC_NONE && at != FABRIC_NONE && work->present[to] == FABRIC_NONE &&
	       work->planned[at] == FABRIC_NONE;
}

static bool is_missing(const struct plan_work *work, uint32_t port)
{
	uint32_t to = work->planned[port];

	return to != FABRIC_NONE && work->present[port] == FABRIC_NONE && work->present[to] == FABRIC_NONE;
}

static void count_units(const struct plan_work *work, struct unit_counts *counts)
{
	for (uint32_t i = 0; i < work->fabric->port_count; i++) {
		struct unit_counts *unit = &counts[unit_of(work, i)];

		unit->moved += is_moved(work, i);
		unit->missing += is_missing(work, i);
		unit->planned += work->planned[i] != FABRIC_NONE;
		unit->present += work->present[i] != FABRIC_NONE;
	}
}

static void report_moved(struct plan_work *work, uint32_t port, void *ctx)
{
	(void)ctx;
	if (!is_moved(work, port))
		return;
	plan_diff_add_link(work, work->link[port]);
	plan_diff_add_present(work, port);
	plan_diff_drop_planned(work, port);
	plan_diff_drop_present(work, port);
}

static void report_missing(struct plan_work *work, uint32_t port, void *ctx)
{
	(void)ctx;
	if (!is_missing(work, port))
		return;
	plan_diff_add_link(work, work->link[port]);
	plan_diff_drop_planned(work, port);
}

struct absent {
	uint32_t unit, missing;
};

static int compare_absent(const void *a, const void *b)
{
	const struct absent *left = a, *right = b;

	if (left->missing != right->missing)
		return left->missing > right->missing ? -1 : 1;
	return left->unit < right->unit ? -1 : left->unit > right->unit;
}

static void count_planned(struct plan_work *work, uint32_t port, void *ctx)
{
	uint32_t *count = ctx;

	*count += work->planned[port] != FABRIC_NONE;
}

/* The largest units first: a switch explains the hosts that have no other links. */
static void report_absent(struct plan_work *work, const struct unit_counts *counts, struct absent *list)
{
	size_t count = 0;

	for (uint32_t i = 0; i < work->fabric->node_count; i++)
		if (work->unit[i] == i && counts[i].missing >= UNIT_LINKS && counts[i].missing == work->size[i] &&
		    !counts[i].present)
			list[count++] = (struct absent){ i, counts[i].missing };
	qsort(list, count, sizeof(*list), compare_absent);
	for (size_t i = 0; i < count; i++) {
		uint32_t left = 0;

		for_ports(work, list[i].unit, count_planned, &left);
		if (!left)
			continue;
		plan_diff_begin(work, PLAN_ABSENT, work->place_of[list[i].unit], FABRIC_NONE);
		for_ports(work, list[i].unit, report_missing, NULL);
	}
}

int plan_report_units(struct plan_work *work)
{
	struct unit_counts *counts = calloc(work->fabric->node_count + 1, sizeof(*counts));
	struct absent *list = calloc(work->fabric->node_count + 1, sizeof(*list));

	if (counts && list) {
		count_units(work, counts);
		for (uint32_t i = 0; i < work->fabric->node_count; i++)
			if (work->unit[i] == i && counts[i].planned == work->size[i] &&
			    is_most(counts[i].moved, work->size[i])) {
				plan_diff_begin(work, PLAN_MOVED, work->place_of[i], FABRIC_NONE);
				for_ports(work, i, report_moved, NULL);
			}
		report_absent(work, counts, list);
	}
	free(counts);
	free(list);
	return counts && list ? 0 : ERR_NOMEM;
}

/* --- devices that the fabric does not have --- */

/* One end of a planned link. If it has no node: the port at the other end. */
struct half {
	const char *device;
	bool known;
	uint32_t link, port;
};

static int compare_halves(const void *a, const void *b)
{
	const struct half *left = a, *right = b;
	int by_name = strcasecmp(left->device, right->device);

	if (by_name)
		return by_name;
	if (left->known != right->known)
		return left->known ? -1 : 1;
	return left->link < right->link ? -1 : left->link > right->link;
}

/* All ends, so that modules of a director that has others are not taken for one that is absent. */
static size_t find_halves(const struct plan_work *work, struct half *list)
{
	size_t count = 0, unknown = 0;

	for (uint32_t i = 0; i < work->plan->link_count; i++)
		for (unsigned end = 0; end < 2 && !work->plan->links[i].damaged; end++) {
			const struct plan_place *place = &work->places->links[i];
			const char *device = work->plan->links[i].ends[end].device;
			bool known = place->known[end];
			uint32_t port = place->port[!end];

			if (!known && (port == FABRIC_NONE || work->planned[port] != FABRIC_NONE))
				continue;
			list[count++] = (struct half){ device, known, i, port };
			unknown += !known;
		}
	return unknown ? count : 0;
}

/* The one unit at all of these ports that the plan does not have, or FABRIC_NONE. */
static uint32_t find_replacement(const struct plan_work *work, const struct half *halves, size_t count)
{
	uint32_t found = FABRIC_NONE;

	for (size_t i = 0; i < count; i++) {
		uint32_t peer = work->present[halves[i].port], unit;

		if (peer == FABRIC_NONE)
			return FABRIC_NONE;
		unit = unit_of(work, work->actual[peer]);
		if (work->size[unit] || work->named[unit] || (found != FABRIC_NONE && found != unit))
			return FABRIC_NONE;
		found = unit;
	}
	return count >= UNIT_LINKS ? found : FABRIC_NONE;
}

static void report_device(struct plan_work *work, const struct half *halves, size_t count, bool partly_known)
{
	uint32_t other = partly_known ? FABRIC_NONE : find_replacement(work, halves, count);
	bool absent = !partly_known && count >= UNIT_LINKS;
	size_t free_ports = 0;

	for (size_t i = 0; i < count; i++)
		free_ports += work->present[halves[i].port] == FABRIC_NONE;
	absent &= free_ports == count;
	if (other != FABRIC_NONE)
		plan_diff_begin(work, PLAN_REPLACED, FABRIC_NONE, other);
	else if (absent)
		plan_diff_begin(work, PLAN_ABSENT, FABRIC_NONE, FABRIC_NONE);
	for (size_t i = 0; i < count; i++) {
		uint32_t port = halves[i].port;

		/* A port that is not free may be connected to the device under another name. */
		if (other == FABRIC_NONE && work->present[port] != FABRIC_NONE)
			continue;
		/* A second link of the port. */
		if (other != FABRIC_NONE && work->present[port] == FABRIC_NONE)
			continue;
		if (other == FABRIC_NONE && !absent)
			plan_diff_begin(work, PLAN_MISSING, FABRIC_NONE, FABRIC_NONE);
		plan_diff_add_link(work, halves[i].link);
		if (other != FABRIC_NONE) {
			plan_diff_add_present(work, port);
			plan_diff_drop_present(work, port);
		}
		work->diff.planned++;
		work->diff.not_judged--;
	}
}

int plan_report_unknown(struct plan_work *work)
{
	struct half *list = calloc(2 * work->plan->link_count + 1, sizeof(*list));
	size_t count, end;

	if (!list)
		return ERR_NOMEM;
	count = find_halves(work, list);
	qsort(list, count, sizeof(*list), compare_halves);
	for (size_t i = 0; i < count; i = end) {
		size_t known = 0;

		for (end = i; end < count && !strcasecmp(list[end].device, list[i].device); end++)
			known += list[end].known;
		if (known < end - i)
			report_device(work, list + i + known, end - i - known, known > 0);
	}
	free(list);
	return 0;
}
