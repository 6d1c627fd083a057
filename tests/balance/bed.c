/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/balance/bed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"

static void need(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "cannot build the fabric: %s\n", what);
	abort();
}

static uint64_t next_random(uint64_t *random)
{
	*random += 0x9e3779b97f4a7c15ULL;
	return map_mix(*random);
}

uint32_t bed_below(struct bed *bed, uint32_t limit)
{
	return (uint32_t)(next_random(&bed->random) % limit);
}

static struct net_shape draw_shape(uint64_t *random)
{
	struct net_shape shape = net_shape_default((enum net_shape_kind)(next_random(random) % 3));
	static const unsigned spines[] = { 2, 4, 6, 8 };

	shape.spines = spines[next_random(random) % 4];
	shape.units = shape.kind == NET_SHAPE_TREE2 ? 1 : 2 + (unsigned)(next_random(random) % 3);
	shape.hosts = 4 + (unsigned)(next_random(random) % 13);
	shape.leafs = 3 + (unsigned)(next_random(random) % 6);
	shape.rails = shape.kind == NET_SHAPE_RAIL ? 2 + (unsigned)(next_random(random) % 7) : 1;
	shape.cores = shape.spines * (1 + (unsigned)(next_random(random) % 3));
	shape.links = shape.kind == NET_SHAPE_TREE3 ? 0 : (unsigned)(next_random(random) % 3);
	shape.oversubscription_milli = 1000 + 1000 * (unsigned)(next_random(random) % 2);
	shape.management = 0;
	shape.speed = next_random(random) % 2 ? LINK_SPEED_HDR : LINK_SPEED_NDR;
	return shape;
}

struct net_shape bed_random_shape(uint64_t seed)
{
	struct net_shape shape;
	int code;

	do {
		struct fabric *fabric = NULL;
		struct error err = { 0 };

		shape = draw_shape(&seed);
		code = net_shape_build(&shape, &fabric, &err);
		need(code == 0 || code == ERR_USAGE, err.text);
		fabric_destroy(fabric);
	} while (code < 0);
	return shape;
}

void bed_reroute(struct bed *bed)
{
	bed->solved = 0;
}

uint8_t *bed_table(struct bed *bed, uint32_t node)
{
	return spread_table(&bed->lft.routes, bed->fabric->nodes[node].guid);
}

void bed_route(struct bed *bed)
{
	bed_reroute(bed);
	spread_measure(&bed->spread, bed->fabric);
	spread_tables(&bed->spread, bed->fabric, bed->lids, 0, &bed->lft.routes);
}

unsigned bed_skew(struct bed *bed, uint32_t port, double part)
{
	const struct fabric *fabric = bed->fabric;
	const struct shape_group *group = &bed->shape->groups[bed->shape->ports[port].group];
	uint8_t *table = bed_table(bed, fabric->ports[port].node);
	unsigned moved = 0;

	for (uint32_t lid = 1; lid < bed->lids; lid++) {
		uint32_t out = fabric_node_port(fabric, group->node, table[lid]);

		if (out == FABRIC_NONE || bed->shape->ports[out].group != bed->shape->ports[port].group)
			continue;
		if (bed_below(bed, 1000) >= part * 1000)
			continue;
		table[lid] = fabric->ports[port].num;
		moved++;
	}
	bed_reroute(bed);
	return moved;
}

void bed_reshape(struct bed *bed)
{
	bed->solved = 0;
	shape_destroy(bed->shape);
	need(shape_create(bed->fabric, NULL, &bed->shape, NULL) == 0, "the shape");
}

void bed_init(struct bed *bed, const struct net_shape *shape, uint64_t seed)
{
	struct error err = { 0 };

	memset(bed, 0, sizeof(*bed));
	bed->random = seed;
	if (net_shape_build(shape, &bed->fabric, &err) < 0)
		need(false, err.text);
	bed->lids = spread_lids(bed->fabric);
	bed->lft.port_lids = calloc(bed->fabric->port_count + 1, sizeof(*bed->lft.port_lids));
	need(bed->lft.port_lids, "memory");
	for (size_t i = 0; i < bed->fabric->port_count; i++)
		bed->lft.port_lids[i] = bed->fabric->ports[i].lid;
	bed_route(bed);
	bed_reshape(bed);
	need(host_table_create(bed->fabric, &bed->hosts, NULL) == 0, "hosts");
	bed->loads = calloc(bed->fabric->port_count + 1, sizeof(*bed->loads));
	bed->memory = balance_memory_create();
	need(bed->loads && bed->memory, "memory");
	balance_settings_default(&bed->settings);
}

void bed_done(struct bed *bed)
{
	balance_done(&bed->balance);
	balance_memory_destroy(bed->memory);
	traffic_done(&bed->traffic);
	free(bed->loads);
	free(bed->adaptive);
	flow_list_done(&bed->flows);
	host_table_done(&bed->hosts);
	shape_destroy(bed->shape);
	spread_done(&bed->spread);
	lft_done(&bed->lft);
	fabric_destroy(bed->fabric);
}

static void add_flow(struct bed *bed, uint32_t from, uint32_t to, double share)
{
	struct flow_list *list = &bed->flows;
	struct flow *moved = array_grow(list->flows, list->count, &list->capacity, sizeof(*moved));

	need(moved, "memory");
	list->flows = moved;
	moved[list->count++] = (struct flow){
		.from = from, .to = to, .job = (uint32_t)list->job_count,
		.demand_bits_per_s = share * (double)port_rate_bits_per_s(&bed->fabric->ports[from]),
	};
}

static void end_job(struct bed *bed)
{
	bool *moved = reallocarray(bed->flows.coupled, bed->flows.job_count + 1, sizeof(*moved));

	need(moved, "memory");
	moved[bed->flows.job_count++] = false;
	bed->flows.coupled = moved;
}

/* Rail by rail, as collectives do where they can. */
void bed_job(struct bed *bed, enum bed_pattern pattern, size_t first, size_t last, unsigned flows, double share)
{
	unsigned several = pattern == BED_RING || pattern == BED_INCAST ? 1 : flows;
	size_t count = last - first;

	for (size_t host = first; count > 1 && host < last; host++) {
		for (size_t rail = 0; rail < bed->hosts.hosts[host].hca_count; rail++) {
			uint32_t from = bed->hosts.hcas[bed->hosts.hosts[host].first_hca + rail].port;

			for (size_t i = 0; i < several; i++) {
				size_t to = pattern == BED_RING ? first + (host - first + 1) % count :
					    pattern == BED_PERMUTATION ? first + (host - first + 1 + 7 * i) % count :
					    pattern == BED_INCAST ? first + host % (1 + count / 16) :
					    first + bed_below(bed, (uint32_t)count);

				if (to != host && rail < bed->hosts.hosts[to].hca_count)
					add_flow(bed, from, bed->hosts.hcas[bed->hosts.hosts[to].first_hca + rail].port,
						 share / several);
			}
		}
	}
	end_job(bed);
}

void bed_flow(struct bed *bed, uint32_t from, uint32_t to, double share)
{
	add_flow(bed, from, to, share);
	end_job(bed);
}

void bed_no_jobs(struct bed *bed)
{
	bed->solved = 0;
	flow_list_done(&bed->flows);
	memset(&bed->flows, 0, sizeof(bed->flows));
}

static void count_link(struct bed *bed, uint32_t port, double bytes)
{
	bed->loads[port].xmit_bytes += bytes;
	bed->loads[bed->fabric->ports[port].peer].rcv_bytes += bytes;
}

/* Adaptive routing: a switch sends over all of its uplinks. Hops above are not changed. */
static void count_hop(struct bed *bed, uint32_t port, double bytes, const bool *spread_at)
{
	const struct shape_port *at = &bed->shape->ports[port];
	const struct shape_group *group = at->group == SHAPE_NONE ? NULL : &bed->shape->groups[at->group];

	if (!group || group->kind != GROUP_UP || !spread_at || !spread_at[group->node]) {
		count_link(bed, port, bytes);
		return;
	}
	for (uint32_t i = 0; i < group->count; i++)
		count_link(bed, bed->shape->members[group->first + i], bytes / group->count);
}

static void count_loads(struct bed *bed, const struct traffic *traffic, const bool *spread_at)
{
	for (size_t i = 0; i < bed->fabric->port_count; i++) {
		double capacity = (double)port_rate_bits_per_s(&bed->fabric->ports[i]);

		bed->loads[i] = (struct balance_load){
			.known = true, .elapsed_us = BED_WINDOW_US * (0.995 + bed_below(bed, 1000) * 1e-5),
			.stall = capacity > 0 ? traffic->wait_rate[i] * TRAFFIC_TICK_BITS / capacity : NAN,
		};
	}
	for (size_t i = 0; i < bed->flows.count; i++)
		for (size_t j = traffic->share.first[i]; j < traffic->share.first[i + 1]; j++)
			count_hop(bed, traffic->share.uses[j].port, traffic_rate(traffic, i) / 8e6, spread_at);
	/* Each port is read at its own time. */
	for (size_t i = 0; i < bed->fabric->port_count; i++) {
		bed->loads[i].xmit_bytes *= bed->loads[i].elapsed_us;
		bed->loads[i].rcv_bytes *= bed->loads[i].elapsed_us;
	}
}

void bed_run(struct bed *bed, const bool *spread_at)
{
	struct balance_input input = { .shape = bed->shape, .routes = &bed->lft.routes, .loads = bed->loads,
				       .adaptive = bed->adaptive, .window_us = BED_WINDOW_US };

	/* Rates change only where routes or flows do. */
	if (bed->solved != bed->flows.count + 1) {
		traffic_done(&bed->traffic);
		need(traffic_create(bed->fabric, &bed->flows, &bed->traffic, NULL) == 0, "traffic");
		need(traffic_route(&bed->traffic, &bed->lft, NULL) == 0, "traffic");
		bed->solved = bed->flows.count + 1;
	}
	count_loads(bed, &bed->traffic, spread_at);
	balance_done(&bed->balance);
	need(balance_evaluate(&input, &bed->settings, &bed->balance, NULL) == 0, "memory");
	need(balance_memory_step(bed->memory, bed->shape, &bed->settings, &bed->balance, NULL) == 0, "memory");
}

const struct balance_result *bed_result(const struct bed *bed, uint32_t group, enum balance_direction direction)
{
	return &bed->balance.results[2 * group + (direction == BALANCE_RCV)];
}

size_t bed_count(const struct bed *bed, enum balance_cause cause)
{
	size_t count = 0;

	for (size_t i = 0; i < bed->balance.count; i++)
		count += bed->balance.results[i].cause == cause;
	return count;
}

uint32_t bed_member(const struct bed *bed, uint32_t port)
{
	const struct shape_group *group = &bed->shape->groups[bed->shape->ports[port].group];

	for (uint32_t i = 0; i < group->count; i++)
		if (bed->shape->members[group->first + i] == port)
			return i;
	return UINT32_MAX;
}

unsigned bed_flows(const struct bed *bed, uint32_t port)
{
	uint32_t path[TRAFFIC_MAX_HOPS];
	unsigned flows = 0;
	size_t hops;

	for (size_t i = 0; i < bed->flows.count; i++) {
		hops = traffic_find_path(bed->fabric, &bed->lft, bed->flows.flows[i].from, bed->flows.flows[i].to,
					 path);
		while (hops-- > 0)
			flows += path[hops] == port;
	}
	return flows;
}

uint32_t bed_leaf(const struct bed *bed, uint32_t nth, uint32_t uplinks)
{
	uint32_t seen = 0;

	for (uint32_t pass = 0; pass < 2; pass++) {
		uint32_t wanted = seen ? nth % seen : 0;

		for (uint32_t i = 0; i < bed->fabric->node_count; i++) {
			const struct shape_node *node = &bed->shape->nodes[i];

			if (node->tier != 1 || node->up_group == SHAPE_NONE ||
			    bed->shape->groups[node->up_group].count < uplinks)
				continue;
			if (pass == 0)
				seen++;
			else if (wanted-- == 0)
				return i;
		}
	}
	return FABRIC_NONE;
}
