/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdlib.h>

#include "analysis/predict.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/spread.h"
#include "fabric/test_net.h"
#include "fabric/variant.h"

enum { LEAVES = 4, SPINES = 3, HOSTS = 5 };

struct bed {
	struct fabric *fabric, *variant;
	struct routes routes;
	uint32_t hcas[LEAVES * HOSTS];
	double *xmit, *rcv, *truth, *load;
};

static struct bed *bed_create(void)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	uint32_t spines[SPINES], leaf;
	size_t ports, count = 0;

	bed->fabric = net_new();
	for (unsigned i = 0; i < SPINES; i++)
		spines[i] = net_switch(bed->fabric, "spine%u", i);
	for (unsigned i = 0; i < LEAVES; i++) {
		leaf = net_switch(bed->fabric, "leaf%u", i);
		net_hosts(bed->fabric, "node", 10 * i, HOSTS, leaf);
		for (unsigned k = 0; k < SPINES; k++)
			net_link(bed->fabric, leaf, spines[k]);
	}
	assert_int_equal(fabric_finish(bed->fabric, NULL, NULL), 0);
	bed->variant = fabric_variant_create(bed->fabric, NULL);
	fabric_variant_assign_lids(bed->variant, NULL);
	assert_int_equal(routes_spread(bed->variant, SPREAD_MINHOP, NULL, &bed->routes, NULL), 0);
	ports = bed->fabric->port_count + 1;
	bed->xmit = calloc(ports, sizeof(*bed->xmit));
	bed->rcv = calloc(ports, sizeof(*bed->rcv));
	bed->truth = calloc(ports, sizeof(*bed->truth));
	bed->load = calloc(ports, sizeof(*bed->load));
	for (uint32_t i = 0; i < bed->fabric->port_count; i++)
		if (bed->fabric->nodes[bed->fabric->ports[i].node].type == NODE_CA &&
		    bed->fabric->ports[i].peer != FABRIC_NONE)
			bed->hcas[count++] = i;
	return bed;
}

static void bed_destroy(struct bed *bed)
{
	free(bed->xmit);
	free(bed->rcv);
	free(bed->truth);
	free(bed->load);
	routes_done(&bed->routes);
	fabric_variant_destroy(bed->variant);
	fabric_destroy(bed->fabric);
	free(bed);
}

/* Send along the tables, path by path (fabric/route_walk.c); also what the hosts send and receive, if @counts. */
static void send(struct bed *bed, const struct fabric *fabric, const struct routes *routes, unsigned from, unsigned to,
		 double rate, bool counts)
{
	struct route_trace trace;

	routes_trace(routes, fabric, bed->hcas[from], bed->hcas[to], 0, &trace);
	assert_int_equal(trace.end, ROUTE_ARRIVES);
	for (unsigned i = 0; i < trace.hops; i++)
		bed->truth[trace.ports[i]] += rate;
	if (!counts)
		return;
	bed->xmit[bed->hcas[from]] += rate;
	bed->rcv[bed->hcas[to]] += rate;
}

static void compare(const struct bed *bed, double tolerance)
{
	for (uint32_t i = 0; i < bed->fabric->port_count; i++) {
		uint32_t peer = bed->fabric->ports[i].peer;

		if (peer != FABRIC_NONE && bed->fabric->nodes[bed->fabric->ports[i].node].type == NODE_SWITCH &&
		    bed->fabric->nodes[bed->fabric->ports[peer].node].type == NODE_SWITCH)
			assert_true(fabs(bed->load[i] - bed->truth[i]) <= tolerance * (bed->truth[i] + 1));
	}
}

/* What each host sends is in proportion to what the others receive: gravity is exact. */
TEST_OF(gravity_is_exact_if_all_send_to_all, struct bed, bed_create(), bed_destroy)
{
	struct demand_input input = { .fabric = fix->variant, .xmit = fix->xmit, .rcv = fix->rcv };
	struct demand *demand;
	double error, lost;

	for (unsigned i = 0; i < LEAVES * HOSTS; i++)
		for (unsigned k = 0; k < LEAVES * HOSTS; k++)
			send(fix, fix->variant, &fix->routes, i, k, (1.0 + i) * (2.0 + k), true);
	demand = demand_create(&input, &error, NULL);
	assert_true(demand && isnan(error));
	assert_int_equal(demand_route(demand, fix->variant, &fix->routes, fix->load, &lost, NULL), 0);
	assert_true(lost == 0);
	compare(fix, 1e-5);
	demand_destroy(demand);
}

/* Two jobs that do not talk to each other: gravity sends half of the load between them, and the fit does not. */
TEST_OF(fitted_demand_predicts_a_drain, struct bed, bed_create(), bed_destroy)
{
	struct demand_input input = { .fabric = fix->variant, .xmit = fix->xmit, .rcv = fix->rcv };
	struct fabric *after = fabric_variant_create(fix->variant, NULL);
	struct routes routes = { 0 };
	struct demand *demand;
	double error, lost, most = 0, truth = 0, *measured = calloc(fix->fabric->port_count + 1, sizeof(*measured));

	for (unsigned i = 0; i < LEAVES * HOSTS; i++)
		for (unsigned k = 0; k < LEAVES * HOSTS; k++)
			if (i != k && i / HOSTS / 2 == k / HOSTS / 2)
				send(fix, fix->variant, &fix->routes, i, k, i / HOSTS / 2 ? 3 : 1, true);
	for (uint32_t i = 0; i < fix->fabric->port_count; i++)
		measured[i] = fix->fabric->nodes[fix->fabric->ports[i].node].type == NODE_SWITCH ? fix->truth[i] : NAN;
	input.routes = &fix->routes;
	input.measured = measured;
	demand = demand_create(&input, &error, NULL);
	assert_true(demand && error < 0.02);
	assert_int_equal(demand_route(demand, fix->variant, &fix->routes, fix->load, &lost, NULL), 0);
	compare(fix, 0.2);
	/* Without the first uplink of the first leaf. */
	for (uint32_t i = 0, out = 0; i < fix->fabric->port_count && !out; i++)
		if (fix->fabric->ports[i].peer != FABRIC_NONE &&
		    fix->fabric->nodes[fix->fabric->ports[i].node].type == NODE_SWITCH) {
			fabric_variant_take_out(after, i);
			out = 1;
		}
	assert_int_equal(routes_spread(after, SPREAD_MINHOP, &fix->routes, &routes, NULL), 0);
	for (uint32_t i = 0; i < fix->fabric->port_count; i++)
		fix->truth[i] = 0;
	for (unsigned i = 0; i < LEAVES * HOSTS; i++)
		for (unsigned k = 0; k < LEAVES * HOSTS; k++)
			if (i != k && i / HOSTS / 2 == k / HOSTS / 2)
				send(fix, after, &routes, i, k, i / HOSTS / 2 ? 3 : 1, false);
	assert_int_equal(demand_route(demand, after, &routes, fix->load, &lost, NULL), 0);
	for (uint32_t i = 0; i < fix->fabric->port_count; i++) {
		uint32_t peer = fix->fabric->ports[i].peer;

		if (peer == FABRIC_NONE || fix->fabric->nodes[fix->fabric->ports[i].node].type != NODE_SWITCH ||
		    fix->fabric->nodes[fix->fabric->ports[peer].node].type != NODE_SWITCH)
			continue;
		most = fmax(most, fix->load[i]);
		truth = fmax(truth, fix->truth[i]);
	}
	assert_true(fabs(most - truth) < 0.15 * truth);
	demand_destroy(demand);
	routes_done(&routes);
	fabric_variant_destroy(after);
	free(measured);
}

/* A host whose link is out neither sends nor receives, and a destination without an entry is lost. */
TEST_OF(hosts_that_are_out_send_nothing, struct bed, bed_create(), bed_destroy)
{
	struct demand_input input = { .fabric = fix->variant, .xmit = fix->xmit, .rcv = fix->rcv };
	struct fabric *after = fabric_variant_create(fix->variant, NULL);
	struct routes empty = { 0 };
	struct demand *demand;
	double error, lost, sum = 0;

	for (unsigned i = 0; i < LEAVES * HOSTS; i++)
		fix->xmit[fix->hcas[i]] = fix->rcv[fix->hcas[i]] = 100;
	demand = demand_create(&input, &error, NULL);
	for (unsigned i = 0; i < LEAVES * HOSTS; i++)
		if (i != 0 && i != HOSTS)
			fabric_variant_take_out(after, fix->hcas[i]);
	assert_int_equal(demand_route(demand, after, &fix->routes, fix->load, &lost, NULL), 0);
	for (uint32_t i = 0; i < fix->fabric->port_count; i++)
		sum += fix->load[i];
	/* Each sends 100 / 20 to the other one, over two links between switches. */
	assert_true(lost == 0 && fabs(sum - 2 * 2 * 5) < 1e-3);
	assert_int_equal(demand_route(demand, after, &empty, fix->load, &lost, NULL), 0);
	assert_true(fabs(lost - 2 * 5) < 1e-3);
	demand_destroy(demand);
	fabric_variant_destroy(after);
}
