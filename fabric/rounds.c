/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/rounds/work.h"
#include "fabric/routes.h"
#include "fabric/shape.h"

/* Plans, of which the shortest is taken. */
enum { ATTEMPTS = 16 };

bool rounds_find_route(const struct rounds_work *plan, uint32_t node, uint32_t end, struct rounds_route *ret)
{
	const struct fabric *fabric = plan->fabric;
	uint32_t to = plan->ends[end];
	uint16_t lid = fabric->ports[to].lid;

	ret->links = 1;
	ret->rate = 1e300;
	while (rounds_is_switch(plan, node)) {
		uint8_t num = routes_out_port(plan->tables[node], lid);
		uint32_t port = num == ROUTES_NO_PORT ? FABRIC_NONE : plan->port_of[(size_t)node * 256 + num];

		if (port == FABRIC_NONE || num == 0 || ret->links == ROUNDS_HOPS || plan->capacity[port] <= 0)
			return false;
		ret->ports[ret->links++] = port;
		if (plan->capacity[port] < ret->rate)
			ret->rate = plan->capacity[port];
		if (fabric->ports[port].peer == to)
			return true;
		node = rounds_peer_node(plan, port);
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
	const struct rounds_work *plan = ctx;
	uint32_t x = plan->ends[*(const uint32_t *)a], y = plan->ends[*(const uint32_t *)b];
	uint32_t node_x = rounds_peer_node(plan, x), node_y = rounds_peer_node(plan, y);
	uint32_t rail_x = plan->query->shape->ports[x].rail, rail_y = plan->query->shape->ports[y].rail;

	if (rail_x != rail_y)
		return rail_x < rail_y ? -1 : 1;
	if (node_x != node_y)
		return node_x < node_y ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void make_stations(struct rounds_work *plan)
{
	for (uint32_t i = 0; i < plan->end_count; i++)
		plan->senders[i] = i;
	qsort_r(plan->senders, plan->end_count, sizeof(*plan->senders), compare_stations, plan);
	for (uint32_t i = 0; i < plan->end_count; i++) {
		uint32_t end = plan->senders[i], port = plan->ends[end];
		struct rounds_station *last = plan->station_count ? &plan->stations[plan->station_count - 1] : NULL;
		uint32_t node = rounds_peer_node(plan, port), rail = plan->query->shape->ports[port].rail;

		if (!last || last->node != node || last->rail != rail) {
			last = &plan->stations[plan->station_count++];
			*last = (struct rounds_station){ .node = node, .rail = rail, .first = i };
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

static void count_link(struct rounds_work *plan, uint32_t port, uint32_t station, uint32_t end)
{
	uint32_t nth = plan->routes[port]++;

	if (plan->end_seen[port] != end) {
		plan->end_seen[port] = end;
		plan->ends_through[port]++;
	}
	/* A random choice of all routes, each with the same probability. */
	if (nth >= ROUNDS_SAMPLES)
		nth = rounds_random(plan, nth + 1);
	if (nth < ROUNDS_SAMPLES)
		plan->samples[(size_t)port * ROUNDS_SAMPLES + nth] = (struct rounds_sample){ station, end };
}

/* Count the routes through each direction. A station with one port does not send to itself. */
static void count_routes(struct rounds_work *plan)
{
	struct rounds_route route;

	for (uint32_t end = 0; end < plan->end_count; end++) {
		const struct rounds_station *own = &plan->stations[plan->end_station[end]];

		for (uint32_t i = own->rail_first; i < own->rail_first + own->rail_count; i++) {
			const struct rounds_station *station = &plan->stations[i];

			if ((station == own && own->count == 1) || !rounds_find_route(plan, station->node, end, &route))
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
static void weigh(struct rounds_work *plan, double bonus)
{
	for (size_t i = 0; i < plan->fabric->port_count; i++)
		plan->weight[i] = plan->need[i] > 0 && plan->routes[i] ? 1 + bonus / plan->routes[i] : 0;
}

/* --- the list of rounds --- */

static int store_round(struct rounds_work *plan, struct rounds *rounds, struct error *err)
{
	size_t *ends = array_grow(rounds->ends, rounds->count, &rounds->capacity, sizeof(*ends));

	if (!ends)
		return err_nomem(err);
	rounds->ends = ends;
	for (uint32_t i = 0; i < plan->end_count; i++) {
		uint32_t from = plan->senders[i];
		const struct rounds_placed *pair = &plan->placed[from];
		struct round_pair *pairs;
		uint32_t links = 0;

		if (plan->sends[from] == FABRIC_NONE)
			continue;
		for (unsigned j = 0; j < pair->links; j++)
			links += plan->weight[pair->ports[j]] > 0 && rounds_is_loaded(plan, pair->ports[j]);
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
static size_t end_round(struct rounds_work *plan)
{
	size_t loaded = 0;

	for (size_t i = 0; i < plan->fabric->port_count; i++) {
		if (plan->weight[i] > 0 && rounds_is_loaded(plan, (uint32_t)i)) {
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

static int list_left(struct rounds_work *plan, struct rounds *rounds, struct error *err)
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

static int make_rounds(struct rounds_work *plan, struct rounds *rounds, struct error *err)
{
	size_t routable = 0;
	int code = rounds_find_bound(plan, &rounds->at_least, err);

	for (size_t i = 0; i < plan->fabric->port_count; i++) {
		rounds->wanted += plan->query->wanted[i];
		routable += plan->weight[i] > 0;
	}
	end_round(plan);
	while (code == 0 && rounds->loaded < routable) {
		size_t loaded;

		rounds_build(plan);
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

static int prepare(struct rounds_work *plan, struct error *err)
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
	plan->samples = calloc(ports * ROUNDS_SAMPLES, sizeof(*plan->samples));
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

static void plan_free(struct rounds_work *plan)
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
	struct rounds_work plan = { .query = query, .fabric = query->shape->fabric, .random = 1 };
	struct rounds best = { 0 };
	int code = prepare(&plan, err);

	for (unsigned i = 0; code == 0 && i < ATTEMPTS; i++) {
		struct rounds rounds = { 0 };

		if (i && (best.count <= best.at_least || plan.work >= ROUNDS_WORK_MOST))
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
