/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "sim/lft.h"
#include "sim/maxmin.h"

#define NO_GROUP UINT32_MAX

int traffic_create(const struct fabric *fabric, const struct flow_list *list, struct traffic *ret, struct error *err)
{
	struct traffic traffic = { .fabric = fabric, .list = list };
	size_t ports = fabric->port_count + 1, flows = list->count + 1;

	traffic.path_first = calloc(flows + 1, sizeof(*traffic.path_first));
	traffic.routed = calloc(flows, sizeof(*traffic.routed));
	traffic.rate = calloc(flows, sizeof(*traffic.rate));
	traffic.carry = calloc(flows, sizeof(*traffic.carry));
	traffic.wait_rate = calloc(ports, sizeof(*traffic.wait_rate));
	traffic.wait_carry = calloc(ports, sizeof(*traffic.wait_carry));
	traffic.pending = calloc(ports, sizeof(*traffic.pending));
	if (!traffic.path_first || !traffic.routed || !traffic.rate || !traffic.carry || !traffic.wait_rate ||
	    !traffic.wait_carry || !traffic.pending) {
		traffic_done(&traffic);
		return err_nomem(err);
	}
	*ret = traffic;
	return 0;
}

void traffic_done(struct traffic *traffic)
{
	free(traffic->path);
	free(traffic->path_first);
	free(traffic->routed);
	free(traffic->rate);
	free(traffic->carry);
	free(traffic->wait_rate);
	free(traffic->wait_carry);
	free(traffic->pending);
	memset(traffic, 0, sizeof(*traffic));
}

size_t traffic_find_path(const struct fabric *fabric, const struct lft *lft, uint32_t from, uint32_t to,
			 uint32_t ret_path[TRAFFIC_MAX_HOPS])
{
	struct route_trace trace;

	/* A port without a LID is not in the subnet: its link is down, although it is in the net file. */
	if (!lft->port_lids[from] || !lft->port_lids[to])
		return 0;
	routes_trace(&lft->routes, fabric, from, to, lft->port_lids[to], &trace);
	if (trace.end != ROUTE_ARRIVES)
		return 0;
	memcpy(ret_path, trace.ports, trace.hops * sizeof(*ret_path));
	return trace.hops;
}

static int add_path(struct traffic *traffic, const uint32_t *path, size_t hops, size_t flow)
{
	size_t first = traffic->path_first[flow];
	uint32_t *grown;

	for (size_t i = 0; i < hops; i++) {
		grown = array_grow(traffic->path, first + i, &traffic->path_capacity, sizeof(*grown));
		if (!grown)
			return ERR_NOMEM;
		traffic->path = grown;
		traffic->path[first + i] = path[i];
	}
	traffic->path_first[flow + 1] = first + hops;
	return 0;
}

static int find_paths(struct traffic *traffic, const struct lft *lft)
{
	uint32_t path[TRAFFIC_MAX_HOPS];

	traffic->routed_count = 0;
	for (size_t i = 0; i < traffic->list->count; i++) {
		const struct flow *flow = &traffic->list->flows[i];
		size_t hops = traffic_find_path(traffic->fabric, lft, flow->from, flow->to, path);

		if (add_path(traffic, path, hops, i) < 0)
			return ERR_NOMEM;
		traffic->routed[i] = hops > 0;
		traffic->routed_count += hops > 0;
	}
	return 0;
}

/* The max-min problem and the group of each flow. */
struct sharing {
	uint32_t *group;  /* by flow; NO_GROUP: rate 0 */
	uint32_t *job_group;
	double *capacity, *demand, *rate, *load;
	struct maxmin_use *uses;
	size_t group_count, use_count;
};

static void sharing_done(struct sharing *sharing)
{
	free(sharing->group);
	free(sharing->job_group);
	free(sharing->capacity);
	free(sharing->demand);
	free(sharing->rate);
	free(sharing->load);
	free(sharing->uses);
}

/* Jobs with rate 0: coupled jobs with a flow that has no path. */
static void group_flows(const struct traffic *traffic, struct sharing *sharing)
{
	const struct flow_list *list = traffic->list;

	for (size_t i = 0; i < list->job_count; i++)
		sharing->job_group[i] = list->coupled[i] ? (uint32_t)sharing->group_count++ : NO_GROUP;
	for (size_t i = 0; i < list->count; i++)
		if (!traffic->routed[i] && list->coupled[list->flows[i].job])
			sharing->demand[sharing->job_group[list->flows[i].job]] = -1;
	for (size_t i = 0; i < list->count; i++) {
		const struct flow *flow = &list->flows[i];
		uint32_t group = sharing->job_group[flow->job];

		if (group == NO_GROUP && traffic->routed[i])
			group = (uint32_t)sharing->group_count++;
		if (group != NO_GROUP && sharing->demand[group] < 0)
			group = NO_GROUP;
		sharing->group[i] = group;
		/* All flows have the same rate: the demand of the group is that of its slowest flow. */
		if (group != NO_GROUP &&
		    (sharing->demand[group] <= 0 || flow->demand_bits_per_s < sharing->demand[group]))
			sharing->demand[group] = flow->demand_bits_per_s;
	}
	for (size_t i = 0; i < sharing->group_count; i++)
		if (sharing->demand[i] < 0)
			sharing->demand[i] = 0;
}

static void list_uses(const struct traffic *traffic, struct sharing *sharing)
{
	for (size_t i = 0; i < traffic->list->count; i++) {
		if (sharing->group[i] == NO_GROUP)
			continue;
		for (size_t j = traffic->path_first[i]; j < traffic->path_first[i + 1]; j++)
			sharing->uses[sharing->use_count++] =
				(struct maxmin_use){ sharing->group[i], traffic->path[j], 1 };
	}
}

static bool is_full(const struct sharing *sharing, uint32_t port)
{
	return sharing->load[port] >= sharing->capacity[port] * (1 - 1e-6);
}

/*
 * The excess demand of a flow limited by a full link fills the buffers of the ports before that link. If its
 * path has several full links it is the last one: a full link before it transmits all the time.
 */
static void hold_back(struct traffic *traffic, const struct sharing *sharing, size_t flow)
{
	double held = sharing->demand[sharing->group[flow]] - traffic->rate[flow];
	size_t first = traffic->path_first[flow], last = traffic->path_first[flow + 1];

	while (last > first && !is_full(sharing, traffic->path[last - 1]))
		last--;
	/* Without a full link its job limits it, and no data is queued. */
	for (size_t i = first; held > 0 && last > first && i < last - 1; i++)
		traffic->wait_rate[traffic->path[i]] += held;
}

static void apply_rates(struct traffic *traffic, const struct sharing *sharing)
{
	for (size_t i = 0; i < traffic->list->count; i++)
		traffic->rate[i] = sharing->group[i] == NO_GROUP ? 0 : sharing->rate[sharing->group[i]];
	for (size_t i = 0; i < traffic->fabric->port_count; i++)
		traffic->wait_rate[i] = 0;
	for (size_t i = 0; i < traffic->list->count; i++)
		if (sharing->group[i] != NO_GROUP)
			hold_back(traffic, sharing, i);
	/* A port does not wait while it transmits. */
	for (size_t i = 0; i < traffic->fabric->port_count; i++) {
		double idle = sharing->capacity[i] - sharing->load[i];

		if (traffic->wait_rate[i] > idle)
			traffic->wait_rate[i] = idle > 0 ? idle : 0;
		traffic->wait_rate[i] /= TRAFFIC_TICK_BITS;
	}
}

static int share_links(struct traffic *traffic)
{
	size_t flows = traffic->list->count, ports = traffic->fabric->port_count;
	struct sharing sharing = {
		.group = calloc(flows + 1, sizeof(*sharing.group)),
		.job_group = calloc(traffic->list->job_count + 1, sizeof(*sharing.job_group)),
		.capacity = calloc(ports + 1, sizeof(*sharing.capacity)),
		.demand = calloc(flows + traffic->list->job_count + 1, sizeof(*sharing.demand)),
		.rate = calloc(flows + traffic->list->job_count + 1, sizeof(*sharing.rate)),
		.load = calloc(ports + 1, sizeof(*sharing.load)),
		.uses = calloc(traffic->path_first[flows] + 1, sizeof(*sharing.uses)),
	};
	struct maxmin problem = { 0 };
	int code = ERR_NOMEM;

	if (sharing.group && sharing.job_group && sharing.capacity && sharing.demand && sharing.rate && sharing.load &&
	    sharing.uses) {
		for (size_t i = 0; i < ports; i++)
			sharing.capacity[i] = (double)port_rate_bits_per_s(&traffic->fabric->ports[i]);
		group_flows(traffic, &sharing);
		list_uses(traffic, &sharing);
		problem = (struct maxmin){
			.capacity = sharing.capacity, .link_count = ports, .demand = sharing.demand,
			.group_count = sharing.group_count, .uses = sharing.uses, .use_count = sharing.use_count,
		};
		code = maxmin_solve(&problem, sharing.rate, sharing.load);
	}
	if (code == 0)
		apply_rates(traffic, &sharing);
	sharing_done(&sharing);
	return code;
}

int traffic_route(struct traffic *traffic, const struct lft *lft, struct error *err)
{
	int code = find_paths(traffic, lft);

	if (code == 0)
		code = share_links(traffic);
	return code < 0 ? err_nomem(err) : 0;
}

void traffic_advance(struct traffic *traffic, double elapsed_s)
{
	for (size_t i = 0; i < traffic->list->count; i++) {
		double sent = traffic->carry[i] + traffic->rate[i] * elapsed_s / TRAFFIC_PACKET_BITS;
		uint64_t packets = (uint64_t)sent;

		traffic->carry[i] = sent - (double)packets;
		for (size_t j = traffic->path_first[i]; packets && j < traffic->path_first[i + 1]; j++) {
			traffic->pending[traffic->path[j]].xmit_packets += packets;
			traffic->pending[traffic->fabric->ports[traffic->path[j]].peer].rcv_packets += packets;
		}
	}
	for (size_t i = 0; i < traffic->fabric->port_count; i++) {
		double waited = traffic->wait_carry[i] + traffic->wait_rate[i] * elapsed_s;
		uint64_t ticks = (uint64_t)waited;

		traffic->wait_carry[i] = waited - (double)ticks;
		traffic->pending[i].xmit_wait += ticks;
	}
}
