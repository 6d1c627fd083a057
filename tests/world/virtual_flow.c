/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_flow.c - paths and rates of flows, and the resulting rates of ports */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fabric/fabric.h"
#include "sim/share.h"
#include "tests/world/virtual.h"

/* Longest path in links, and the most switches over which a flow is spread at one distance. */
#define HOPS_MAX 12
#define FRONT_MAX 256

struct sharing {
	struct virtual *world;
	struct share share;  /* flows of all running jobs */
	uint32_t *job_of;    /* by flow */
};

/* The output ports of a switch for a flow; @ret has room for 256 ports. */
static unsigned next_hops(const struct virtual *world, uint32_t node, uint32_t to, bool adaptive, uint32_t *ret)
{
	const struct fabric *built = world->built;
	uint32_t last = built->ports[to].peer, out;
	const struct node *owner = &built->nodes[node];
	unsigned count = 0;

	if (last == FABRIC_NONE || built->ports[to].state != PORT_ACTIVE)
		return 0;
	if (built->ports[last].node == node || !adaptive) {
		uint8_t num = routes_out_port(routes_find(&world->tables, owner->guid), built->ports[to].lid);

		out = num == ROUTES_NO_PORT || !num ? FABRIC_NONE : fabric_node_port(built, node, num);
		if (out == FABRIC_NONE || built->ports[out].state != PORT_ACTIVE)
			return 0;
		ret[0] = out;
		return 1;
	}
	for (uint32_t i = owner->first_port; i < owner->first_port + owner->ports; i++)
		if (built->ports[i].num && spread_nearer(&world->spread, built, i, built->ports[last].node))
			ret[count++] = i;
	return count;
}

static void add_use(struct sharing *sharing, uint32_t port, double part, unsigned depth)
{
	if (share_add(&sharing->share, port, part, depth) < 0)
		abort();
}

/* Switches at one distance from the sender, and the share of the flow through each. */
struct front { uint32_t node[FRONT_MAX]; double part[FRONT_MAX]; unsigned count; };

static void front_add(struct front *front, uint32_t node, double part)
{
	unsigned i;

	for (i = 0; i < front->count && front->node[i] != node; i++)
		;
	if (i == FRONT_MAX)
		return;
	if (i == front->count) {
		front->node[front->count++] = node;
		front->part[i] = 0;
	}
	front->part[i] += part;
}

/* Follow a flow from switch to switch. Return: whether all of it arrives. */
static bool follow(struct sharing *sharing, uint32_t from, uint32_t to, bool adaptive)
{
	const struct virtual *world = sharing->world;
	const struct fabric *built = world->built;
	struct front here = { .count = 0 }, next;

	if (built->ports[from].state != PORT_ACTIVE || built->ports[from].peer == FABRIC_NONE)
		return false;
	add_use(sharing, from, 1, 0);
	if (to == FABRIC_NONE || built->ports[from].peer == to)
		return true;
	front_add(&here, built->ports[built->ports[from].peer].node, 1);
	for (unsigned depth = 1; here.count && depth < HOPS_MAX; depth++, here = next) {
		next.count = 0;
		for (unsigned i = 0; i < here.count; i++) {
			uint32_t ports[256];
			unsigned ways = next_hops(world, here.node[i], to, adaptive, ports);

			if (!ways)
				return false;
			for (unsigned j = 0; j < ways; j++) {
				uint32_t peer = built->ports[ports[j]].peer;

				add_use(sharing, ports[j], here.part[i] / ways, depth);
				if (peer != to)
					front_add(&next, built->ports[peer].node, here.part[i] / ways);
			}
		}
	}
	return here.count == 0;
}

/* Add the flows of a job. A coupled job stops if one of its flows has no path. */
static void add_job(struct sharing *sharing, uint32_t index)
{
	struct virtual_job *job = &sharing->world->jobs[index];
	struct share *share = &sharing->share;
	size_t flows = share->flow_count, job_uses = share->use_count;

	for (size_t i = 0; i < job->flow_count; i++) {
		size_t uses = share->use_count;

		if (follow(sharing, job->flows[i].from, job->flows[i].to, job->adaptive)) {
			sharing->job_of[share->flow_count] = index;
			share->first[share->flow_count] = uses;
			share->group[share->flow_count++] =
				(uint32_t)(job->coupled ? share->group_count : share->group_count++);
		} else if (job->coupled) {
			share->flow_count = flows;
			share->use_count = job_uses;
			return;
		} else {
			share->use_count = uses;
		}
	}
	if (job->coupled && share->flow_count > flows)
		share->group_count++;
}

static void list_flows(struct sharing *sharing)
{
	struct virtual *world = sharing->world;
	size_t total = 0;

	for (uint32_t i = 0; i < world->job_count; i++) {
		if (world->jobs[i].runs)
			virtual_fill_job(world, &world->jobs[i]);
		total += world->jobs[i].flow_count;
	}
	sharing->job_of = virtual_alloc(total, sizeof(*sharing->job_of));
	if (share_init(&sharing->share, world->built, total) < 0)
		abort();
	for (uint32_t i = 0; i < world->job_count; i++)
		if (world->jobs[i].runs)
			add_job(sharing, i);
}

/* The demand of a flow: its part of the HCA link's nominal rate. */
static double demand_of(const struct virtual *world, uint32_t job, uint32_t port)
{
	double link = (double)link_rate_bits_per_s(world->ports[port].width, world->ports[port].speed);

	if (world->jobs[job].pattern == PATTERN_ALLTOALL)
		link /= world->jobs[job].fan;
	return link * world->jobs[job].load;
}

/* The demand of a group is that of its fastest flow. */
static void solve(struct sharing *sharing)
{
	struct share *share = &sharing->share;

	for (size_t i = 0; i < share->flow_count; i++) {
		double wanted = demand_of(sharing->world, sharing->job_of[i], share->uses[share->first[i]].port);
		double *demand = &share->demand[share->group[i]];

		if (wanted > *demand)
			*demand = wanted;
	}
	if (share_solve(share) < 0)
		abort();
}

static void keep_loads(struct virtual_job *job, const double *sent, const double *waits, size_t ports)
{
	job->load_count = 0;
	for (size_t i = 0; i < ports; i++) {
		if (sent[i] <= 0 && waits[i] <= 0)
			continue;
		job->loads = virtual_grow(job->loads, job->load_count, &job->load_capacity, sizeof(*job->loads));
		job->loads[job->load_count++] = (struct virtual_load){ (uint32_t)i, sent[i], waits[i] };
	}
}

/* Distribute the loads of all links over the jobs. @waits: by port: the sum of all jobs */
static void share_out(struct sharing *sharing, double *waits)
{
	struct virtual *world = sharing->world;
	const struct share *share = &sharing->share;
	size_t ports = world->built->port_count, flow = 0;
	double *sent = virtual_alloc(2 * ports, sizeof(*sent)), *own_waits = sent + ports;

	for (size_t i = 0; i < world->job_count; i++) {
		struct virtual_job *job = &world->jobs[i];

		job->load_count = 0;
		if (flow == share->flow_count || sharing->job_of[flow] != i)
			continue;
		memset(sent, 0, 2 * ports * sizeof(*sent));
		for (; flow < share->flow_count && sharing->job_of[flow] == i; flow++) {
			double rate = share->rate[share->group[flow]];

			for (size_t j = share->first[flow]; j < share->first[flow + 1]; j++)
				sent[share->uses[j].port] += rate * (double)share->uses[j].part;
			share_wait(share, flow, own_waits);
		}
		keep_loads(job, sent, own_waits, ports);
		for (size_t j = 0; j < job->load_count; j++)
			waits[job->loads[j].port] += job->loads[j].wait_bits_per_s;
	}
	free(sent);
}

/* A port cannot wait while it sends. */
static void limit_waits(const struct sharing *sharing, const double *waits)
{
	struct virtual *world = sharing->world;

	for (size_t i = 0; i < world->job_count; i++) {
		for (size_t j = 0; j < world->jobs[i].load_count; j++) {
			struct virtual_load *load = &world->jobs[i].loads[j];
			double idle = share_idle(&sharing->share, load->port), total = waits[load->port];

			if (total > idle)
				load->wait_bits_per_s *= idle > 0 ? idle / total : 0;
		}
	}
}

void virtual_share(struct virtual *world)
{
	struct sharing sharing = { .world = world };
	double *waits = virtual_alloc(world->built->port_count, sizeof(*waits));

	list_flows(&sharing);
	solve(&sharing);
	share_out(&sharing, waits);
	limit_waits(&sharing, waits);
	share_done(&sharing.share);
	free(sharing.job_of);
	free(waits);
}

/* Communication time of a job until @until_us. */
static int64_t communicated_us(const struct virtual_job *job, int64_t until_us)
{
	int64_t off_us = (int64_t)((double)job->off_us / job->pace);
	int64_t period_us = job->on_us + off_us, at_us = until_us + job->phase_us;
	int64_t rest_us = at_us % period_us;

	return at_us / period_us * job->on_us + (rest_us < job->on_us ? rest_us : job->on_us);
}

static double activity(struct virtual *world, const struct virtual_job *job, int64_t from_us, int64_t to_us)
{
	double part = job->pace, noise;
	uint64_t sweep = (uint64_t)(from_us / world->interval_us);

	if (job->off_us > 0)
		part = (double)(communicated_us(job, to_us) - communicated_us(job, from_us)) /
		       (double)(to_us - from_us);
	noise = (double)(map_mix(map_mix(job->seed + 17) + sweep) >> 11) / 9007199254740992.0;
	return part * (1 - job->noise * noise);
}

void virtual_rates(struct virtual *world, int64_t from_us, int64_t to_us)
{
	for (size_t i = 0; i < world->built->port_count; i++)
		world->ports[i].rate = world->ports[i].wait_rate = 0;
	for (size_t i = 0; i < world->job_count; i++) {
		const struct virtual_job *job = &world->jobs[i];
		double part = job->runs && job->pace > 0 ? activity(world, job, from_us, to_us) : 0;

		for (size_t j = 0; part > 0 && j < job->load_count; j++) {
			world->ports[job->loads[j].port].rate += part * job->loads[j].bits_per_s;
			world->ports[job->loads[j].port].wait_rate += part * job->loads[j].wait_bits_per_s;
		}
	}
}
