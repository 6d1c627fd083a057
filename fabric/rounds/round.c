/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* round.c - one round: pairs for the links with the fewest routes first, then exchanges of pairs */
#include "fabric/rounds/work.h"

#include <stdlib.h>
#include <string.h>

enum {
	CONFLICTS_MOST = 8, /* pairs that an exchange removes at most */
	EFFORT = 6,         /* passes of exchanges in a round */
	SERVE_MOST = 64,    /* leaves that an end is served from after an exchange */
};

/* --- the value of a round --- */

/* Change the flow on a link, and the value with it. A part of a load has less value than its share. */
static void change_flow(struct rounds_work *plan, uint32_t port, double by)
{
	double need = plan->need[port], before = plan->flow[port], after = before + by;

	plan->flow[port] = after;
	if (plan->weight[port] <= 0)
		return;
	before = before * 1.000001 >= need ? 1 : 0.5 * before / need;
	after = after * 1.000001 >= need ? 1 : 0.5 * after / need;
	plan->value += plan->weight[port] * (after - before);
}

static void place(struct rounds_work *plan, const struct rounds_placed *pair)
{
	plan->placed[pair->from] = *pair;
	plan->sends[pair->from] = plan->receives[pair->to] = pair->from;
	for (unsigned i = 0; i < pair->links; i++) {
		uint32_t slot = pair->from * ROUNDS_HOPS + i;

		plan->next_user[slot] = plan->first_user[pair->ports[i]];
		plan->first_user[pair->ports[i]] = slot;
		change_flow(plan, pair->ports[i], pair->rate);
	}
}

static void remove_pair(struct rounds_work *plan, uint32_t from)
{
	const struct rounds_placed *pair = &plan->placed[from];

	for (unsigned i = 0; i < pair->links; i++) {
		uint32_t slot = from * ROUNDS_HOPS + i, *link = &plan->first_user[pair->ports[i]];

		while (*link != slot)
			link = &plan->next_user[*link];
		*link = plan->next_user[slot];
		change_flow(plan, pair->ports[i], -pair->rate);
	}
	plan->sends[from] = plan->receives[pair->to] = FABRIC_NONE;
}

static bool fits(const struct rounds_work *plan, uint32_t port, double rate)
{
	return plan->flow[port] + rate <= plan->capacity[port] * 1.000001;
}

/* What a pair would add to the value, if all of its links have space. Return: below 0: they have not. */
static double gain_of(const struct rounds_work *plan, const struct rounds_placed *pair)
{
	double gain = 0;

	for (unsigned i = 0; i < pair->links; i++) {
		uint32_t port = pair->ports[i];
		double flow = plan->flow[port], need = plan->need[port];

		if (!fits(plan, port, pair->rate))
			return -1;
		if (plan->weight[port] > 0 && flow * 1.000001 < need)
			gain += plan->weight[port] * ((flow + pair->rate) * 1.000001 >= need ? 1 - 0.5 * flow / need :
						      0.5 * pair->rate / need);
	}
	return gain;
}

/* The sender of a station for a route: free, and preferably with a link of its own that is to be loaded. */
static uint32_t choose_sender(const struct rounds_work *plan, const struct rounds_station *station, uint32_t end)
{
	uint32_t best = FABRIC_NONE;
	double best_weight = -1;

	for (uint32_t i = station->first; i < station->first + station->count; i++) {
		uint32_t from = plan->senders[i];

		if (from == end || plan->sends[from] != FABRIC_NONE || plan->weight[plan->ends[from]] <= best_weight)
			continue;
		best = from;
		best_weight = plan->weight[plan->ends[from]];
	}
	return best;
}

static void make_pair(const struct rounds_work *plan, const struct rounds_route *route, uint32_t from, uint32_t end,
		      struct rounds_placed *ret)
{
	uint32_t port = plan->ends[from];

	*ret = (struct rounds_placed){ .from = from, .to = end, .links = route->links, .rate = route->rate };
	memcpy(ret->ports, route->ports, route->links * sizeof(*route->ports));
	ret->ports[0] = port;
	if (plan->capacity[port] < ret->rate)
		ret->rate = plan->capacity[port];
}

/* Make a pair the best one if it adds more to the value than the best one so far. */
static void choose_better(const struct rounds_work *plan, const struct rounds_placed *pair,
			  struct rounds_placed *best, double *best_gain)
{
	double gain = gain_of(plan, pair);

	if (gain <= *best_gain)
		return;
	*best_gain = gain;
	*best = *pair;
}

/* Place the best pair for an end that receives nothing, from at most @most stations. Return: whether there is one. */
static bool serve(struct rounds_work *plan, uint32_t end, uint32_t most)
{
	const struct rounds_station *own = &plan->stations[plan->end_station[end]];
	uint32_t skip = own->rail_count > most ? rounds_random(plan, own->rail_count) : 0;
	struct rounds_placed best = { .links = 0 }, pair;
	double best_gain = 0;
	struct rounds_route route;

	if (plan->receives[end] != FABRIC_NONE)
		return false;
	plan->work += own->rail_count < most ? own->rail_count : most;
	for (uint32_t i = 0; i < own->rail_count && i < most; i++) {
		const struct rounds_station *station = &plan->stations[own->rail_first + (i + skip) % own->rail_count];
		uint32_t from = choose_sender(plan, station, end);

		if (from == FABRIC_NONE || !rounds_find_route(plan, station->node, end, &route))
			continue;
		make_pair(plan, &route, from, end, &pair);
		choose_better(plan, &pair, &best, &best_gain);
	}
	if (best.links)
		place(plan, &best);
	return best.links > 0;
}

/* --- exchanges --- */

/* Remove what a pair conflicts with. Return: number of removed pairs, which are in @removed; -1: too many. */
static int make_space(struct rounds_work *plan, const struct rounds_placed *pair, struct rounds_placed *removed)
{
	int count = 0;

	if (plan->sends[pair->from] != FABRIC_NONE) {
		removed[count++] = plan->placed[pair->from];
		remove_pair(plan, pair->from);
	}
	if (plan->receives[pair->to] != FABRIC_NONE) {
		uint32_t from = plan->receives[pair->to];

		removed[count++] = plan->placed[from];
		remove_pair(plan, from);
	}
	for (unsigned i = 0; i < pair->links; i++)
		while (!fits(plan, pair->ports[i], pair->rate)) {
			uint32_t from = plan->first_user[pair->ports[i]] / ROUNDS_HOPS;

			if (count == CONFLICTS_MOST || plan->first_user[pair->ports[i]] == FABRIC_NONE)
				return -1 - count;
			removed[count++] = plan->placed[from];
			remove_pair(plan, from);
		}
	return count;
}

/* A sender of the station for an exchange: a free one, else any. */
static uint32_t any_sender(struct rounds_work *plan, const struct rounds_station *station, uint32_t end)
{
	uint32_t from = choose_sender(plan, station, end);

	for (unsigned i = 0; from == FABRIC_NONE && i < 4; i++) {
		from = plan->senders[station->first + rounds_random(plan, station->count)];
		from = from == end ? FABRIC_NONE : from;
	}
	return from;
}

/* Place a pair in place of those that it conflicts with, if this and serving their ends again has more value. */
static bool exchange(struct rounds_work *plan, const struct rounds_placed *pair)
{
	struct rounds_placed removed[CONFLICTS_MOST], added[2 * CONFLICTS_MOST];
	double before = plan->value;
	int count = make_space(plan, pair, removed), added_count = 0;
	bool possible = count >= 0;

	plan->work++;
	count = possible ? count : -1 - count;
	if (possible) {
		place(plan, pair);
		for (int i = 0; i < count; i++)
			if (serve(plan, removed[i].to, SERVE_MOST))
				added[added_count++] = plan->placed[plan->receives[removed[i].to]];
	}
	/* Equal values move the round to another state, from which more may be possible. */
	if (possible && plan->value >= before - 1e-9)
		return plan->value > before + 1e-9;
	for (int i = 0; i < added_count; i++)
		remove_pair(plan, added[i].from);
	if (possible)
		remove_pair(plan, pair->from);
	for (int i = 0; i < count; i++)
		place(plan, &removed[i]);
	plan->value = before;
	return false;
}

/* The pair of a kept route through a direction. @port: also the HCA's own link, whose sender is given */
static bool sample_pair(struct rounds_work *plan, uint32_t port, unsigned nth, struct rounds_placed *ret)
{
	const struct rounds_sample *sample = &plan->samples[(size_t)port * ROUNDS_SAMPLES + nth];
	const struct rounds_station *station = &plan->stations[sample->station];
	uint32_t from = plan->end_of[port];
	struct rounds_route route;

	if (from == FABRIC_NONE)
		from = any_sender(plan, station, sample->end);
	if (from == FABRIC_NONE || !rounds_find_route(plan, station->node, sample->end, &route))
		return false;
	make_pair(plan, &route, from, sample->end, ret);
	return true;
}

static unsigned sample_count(const struct rounds_work *plan, uint32_t port)
{
	return plan->routes[port] < ROUNDS_SAMPLES ? plan->routes[port] : ROUNDS_SAMPLES;
}

/* Load a direction by the best of its kept routes that has space. */
static void load_free(struct rounds_work *plan, uint32_t port)
{
	struct rounds_placed best = { .links = 0 }, pair;
	double best_gain = 0;

	for (unsigned i = 0; i < sample_count(plan, port); i++)
		if (sample_pair(plan, port, i, &pair) && plan->sends[pair.from] == FABRIC_NONE &&
		    plan->receives[pair.to] == FABRIC_NONE)
			choose_better(plan, &pair, &best, &best_gain);
	if (best.links)
		place(plan, &best);
}

static int compare_routes(const void *a, const void *b, void *ctx)
{
	const struct rounds_work *plan = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (plan->routes[x] != plan->routes[y])
		return plan->routes[x] < plan->routes[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static uint32_t list_wanted(struct rounds_work *plan, bool loaded_too)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->fabric->port_count; i++)
		if (plan->weight[i] > 0 && (loaded_too || !rounds_is_loaded(plan, i)))
			plan->order[count++] = i;
	return count;
}

static void shuffle(struct rounds_work *plan, uint32_t *list, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = rounds_random(plan, i), moved = list[i - 1];

		list[i - 1] = list[other];
		list[other] = moved;
	}
}

void rounds_build(struct rounds_work *plan)
{
	unsigned effort = plan->query->effort ? plan->query->effort : EFFORT;
	uint32_t count = list_wanted(plan, true);

	if (plan->attempt % 4 < 2)
		qsort_r(plan->order, count, sizeof(*plan->order), compare_routes, plan);
	else
		shuffle(plan, plan->order, count);
	for (uint32_t i = 0; i < count; i++)
		while (!rounds_is_loaded(plan, plan->order[i])) {
			double before = plan->value;

			load_free(plan, plan->order[i]);
			if (plan->value <= before)
				break;
		}
	for (uint32_t i = 0; i < plan->end_count; i++)
		serve(plan, i, UINT32_MAX);
	for (unsigned pass = 0; pass < effort; pass++) {
		struct rounds_placed pair;

		count = list_wanted(plan, false);
		shuffle(plan, plan->order, count);
		for (uint32_t i = 0; i < count; i++)
			for (unsigned j = 0; j < sample_count(plan, plan->order[i]); j++)
				if (!rounds_is_loaded(plan, plan->order[i]) && plan->work < ROUNDS_WORK_MOST &&
				    sample_pair(plan, plan->order[i], j, &pair))
					exchange(plan, &pair);
		if (!count)
			break;
	}
}
