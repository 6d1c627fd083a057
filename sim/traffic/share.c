/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/share.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"

struct filling {
	const struct maxmin *problem;
	double *rate, *load;
	double *rising;  /* by link: weight of the rising groups */
	bool *frozen;    /* by group */
	size_t *first;   /* by link: its uses in by_link; one more at the end */
	uint32_t *by_link; /* indices of uses, ordered by link */
	size_t *group_first; /* the same by group */
	uint32_t *by_group;
	size_t left;     /* number of rising groups */
};

static void freeze(struct filling *filling, uint32_t group)
{
	if (filling->frozen[group])
		return;
	filling->frozen[group] = true;
	filling->left--;
	for (size_t i = filling->group_first[group]; i < filling->group_first[group + 1]; i++) {
		const struct maxmin_use *use = &filling->problem->uses[filling->by_group[i]];

		filling->rising[use->link] -= use->weight;
	}
}

/* Sort uses by link or by group: counting sort. */
static void index_uses(const struct maxmin *problem, bool by_group, size_t *first, uint32_t *order)
{
	size_t keys = by_group ? problem->group_count : problem->link_count;

	memset(first, 0, (keys + 1) * sizeof(*first));
	for (size_t i = 0; i < problem->use_count; i++)
		first[(by_group ? problem->uses[i].group : problem->uses[i].link) + 1]++;
	for (size_t i = 0; i < keys; i++)
		first[i + 1] += first[i];
	for (size_t i = problem->use_count; i-- > 0;) {
		size_t key = by_group ? problem->uses[i].group : problem->uses[i].link;

		/* Backwards: first[key + 1] is the end of key and decreases to its beginning. */
		order[--first[key + 1]] = (uint32_t)i;
	}
	/* Now first[key + 1] is the beginning of key. */
	memmove(first, first + 1, keys * sizeof(*first));
	first[keys] = problem->use_count;
}

static double link_free(const struct filling *filling, size_t link)
{
	double room = filling->problem->capacity[link] - filling->load[link];

	return room > 0 ? room : 0;
}

/* How much the rising rates can increase until one of them stops. */
static double next_step(const struct filling *filling)
{
	const struct maxmin *problem = filling->problem;
	double step = INFINITY;

	for (size_t i = 0; i < problem->group_count; i++)
		if (!filling->frozen[i])
			step = fmin(step, problem->demand[i] - filling->rate[i]);
	/* Less than half a flow is a rounding error. */
	for (size_t i = 0; i < problem->link_count; i++)
		if (filling->rising[i] > 0.5)
			step = fmin(step, link_free(filling, i) / filling->rising[i]);
	return step > 0 ? step : 0;
}

static void rise(struct filling *filling, double step)
{
	const struct maxmin *problem = filling->problem;
	size_t before = filling->left;

	for (size_t i = 0; i < problem->group_count; i++)
		if (!filling->frozen[i])
			filling->rate[i] += step;
	for (size_t i = 0; i < problem->link_count; i++)
		if (filling->rising[i] > 0.5)
			filling->load[i] += step * filling->rising[i];
	for (size_t i = 0; i < problem->group_count; i++) {
		if (!filling->frozen[i] && filling->rate[i] >= problem->demand[i] * (1 - MAXMIN_FULL)) {
			filling->rate[i] = problem->demand[i];
			freeze(filling, (uint32_t)i);
		}
	}
	for (size_t i = 0; i < problem->link_count; i++) {
		if (filling->rising[i] <= 0.5 || link_free(filling, i) > problem->capacity[i] * MAXMIN_FULL)
			continue;
		for (size_t j = filling->first[i]; j < filling->first[i + 1]; j++)
			freeze(filling, problem->uses[filling->by_link[j]].group);
	}
	/* A step that stops no group is below the precision of a double: stop all. */
	for (size_t i = 0; filling->left == before && i < problem->group_count; i++)
		freeze(filling, (uint32_t)i);
}

static int fill(struct filling *filling)
{
	const struct maxmin *problem = filling->problem;

	filling->rising = calloc(problem->link_count + 1, sizeof(*filling->rising));
	filling->frozen = calloc(problem->group_count + 1, sizeof(*filling->frozen));
	filling->first = calloc(problem->link_count + 1, sizeof(*filling->first));
	filling->group_first = calloc(problem->group_count + 1, sizeof(*filling->group_first));
	filling->by_link = calloc(problem->use_count + 1, sizeof(*filling->by_link));
	filling->by_group = calloc(problem->use_count + 1, sizeof(*filling->by_group));
	if (!filling->rising || !filling->frozen || !filling->first || !filling->group_first || !filling->by_link ||
	    !filling->by_group)
		return ERR_NOMEM;
	index_uses(problem, false, filling->first, filling->by_link);
	index_uses(problem, true, filling->group_first, filling->by_group);
	for (size_t i = 0; i < problem->use_count; i++)
		filling->rising[problem->uses[i].link] += problem->uses[i].weight;
	filling->left = problem->group_count;
	while (filling->left)
		rise(filling, next_step(filling));
	return 0;
}

int maxmin_solve(const struct maxmin *problem, double *ret_rate, double *ret_load)
{
	struct filling filling = { .problem = problem, .rate = ret_rate, .load = ret_load };
	int code;

	for (size_t i = 0; i < problem->group_count; i++)
		ret_rate[i] = 0;
	for (size_t i = 0; i < problem->link_count; i++)
		ret_load[i] = 0;
	code = fill(&filling);
	free(filling.rising);
	free(filling.frozen);
	free(filling.first);
	free(filling.group_first);
	free(filling.by_link);
	free(filling.by_group);
	return code;
}

/* --- flows on their paths --- */

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
