/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tenant_test.c - the estimated load of a tenant against what its flows send, on random fabrics
 *
 * Two tenants share leaves: each host belongs to one of them at random, and sends flows to random hosts of its tenant.
 * The truth is the rate of each flow (sim/traffic.h) on the links of its path; the estimate knows counters and tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/pkeys.h"
#include "pages/balance.h"
#include "pages/tenant.h"
#include "tests/balance/bed.h"

enum { TENANT, OTHERS };

struct tenants {
	struct bed bed;
	uint8_t *of;      /* by host of the bed */
	double *truth;    /* by port: bits per second that it sends for the tenant */
	bool *ports;      /* by port: of the tenant */
};

static uint32_t hca_of(const struct bed *bed, size_t host, size_t rail)
{
	const struct host *of = &bed->hosts.hosts[host];

	return bed->hosts.hcas[of->first_hca + rail % of->hca_count].port;
}

/* @outside: of ten flows of the tenant, those to hosts of others */
static void add_flows(struct tenants *tenants, unsigned flows, unsigned outside)
{
	struct bed *bed = &tenants->bed;

	for (size_t host = 0; host < bed->hosts.host_count; host++)
		for (unsigned i = 0; i < flows; i++) {
			size_t to = bed_below(bed, (uint32_t)bed->hosts.host_count);
			bool leaves = tenants->of[host] == TENANT && i % 10 < outside;

			/* The tenant sends twice as much as the others. */
			if (to != host && (tenants->of[to] == tenants->of[host]) != leaves)
				bed_flow(bed, hca_of(bed, host, i), hca_of(bed, to, i),
					 (tenants->of[host] == TENANT ? 0.8 : 0.4) / flows);
		}
}

static void add_truth(struct tenants *tenants)
{
	const struct bed *bed = &tenants->bed;

	for (size_t i = 0; i < bed->flows.count; i++)
		for (size_t j = bed->traffic.share.first[i]; j < bed->traffic.share.first[i + 1]; j++)
			if (tenants->ports[bed->flows.flows[i].from] || tenants->ports[bed->flows.flows[i].to])
				tenants->truth[bed->traffic.share.uses[j].port] += traffic_rate(&bed->traffic, i);
}

static void tenants_init(struct tenants *tenants, uint64_t seed, unsigned flows, unsigned outside)
{
	struct net_shape shape = bed_random_shape(seed);
	struct bed *bed = &tenants->bed;

	bed_init(bed, &shape, seed);
	tenants->of = calloc(bed->hosts.host_count, sizeof(*tenants->of));
	tenants->truth = calloc(bed->fabric->port_count, sizeof(*tenants->truth));
	tenants->ports = calloc(bed->fabric->port_count, sizeof(*tenants->ports));
	for (size_t i = 0; i < bed->hosts.host_count; i++) {
		const struct host *host = &bed->hosts.hosts[i];

		tenants->of[i] = bed_below(bed, 3) ? OTHERS : TENANT;
		for (size_t k = 0; k < host->hca_count; k++)
			tenants->ports[bed->hosts.hcas[host->first_hca + k].port] = tenants->of[i] == TENANT;
	}
	add_flows(tenants, flows, outside);
	bed_run(bed, NULL);
	add_truth(tenants);
}

static void tenants_done(struct tenants *tenants)
{
	bed_done(&tenants->bed);
	free(tenants->of);
	free(tenants->truth);
	free(tenants->ports);
}

/* What the report of a command has. */
static struct balance_report report_of(struct bed *bed)
{
	return (struct balance_report){
		.shape = bed->shape, .routes = bed->lft.routes, .routes_known = true, .loads = bed->loads,
		.until_us = BED_WINDOW_US, .selection = { .all = true },
	};
}

static void list_names(const struct tenants *tenants, struct host_set *ret)
{
	const struct bed *bed = &tenants->bed;

	for (size_t i = 0; i < bed->shape->host_count; i++) {
		const struct shape_host *host = &bed->shape->hosts[i];
		const struct node *node = &bed->fabric->nodes[bed->shape->host_nodes[host->first]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
			if (tenants->ports[port]) {
				assert_int_equal(host_set_add(ret, host->name, NULL), 0);
				break;
			}
	}
}

static double truth_of(const struct tenants *tenants, const struct tenant_group *of)
{
	const struct shape_group *group = &tenants->bed.shape->groups[of->at.group];
	double sum = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t port = tenants->bed.shape->members[group->first + i];

		sum += tenants->truth[of->at.direction == BALANCE_XMIT ? port : tenants->bed.fabric->ports[port].peer];
	}
	return sum;
}

struct errors {
	double sum, all, most;  /* of deviations and loads; the largest deviation as a share of capacity */
	unsigned groups;
};

static void compare(const struct tenants *tenants, const struct tenant_load *load, struct errors *errors)
{
	for (size_t i = 0; i < load->group_count; i++) {
		const struct tenant_group *group = &load->groups[i];
		double truth = truth_of(tenants, group);

		assert_true(measure_is_exact(group->tenant) && measure_is_exact(group->load));
		assert_true(group->tenant.value <= group->load.value);
		errors->sum += fabs(group->tenant.value - truth);
		errors->all += truth;
		errors->most = fmax(errors->most, fabs(group->tenant.value - truth) / group->capacity);
		errors->groups++;
		/* Busiest first. */
		assert_true(!i || group->load.value / group->capacity <=
			    load->groups[i - 1].load.value / load->groups[i - 1].capacity);
	}
}

/* The mean error of all groups, as a share of the load of the tenant. */
static double measure_error(unsigned flows, unsigned outside, unsigned cases, struct errors *errors)
{
	*errors = (struct errors){ 0 };
	for (unsigned seed = 1; seed <= cases; seed++) {
		struct tenants tenants;
		struct balance_report report;
		struct tenant_load load = { .report = &report };
		struct host_set names = { 0 };

		tenants_init(&tenants, seed, flows, outside);
		report = report_of(&tenants.bed);
		list_names(&tenants, &names);
		if (names.count) {
			assert_int_equal(tenant_of_hosts(&load, tenants.bed.shape, &names, NULL), 0);
			assert_int_equal(load.hosts, names.count);
			assert_memory_equal(load.ports, tenants.ports, tenants.bed.fabric->port_count);
			assert_int_equal(tenant_load_compute(&load, NULL), 0);
			assert_true(load.lost == 0 && load.unknown == 0);
			compare(&tenants, &load, errors);
		}
		tenant_load_done(&load);
		host_set_done(&names);
		tenants_done(&tenants);
	}
	printf("%u fabrics, %u flows for each HCA, %u %% to others: %u groups, mean error %.1f %% of the tenant's "
	       "load, at most %.1f %% of the capacity of a group\n", cases, flows, 10 * outside, errors->groups,
	       100 * errors->sum / errors->all, 100 * errors->most);
	return errors->sum / errors->all;
}

TEST(many_flows_are_estimated_within_a_few_percent)
{
	struct errors errors;

	assert_true(measure_error(48, 0, test_cases(24), &errors) < 0.08);
	assert_true(errors.groups > 20);
}

/* Which of a few destinations receives what a leaf sends is not in the counters. */
TEST(few_flows_are_estimated_roughly)
{
	struct errors errors;

	assert_true(measure_error(4, 0, test_cases(24), &errors) < 0.25);
}

/* As to storage that several tenants use: what the tenant sends and does not receive. */
TEST(traffic_to_other_hosts_counts_as_the_tenants)
{
	struct errors errors;

	assert_true(measure_error(40, 3, test_cases(24), &errors) < 0.15);
}

/* A partition is the same ports; those that are in others, too, count only if there are no other members. */
TEST(a_partition_is_its_own_members)
{
	struct tenants tenants;
	struct pkeys pkeys = { 0 };
	struct tenant_load own = { .report = NULL }, shared = { .report = NULL }, none = { .report = NULL };
	const struct fabric *fabric;
	uint32_t members = 0, both = 0;

	tenants_init(&tenants, 7, 1, 0);
	fabric = tenants.bed.fabric;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const uint16_t keys[] = { 0xffff, 0x8012, 0x8013 };
		bool is_both = i % 5 == 0;

		if (!pkeys_is_member_port(fabric, i))
			continue;
		assert_int_equal(pkeys_set(&pkeys, fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num,
					   keys, !tenants.ports[i] ? 1 : is_both ? 3 : 2, 0, NULL), 1);
		members += tenants.ports[i];
		both += tenants.ports[i] && is_both;
	}
	assert_true(both > 0 && both < members);
	assert_int_equal(tenant_of_partition(&own, tenants.bed.shape, &pkeys, 0x12, NULL), 0);
	assert_int_equal(own.port_count, members - both);
	assert_int_equal(own.shared, both);
	assert_int_equal(tenant_of_partition(&shared, tenants.bed.shape, &pkeys, 0x13, NULL), 0);
	assert_int_equal(shared.port_count, both);
	assert_int_equal(shared.shared, 0);
	assert_int_equal(tenant_of_partition(&none, tenants.bed.shape, &pkeys, 0x14, NULL), ERR_USAGE);
	tenant_load_done(&own);
	tenant_load_done(&shared);
	tenant_load_done(&none);
	pkeys_done(&pkeys);
	tenants_done(&tenants);
}

/* A port of unknown traffic makes shares lower bounds; without tables nothing is estimated. */
TEST(what_is_unknown_is_marked)
{
	struct tenants tenants;
	struct balance_report report;
	struct tenant_load load = { .report = &report }, without = { .report = &report };
	struct host_set names = { 0 };

	tenants_init(&tenants, 3, 24, 0);
	report = report_of(&tenants.bed);
	list_names(&tenants, &names);
	for (uint32_t i = 0; i < tenants.bed.fabric->port_count; i++)
		if (tenants.ports[i]) {
			tenants.bed.loads[i].known = tenants.bed.loads[tenants.bed.fabric->ports[i].peer].known = false;
			break;
		}
	assert_int_equal(tenant_of_hosts(&load, tenants.bed.shape, &names, NULL), 0);
	assert_int_equal(tenant_load_compute(&load, NULL), 0);
	assert_int_equal(load.unknown, 1);
	assert_true(load.group_count > 0);
	for (size_t i = 0; i < load.group_count; i++)
		assert_false(measure_is_exact(load.groups[i].tenant));
	report.routes_known = false;
	assert_int_equal(tenant_of_hosts(&without, tenants.bed.shape, &names, NULL), 0);
	assert_int_equal(tenant_load_compute(&without, NULL), 0);
	assert_int_equal(without.group_count, 0);
	tenant_load_done(&load);
	tenant_load_done(&without);
	host_set_done(&names);
	tenants_done(&tenants);
}

/* Some hosts of a job are no tenant of their own: the second estimate is of them. */
TEST(hosts_that_communicate_with_all_others_have_an_estimate)
{
	struct errors errors = { 0 };
	unsigned cases = test_cases(24);

	for (unsigned seed = 1; seed <= cases; seed++) {
		struct tenants tenants;
		struct balance_report report;
		struct tenant_load load = { .report = &report };
		struct host_set names = { 0 };

		tenants_init(&tenants, seed, 0, 0);
		bed_job(&tenants.bed, BED_ALL_TO_ALL, 0, tenants.bed.hosts.host_count, 24, 0.6);
		bed_run(&tenants.bed, NULL);
		add_truth(&tenants);
		report = report_of(&tenants.bed);
		list_names(&tenants, &names);
		if (names.count) {
			assert_int_equal(tenant_of_hosts(&load, tenants.bed.shape, &names, NULL), 0);
			assert_int_equal(tenant_load_compute(&load, NULL), 0);
			for (size_t i = 0; i < load.group_count; i++)
				load.groups[i].tenant = load.groups[i].open;
			compare(&tenants, &load, &errors);
		}
		tenant_load_done(&load);
		host_set_done(&names);
		tenants_done(&tenants);
	}
	printf("%u fabrics, hosts of one job: mean error %.1f %% of their load\n", cases,
	       100 * errors.sum / errors.all);
	assert_true(errors.sum / errors.all < 0.25);
}
