/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance/flows.h"
#include "analysis/balance/measured.h"
#include "analysis/balance/tables.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/speed.h"

/*
 * A prediction assumes that destinations receive from this leaf as they receive from all. If a leaf
 * sends less than this share of the average, the traffic of other jobs makes it meaningless.
 */
#define PREDICTED_LEAST 0.25

struct evaluation {
	const struct balance_input *input;
	const struct balance_settings *settings;
	const struct fabric *fabric;
	struct balance_tables tables;
	double *sent;          /* by node: bytes per us that HCAs send into a switch */
	struct flow_loads received; /* loads received by all destinations */
};

void balance_settings_default(struct balance_settings *ret)
{
	*ret = (struct balance_settings){
		.table_ratio = 1.25, .table_more = 2, .measured_excess = 0.20,
		.harm_utilization = 0.70, .harm_stall = 0.05, .harm_stall_ratio = 3, .harm_sibling = 0.5,
		.active_mean = 0.05, .active_member = 0.20, .spread = 0.05, .coverage = 0.95,
		.windows = 10, .windows_same = 8, .flows_percentile = 0.999,
	};
}

/* Use the reading of the sending end; for the load itself either end will do. */
static void fill_member(const struct evaluation *eval, enum balance_direction direction, struct balance_member *member,
			struct balance_sums *sums)
{
	const struct port *port = &eval->fabric->ports[member->port];
	uint32_t sender = direction == BALANCE_XMIT ? member->port : port->peer;
	const struct balance_load *load = &eval->input->loads[member->port], *sent = NULL;
	double rate = balance_port_rate(eval->input, member->port, direction == BALANCE_XMIT);

	if (sender != FABRIC_NONE && eval->input->loads[sender].known)
		sent = &eval->input->loads[sender];
	if (!load->known && port->peer != FABRIC_NONE)
		load = &eval->input->loads[port->peer];
	member->works = port->state == PORT_ACTIVE && port->peer != FABRIC_NONE;
	member->known = !isnan(rate);
	member->capacity = member->works ? (double)port_rate_bits_per_s(port) : 0;
	member->measured = rate;
	member->predicted = member->destinations = NAN;
	member->utilization = member->capacity > 0 ? rate * BALANCE_BITS_PER_S / member->capacity : NAN;
	member->stall = sent ? sent->stall : NAN;
	member->xmit_discards = sent ? sent->xmit_discards : NAN;
	if (!member->works)
		return;
	sums->working++;
	sums->capacity += member->capacity;
	if (!member->known)
		return;
	sums->known++;
	sums->rate += rate;
	sums->known_capacity += member->capacity;
	sums->shortest_us = sums->known == 1 || load->elapsed_us < sums->shortest_us ? load->elapsed_us :
			    sums->shortest_us;
	sums->longest_us = load->elapsed_us > sums->longest_us ? load->elapsed_us : sums->longest_us;
}

/*
 * Destinations that the tables assign to a member: by the own table for XMIT, by that of the other
 * end for RCV.
 */
static void fill_tables(const struct evaluation *eval, const struct shape_group *group, struct balance_result *result,
			struct balance_sums *sums)
{
	const struct balance_tables *tables = &eval->tables;

	result->t_known = sums->working > 0;
	/*
	 * For RCV, one table alone is not enough: the tables of all upper switches have the same
	 * destinations.
	 */
	result->predicted_known = tables->weights_known &&
				  (tables->carried || result->direction == BALANCE_XMIT || group->kind != GROUP_UP);
	for (uint32_t i = 0; i < group->count; i++) {
		struct balance_member *member = &result->members[i];
		const struct port *port = &eval->fabric->ports[member->port];
		uint32_t decides = result->direction == BALANCE_XMIT ? member->port : port->peer;

		if (!member->works)
			continue;
		result->t_known &= tables->by_node[eval->fabric->ports[decides].node] != NULL;
		member->lids = tables->given[decides].lids;
		member->destinations = member->lids;
		member->predicted = tables->carried ? tables->carried[decides] : tables->given[decides].weight;
		sums->lids += member->lids;
		sums->weight += member->predicted;
	}
	result->t_known &= sums->lids > 0;
	result->predicted_known &= result->t_known && sums->weight > 0;
}

static void make_shares(const struct shape_group *group, struct balance_result *result, const struct balance_sums *sums)
{
	for (uint32_t i = 0; i < group->count; i++) {
		struct balance_member *member = &result->members[i];

		member->capacity = sums->capacity > 0 ? member->capacity / sums->capacity : 0;
		member->measured = sums->rate > 0 && member->works ? member->measured / sums->rate : NAN;
		member->destinations = result->t_known ? member->destinations / sums->lids : NAN;
		member->predicted = result->predicted_known ? member->predicted / sums->weight : NAN;
	}
}

/* The tables assign more destinations to this member than test T allows. */
static bool overloads(const struct balance_member *member, const struct balance_settings *settings)
{
	return member->lids_mean > 0 && member->lids > settings->table_ratio * member->lids_mean &&
	       member->lids >= member->lids_mean + settings->table_more;
}

bool balance_follows(const struct balance_result *result, const struct balance_settings *settings)
{
	return result->t && result->m && result->hottest != UINT32_MAX &&
	       overloads(&result->members[result->hottest], settings);
}

/*
 * Fair number of destinations of each member. Upper switches all send the same destinations down to
 * this switch, so only links from one of them are comparable.
 */
static void find_lids_means(const struct evaluation *eval, const struct shape_group *group,
			    struct balance_result *result, const struct balance_sums *sums)
{
	bool apart = result->direction == BALANCE_RCV && group->kind == GROUP_UP;
	const struct fabric *fabric = eval->fabric;
	uint32_t from[BALANCE_MEMBERS_MOST];

	for (uint32_t i = 0; apart && i < group->count; i++)
		from[i] = result->members[i].works ?
			  fabric->ports[fabric->ports[result->members[i].port].peer].node : FABRIC_NONE;
	for (uint32_t i = 0; i < group->count; i++) {
		struct balance_member *member = &result->members[i];
		double lids = apart ? 0 : sums->lids, capacity = apart ? 0 : 1;

		if (!member->works)
			continue;
		for (uint32_t j = 0; apart && j < group->count; j++) {
			if (from[j] != from[i])
				continue;
			lids += result->members[j].lids;
			capacity += result->members[j].capacity;
		}
		member->lids_mean = capacity > 0 ? lids * member->capacity / capacity : 0;
	}
}

static void test_tables(const struct evaluation *eval, const struct shape_group *group, struct balance_result *result,
			const struct balance_sums *sums)
{
	result->table_excess = NAN;
	if (!result->t_known)
		return;
	result->table_excess = 0;
	find_lids_means(eval, group, result, sums);
	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];

		if (member->lids_mean > 0 && member->lids / member->lids_mean - 1 > result->table_excess)
			result->table_excess = member->lids / member->lids_mean - 1;
		result->t |= overloads(member, eval->settings);
	}
}

/* The link could run as fast as the best of its siblings, according to what both ends support. */
static bool could_do(const struct fabric *fabric, const struct port *port, uint64_t best)
{
	const struct port *peer = &fabric->ports[port->peer];
	uint16_t speeds = port->speed_supported & peer->speed_supported;
	uint8_t widths = port->width_supported & peer->width_supported;

	if (!speeds || !widths)
		return true;
	return link_rate_bits_per_s(link_width_best(widths), link_speed_best(speeds)) >= best;
}

static bool has_degraded(const struct fabric *fabric, const struct shape_group *group,
			 const struct balance_result *result)
{
	uint64_t best = 0, rate;

	for (uint32_t i = 0; i < group->count; i++) {
		rate = result->members[i].works ? port_rate_bits_per_s(&fabric->ports[result->members[i].port]) : 0;
		best = rate > best ? rate : best;
	}
	for (uint32_t i = 0; i < group->count; i++) {
		const struct port *port = &fabric->ports[result->members[i].port];

		if (result->members[i].works && port_rate_bits_per_s(port) < best && could_do(fabric, port, best))
			return true;
	}
	return false;
}

/*
 * A link that is down or slow explains an imbalance. A cable that was never there is the normal
 * state, for which the tables were made: it explains only what has no other cause.
 */
static enum balance_cause find_cause(const struct evaluation *eval, const struct shape_group *group,
				     const struct balance_result *result, const struct balance_sums *sums)
{
	if (sums->working < group->count)
		return BALANCE_MISSING_MEMBER;
	if (has_degraded(eval->fabric, group, result))
		return BALANCE_DEGRADED_MEMBER;
	if (result->direction == BALANCE_XMIT && result->state == BALANCE_ACTIVE &&
	    result->adaptive != ADAPTIVE_ON && balance_follows(result, eval->settings))
		return BALANCE_ROUTING;
	return group->count < group->built ? BALANCE_MISSING_MEMBER : BALANCE_NONE;
}

enum balance_adaptive balance_decides(const struct shape *shape, const struct balance_result *result,
				      const uint8_t *by_node)
{
	const struct shape_group *group = &shape->groups[result->group];
	enum balance_adaptive one = ADAPTIVE_UNKNOWN;

	if (result->direction == BALANCE_XMIT)
		return (enum balance_adaptive)by_node[group->node];
	if (group->kind != GROUP_UP)
		return (enum balance_adaptive)by_node[group->peer];
	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t peer = shape->fabric->ports[shape->members[group->first + i]].peer, node;

		if (peer == FABRIC_NONE)
			continue;
		node = shape->fabric->ports[peer].node;
		if (by_node[node] == ADAPTIVE_UNKNOWN || (one != ADAPTIVE_UNKNOWN && by_node[node] != one))
			return ADAPTIVE_UNKNOWN;
		one = (enum balance_adaptive)by_node[node];
	}
	return one;
}

static void evaluate_group(const struct evaluation *eval, struct balance_result *result)
{
	const struct shape *shape = eval->input->shape;
	const struct shape_group *group = &shape->groups[result->group];
	struct balance_sums sums = { 0 };

	if (eval->input->adaptive)
		result->adaptive = balance_decides(shape, result, eval->input->adaptive);
	result->flows = result->chance_excess = NAN;
	for (uint32_t i = 0; i < group->count; i++) {
		result->members[i].port = shape->members[group->first + i];
		fill_member(eval, result->direction, &result->members[i], &sums);
	}
	fill_tables(eval, group, result, &sums);
	make_shares(group, result, &sums);
	test_tables(eval, group, result, &sums);
	balance_test_measured(eval->input, eval->settings, group, result, &sums);
	if (result->state == BALANCE_ACTIVE && (result->m || result->t) && sums.known > 1)
		result->flows = balance_flows(eval->input, result, sums.rate, &eval->received);
	if (!isnan(result->flows))
		result->chance_excess = chance_excess(result->flows, sums.known, eval->settings->flows_percentile);
	result->cause = find_cause(eval, group, result, &sums);
}

void balance_measure(const struct balance_input *input, const struct balance_settings *settings, uint32_t group_index,
		     enum balance_direction direction, struct balance_member *members, struct balance_result *ret)
{
	struct evaluation eval = { .input = input, .settings = settings, .fabric = input->shape->fabric };
	const struct shape_group *group = &input->shape->groups[group_index];
	struct balance_sums sums = { 0 };

	*ret = (struct balance_result){
		.group = group_index, .direction = direction, .members = members, .table_excess = NAN, .flows = NAN,
		.chance_excess = NAN,
	};
	memset(members, 0, group->count * sizeof(*members));
	for (uint32_t i = 0; i < group->count; i++) {
		members[i].port = input->shape->members[group->first + i];
		fill_member(&eval, direction, &members[i], &sums);
	}
	make_shares(group, ret, &sums);
	balance_test_measured(input, settings, group, ret, &sums);
}

static bool is_leaf_sending(const struct shape *shape, const struct balance_result *result)
{
	const struct shape_group *group = &shape->groups[result->group];

	return group->kind == GROUP_UP && group->tier == 1 && result->direction == BALANCE_XMIT;
}

/* If a leaf sends far less than others do, received loads do not predict its traffic. */
static void drop_predictions(const struct shape *shape, struct balance *balance)
{
	size_t count = 0;
	double sum = 0;

	for (size_t i = 0; i < balance->count; i++) {
		const struct balance_result *result = &balance->results[i];

		if (!is_leaf_sending(shape, result) || result->state != BALANCE_ACTIVE)
			continue;
		sum += result->mean_utilization;
		count++;
	}
	for (size_t i = 0; count && i < balance->count; i++) {
		struct balance_result *result = &balance->results[i];

		if (!is_leaf_sending(shape, result) ||
		    !(result->mean_utilization < PREDICTED_LEAST * sum / (double)count))
			continue;
		result->predicted_known = false;
		for (uint32_t j = 0; j < shape->groups[result->group].count; j++)
			result->members[j].predicted = NAN;
	}
}

/* Loads that HCAs send into their switches, and loads that they receive. */
static void sum_hosts(struct evaluation *eval)
{
	const struct shape *shape = eval->input->shape;

	for (size_t i = 0; i < eval->fabric->port_count; i++) {
		double rate;

		if (shape->ports[i].way != WAY_HOST)
			continue;
		rate = balance_port_rate(eval->input, (uint32_t)i, false);
		if (rate > 0)
			eval->sent[eval->fabric->ports[i].node] += rate;
		flow_loads_add(&eval->received, balance_port_rate(eval->input, (uint32_t)i, true));
	}
}

static int prepare(struct balance *balance, const struct shape *shape)
{
	size_t members = 0, i;

	for (i = 0; i < shape->group_count; i++)
		members += shape->groups[i].count;
	balance->count = 2 * shape->group_count;
	balance->results = calloc(balance->count + 1, sizeof(*balance->results));
	balance->members = calloc(2 * members + 1, sizeof(*balance->members));
	if (!balance->results || !balance->members)
		return ERR_NOMEM;
	for (i = 0, members = 0; i < balance->count; i++) {
		struct balance_result *result = &balance->results[i];

		result->group = (uint32_t)(i / 2);
		result->direction = i % 2 ? BALANCE_RCV : BALANCE_XMIT;
		result->members = balance->members + members;
		members += shape->groups[i / 2].count;
	}
	return 0;
}

int balance_evaluate(const struct balance_input *input, const struct balance_settings *settings, struct balance *ret,
		  struct error *err)
{
	struct evaluation eval = { .input = input, .settings = settings, .fabric = input->shape->fabric };
	struct balance balance = { 0 };

	eval.sent = calloc(eval.fabric->node_count + 1, sizeof(*eval.sent));
	if (!eval.sent || prepare(&balance, input->shape) < 0) {
		free(eval.sent);
		balance_done(&balance);
		return err_nomem(err);
	}
	sum_hosts(&eval);
	if (balance_tables_init(&eval.tables, input, eval.sent, settings->coverage, err) < 0) {
		free(eval.sent);
		balance_done(&balance);
		return ERR_NOMEM;
	}
	for (size_t i = 0; i < balance.count; i++)
		evaluate_group(&eval, &balance.results[i]);
	drop_predictions(input->shape, &balance);
	balance_tables_done(&eval.tables);
	free(eval.sent);
	*ret = balance;
	return 0;
}

void balance_done(struct balance *balance)
{
	free(balance->results);
	free(balance->members);
	memset(balance, 0, sizeof(*balance));
}

const char *balance_cause_name(enum balance_cause cause)
{
	static const char *const names[BALANCE_CAUSE_COUNT] = {
		[BALANCE_NONE] = "none", [BALANCE_MISSING_MEMBER] = "missing-member",
		[BALANCE_DEGRADED_MEMBER] = "degraded-member", [BALANCE_ROUTING] = "routing",
		[BALANCE_FLOWS] = "flows", [BALANCE_NOT_FOLLOWING] = "not-following",
	};

	return cause < BALANCE_CAUSE_COUNT ? names[cause] : "unknown";
}

const char *balance_adaptive_name(enum balance_adaptive adaptive)
{
	return adaptive == ADAPTIVE_ON ? "on" : adaptive == ADAPTIVE_OFF ? "off" : "unknown";
}
