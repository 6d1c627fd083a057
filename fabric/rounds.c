/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

enum {
	SAMPLES = 24,       /* routes that are kept for each direction */
	CONFLICTS_MOST = 8, /* pairs that an exchange removes at most */
	EFFORT = 6,         /* passes of exchanges in a round */
	SERVE_MOST = 64,    /* leaves that an end is served from after an exchange */
	ATTEMPTS = 16,      /* plans, of which the shortest is taken */
	WORK_MOST = 8000000, /* routes that are looked at for exchanges; then rounds are taken as they are */
};

/* The HCA ports of one rail on one switch: their routes differ in the first link only. */
struct station {
	uint32_t node, rail;
	uint32_t first, count; /* in plan.senders */
	uint32_t rail_first, rail_count; /* stations of its rail */
};

/* A route: from any port of a station to an end. */
struct sample { uint32_t station, end; };

struct route {
	unsigned links;
	uint32_t ports[ROUNDS_HOPS]; /* sending ports; [0] is that of the HCA, set by the caller */
	double rate;                 /* bits per second of the slowest link after the first */
};

/* One pair of the current round. */
struct placed {
	uint32_t from, to; /* ends */
	unsigned links;
	uint32_t ports[ROUNDS_HOPS];
	double rate;
};

struct plan {
	const struct rounds_query *query;
	const struct fabric *fabric;
	uint32_t *ends;              /* HCA ports that take part */
	uint32_t end_count;
	uint32_t *end_of;            /* by port: its number; FABRIC_NONE: none */
	uint32_t *end_station;       /* by end */
	struct station *stations;
	uint32_t station_count;
	uint32_t *senders;           /* ends, by station */
	const struct route_table **tables; /* by node */
	uint32_t *port_of;           /* by node: 256 ports by number; FABRIC_NONE */
	double *capacity, *need;     /* by port: data rate; load that is wanted, 0: none */
	uint32_t *routes;            /* by port: number of routes through it */
	struct sample *samples;      /* by port: SAMPLES each */
	uint32_t *end_seen, *ends_through; /* by port: last end, and number of ends with a route through it */
	double *weight;              /* by port */
	/* The current round. */
	double *flow;                /* by port */
	struct placed *placed;       /* by sending end */
	uint32_t *sends, *receives;  /* by end: sending end of its pair, or FABRIC_NONE */
	uint32_t *first_user, *next_user; /* by port; by sending end and link: pairs on a link */
	double value;                /* sum of weights of what is loaded */
	uint32_t *order;             /* scratch: ports */
	uint64_t random;
	unsigned attempt;
	size_t work;
};

static uint32_t random_below(struct plan *plan, uint32_t below)
{
	plan->random = plan->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((plan->random >> 33) % below);
}

static bool is_switch(const struct plan *plan, uint32_t node)
{
	return plan->fabric->nodes[node].type == NODE_SWITCH;
}

static uint32_t peer_node(const struct plan *plan, uint32_t port)
{
	return plan->fabric->ports[plan->fabric->ports[port].peer].node;
}

/* The route from a switch to an end, from the second link on. Return: whether it arrives. */
static bool find_route(const struct plan *plan, uint32_t node, uint32_t end, struct route *ret)
{
	const struct fabric *fabric = plan->fabric;
	uint32_t to = plan->ends[end];
	uint16_t lid = fabric->ports[to].lid;

	ret->links = 1;
	ret->rate = 1e300;
	while (is_switch(plan, node)) {
		uint8_t num = routes_out_port(plan->tables[node], lid);
		uint32_t port = num == ROUTES_NO_PORT ? FABRIC_NONE : plan->port_of[(size_t)node * 256 + num];

		if (port == FABRIC_NONE || num == 0 || ret->links == ROUNDS_HOPS || plan->capacity[port] <= 0)
			return false;
		ret->ports[ret->links++] = port;
		if (plan->capacity[port] < ret->rate)
			ret->rate = plan->capacity[port];
		if (fabric->ports[port].peer == to)
			return true;
		node = peer_node(plan, port);
	}
	return false;
}

/* --- preparation --- */

static bool takes_part(const struct rounds_query *query, uint32_t port)
{
	const struct fabric *fabric = query->shape->fabric;
	const struct port *own = &fabric->ports[port];

	if (fabric->nodes[own->node].type == NODE_SWITCH || own->peer == FABRIC_NONE || !own->lid ||
	    fabric->nodes[fabric->ports[own->peer].node].type != NODE_SWITCH || !routes_is_destination(fabric, own))
		return false;
	return query->may_send ? query->may_send[port] : query->shape->nodes[own->node].class == CLASS_COMPUTE;
}

static int compare_stations(const void *a, const void *b, void *ctx)
{
	const struct plan *plan = ctx;
	uint32_t x = plan->ends[*(const uint32_t *)a], y = plan->ends[*(const uint32_t *)b];
	uint32_t node_x = peer_node(plan, x), node_y = peer_node(plan, y);
	uint32_t rail_x = plan->query->shape->ports[x].rail, rail_y = plan->query->shape->ports[y].rail;

	if (rail_x != rail_y)
		return rail_x < rail_y ? -1 : 1;
	if (node_x != node_y)
		return node_x < node_y ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void make_stations(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->end_count; i++)
		plan->senders[i] = i;
	qsort_r(plan->senders, plan->end_count, sizeof(*plan->senders), compare_stations, plan);
	for (uint32_t i = 0; i < plan->end_count; i++) {
		uint32_t end = plan->senders[i], port = plan->ends[end];
		struct station *last = plan->station_count ? &plan->stations[plan->station_count - 1] : NULL;
		uint32_t node = peer_node(plan, port), rail = plan->query->shape->ports[port].rail;

		if (!last || last->node != node || last->rail != rail) {
			last = &plan->stations[plan->station_count++];
			*last = (struct station){ .node = node, .rail = rail, .first = i };
		}
		last->count++;
		plan->end_station[end] = plan->station_count - 1;
	}
	for (uint32_t i = 0, first = 0; i < plan->station_count; i++) {
		first = plan->stations[i].rail == plan->stations[first].rail ? first : i;
		for (uint32_t j = first; j <= i; j++)
			plan->stations[j].rail_count = i + 1 - first;
		plan->stations[i].rail_first = first;
	}
}

static void count_link(struct plan *plan, uint32_t port, uint32_t station, uint32_t end)
{
	uint32_t nth = plan->routes[port]++;

	if (plan->end_seen[port] != end) {
		plan->end_seen[port] = end;
		plan->ends_through[port]++;
	}
	/* A random choice of all routes, each with the same probability. */
	if (nth >= SAMPLES)
		nth = random_below(plan, nth + 1);
	if (nth < SAMPLES)
		plan->samples[(size_t)port * SAMPLES + nth] = (struct sample){ station, end };
}

/* Count the routes through each direction. A station with one port does not send to itself. */
static void count_routes(struct plan *plan)
{
	struct route route;

	for (uint32_t end = 0; end < plan->end_count; end++) {
		const struct station *own = &plan->stations[plan->end_station[end]];

		for (uint32_t i = own->rail_first; i < own->rail_first + own->rail_count; i++) {
			const struct station *station = &plan->stations[i];

			if ((station == own && own->count == 1) || !find_route(plan, station->node, end, &route))
				continue;
			for (unsigned link = 1; link < route.links; link++)
				count_link(plan, route.ports[link], i, end);
			for (uint32_t j = station->first; j < station->first + station->count; j++)
				if (plan->senders[j] != end)
					count_link(plan, plan->ends[plan->senders[j]], i, end);
		}
	}
}

/* @bonus: of a direction with a single route, so that it is loaded early */
static void weigh(struct plan *plan, double bonus)
{
	for (size_t i = 0; i < plan->fabric->port_count; i++)
		plan->weight[i] = plan->need[i] > 0 && plan->routes[i] ? 1 + bonus / plan->routes[i] : 0;
}

/* --- the value of a round --- */

/* Change the flow on a link, and the value with it. A part of a load has less value than its share. */
static void change_flow(struct plan *plan, uint32_t port, double by)
{
	double need = plan->need[port], before = plan->flow[port], after = before + by;

	plan->flow[port] = after;
	if (plan->weight[port] <= 0)
		return;
	before = before * 1.000001 >= need ? 1 : 0.5 * before / need;
	after = after * 1.000001 >= need ? 1 : 0.5 * after / need;
	plan->value += plan->weight[port] * (after - before);
}

static void place(struct plan *plan, const struct placed *pair)
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

static void remove_pair(struct plan *plan, uint32_t from)
{
	const struct placed *pair = &plan->placed[from];

	for (unsigned i = 0; i < pair->links; i++) {
		uint32_t slot = from * ROUNDS_HOPS + i, *link = &plan->first_user[pair->ports[i]];

		while (*link != slot)
			link = &plan->next_user[*link];
		*link = plan->next_user[slot];
		change_flow(plan, pair->ports[i], -pair->rate);
	}
	plan->sends[from] = plan->receives[pair->to] = FABRIC_NONE;
}

static bool fits(const struct plan *plan, uint32_t port, double rate)
{
	return plan->flow[port] + rate <= plan->capacity[port] * 1.000001;
}

/* What a pair would add to the value, if all of its links have space. Return: below 0: they have not. */
static double gain_of(const struct plan *plan, const struct placed *pair)
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
static uint32_t choose_sender(const struct plan *plan, const struct station *station, uint32_t end)
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

static void make_pair(const struct plan *plan, const struct route *route, uint32_t from, uint32_t end,
		      struct placed *ret)
{
	uint32_t port = plan->ends[from];

	*ret = (struct placed){ .from = from, .to = end, .links = route->links, .rate = route->rate };
	memcpy(ret->ports, route->ports, route->links * sizeof(*route->ports));
	ret->ports[0] = port;
	if (plan->capacity[port] < ret->rate)
		ret->rate = plan->capacity[port];
}

/* Make a pair the best one if it adds more to the value than the best one so far. */
static void choose_better(const struct plan *plan, const struct placed *pair, struct placed *best, double *best_gain)
{
	double gain = gain_of(plan, pair);

	if (gain <= *best_gain)
		return;
	*best_gain = gain;
	*best = *pair;
}

/* Place the best pair for an end that receives nothing, from at most @most stations. Return: whether there is one. */
static bool serve(struct plan *plan, uint32_t end, uint32_t most)
{
	const struct station *own = &plan->stations[plan->end_station[end]];
	uint32_t skip = own->rail_count > most ? random_below(plan, own->rail_count) : 0;
	struct placed best = { .links = 0 }, pair;
	double best_gain = 0;
	struct route route;

	if (plan->receives[end] != FABRIC_NONE)
		return false;
	plan->work += own->rail_count < most ? own->rail_count : most;
	for (uint32_t i = 0; i < own->rail_count && i < most; i++) {
		const struct station *station = &plan->stations[own->rail_first + (i + skip) % own->rail_count];
		uint32_t from = choose_sender(plan, station, end);

		if (from == FABRIC_NONE || !find_route(plan, station->node, end, &route))
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
static int make_space(struct plan *plan, const struct placed *pair, struct placed *removed)
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
static uint32_t any_sender(struct plan *plan, const struct station *station, uint32_t end)
{
	uint32_t from = choose_sender(plan, station, end);

	for (unsigned i = 0; from == FABRIC_NONE && i < 4; i++) {
		from = plan->senders[station->first + random_below(plan, station->count)];
		from = from == end ? FABRIC_NONE : from;
	}
	return from;
}

/* Place a pair in place of those that it conflicts with, if this and serving their ends again has more value. */
static bool exchange(struct plan *plan, const struct placed *pair)
{
	struct placed removed[CONFLICTS_MOST], added[2 * CONFLICTS_MOST];
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

static bool is_loaded(const struct plan *plan, uint32_t port)
{
	return plan->flow[port] * 1.000001 >= plan->need[port];
}

/* The pair of a kept route through a direction. @port: also the HCA's own link, whose sender is given */
static bool sample_pair(struct plan *plan, uint32_t port, unsigned nth, struct placed *ret)
{
	const struct sample *sample = &plan->samples[(size_t)port * SAMPLES + nth];
	const struct station *station = &plan->stations[sample->station];
	uint32_t from = plan->end_of[port];
	struct route route;

	if (from == FABRIC_NONE)
		from = any_sender(plan, station, sample->end);
	if (from == FABRIC_NONE || !find_route(plan, station->node, sample->end, &route))
		return false;
	make_pair(plan, &route, from, sample->end, ret);
	return true;
}

static unsigned sample_count(const struct plan *plan, uint32_t port)
{
	return plan->routes[port] < SAMPLES ? plan->routes[port] : SAMPLES;
}

/* Load a direction by the best of its kept routes that has space. */
static void load_free(struct plan *plan, uint32_t port)
{
	struct placed best = { .links = 0 }, pair;
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
	const struct plan *plan = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (plan->routes[x] != plan->routes[y])
		return plan->routes[x] < plan->routes[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static uint32_t list_wanted(struct plan *plan, bool loaded_too)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->fabric->port_count; i++)
		if (plan->weight[i] > 0 && (loaded_too || !is_loaded(plan, i)))
			plan->order[count++] = i;
	return count;
}

static void shuffle(struct plan *plan, uint32_t *list, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = random_below(plan, i), moved = list[i - 1];

		list[i - 1] = list[other];
		list[other] = moved;
	}
}

static void build_round(struct plan *plan)
{
	unsigned effort = plan->query->effort ? plan->query->effort : EFFORT;
	uint32_t count = list_wanted(plan, true);

	if (plan->attempt % 4 < 2)
		qsort_r(plan->order, count, sizeof(*plan->order), compare_routes, plan);
	else
		shuffle(plan, plan->order, count);
	for (uint32_t i = 0; i < count; i++)
		while (!is_loaded(plan, plan->order[i])) {
			double before = plan->value;

			load_free(plan, plan->order[i]);
			if (plan->value <= before)
				break;
		}
	for (uint32_t i = 0; i < plan->end_count; i++)
		serve(plan, i, UINT32_MAX);
	for (unsigned pass = 0; pass < effort; pass++) {
		struct placed pair;

		count = list_wanted(plan, false);
		shuffle(plan, plan->order, count);
		for (uint32_t i = 0; i < count; i++)
			for (unsigned j = 0; j < sample_count(plan, plan->order[i]); j++)
				if (!is_loaded(plan, plan->order[i]) && plan->work < WORK_MOST &&
				    sample_pair(plan, plan->order[i], j, &pair))
					exchange(plan, &pair);
		if (!count)
			break;
	}
}

/* --- the list of rounds --- */

static int store_round(struct plan *plan, struct rounds *rounds, struct error *err)
{
	size_t *ends = array_grow(rounds->ends, rounds->count, &rounds->capacity, sizeof(*ends));

	if (!ends)
		return err_nomem(err);
	rounds->ends = ends;
	for (uint32_t i = 0; i < plan->end_count; i++) {
		uint32_t from = plan->senders[i];
		const struct placed *pair = &plan->placed[from];
		struct round_pair *pairs;
		uint32_t links = 0;

		if (plan->sends[from] == FABRIC_NONE)
			continue;
		for (unsigned j = 0; j < pair->links; j++)
			links += plan->weight[pair->ports[j]] > 0 && is_loaded(plan, pair->ports[j]);
		if (!links)
			continue;
		pairs = array_grow(rounds->pairs, rounds->pair_count, &rounds->pair_capacity, sizeof(*pairs));
		if (!pairs)
			return err_nomem(err);
		rounds->pairs = pairs;
		pairs[rounds->pair_count++] = (struct round_pair){ plan->ends[from], plan->ends[pair->to], links };
	}
	ends[rounds->count++] = rounds->pair_count;
	return 0;
}

/* Forget the pairs, and what they loaded is no longer wanted. Return: number of directions that they loaded. */
static size_t end_round(struct plan *plan)
{
	size_t loaded = 0;

	for (size_t i = 0; i < plan->fabric->port_count; i++) {
		if (plan->weight[i] > 0 && is_loaded(plan, (uint32_t)i)) {
			plan->weight[i] = 0;
			loaded++;
		}
		plan->flow[i] = 0;
		plan->first_user[i] = FABRIC_NONE;
	}
	for (uint32_t i = 0; i < plan->end_count; i++)
		plan->sends[i] = plan->receives[i] = FABRIC_NONE;
	plan->value = 0;
	return loaded;
}

/*
 * What a direction needs, and what it can carry at most, in one round: pairs if all HCA ports have one rate, else bits
 * per second.
 */
struct unit { double rate; }; /* of all HCA ports; 0: they differ */

static struct unit find_unit(const struct plan *plan)
{
	struct unit unit = { plan->end_count ? plan->capacity[plan->ends[0]] : 0 };

	for (uint32_t i = 0; i < plan->end_count; i++)
		if (plan->capacity[plan->ends[i]] != unit.rate)
			unit.rate = 0;
	return unit;
}

static double needed(const struct plan *plan, struct unit unit, uint32_t port)
{
	return unit.rate > 0 ? ceil(plan->need[port] / unit.rate - 1e-6) : plan->need[port];
}

static double possible(const struct plan *plan, struct unit unit, uint32_t port)
{
	double pairs = unit.rate > 0 ? floor(plan->capacity[port] / unit.rate + 1e-6) : plan->capacity[port];

	return !plan->routes[port] ? 0 : pairs < 1 ? 1 : pairs;
}

static void raise_bound(size_t *bound, double need, double most)
{
	double rounds = most > 0 ? ceil(need / most - 1e-6) : 0;

	if (rounds > (double)*bound)
		*bound = (size_t)rounds;
}

/* What leaves a switch has entered it in the same round; what goes up has come from below, and the reverse. */
static void bound_switches(const struct plan *plan, struct unit unit, size_t *bound)
{
	enum { BELOW, ABOVE, SIDES };
	const struct fabric *fabric = plan->fabric;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		double in_need[SIDES] = { 0 }, out_need[SIDES] = { 0 }, in_most[SIDES] = { 0 }, out_most[SIDES] = { 0 };
		bool tree = plan->query->shape->nodes[i].tier > 0;

		for (uint32_t j = fabric->nodes[i].first_port; is_switch(plan, i) &&
		     j < fabric->nodes[i].first_port + fabric->nodes[i].ports; j++) {
			uint8_t way = plan->query->shape->ports[j].way;
			uint32_t peer = fabric->ports[j].peer;
			int side = way == WAY_UP ? ABOVE : BELOW;

			if (peer == FABRIC_NONE)
				continue;
			tree &= way != WAY_ACROSS;
			out_need[side] += plan->weight[j] > 0 ? needed(plan, unit, j) : 0;
			in_need[side] += plan->weight[peer] > 0 ? needed(plan, unit, peer) : 0;
			out_most[side] += possible(plan, unit, j);
			in_most[side] += possible(plan, unit, peer);
		}
		raise_bound(bound, out_need[BELOW] + out_need[ABOVE], in_most[BELOW] + in_most[ABOVE]);
		raise_bound(bound, in_need[BELOW] + in_need[ABOVE], out_most[BELOW] + out_most[ABOVE]);
		if (tree) {
			raise_bound(bound, out_need[ABOVE], in_most[BELOW]);
			raise_bound(bound, in_need[ABOVE], out_most[BELOW]);
		}
	}
}

/*
 * A lower bound of the number of rounds:
 * - what is to leave a switch, divided by what can enter it in a round, and the reverse;
 * - a route has at most one link up from a tier and one down to it, and an HCA port receives from one pair: directions
 *   of one tier which only routes to one and the same HCA port cross need a round each.
 */
static int find_bound(const struct plan *plan, size_t *ret, struct error *err)
{
	enum { LEVELS = 2 * (SHAPE_TIERS_MAX + 1) };
	const struct shape *shape = plan->query->shape;
	uint32_t *alone = calloc((size_t)plan->end_count * LEVELS + 1, sizeof(*alone));
	size_t bound = 0;

	if (!alone)
		return err_nomem(err);
	for (uint32_t i = 0; i < plan->fabric->port_count; i++) {
		bool up = shape->ports[i].way == WAY_UP;
		size_t level;

		if (plan->weight[i] <= 0)
			continue;
		bound = bound ? bound : 1;
		if ((!up && shape->ports[i].way != WAY_DOWN) || plan->ends_through[i] != 1)
			continue;
		level = 2 * (size_t)shape->nodes[up ? plan->fabric->ports[i].node : peer_node(plan, i)].tier + up;
		if (level < LEVELS)
			raise_bound(&bound, ++alone[(size_t)plan->end_seen[i] * LEVELS + level], 1);
	}
	bound_switches(plan, find_unit(plan), &bound);
	*ret = bound;
	free(alone);
	return 0;
}

static int list_left(struct plan *plan, struct rounds *rounds, struct error *err)
{
	rounds->left = calloc(rounds->wanted + 1, sizeof(*rounds->left));
	if (!rounds->left)
		return err_nomem(err);
	for (uint32_t i = 0; i < plan->fabric->port_count; i++) {
		if (!plan->query->wanted[i] || (plan->need[i] > 0 && plan->routes[i] && plan->weight[i] <= 0))
			continue;
		rounds->left[rounds->left_count++] = i;
		rounds->no_route += !(plan->need[i] > 0 && plan->routes[i]);
	}
	return 0;
}

static int make_rounds(struct plan *plan, struct rounds *rounds, struct error *err)
{
	size_t routable = 0;
	int code = find_bound(plan, &rounds->at_least, err);

	for (size_t i = 0; i < plan->fabric->port_count; i++) {
		rounds->wanted += plan->query->wanted[i];
		routable += plan->weight[i] > 0;
	}
	end_round(plan);
	while (code == 0 && rounds->loaded < routable) {
		size_t loaded;

		build_round(plan);
		code = store_round(plan, rounds, err);
		loaded = end_round(plan);
		/* The rest needs more pairs at a time than there are. */
		if (code == 0 && !loaded) {
			rounds->count--;
			break;
		}
		rounds->loaded += loaded;
	}
	return code ? code : list_left(plan, rounds, err);
}

static int prepare(struct plan *plan, struct error *err)
{
	const struct fabric *fabric = plan->fabric;
	size_t ports = fabric->port_count + 1, nodes = fabric->node_count + 1, ends;

	plan->ends = calloc(ports, sizeof(*plan->ends));
	plan->end_of = calloc(ports, sizeof(*plan->end_of));
	for (uint32_t i = 0; plan->ends && plan->end_of && i < fabric->port_count; i++) {
		bool takes = takes_part(plan->query, i);

		plan->end_of[i] = takes ? plan->end_count : FABRIC_NONE;
		if (takes)
			plan->ends[plan->end_count++] = i;
	}
	ends = plan->end_count + 1;
	plan->end_station = calloc(ends, sizeof(*plan->end_station));
	plan->stations = calloc(ends, sizeof(*plan->stations));
	plan->senders = calloc(ends, sizeof(*plan->senders));
	plan->sends = calloc(ends, sizeof(*plan->sends));
	plan->receives = calloc(ends, sizeof(*plan->receives));
	plan->placed = calloc(ends, sizeof(*plan->placed));
	plan->next_user = calloc(ends * ROUNDS_HOPS, sizeof(*plan->next_user));
	plan->tables = calloc(nodes, sizeof(*plan->tables));
	plan->port_of = malloc(nodes * 256 * sizeof(*plan->port_of));
	plan->capacity = calloc(ports, sizeof(*plan->capacity));
	plan->need = calloc(ports, sizeof(*plan->need));
	plan->weight = calloc(ports, sizeof(*plan->weight));
	plan->flow = calloc(ports, sizeof(*plan->flow));
	plan->routes = calloc(ports, sizeof(*plan->routes));
	plan->samples = calloc(ports * SAMPLES, sizeof(*plan->samples));
	plan->end_seen = malloc(ports * sizeof(*plan->end_seen));
	plan->ends_through = calloc(ports, sizeof(*plan->ends_through));
	plan->first_user = calloc(ports, sizeof(*plan->first_user));
	plan->order = calloc(ports, sizeof(*plan->order));
	if (!plan->ends || !plan->end_of || !plan->end_station || !plan->stations || !plan->senders || !plan->sends ||
	    !plan->receives || !plan->placed || !plan->next_user || !plan->tables || !plan->port_of ||
	    !plan->capacity || !plan->need || !plan->weight || !plan->flow || !plan->routes || !plan->samples ||
	    !plan->end_seen || !plan->ends_through || !plan->first_user || !plan->order)
		return err_nomem(err);
	memset(plan->port_of, 0xff, nodes * 256 * sizeof(*plan->port_of));
	memset(plan->end_seen, 0xff, ports * sizeof(*plan->end_seen));
	for (uint32_t i = 0; i < fabric->node_count; i++)
		plan->tables[i] = routes_find(plan->query->routes, fabric->nodes[i].guid);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		plan->port_of[(size_t)port->node * 256 + port->num] = i;
		if (port->peer != FABRIC_NONE && fabric_link_state(fabric, i) == PORT_ACTIVE)
			plan->capacity[i] = (double)port_rate_bits_per_s(port);
		plan->need[i] = plan->query->wanted[i] ? plan->query->share * plan->capacity[i] : 0;
	}
	make_stations(plan);
	count_routes(plan);
	return 0;
}

static void plan_free(struct plan *plan)
{
	free(plan->ends);
	free(plan->end_of);
	free(plan->end_station);
	free(plan->stations);
	free(plan->senders);
	free(plan->sends);
	free(plan->receives);
	free(plan->placed);
	free(plan->next_user);
	free(plan->tables);
	free(plan->port_of);
	free(plan->capacity);
	free(plan->need);
	free(plan->weight);
	free(plan->flow);
	free(plan->routes);
	free(plan->samples);
	free(plan->end_seen);
	free(plan->ends_through);
	free(plan->first_user);
	free(plan->order);
}

/* More directions in fewer rounds; then fewer pairs. */
static bool is_better(const struct rounds *rounds, const struct rounds *than)
{
	if (rounds->loaded != than->loaded)
		return rounds->loaded > than->loaded;
	if (rounds->count != than->count)
		return rounds->count < than->count;
	return rounds->pair_count < than->pair_count;
}

int rounds_plan(const struct rounds_query *query, struct rounds *ret, struct error *err)
{
	struct plan plan = { .query = query, .fabric = query->shape->fabric, .random = 1 };
	struct rounds best = { 0 };
	int code = prepare(&plan, err);

	for (unsigned i = 0; code == 0 && i < ATTEMPTS; i++) {
		struct rounds rounds = { 0 };

		if (i && (best.count <= best.at_least || plan.work >= WORK_MOST))
			break;
		plan.attempt = i;
		weigh(&plan, i % 2 ? 2 : 0);
		code = make_rounds(&plan, &rounds, err);
		if (code == 0 && (i == 0 || is_better(&rounds, &best))) {
			rounds_done(&best);
			best = rounds;
		} else {
			rounds_done(&rounds);
		}
	}
	plan_free(&plan);
	if (code == 0)
		*ret = best;
	else
		rounds_done(&best);
	return code;
}

void rounds_done(struct rounds *rounds)
{
	free(rounds->pairs);
	free(rounds->ends);
	free(rounds->left);
	memset(rounds, 0, sizeof(*rounds));
}
