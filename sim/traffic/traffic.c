/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "sim/lft.h"
#include "sim/traffic/phases.h"

/* Only if they are needed: they are advanced in small steps. */
static int create_phases(struct traffic *traffic)
{
	const struct flow_list *list = traffic->list;
	bool needed = false;

	for (size_t i = 0; list->rhythms && i < list->job_count; i++)
		needed |= list->rhythms[i].iteration_s > 0 || list->rhythms[i].start_s > 0 ||
			  list->rhythms[i].length_s > 0;
	if (!needed)
		return 0;
	traffic->phases = calloc(1, sizeof(*traffic->phases));
	traffic->groups = calloc(list->job_count + 1, sizeof(*traffic->groups));
	traffic->step_rate = calloc(list->count + 1, sizeof(*traffic->step_rate));
	traffic->step_sent = calloc(list->count + 1, sizeof(*traffic->step_sent));
	if (!traffic->phases || !traffic->groups || !traffic->step_rate || !traffic->step_sent)
		return ERR_NOMEM;
	return phases_init(traffic->phases, list);
}

int traffic_create(const struct fabric *fabric, const struct flow_list *list, struct traffic *ret, struct error *err)
{
	struct traffic traffic = { .fabric = fabric, .list = list };
	size_t ports = fabric->port_count + 1;

	traffic.carry = calloc(list->count + 1, sizeof(*traffic.carry));
	traffic.wait_rate = calloc(ports, sizeof(*traffic.wait_rate));
	traffic.wait_carry = calloc(ports, sizeof(*traffic.wait_carry));
	traffic.waited = calloc(ports, sizeof(*traffic.waited));
	traffic.pending = calloc(ports, sizeof(*traffic.pending));
	if (traffic.carry && create_phases(&traffic) < 0) {
		traffic_done(&traffic);
		return err_nomem(err);
	}
	if (!traffic.carry || !traffic.wait_rate || !traffic.wait_carry || !traffic.waited ||
	    !traffic.pending) {
		traffic_done(&traffic);
		return err_nomem(err);
	}
	*ret = traffic;
	return 0;
}

void traffic_done(struct traffic *traffic)
{
	share_done(&traffic->share);
	free(traffic->carry);
	free(traffic->wait_rate);
	free(traffic->wait_carry);
	free(traffic->waited);
	free(traffic->pending);
	if (traffic->phases)
		phases_done(traffic->phases);
	free(traffic->phases);
	free(traffic->groups);
	free(traffic->step_rate);
	free(traffic->step_sent);
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

/*
 * Add a flow to the shared links. @groups: by job: the number of its group, from 1 on
 * A coupled job has the demand of its slowest flow, and a flow without a path has none.
 */
static int add_flow(struct traffic *traffic, const struct lft *lft, const struct flow *flow, uint32_t *groups)
{
	struct share *share = &traffic->share;
	uint32_t path[TRAFFIC_MAX_HOPS], own = 0;
	uint32_t *group = traffic->list->coupled[flow->job] ? &groups[flow->job] : &own;
	size_t hops = traffic_find_path(traffic->fabric, lft, flow->from, flow->to, path);
	double demand = hops ? flow->demand_bits_per_s : 0;
	bool first = !*group;

	if (first)
		*group = (uint32_t)++share->group_count;
	share->first[share->flow_count] = share->use_count;
	share->group[share->flow_count] = *group - 1;
	if (first || demand < share->demand[*group - 1])
		share->demand[*group - 1] = demand;
	for (size_t i = 0; i < hops; i++)
		if (share_add(share, path[i], 1, (unsigned)i) < 0)
			return ERR_NOMEM;
	share->flow_count++;
	traffic->routed_count += hops > 0;
	return 0;
}

static void set_wait_rates(struct traffic *traffic)
{
	memset(traffic->wait_rate, 0, traffic->fabric->port_count * sizeof(*traffic->wait_rate));
	for (size_t i = 0; i < traffic->share.flow_count; i++)
		share_wait(&traffic->share, i, traffic->wait_rate);
	/* A port does not wait while it transmits. */
	for (uint32_t i = 0; i < traffic->fabric->port_count; i++) {
		double idle = share_idle(&traffic->share, i);

		if (traffic->wait_rate[i] > idle)
			traffic->wait_rate[i] = idle > 0 ? idle : 0;
		traffic->wait_rate[i] /= TRAFFIC_TICK_BITS;
	}
}

/* Until the first step, rates are those with data to send. */
static void begin_phases(struct traffic *traffic, const uint32_t *groups)
{
	for (size_t job = 0; job < traffic->list->job_count; job++) {
		traffic->groups[job] = groups[job];
		traffic->phases->runs[job].demand = groups[job] ? traffic->share.demand[groups[job] - 1] : 0;
		/* The demand of the share is that of a job that sends. */
		traffic->phases->runs[job].sends = true;
	}
}

int traffic_route(struct traffic *traffic, const struct lft *lft, struct error *err)
{
	uint32_t *groups = calloc(traffic->list->job_count + 1, sizeof(*groups));
	int code = groups ? 0 : ERR_NOMEM;

	share_done(&traffic->share);
	if (share_init(&traffic->share, traffic->fabric, traffic->list->count) < 0)
		code = ERR_NOMEM;
	traffic->routed_count = 0;
	for (size_t i = 0; i < traffic->list->count && code == 0; i++)
		code = add_flow(traffic, lft, &traffic->list->flows[i], groups);
	if (code == 0)
		code = share_solve(&traffic->share);
	if (code == 0)
		set_wait_rates(traffic);
	if (code == 0 && traffic->phases)
		begin_phases(traffic, groups);
	free(groups);
	return code < 0 ? err_nomem(err) : 0;
}

double traffic_rate(const struct traffic *traffic, size_t flow)
{
	return flow < traffic->share.flow_count ? traffic->share.rate[traffic->share.group[flow]] : 0;
}

static void count_sent(struct traffic *traffic, size_t flow, double bits)
{
	const struct share *share = &traffic->share;
	double sent = traffic->carry[flow] + bits / TRAFFIC_PACKET_BITS;
	uint64_t packets = (uint64_t)sent;

	traffic->carry[flow] = sent - (double)packets;
	for (size_t j = share->first[flow]; packets && j < share->first[flow + 1]; j++) {
		uint32_t port = share->uses[j].port;

		traffic->pending[port].xmit_packets += packets;
		traffic->pending[traffic->fabric->ports[port].peer].rcv_packets += packets;
	}
}

static void count_waits(struct traffic *traffic, double elapsed_s)
{
	for (size_t i = 0; i < traffic->fabric->port_count; i++) {
		double waited = traffic->wait_carry[i] + traffic->wait_rate[i] * elapsed_s;
		uint64_t ticks = (uint64_t)waited;

		traffic->wait_carry[i] = waited - (double)ticks;
		traffic->waited[i] += (double)ticks;
		traffic->pending[i].xmit_wait += ticks;
	}
}

/* Without memory the rates remain. */
static void update_rates(struct traffic *traffic)
{
	if (!phases_update(traffic->phases))
		return;
	for (size_t job = 0; job < traffic->list->job_count; job++)
		if (traffic->groups[job])
			traffic->share.demand[traffic->groups[job] - 1] = phases_demand(traffic->phases, job);
	if (share_solve(&traffic->share) == 0)
		set_wait_rates(traffic);
}

void traffic_advance(struct traffic *traffic, double elapsed_s)
{
	size_t flows = traffic->share.flow_count;

	if (!traffic->phases) {
		for (size_t i = 0; i < flows; i++)
			count_sent(traffic, i, traffic_rate(traffic, i) * elapsed_s);
		count_waits(traffic, elapsed_s);
		return;
	}
	while (flows && elapsed_s > 0) {
		double step_s = elapsed_s < PHASES_STEP_S ? elapsed_s : PHASES_STEP_S;

		update_rates(traffic);
		for (size_t i = 0; i < flows; i++)
			traffic->step_rate[i] = traffic_rate(traffic, i);
		phases_advance(traffic->phases, step_s, traffic->step_rate, traffic->step_sent);
		for (size_t i = 0; i < flows; i++)
			count_sent(traffic, i, traffic->step_sent[i]);
		count_waits(traffic, step_s);
		elapsed_s -= step_s;
	}
}
