/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/balance/flows.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/balance.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

void flow_loads_add(struct flow_loads *loads, double rate)
{
	if (rate > 0) {
		loads->sum += rate;
		loads->squares += rate * rate;
	}
}

/* Number of equal loads that carry @rate. */
static double effective(const struct flow_loads *loads, double rate)
{
	if (!(loads->squares > 0))
		return NAN;
	return loads->sum * (rate < loads->sum ? rate : loads->sum) / loads->squares;
}

/*
 * Add the loads that ports of a switch send or receive: of downlinks or of all ports, except one
 * group.
 */
static double count_at(const struct balance_input *input, uint32_t node, uint32_t without_group, bool xmit, bool all,
		       double rate)
{
	const struct fabric *fabric = input->shape->fabric;
	const struct node *owner = &fabric->nodes[node];
	struct flow_loads loads = { 0 };

	for (uint32_t i = owner->first_port; i < owner->first_port + owner->ports; i++) {
		const struct shape_port *port = &input->shape->ports[i];

		if (fabric->ports[i].num == 0 || (without_group != SHAPE_NONE && port->group == without_group))
			continue;
		if (all || port->way == WAY_HOST || port->way == WAY_DOWN)
			flow_loads_add(&loads, balance_port_rate(input, i, xmit));
	}
	return effective(&loads, rate);
}

/* Receivers on other switches. */
static double count_elsewhere(const struct balance_input *input, uint32_t node, struct flow_loads received, double rate)
{
	const struct node *owner = &input->shape->fabric->nodes[node];

	for (uint32_t i = owner->first_port; i < owner->first_port + owner->ports; i++) {
		double here = input->shape->ports[i].way == WAY_HOST ? balance_port_rate(input, i, true) : 0;

		if (here > 0) {
			received.sum -= here;
			received.squares -= here * here;
		}
	}
	return effective(&received, rate);
}

double balance_flows(const struct balance_input *input, const struct balance_result *result, double rate,
		     const struct flow_loads *received)
{
	const struct shape_group *group = &input->shape->groups[result->group];
	bool xmit = result->direction == BALANCE_XMIT;
	double sources, targets;

	if (group->kind == GROUP_UP && !xmit)
		return count_at(input, group->node, result->group, true, false, rate);
	if (group->kind == GROUP_UP) {
		sources = count_at(input, group->node, result->group, false, false, rate);
		targets = count_elsewhere(input, group->node, *received, rate);
	} else {
		sources = count_at(input, xmit ? group->node : group->peer, xmit ? result->group : SHAPE_NONE, false,
				   xmit, rate);
		targets = count_at(input, xmit ? group->peer : group->node, SHAPE_NONE, true, false, rate);
	}
	return sources < targets || isnan(targets) ? sources : targets;
}

double log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

static double exactly(unsigned trials, double p, unsigned x)
{
	double log_chance = log_factorial(trials) - log_factorial(x) - log_factorial(trials - x) + x * log(p) +
			    (trials - x) * log1p(-p);

	return exp(log_chance);
}

double chance_at_least(unsigned trials, double p, unsigned x)
{
	double odds = p / (1 - p), term, sum = 0;

	if (x > trials)
		return 0;
	if ((double)x <= (double)trials * p) {
		/* Below the mean the other tail is shorter. */
		if (x == 0)
			return 1;
		term = exactly(trials, p, x - 1);
		for (unsigned i = x - 1; ; i--) {
			sum += term;
			if (i == 0 || term < 1e-17 * sum)
				break;
			term *= (double)i / (double)(trials - i + 1) / odds;
		}
		return sum < 1 ? 1 - sum : 0;
	}
	term = exactly(trials, p, x);
	for (unsigned i = x; i <= trials; i++) {
		sum += term;
		if (term < 1e-17 * sum)
			break;
		term *= (double)(trials - i) / (double)(i + 1) * odds;
	}
	return sum < 1 ? sum : 1;
}

double chance_excess(double flows, unsigned members, double percentile)
{
	unsigned trials = flows < 1 ? 1 : flows > 1e6 ? 1000000 : (unsigned)flows;
	double allowed = (1 - percentile) / members, p = 1.0 / members, tail;
	unsigned x = trials / members + 1;

	/*
	 * Sum from above the mean on, where terms fall quickly; summing from the far end would be
	 * exact, but slow.
	 */
	for (tail = chance_at_least(trials, p, x); x <= trials && tail > allowed; x++)
		tail -= exactly(trials, p, x);
	return x > trials ? INFINITY : (double)x * members / trials - 1;
}
