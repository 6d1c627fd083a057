/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance/flows.h"
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

/* Members are ports of one switch, whose numbers fit a byte. */
#define BALANCE_MEMBERS_MOST 256

/* Sums over the members of a group, used to compute shares. */
struct balance_sums {
	double capacity, rate, known_capacity, weight;
	double shortest_us, longest_us;
	uint32_t lids;
	unsigned working, known;
};

/* Full links are equally hot, whichever was read later: within this tolerance the tables decide. */
#define AS_HOT 0.95

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
		.window_us = INT64_C(60000000),
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
	member->works = port->peer != FABRIC_NONE && fabric_link_state(eval->fabric, member->port) == PORT_ACTIVE;
	member->known = !isnan(rate);
	member->capacity = member->works ? (double)port_rate_bits_per_s(port) : 0;
	member->measured = rate;
	member->predicted = member->destinations = NAN;
	member->utilization = member->capacity > 0 ? rate * BALANCE_BITS_PER_S / member->capacity : NAN;
	/* As rate_utilization_percent(). */
	if (member->utilization > 1)
		member->utilization = 1;
	member->stall = sent ? sent->stall : NAN;
	member->xmit_discards = sent ? sent->xmit_discards : NAN;
	member->stall_at_least = sent && sent->stall_at_least;
	member->discards_at_least = sent && sent->discards_at_least;
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

	result->tables_known = sums->working > 0;
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
		result->tables_known &= tables->by_node[eval->fabric->ports[decides].node] != NULL;
		member->lids = tables->given[decides].lids;
		member->destinations = member->lids;
		member->predicted = tables->carried ? tables->carried[decides] : tables->given[decides].weight;
		/* Readings at different times, multicast and management traffic are far below that. */
		result->beyond_tables |= tables->all_known && result->direction == BALANCE_XMIT && member->known &&
					 member->measured > 2 * tables->given[decides].weight &&
					 member->utilization > eval->settings->active_mean;
		sums->lids += member->lids;
		sums->weight += member->predicted;
	}
	result->tables_known &= sums->lids > 0;
	result->predicted_known &= result->tables_known && sums->weight > 0;
	result->beyond_tables &= result->tables_known;
}

static void make_shares(const struct shape_group *group, struct balance_result *result, const struct balance_sums *sums)
{
	for (uint32_t i = 0; i < group->count; i++) {
		struct balance_member *member = &result->members[i];

		member->capacity = sums->capacity > 0 ? member->capacity / sums->capacity : 0;
		member->measured = sums->rate > 0 && member->works ? member->measured / sums->rate : NAN;
		member->destinations = result->tables_known ? member->destinations / sums->lids : NAN;
		member->predicted = result->predicted_known ? member->predicted / sums->weight : NAN;
	}
}

bool balance_overloads(const struct balance_member *member, const struct balance_settings *settings)
{
	return member->lids_mean > 0 && member->lids > settings->table_ratio * member->lids_mean &&
	       member->lids >= member->lids_mean + settings->table_more;
}

bool balance_follows(const struct balance_result *result, const struct balance_settings *settings)
{
	return result->tables_uneven && result->load_uneven && result->hottest != UINT32_MAX &&
	       balance_overloads(&result->members[result->hottest], settings);
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
	if (!result->tables_known)
		return;
	result->table_excess = 0;
	find_lids_means(eval, group, result, sums);
	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];

		if (member->lids_mean > 0 && member->lids / member->lids_mean - 1 > result->table_excess)
			result->table_excess = member->lids / member->lids_mean - 1;
		result->tables_uneven |= balance_overloads(member, eval->settings);
	}
}

/* A degraded member is slower than another one. */
static bool has_degraded(const struct shape *shape, const struct shape_group *group,
			 const struct balance_result *result)
{
	const struct port *ports = shape->fabric->ports;
	uint64_t best = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		uint64_t rate = result->members[i].works ? port_rate_bits_per_s(&ports[result->members[i].port]) : 0;

		best = rate > best ? rate : best;
	}
	for (uint32_t i = 0; i < group->count; i++)
		if (result->members[i].works && link_is_degraded(shape, result->members[i].port) &&
		    port_rate_bits_per_s(&ports[result->members[i].port]) < best)
			return true;
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
	if (has_degraded(eval->input->shape, group, result))
		return BALANCE_DEGRADED_MEMBER;
	if (result->direction == BALANCE_XMIT && result->state == BALANCE_ACTIVE &&
	    result->adaptive != ADAPTIVE_ON && balance_follows(result, eval->settings))
		return BALANCE_ROUTING;
	return group->count < group->built ? BALANCE_MISSING_MEMBER : BALANCE_NONE;
}

enum adaptive_routing balance_decides(const struct shape *shape, const struct balance_result *result,
				      const uint8_t *by_node)
{
	const struct shape_group *group = &shape->groups[result->group];
	enum adaptive_routing one = ADAPTIVE_UNKNOWN;

	if (result->direction == BALANCE_XMIT)
		return (enum adaptive_routing)by_node[group->node];
	if (group->kind != GROUP_UP)
		return (enum adaptive_routing)by_node[group->peer];
	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t peer = shape->fabric->ports[shape->members[group->first + i]].peer, node;

		if (peer == FABRIC_NONE)
			continue;
		node = shape->fabric->ports[peer].node;
		if (by_node[node] == ADAPTIVE_UNKNOWN || (one != ADAPTIVE_UNKNOWN && by_node[node] != one))
			return ADAPTIVE_UNKNOWN;
		one = (enum adaptive_routing)by_node[node];
	}
	return one;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double balance_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : NAN;
}

static bool stalls_more(const struct shape_group *group, const struct balance_settings *settings,
			const struct balance_result *result)
{
	double others[BALANCE_MEMBERS_MOST], stall = result->members[result->hottest].stall;
	uint32_t count = 0;

	if (isnan(stall) || stall < settings->harm_stall)
		return false;
	for (uint32_t i = 0; i < group->count && count < BALANCE_MEMBERS_MOST; i++)
		if (i != result->hottest && result->members[i].works && !isnan(result->members[i].stall))
			others[count++] = result->members[i].stall;
	return stall >= settings->harm_stall_ratio * balance_median(others, count);
}

static bool harms(const struct shape_group *group, const struct balance_settings *settings,
		  const struct balance_result *result)
{
	const struct balance_member *hottest = &result->members[result->hottest];
	bool spare = false;

	for (uint32_t i = 0; i < group->count; i++)
		spare |= result->members[i].works && result->members[i].utilization <
			 settings->harm_sibling * hottest->utilization;
	return spare && (hottest->utilization >= settings->harm_utilization || hottest->xmit_discards > 0 ||
			 stalls_more(group, settings, result));
}

static uint32_t find_hottest(const struct shape_group *group, const struct balance_result *result)
{
	uint32_t hottest = UINT32_MAX;
	double most = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];
		double given = result->tables_uneven && member->lids_mean > 0 ? member->lids / member->lids_mean : 0;

		if (!member->works || !(member->utilization >= AS_HOT * result->max_utilization))
			continue;
		if (hottest == UINT32_MAX || given > most ||
		    (given == most && member->utilization > result->members[hottest].utilization)) {
			hottest = i;
			most = given;
		}
	}
	return hottest;
}

/* Tests M and H; @result has shares, table data and test T. */
static void test_measured(const struct balance_input *input, const struct balance_settings *settings,
			   const struct shape_group *group, struct balance_result *result,
			   const struct balance_sums *sums)
{
	double window_us = input->window_us > 0 ? input->window_us : sums->longest_us;

	result->mean_utilization = result->max_utilization = result->excess = NAN;
	result->hottest = UINT32_MAX;
	if (!sums->known || sums->known_capacity <= 0 || sums->known < settings->coverage * sums->working ||
	    sums->longest_us - sums->shortest_us > settings->spread * window_us)
		return;
	result->mean_utilization = sums->rate * BALANCE_BITS_PER_S / sums->known_capacity;
	result->known_share = sums->known == sums->working ? 1 : sums->known_capacity / sums->capacity;
	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];

		if (member->works && !isnan(member->utilization) &&
		    !(member->utilization <= result->max_utilization))
			result->max_utilization = member->utilization;
	}
	result->hottest = find_hottest(group, result);
	result->state = result->mean_utilization >= settings->active_mean ||
			result->max_utilization >= settings->active_member ? BALANCE_ACTIVE : BALANCE_IDLE;
	if (result->mean_utilization > 0)
		result->excess = result->max_utilization / result->mean_utilization - 1;
	if (result->state != BALANCE_ACTIVE || result->hottest == UINT32_MAX)
		return;
	result->load_uneven = result->excess > settings->measured_excess;
	result->harmful = harms(group, settings, result);
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
	test_measured(eval->input, eval->settings, group, result, &sums);
	if (result->state == BALANCE_ACTIVE && (result->load_uneven || result->tables_uneven) && sums.known > 1)
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
	test_measured(input, settings, group, ret, &sums);
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

const char *balance_adaptive_name(enum adaptive_routing adaptive)
{
	return adaptive == ADAPTIVE_ON ? "on" : adaptive == ADAPTIVE_OFF ? "off" : "unknown";
}
