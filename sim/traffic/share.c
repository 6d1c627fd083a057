/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/share.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "sim/maxmin.h"

/* maxmin ignores less than half a flow, so parts of a flow are counted in these units. */
#define PARTS 4096.0

#define FULL (1 - 1e-6)

int share_init(struct share *share, const struct fabric *fabric, size_t flows)
{
	*share = (struct share){
		.fabric = fabric, .first = calloc(flows + 1, sizeof(*share->first)),
		.group = calloc(flows + 1, sizeof(*share->group)),
		.demand = calloc(flows + 1, sizeof(*share->demand)), .rate = calloc(flows + 1, sizeof(*share->rate)),
		.load = calloc(fabric->port_count + 1, sizeof(*share->load)),
	};
	return share->first && share->group && share->demand && share->rate && share->load ? 0 : ERR_NOMEM;
}

void share_done(struct share *share)
{
	free(share->uses);
	free(share->first);
	free(share->group);
	free(share->demand);
	free(share->rate);
	free(share->load);
}

int share_add(struct share *share, uint32_t port, double part, unsigned depth)
{
	struct share_use *uses = array_grow(share->uses, share->use_count, &share->use_capacity, sizeof(*uses));

	if (!uses)
		return ERR_NOMEM;
	share->uses = uses;
	uses[share->use_count++] = (struct share_use){ (uint32_t)share->flow_count, port, (float)part, (uint8_t)depth };
	return 0;
}

static double capacity_of(const struct share *share, uint32_t port)
{
	return (double)port_rate_bits_per_s(&share->fabric->ports[port]) * PARTS;
}

int share_solve(struct share *share)
{
	size_t ports = share->fabric->port_count;
	double *capacity = calloc(ports + 1, sizeof(*capacity));
	struct maxmin_use *uses = calloc(share->use_count + 1, sizeof(*uses));
	const struct maxmin problem = {
		.capacity = capacity, .link_count = ports, .demand = share->demand,
		.group_count = share->group_count, .uses = uses, .use_count = share->use_count,
	};
	int code = ERR_NOMEM;

	share->first[share->flow_count] = share->use_count;
	for (uint32_t i = 0; capacity && i < ports; i++)
		capacity[i] = capacity_of(share, i);
	for (size_t i = 0; uses && i < share->use_count; i++)
		uses[i] = (struct maxmin_use){ share->group[share->uses[i].flow], share->uses[i].port,
					       (double)share->uses[i].part * PARTS };
	if (capacity && uses)
		code = maxmin_solve(&problem, share->rate, share->load);
	free(capacity);
	free(uses);
	return code;
}

void share_wait(const struct share *share, size_t flow, double *wait)
{
	double held = share->demand[share->group[flow]] - share->rate[share->group[flow]];
	size_t first = share->first[flow], last = share->first[flow + 1];

	while (last > first && share->load[share->uses[last - 1].port] <
				       capacity_of(share, share->uses[last - 1].port) * FULL)
		last--;
	for (size_t i = first; held > 0 && last > first && i < last; i++)
		if (share->uses[i].depth < share->uses[last - 1].depth)
			wait[share->uses[i].port] += held * (double)share->uses[i].part;
}

double share_idle(const struct share *share, uint32_t port)
{
	return (capacity_of(share, port) - share->load[port]) / PARTS;
}
