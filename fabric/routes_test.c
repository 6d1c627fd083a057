/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwarding tables; traces, counts and checks of random tables against simple ones, and of large tables. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/test_net.h"

/* A switch with Active ports; @top: LinearFDBTop. Return: its index. */
static uint32_t add_switch(struct fabric *fabric, uint64_t guid, uint16_t lid, uint8_t ports, uint16_t top)
{
	struct node node = { .guid = guid, .type = NODE_SWITCH, .port_count = ports, .lid = lid, .lft_top = top };
	int64_t index = fabric_add_node(fabric, &node, NULL);

	assert_true(index >= 0);
	for (unsigned i = 0; i <= ports; i++) {
		struct port port = { .num = (uint8_t)i, .state = PORT_ACTIVE, .lid = i ? 0 : lid };

		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	return (uint32_t)index;
}

static uint32_t add_host(struct fabric *fabric, uint64_t guid, uint8_t ports, uint16_t lid, uint8_t lmc,
			 uint16_t device)
{
	struct node node = { .guid = guid, .type = NODE_CA, .port_count = ports, .device_id = device };
	int64_t index = fabric_add_node(fabric, &node, NULL);

	assert_true(index >= 0);
	for (unsigned i = 1; i <= ports; i++) {
		struct port port = { .num = (uint8_t)i, .state = PORT_ACTIVE, .lmc = lmc,
				     .lid = (uint16_t)(lid + ((i - 1) << lmc)) };

		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	return (uint32_t)index;
}

/* The first free port of a node, or FABRIC_NONE. */
static uint32_t free_port(const struct fabric *fabric, uint32_t node)
{
	uint32_t i;

	for (i = fabric->nodes[node].first_port; i < fabric->nodes[node].first_port + fabric->nodes[node].ports; i++)
		if (fabric->ports[i].num > 0 && fabric->ports[i].peer == FABRIC_NONE)
			return i;
	return FABRIC_NONE;
}

/* Connect the first free port of each, unless one has none or they are one node. */
static void link_nodes(struct fabric *fabric, uint32_t a, uint32_t b)
{
	uint32_t one = free_port(fabric, a), other;

	if (one == FABRIC_NONE)
		return;
	other = free_port(fabric, b);
	if (other == FABRIC_NONE || other == one || a == b)
		return;
	assert_int_equal(fabric_link(fabric, one, other, NULL), 0);
}

static void set_state(struct fabric *fabric, uint32_t port, uint8_t state)
{
	fabric->ports[port].state = state;
	if (fabric->ports[port].peer != FABRIC_NONE)
		fabric->ports[fabric->ports[port].peer].state = state;
}

TEST(a_host_is_traced_from_its_own_port_on)
{
	struct fabric *fabric = fabric_create(NULL);
	uint32_t leaf = add_switch(fabric, 100, 1, 4, 63), a = add_host(fabric, 200, 1, 2, 0, 1);
	uint32_t b = add_host(fabric, 201, 2, 3, 0, 1), lonely = add_host(fabric, 202, 1, 9, 0, 1);
	uint32_t from, to;
	uint8_t block[ROUTES_BLOCK];
	struct routes routes = { 0 };
	struct route_trace trace;

	link_nodes(fabric, leaf, a);
	link_nodes(fabric, leaf, b);
	link_nodes(fabric, leaf, b);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	from = fabric_node_port(fabric, a, 1);
	to = fabric_node_port(fabric, b, 2);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_UNKNOWN);
	assert_int_equal(trace.hops, 1);
	memset(block, ROUTES_NO_PORT, sizeof(block));
	block[4] = 3;
	assert_int_equal(routes_set_block(&routes, 100, 0, block, NULL, NULL), 0);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_ARRIVES);
	assert_int_equal(trace.hops, 2);
	assert_int_equal(trace.ports[0], from);
	assert_int_equal(trace.at, b);
	/* The other port of the same HCA is a wrong end. */
	block[4] = 2;
	routes_set_block(&routes, 100, 0, block, NULL, NULL);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_WRONG_END);
	/* A switch is reached without an entry for it, a port reaches itself. */
	routes_trace(&routes, fabric, from, fabric_node_port(fabric, leaf, 0), 0, &trace);
	assert_int_equal(trace.end, ROUTE_ARRIVES);
	assert_int_equal(trace.hops, 1);
	routes_trace(&routes, fabric, from, from, 0, &trace);
	assert_int_equal(trace.end, ROUTE_ARRIVES);
	assert_int_equal(trace.hops, 0);
	routes_trace(&routes, fabric, fabric_node_port(fabric, lonely, 1), to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_BLACK_HOLE);
	assert_int_equal(trace.hops, 0);
	set_state(fabric, from, PORT_INIT);
	routes_trace(&routes, fabric, from, to, 0, &trace);
	assert_int_equal(trace.end, ROUTE_DOWN);
	routes_done(&routes);
	fabric_destroy(fabric);
}

TEST(a_table_knows_changed_and_unread_entries)
{
	uint8_t block[ROUTES_BLOCK];
	struct routes routes = { 0 }, copy;
	unsigned changed = 99;

	memset(block, ROUTES_NO_PORT, sizeof(block));
	block[0] = 1;
	block[63] = 2;
	assert_null(routes_find(&routes, 7));
	assert_int_equal(routes_set_block(&routes, 7, 2, block, &changed, NULL), 0);
	assert_int_equal(changed, 2);
	assert_int_equal(routes_find(&routes, 7)->lids, 192);
	assert_false(routes_is_read(routes_find(&routes, 7), 127));
	assert_true(routes_is_read(routes_find(&routes, 7), 128));
	assert_false(routes_is_read(routes_find(&routes, 7), 192));
	assert_int_equal(routes_out_port(routes_find(&routes, 7), 191), 2);
	assert_int_equal(routes_out_port(routes_find(&routes, 7), 192), ROUTES_NO_PORT);
	assert_int_equal(routes_set_block(&routes, 7, 2, block, &changed, NULL), 0);
	assert_int_equal(changed, 0);
	block[63] = ROUTES_NO_PORT;
	block[5] = 9;
	assert_int_equal(routes_copy(&routes, &copy, NULL), 0);
	assert_int_equal(routes_set_block(&routes, 7, 2, block, &changed, NULL), 0);
	assert_int_equal(changed, 2);
	assert_false(routes_same(&routes, &copy));
	assert_int_equal(routes_out_port(routes_find(&copy, 7), 191), 2);
	assert_int_equal(routes_set_block(&copy, 7, 2, block, NULL, NULL), 0);
	assert_true(routes_same(&routes, &copy));
	/* Smaller, larger, removed. */
	assert_int_equal(routes_size(&routes, 7, 129, NULL), 0);
	assert_int_equal(routes_find(&routes, 7)->lids, 192);
	assert_int_equal(routes_size(&routes, 7, 128, NULL), 0);
	assert_false(routes_same(&routes, &copy));
	assert_int_equal(routes_size(&routes, 7, 1000, NULL), 0);
	assert_int_equal(routes_find(&routes, 7)->lids, 1024);
	assert_false(routes_is_read(routes_find(&routes, 7), 128));
	assert_int_equal(routes_out_port(routes_find(&routes, 7), 133), ROUTES_NO_PORT);
	routes_cut(&routes, 7, 0);
	assert_null(routes_find(&routes, 7));
	assert_int_equal(routes_set_block(&routes, 7, ROUTES_BLOCKS - 1, block, NULL, NULL), 0);
	assert_int_equal(routes_set_block(&routes, 7, ROUTES_BLOCKS, block, NULL, NULL), ERR_IO);
	routes_cut(&routes, 8, 0);
	routes_done(&routes);
	routes_done(&copy);
}

enum { SWITCHES_MAX = 16, LIDS_MAX = 512 };

static uint32_t below(uint64_t *random, uint32_t limit)
{
	return (uint32_t)(net_random(random) % limit);
}

/* A fabric of switches with free ports, hosts and random links; with the tables beside it as plain arrays. */
struct bed {
	struct fabric *fabric;
	struct routes routes;
	uint32_t nodes[SWITCHES_MAX]; /* of switches */
	unsigned switches;
	uint8_t tables[SWITCHES_MAX][LIDS_MAX];
	bool read[SWITCHES_MAX][LIDS_MAX / ROUTES_BLOCK];
};

/* Out ports that are mostly sensible: cabled to something; now and then none, the switch itself, or any number. */
static uint8_t random_out(struct bed *bed, uint32_t node, uint64_t *random)
{
	switch (below(random, 24)) {
	case 0: return ROUTES_NO_PORT;
	case 1: return (uint8_t)below(random, 256);
	case 2: return 0;
	default: return (uint8_t)(1 + below(random, bed->fabric->nodes[node].port_count));
	}
}

static void fill_tables(struct bed *bed, uint64_t *random)
{
	for (unsigned s = 0; s < bed->switches; s++) {
		const struct node *node = &bed->fabric->nodes[bed->nodes[s]];

		memset(bed->tables[s], ROUTES_NO_PORT, sizeof(bed->tables[s]));
		memset(bed->read[s], 0, sizeof(bed->read[s]));
		for (unsigned block = 0; block <= node->lft_top / ROUTES_BLOCK; block++) {
			if (below(random, 12) == 0)
				continue;
			for (unsigned i = 0; i < ROUTES_BLOCK; i++)
				bed->tables[s][block * ROUTES_BLOCK + i] = random_out(bed, bed->nodes[s], random);
			bed->read[s][block] = true;
			assert_int_equal(routes_set_block(&bed->routes, node->guid, block,
							  bed->tables[s] + block * ROUTES_BLOCK, NULL, NULL), 0);
		}
	}
}

static void bed_init(struct bed *bed, uint64_t seed)
{
	uint64_t random = seed;
	unsigned hosts = 4 + below(&random, 30);
	uint8_t lmc = (uint8_t)below(&random, 3);
	uint16_t lid = 1, top = (uint16_t)(60 + below(&random, LIDS_MAX - 64));

	memset(bed, 0, sizeof(*bed));
	bed->fabric = fabric_create(NULL);
	bed->switches = 1 + below(&random, SWITCHES_MAX);
	for (unsigned i = 0; i < bed->switches; i++)
		bed->nodes[i] = add_switch(bed->fabric, 100 + i, lid++, 12, top);
	for (unsigned i = 0; i < hosts; i++) {
		uint8_t ports = (uint8_t)(1 + below(&random, 2));
		uint32_t device = below(&random, 9) ? 4129 : 53001;
		uint32_t node = add_host(bed->fabric, 1000 + i, ports, lid, lmc, device);

		lid = (uint16_t)(lid + (ports << lmc));
		link_nodes(bed->fabric, node, bed->nodes[below(&random, bed->switches)]);
		link_nodes(bed->fabric, node, bed->nodes[below(&random, bed->switches)]);
	}
	for (unsigned i = 0; i < 3 * bed->switches; i++)
		link_nodes(bed->fabric, bed->nodes[below(&random, bed->switches)],
			   bed->nodes[below(&random, bed->switches)]);
	for (unsigned i = 0; i < bed->fabric->port_count / 20; i++)
		set_state(bed->fabric, below(&random, (uint32_t)bed->fabric->port_count),
			  (uint8_t)below(&random, 5));
	/* One end alone: the other one does not answer any more, and was so once. */
	for (unsigned i = 0; i < bed->fabric->port_count / 20; i++)
		bed->fabric->ports[below(&random, (uint32_t)bed->fabric->port_count)].state = PORT_INIT;
	assert_int_equal(fabric_finish(bed->fabric, NULL, NULL), 0);
	fill_tables(bed, &random);
}

static void bed_done(struct bed *bed)
{
	fabric_destroy(bed->fabric);
	routes_done(&bed->routes);
}

static unsigned switch_of(const struct bed *bed, uint32_t node)
{
	for (unsigned i = 0; i < bed->switches; i++)
		if (bed->nodes[i] == node)
			return i;
	return UINT32_MAX;
}

/* The slow way: follow the plain arrays for more steps than there are switches. */
static enum route_end follow(const struct bed *bed, uint32_t node, uint32_t to, uint16_t lid, uint32_t *ret_at)
{
	const struct fabric *fabric = bed->fabric;

	for (unsigned steps = 0; steps <= bed->switches; steps++) {
		unsigned s = switch_of(bed, node);
		const struct port *port = NULL;
		uint8_t out;

		*ret_at = node;
		if (node == fabric->ports[to].node)
			return ROUTE_ARRIVES;
		if (!bed->read[s][lid / ROUTES_BLOCK])
			return lid > fabric->nodes[node].lft_top ? ROUTE_BLACK_HOLE : ROUTE_UNKNOWN;
		out = bed->tables[s][lid];
		if (out == 0)
			return ROUTE_WRONG_END;
		for (unsigned p = 0; p < fabric->nodes[node].ports; p++)
			if (fabric->ports[fabric->nodes[node].first_port + p].num == out)
				port = &fabric->ports[fabric->nodes[node].first_port + p];
		if (!port || port->peer == FABRIC_NONE)
			return ROUTE_BLACK_HOLE;
		if (port->state == PORT_DOWN || port->state == PORT_INIT)
			return ROUTE_DOWN;
		if (fabric->nodes[fabric->ports[port->peer].node].type != NODE_SWITCH)
			return port->peer == to ? ROUTE_ARRIVES : ROUTE_WRONG_END;
		node = fabric->ports[port->peer].node;
	}
	return ROUTE_LOOP;
}

TEST(a_trace_follows_the_tables)
{
	unsigned ends[ROUTE_END_COUNT] = { 0 };

	for (uint64_t seed = 1; seed <= test_cases(150); seed++) {
		struct bed bed;
		uint64_t random = seed * 77;

		bed_init(&bed, seed);
		for (unsigned i = 0; i < 200; i++) {
			const struct fabric *fabric = bed.fabric;
			uint32_t from = fabric->nodes[bed.nodes[below(&random, bed.switches)]].first_port, at;
			uint32_t to = below(&random, (uint32_t)fabric->port_count);
			const struct port *end = &fabric->ports[to];
			bool is_switch = fabric->nodes[end->node].type == NODE_SWITCH;
			struct route_trace trace;
			uint16_t lid;
			enum route_end expected;

			if ((is_switch && end->num > 0) || from == to)
				continue;
			lid = (uint16_t)(end->lid + (is_switch ? 0 : below(&random, 1u << end->lmc)));
			routes_trace(&bed.routes, fabric, from, to, lid, &trace);
			expected = follow(&bed, fabric->ports[from].node, to, lid, &at);
			assert_int_equal(trace.end, expected);
			ends[trace.end]++;
			/* Each link begins where the one before ended. */
			for (unsigned k = 0; k < trace.hops; k++) {
				uint32_t node = k ? fabric->ports[fabric->ports[trace.ports[k - 1]].peer].node
						  : fabric->ports[from].node;

				assert_int_equal(fabric->ports[trace.ports[k]].node, node);
				assert_int_equal(fabric->ports[trace.ports[k]].num,
						 bed.tables[switch_of(&bed, node)][lid]);
			}
			if (trace.hops)
				assert_int_equal(trace.at,
						 fabric->ports[fabric->ports[trace.ports[trace.hops - 1]].peer].node);
			if (expected != ROUTE_LOOP && expected != ROUTE_ARRIVES && expected != ROUTE_WRONG_END)
				assert_int_equal(trace.at, at);
		}
		bed_done(&bed);
	}
	for (uint64_t seed = 0; seed < ROUTE_END_COUNT; seed++)
		assert_true(ends[seed] > 50);
}

static bool counts(const struct fabric *fabric, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];

	return node->type == NODE_CA && node->device_id != 53001 && fabric->ports[port].state == PORT_ACTIVE &&
	       fabric->ports[port].peer != FABRIC_NONE &&
	       fabric->ports[fabric->ports[port].peer].state != PORT_DOWN &&
	       fabric->ports[fabric->ports[port].peer].state != PORT_INIT;
}

TEST(lids_are_counted_by_output_port)
{
	for (uint64_t seed = 1; seed <= test_cases(60); seed++) {
		struct bed bed;

		bed_init(&bed, seed);
		for (unsigned s = 0; s < bed.switches; s++) {
			uint32_t lids[256], expected[256] = { 0 };
			bool known = routes_find(&bed.routes, bed.fabric->nodes[bed.nodes[s]].guid) != NULL;

			assert_int_equal(routes_count_lids(&bed.routes, bed.fabric, bed.nodes[s], lids), known);
			for (uint32_t p = 0; p < bed.fabric->port_count; p++) {
				const struct port *port = &bed.fabric->ports[p];

				if (!counts(bed.fabric, p) || bed.fabric->ports[port->peer].node == bed.nodes[s])
					continue;
				for (uint32_t k = 0; k < 1u << port->lmc; k++)
					expected[bed.tables[s][port->lid + k]]++;
			}
			expected[ROUTES_NO_PORT] = 0;
			assert_memory_equal(lids, expected, sizeof(lids));
		}
		bed_done(&bed);
	}
}

/* Reported or expected faults by end and switch: LIDs and source switches. */
struct tally {
	uint32_t lids, from, last_lid;
	uint32_t from_bits;
};

struct tallies {
	const struct bed *bed;
	struct tally at[ROUTE_END_COUNT][SWITCHES_MAX];
	unsigned count;
};

static void take_report(void *ctx, const struct route_fault *fault)
{
	struct tallies *tallies = ctx;
	const struct fabric *fabric = tallies->bed->fabric;
	unsigned s = switch_of(tallies->bed, fault->node), nodes = 0;

	assert_true(s < tallies->bed->switches);
	assert_int_equal(tallies->at[fault->end][s].lids, 0);
	assert_true(fault->lids > 0 && fault->from > 0);
	for (uint32_t i = 0; i < fabric->node_count; i++)
		nodes += fault->nodes[i / 64] >> i % 64 & 1;
	assert_true(nodes > 0 && nodes <= fault->lids);
	tallies->at[fault->end][s] = (struct tally){ .lids = fault->lids, .from = fault->from };
	tallies->count++;
}

/* The first switch of the loop that a route from @node runs into. */
static uint32_t loop_of(const struct bed *bed, uint32_t node, uint16_t lid)
{
	const struct fabric *fabric = bed->fabric;
	uint32_t first = UINT32_MAX;

	for (unsigned i = 0; i < 2 * bed->switches; i++) {
		uint8_t out = bed->tables[switch_of(bed, node)][lid];

		if (i >= bed->switches && node < first)
			first = node;
		node = fabric->ports[fabric->ports[fabric_node_port(fabric, node, out)].peer].node;
	}
	return first;
}

static void expect_lid(const struct bed *bed, uint32_t to, uint16_t lid, struct tallies *ret)
{
	for (unsigned s = 0; s < bed->switches; s++) {
		const struct node *node = &bed->fabric->nodes[bed->nodes[s]];
		bool begins = false;
		struct tally *tally;
		enum route_end end;
		uint32_t at;

		for (unsigned p = node->first_port; p < node->first_port + node->ports; p++)
			begins |= bed->fabric->ports[p].peer != FABRIC_NONE &&
				  counts(bed->fabric, bed->fabric->ports[p].peer);
		if (!begins)
			continue;
		end = follow(bed, bed->nodes[s], to, lid, &at);
		if (end == ROUTE_ARRIVES || end == ROUTE_UNKNOWN)
			continue;
		tally = &ret->at[end][switch_of(bed, end == ROUTE_LOOP ? loop_of(bed, bed->nodes[s], lid) : at)];
		ret->count += !tally->lids;
		tally->lids += tally->last_lid != lid;
		tally->last_lid = lid;
		tally->from += !(tally->from_bits & 1u << s);
		tally->from_bits |= 1u << s;
	}
}

TEST(check_names_each_place_where_routes_fail)
{
	unsigned seen[ROUTE_END_COUNT] = { 0 };

	for (uint64_t seed = 1; seed <= test_cases(150); seed++) {
		struct tallies found = { 0 }, expected = { 0 };
		struct bed bed;

		bed_init(&bed, seed);
		found.bed = expected.bed = &bed;
		for (uint32_t p = 0; p < bed.fabric->port_count; p++)
			for (uint32_t k = 0; counts(bed.fabric, p) && k < 1u << bed.fabric->ports[p].lmc; k++)
				expect_lid(&bed, p, (uint16_t)(bed.fabric->ports[p].lid + k), &expected);
		assert_int_equal(routes_check(&bed.routes, bed.fabric, take_report, &found, NULL), expected.count);
		for (unsigned end = 0; end < ROUTE_END_COUNT; end++) {
			for (unsigned s = 0; s < bed.switches; s++) {
				assert_int_equal(found.at[end][s].lids, expected.at[end][s].lids);
				assert_int_equal(found.at[end][s].from, expected.at[end][s].from);
				seen[end] += found.at[end][s].lids > 0;
			}
		}
		bed_done(&bed);
	}
	assert_true(seen[ROUTE_BLACK_HOLE] > 50 && seen[ROUTE_DOWN] > 50 && seen[ROUTE_LOOP] > 50 &&
		    seen[ROUTE_WRONG_END] > 50);
	assert_true(!seen[ROUTE_ARRIVES] && !seen[ROUTE_UNKNOWN]);
}

/* A tree of three tiers: pods of leaves and of switches above them, cores that reach every pod. */
enum { PODS = 64, LEAFS = 10, MIDDLES = 8, CORES_EACH = 16, CORES = MIDDLES * CORES_EACH, HOSTS = 26 };
enum { POD = LEAFS + MIDDLES, TREE_SWITCHES = PODS * POD + CORES, TREE_HOSTS = PODS * LEAFS * HOSTS };

static void cable(struct fabric *fabric, uint32_t a, unsigned a_port, uint32_t b, unsigned b_port)
{
	assert_int_equal(fabric_link(fabric, fabric_node_port(fabric, a, (uint8_t)a_port),
				     fabric_node_port(fabric, b, (uint8_t)b_port), NULL), 0);
}

static void make_tree(struct fabric *fabric)
{
	for (unsigned i = 0; i < TREE_SWITCHES; i++)
		add_switch(fabric, 1 + i, (uint16_t)(1 + i), i < PODS * POD ? HOSTS + MIDDLES : PODS,
			   TREE_SWITCHES + TREE_HOSTS);
	for (unsigned i = 0; i < TREE_HOSTS; i++) {
		unsigned leaf = i / HOSTS;

		add_host(fabric, 0x10000 + i, 1, (uint16_t)(1 + TREE_SWITCHES + i), 0, 1);
		cable(fabric, TREE_SWITCHES + i, 1, leaf / LEAFS * POD + leaf % LEAFS, 1 + i % HOSTS);
	}
	for (unsigned pod = 0; pod < PODS; pod++) {
		for (unsigned i = 0; i < MIDDLES; i++) {
			for (unsigned k = 0; k < LEAFS; k++)
				cable(fabric, pod * POD + k, 1 + HOSTS + i, pod * POD + LEAFS + i, 1 + k);
			for (unsigned k = 0; k < CORES_EACH; k++)
				cable(fabric, pod * POD + LEAFS + i, 1 + LEAFS + k, PODS * POD + i * CORES_EACH + k,
				      1 + pod);
		}
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
}

static uint8_t tree_out(unsigned at, unsigned host)
{
	unsigned leaf = host / HOSTS, pod = leaf / LEAFS, place = at % POD;

	if (at >= PODS * POD)
		return (uint8_t)(1 + pod);
	if (place < LEAFS && at / POD == pod && place == leaf % LEAFS)
		return (uint8_t)(1 + host % HOSTS);
	if (place < LEAFS)
		return (uint8_t)(1 + HOSTS + host % MIDDLES);
	return (uint8_t)(at / POD == pod ? 1 + leaf % LEAFS : 1 + LEAFS + host / MIDDLES % CORES_EACH);
}

static void route_tree(struct routes *routes)
{
	uint8_t ports[ROUTES_LIDS];

	for (unsigned at = 0; at < TREE_SWITCHES; at++) {
		memset(ports, ROUTES_NO_PORT, sizeof(ports));
		for (unsigned host = 0; host < TREE_HOSTS; host++)
			ports[1 + TREE_SWITCHES + host] = tree_out(at, host);
		for (unsigned block = 0; block <= (TREE_SWITCHES + TREE_HOSTS) / ROUTES_BLOCK; block++)
			assert_int_equal(routes_set_block(routes, 1 + at, block, ports + block * ROUTES_BLOCK, NULL,
							  NULL), 0);
	}
}

TEST(large_tables_are_checked_in_little_time)
{
	struct fabric *fabric = fabric_create(NULL);
	struct routes routes = { 0 };
	struct bed bed = { .fabric = fabric, .switches = 2, .nodes = { 3, LEAFS } };
	struct tallies found = { .bed = &bed };
	uint8_t block[ROUTES_BLOCK];
	unsigned lid = 1 + TREE_SWITCHES + 5 * HOSTS;
	clock_t began;

	make_tree(fabric);
	route_tree(&routes);
	began = clock();
	assert_int_equal(routes_check(&routes, fabric, take_report, &found, NULL), 0);
	print_message("# %u switches, %u HCAs: checked in %.3f s\n", TREE_SWITCHES, TREE_HOSTS,
		      (double)(clock() - began) / CLOCKS_PER_SEC);
	assert_true(clock() - began < 10 * CLOCKS_PER_SEC); /* no measurement: minutes would be another algorithm */
	/* One entry of one switch of the first pod goes nowhere: a host of the sixth leaf, for routes through it. */
	while (tree_out(0, lid - 1 - TREE_SWITCHES) != 1 + HOSTS)
		lid++;
	memcpy(block, routes_find(&routes, 1 + LEAFS)->ports + lid / ROUTES_BLOCK * ROUTES_BLOCK, sizeof(block));
	block[lid % ROUTES_BLOCK] = ROUTES_NO_PORT;
	assert_int_equal(routes_set_block(&routes, 1 + LEAFS, lid / ROUTES_BLOCK, block, NULL, NULL), 0);
	assert_int_equal(routes_check(&routes, fabric, take_report, &found, NULL), 1);
	assert_int_equal(found.at[ROUTE_BLACK_HOLE][1].lids, 1);
	assert_int_equal(found.at[ROUTE_BLACK_HOLE][1].from, PODS * LEAFS - 1);
	routes_done(&routes);
	fabric_destroy(fabric);
}
