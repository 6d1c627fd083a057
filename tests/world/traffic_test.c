/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "sim/job.h"
#include "sim/lft.h"
#include "sim/net_shape.h"
#include "sim/traffic.h"
#include "tests/world/spread.h"

/* A fabric with even tables, and the flows of jobs on it. */
struct fixture {
	struct fabric *fabric;
	struct routes tables;
	struct lft lft; /* with the same tables */
	struct host_table hosts;
	struct flow_list list;
	struct traffic traffic;
};

/* Route all HCAs elsewhere through the first port that leads nearer, so that uplinks collide. */
static void collide(struct fixture *fix, const struct spread *spread)
{
	const struct fabric *fabric = fix->fabric;
	uint32_t out;

	for (uint32_t i = 0; i < spread->count; i++) {
		const struct node *node = &fabric->nodes[spread->nodes[i]];
		uint8_t *table = spread_table(&fix->tables, node->guid);

		for (uint32_t j = 0; j < fabric->port_count; j++) {
			uint32_t peer = fabric->ports[j].peer;

			if (fabric->nodes[fabric->ports[j].node].type == NODE_SWITCH || peer == FABRIC_NONE)
				continue;
			for (out = node->first_port; out < node->first_port + node->ports; out++)
				if (spread_nearer(spread, fabric, out, fabric->ports[peer].node))
					break;
			if (out < node->first_port + node->ports)
				table[fabric->ports[j].lid] = fabric->ports[out].num;
		}
	}
}

static void make_lft(struct fixture *fix)
{
	fix->lft.port_lids = calloc(fix->fabric->port_count, sizeof(*fix->lft.port_lids));
	assert_non_null(fix->lft.port_lids);
	for (size_t i = 0; i < fix->fabric->port_count; i++)
		fix->lft.port_lids[i] = fix->fabric->ports[i].lid;
	assert_int_equal(routes_copy(&fix->tables, &fix->lft.routes, NULL), 0);
}

static void fixture_init(struct fixture *fix, const struct net_shape *shape, const char *const *jobs, size_t job_count,
			 bool skew)
{
	struct spread spread = { 0 };
	struct error err = { 0 };
	uint32_t lids;

	memset(fix, 0, sizeof(*fix));
	assert_int_equal(net_shape_build(shape, &fix->fabric, NULL), 0);
	lids = spread_lids(fix->fabric);
	spread_measure(&spread, fix->fabric);
	spread_tables(&spread, fix->fabric, lids, 0, &fix->tables);
	if (skew)
		collide(fix, &spread);
	spread_done(&spread);
	make_lft(fix);
	assert_int_equal(host_table_create(fix->fabric, &fix->hosts, NULL), 0);
	for (size_t i = 0; i < job_count; i++)
		if (job_parse(jobs[i], fix->fabric, &fix->hosts, &fix->list, &err) < 0)
			fail_msg("%s", err.text);
	assert_int_equal(traffic_create(fix->fabric, &fix->list, &fix->traffic, NULL), 0);
	assert_int_equal(traffic_route(&fix->traffic, &fix->lft, NULL), 0);
}

static void fixture_done(struct fixture *fix)
{
	traffic_done(&fix->traffic);
	flow_list_done(&fix->list);
	host_table_done(&fix->hosts);
	lft_done(&fix->lft);
	routes_done(&fix->tables);
	fabric_destroy(fix->fabric);
}

/* The tables in the format of opensm. */
static void write_dump(const struct fixture *fix, struct text *dump)
{
	const struct fabric *fabric = fix->fabric;
	uint64_t guid_of[512] = { 0 };

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		assert_true(port->lid < 512);
		if (port->lid)
			guid_of[port->lid] = fabric->nodes[port->node].guid + port->num;
	}
	for (uint32_t i = 0; i < fix->tables.count; i++) {
		const struct route_table *table = &fix->tables.tables[i];

		text_appendf(dump, "Unicast lids [0-99] of switch Lid 1 guid 0x%016" PRIx64 " ('x'):\n",
			     table->node_guid);
		for (uint32_t lid = 1; lid < table->lids && lid < 512; lid++)
			if (table->ports[lid] != ROUTES_NO_PORT)
				text_appendf(dump, "0x%04x %03u : (Channel Adapter portguid 0x%016" PRIx64 ": 'x')\n",
					     lid, table->ports[lid], guid_of[lid]);
		text_append(dump, "99 lids dumped\n");
	}
	assert_false(text_failed(dump));
}

static void assert_near(double a, double b)
{
	if (a - b > 1e-6 * (b + 1) || b - a > 1e-6 * (b + 1))
		fail_msg("%g is not %g", a, b);
}

TEST(dumps_have_lids_and_ports)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct text dump = { 0 };
	struct fixture fix;
	struct lft lft;

	fixture_init(&fix, &shape, NULL, 0, false);
	write_dump(&fix, &dump);
	assert_int_equal(lft_parse(fix.fabric, text_chars(&dump), dump.len, &lft, NULL), 0);
	for (size_t i = 0; i < fix.fabric->port_count; i++)
		assert_int_equal(lft.port_lids[i], fix.fabric->ports[i].lid);
	assert_true(routes_same(&lft.routes, &fix.tables));
	lft_done(&lft);
	text_done(&dump);
	fixture_done(&fix);
}

TEST(incomplete_dumps_are_rejected)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct lft lft = { 0 };
	struct text dump = { 0 };
	struct fixture fix;

	fixture_init(&fix, &shape, NULL, 0, false);
	write_dump(&fix, &dump);
	for (size_t len = 0; len < dump.len - 1; len += 97) {
		/* Between two switches truncation cannot be detected. */
		if (len > 7 && !memcmp(text_chars(&dump) + len - 7, "dumped\n", 7))
			continue;
		assert_int_equal(lft_parse(fix.fabric, text_chars(&dump), len, &lft, NULL), ERR_IO);
		assert_null(lft.routes.tables);
	}
	text_done(&dump);
	fixture_done(&fix);
}

TEST(foreign_dumps_are_handled)
{
	static const char dump[] = "Unicast lids [0-9] of switch Lid 1 guid 0xdead ('x'):\n"
		"0x0001 001 : (portguid 0xbeef)\n0xffffffffffff 999\n0x0002\n0x\n9 lids dumped\n";
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct fixture fix;
	struct lft lft;

	fixture_init(&fix, &shape, NULL, 0, false);
	assert_int_equal(lft_parse(fix.fabric, dump, sizeof(dump) - 1, &lft, NULL), 0);
	assert_int_equal(lft.routes.count, 0);
	lft_done(&lft);
	fixture_done(&fix);
}

/* The path of each flow is connected and ends at its host. */
TEST(paths_connect_hosts)
{
	static const char *const jobs[] = { "ring rate=1Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE3);
	struct fixture fix;

	fixture_init(&fix, &shape, jobs, 1, false);
	assert_int_equal(fix.list.count, 128);
	assert_int_equal(fix.traffic.routed_count, 128);
	for (size_t i = 0; i < fix.list.count; i++) {
		const struct share_use *path = fix.traffic.share.uses + fix.traffic.share.first[i];
		size_t hops = fix.traffic.share.first[i + 1] - fix.traffic.share.first[i];

		assert_true(hops >= 2 && hops <= 6);
		assert_int_equal(path[0].port, fix.list.flows[i].from);
		assert_int_equal(fix.fabric->ports[path[hops - 1].port].peer, fix.list.flows[i].to);
		for (size_t j = 1; j < hops; j++)
			assert_int_equal(fix.fabric->ports[path[j].port].node,
					 fix.fabric->ports[fix.fabric->ports[path[j - 1].port].peer].node);
	}
	fixture_done(&fix);
}

/* Both ends of each link agree, hosts send at their demand, and no link exceeds its capacity. */
TEST(every_packet_is_counted_at_both_ends)
{
	static const char *const jobs[] = { "ring rails=0-3 rate=90Gb/s",
					    "ring hosts=node0003-node0009 rails=5 rate=33.3Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	uint64_t sent = 0, received = 0;
	struct fixture fix;

	fixture_init(&fix, &shape, jobs, 2, false);
	for (size_t i = 0; i < 1000; i++)
		traffic_advance(&fix.traffic, 0.001 + (double)(i % 7) * 0.0003);
	for (size_t i = 0; i < fix.fabric->port_count; i++) {
		const struct port *port = &fix.fabric->ports[i];
		const struct port_amount *amount = &fix.traffic.pending[i];

		if (port->peer == FABRIC_NONE) {
			assert_int_equal(amount->xmit_packets + amount->rcv_packets, 0);
			continue;
		}
		assert_int_equal(amount->xmit_packets, fix.traffic.pending[port->peer].rcv_packets);
		if (fix.fabric->nodes[port->node].type == NODE_CA) {
			sent += amount->xmit_packets;
			received += amount->rcv_packets;
		}
	}
	assert_int_equal(sent, received);
	/* 1.8991 s of 32 hosts on 4 rails, and 7 hosts on one. */
	assert_near((double)sent / 1e3, (32 * 4 * 90e9 + 7 * 33.3e9) * 1.8991 / TRAFFIC_PACKET_BITS / 1e3);
	fixture_done(&fix);
}

/*
 * Tables that route everything through the first port use one uplink of two leaves: all flows between leaves of a
 * rail share it, they limit the job, and the HCAs that feed the full uplink wait.
 */
TEST(a_skewed_route_slows_the_job_and_causes_xmit_wait)
{
	static const char *const coupled[] = { "ring hosts=node0001,node0005,node0002,node0006 rate=160Gb/s" };
	static const char *const two[] = { "ring hosts=node0001,node0005 rate=160Gb/s",
					   "ring hosts=node0002,node0006 rate=160Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	size_t waiting = 0;
	struct fixture fix;

	shape.units = 2;
	shape.hosts = 4;
	shape.rails = 1;
	shape.spines = 2;
	shape.management = 0;
	/* The ring has the order of names: 1 to 2, 2 to 5, 5 to 6, 6 to 1: no collision, full rate. */
	fixture_init(&fix, &shape, coupled, 1, true);
	for (size_t i = 0; i < fix.list.count; i++)
		assert_near(traffic_rate(&fix.traffic, i) / 1e9, 160);
	fixture_done(&fix);

	/* Two jobs whose rings cross at the same time: two flows with a demand of 160 share a link of 200. */
	fixture_init(&fix, &shape, two, 2, true);
	for (size_t i = 0; i < fix.list.count; i++)
		assert_near(traffic_rate(&fix.traffic, i) / 1e9, 100);
	traffic_advance(&fix.traffic, 2);
	for (size_t i = 0; i < fix.fabric->port_count; i++) {
		const struct node *node = &fix.fabric->nodes[fix.fabric->ports[i].node];

		if (!fix.traffic.pending[i].xmit_wait)
			continue;
		waiting++;
		/* 60 of 200 Gb/s exceed the capacity: 30 % of 2 s, in ticks of 8 bytes. */
		assert_int_equal(node->type, NODE_CA);
		assert_near((double)fix.traffic.pending[i].xmit_wait * TRAFFIC_TICK_BITS / (2 * 200e9), 0.3);
	}
	assert_int_equal(waiting, 4);
	fixture_done(&fix);
}

TEST(a_coupled_job_is_as_slow_as_its_slowest_flow)
{
	static const char *const jobs[] = { "ring hosts=node0001,node0005 rate=160Gb/s",
					    "ring hosts=node0002,node0006,node0007 rate=160Gb/s coupled=no" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;

	shape.hosts = 4;
	shape.rails = 1;
	shape.spines = 2;
	shape.management = 0;
	fixture_init(&fix, &shape, jobs, 2, true);
	/* The flow between 6 and 7 stays within its leaf: only there the uncoupled job has its full rate. */
	assert_near(traffic_rate(&fix.traffic, 0) / 1e9, 100);
	assert_near(traffic_rate(&fix.traffic, 1) / 1e9, 100);
	assert_near(traffic_rate(&fix.traffic, 2) / 1e9, 100);
	assert_near(traffic_rate(&fix.traffic, 3) / 1e9, 160);
	assert_near(traffic_rate(&fix.traffic, 4) / 1e9, 100);
	fixture_done(&fix);
}

/* A flow without a path sends nothing, and stops its coupled job. */
TEST(a_flow_without_a_route_has_rate_zero)
{
	static const char *const jobs[] = { "ring hosts=node0001-node0003 rails=0 rate=10Gb/s",
					    "ring hosts=node0001-node0003 rails=1 rate=10Gb/s coupled=no" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;
	uint32_t port;

	fixture_init(&fix, &shape, jobs, 2, false);
	/* The second host has left the subnet. */
	for (size_t i = 0; i < fix.list.count; i++) {
		port = fix.list.flows[i].to;
		if (!strncmp(fix.fabric->nodes[fix.fabric->ports[port].node].desc, "node0002", 8))
			fix.lft.port_lids[port] = 0;
	}
	assert_int_equal(traffic_route(&fix.traffic, &fix.lft, NULL), 0);
	/* It sends and receives nothing; in the ring of each rail only 3 to 1 has a path. */
	assert_int_equal(fix.traffic.routed_count, 2);
	for (size_t i = 0; i < 5; i++)
		assert_near(traffic_rate(&fix.traffic, i), 0);
	assert_near(traffic_rate(&fix.traffic, 5) / 1e9, 10);
	fixture_done(&fix);
}

/* Each host sends to the other unit, through spines. */
TEST(a_stride_skips_hosts)
{
	static const char *const jobs[] = { "ring hosts=node0001-node0007 rails=1 stride=3 rate=10Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;

	shape.hosts = 4;
	shape.rails = 2;
	fixture_init(&fix, &shape, jobs, 1, false);
	assert_int_equal(fix.list.count, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(fix.list.flows[i].from, fix.hosts.hcas[2 * i + 1].port);
		assert_int_equal(fix.list.flows[i].to, fix.hosts.hcas[2 * ((i + 3) % 7) + 1].port);
	}
	fixture_done(&fix);
}

/* --- iterations --- */

/* Packets that the first port of a host has sent. */
static uint64_t sent_by(const struct fixture *fix, size_t host)
{
	return fix->traffic.pending[fix->hosts.hcas[fix->hosts.hosts[host].first_hca].port].xmit_packets;
}

/* Times at which a host begins to send, after at least 200 ms without; of at most @most. */
static size_t begins(struct fixture *fix, size_t host, double length_s, double *ret_s, size_t most)
{
	uint64_t before = sent_by(fix, host);
	double quiet_s = 1;
	size_t count = 0;

	for (double s = 0; s < length_s; s += 0.05) {
		traffic_advance(&fix->traffic, 0.05);
		if (sent_by(fix, host) == before) {
			quiet_s += 0.05;
			continue;
		}
		if (quiet_s > 0.2 && count < most)
			ret_s[count++] = s;
		quiet_s = 0;
		before = sent_by(fix, host);
	}
	return count;
}

static const char *const training[] = { "ring hosts=node0001-node0008 iteration=2s wire=40%" };

TEST(iterations_have_their_length_and_amount)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;
	double at_s[64], mean_s;
	size_t count;

	fixture_init(&fix, &shape, training, 1, false);
	count = begins(&fix, 0, 40, at_s, 64);
	assert_in_range(count, 19, 20);
	mean_s = (at_s[count - 1] - at_s[0]) / (double)(count - 1);
	assert_true(mean_s > 1.96 && mean_s < 2.06);
	/* 40 % of the time at 80 % of the link. */
	assert_true((double)sent_by(&fix, 0) * TRAFFIC_PACKET_BITS / 40 >
		    0.95 * 0.4 * 0.8 * (double)port_rate_bits_per_s(&fix.fabric->ports[fix.hosts.hcas[0].port]));
	assert_true((double)sent_by(&fix, 0) * TRAFFIC_PACKET_BITS / 40 <
		    1.02 * 0.4 * 0.8 * (double)port_rate_bits_per_s(&fix.fabric->ports[fix.hosts.hcas[0].port]));
	fixture_done(&fix);
}

TEST(a_host_that_stops_stops_all_others_within_an_iteration)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;
	uint64_t before[8], chunks[8];

	fixture_init(&fix, &shape, training, 1, false);
	traffic_advance(&fix.traffic, 20.3);
	fix.hosts.hosts[3].frozen = true;
	traffic_advance(&fix.traffic, 4.5);
	for (size_t i = 0; i < 8; i++)
		before[i] = sent_by(&fix, i);
	traffic_advance(&fix.traffic, 30);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(sent_by(&fix, i), before[i]);
	/*
	 * The stopped host sent nothing of its iteration, and nothing was sent to it; each host after it sent one
	 * chunk more than the one before.
	 */
	for (size_t i = 0; i < 8; i++)
		chunks[i] = before[(3 + i) % 8];
	for (size_t i = 1; i < 7; i++)
		assert_true(chunks[i] > chunks[i - 1]);
	assert_in_range(chunks[7], chunks[0] - 1, chunks[0] + 1);
	fix.hosts.hosts[3].frozen = false;
	traffic_advance(&fix.traffic, 4);
	for (size_t i = 0; i < 8; i++)
		assert_true(sent_by(&fix, i) > before[i] + 1000);
	fixture_done(&fix);
}

TEST(a_host_that_computes_longer_makes_all_iterations_longer)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;
	double at_s[64], mean_s;
	size_t count;

	fixture_init(&fix, &shape, training, 1, false);
	fix.hosts.hosts[5].slower = 0.5;
	count = begins(&fix, 5, 60, at_s, 64);
	mean_s = (at_s[count - 1] - at_s[0]) / (double)(count - 1);
	/* 1.2 s of computing become 1.8 s. */
	assert_true(mean_s > 2.55 && mean_s < 2.67);
	fixture_done(&fix);
}

TEST(checkpoints_start_and_length)
{
	static const char *const jobs[] = {
		"ring hosts=node0001-node0008 iteration=1s wire=50% checkpoint=10s/4s",
		"ring hosts=node0009-node0016 start=20s length=10s",
	};
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	double at_s[64], longest_s = 0;
	struct fixture fix;
	uint64_t sent;
	size_t count;

	fixture_init(&fix, &shape, jobs, 2, false);
	count = begins(&fix, 0, 19, at_s, 64);
	for (size_t i = 1; i < count; i++)
		longest_s = at_s[i] - at_s[i - 1] > longest_s ? at_s[i] - at_s[i - 1] : longest_s;
	assert_true(longest_s > 4.8 && longest_s < 5.3);
	assert_int_equal(sent_by(&fix, 8), 0);
	traffic_advance(&fix.traffic, 12);
	sent = sent_by(&fix, 8);
	assert_true(sent > 1000);
	traffic_advance(&fix.traffic, 5);
	assert_int_equal(sent_by(&fix, 8), sent);
	fixture_done(&fix);
}

TEST(invalid_jobs_are_reported)
{
	static const char *const wrong[] = {
		"", "tree rate=1Gb/s", "ring rate=", "ring rate=fast", "ring rate=-1", "ring rate=1Gb/s rails=0-99",
		"ring rate=1Gb/s rails=3-1", "ring rate=1Gb/s rails=x", "ring rate=1Gb/s hosts=absent",
		"ring rate=1Gb/s hosts=node0001", "ring rate=1Gb/s rails=9", "ring rate=1Gb/s coupled=maybe",
		"ring rate=1Gb/s colour=red", "ring rate=1Gb/s hosts=node0900-node0999",
		"ring iteration=x", "ring iteration=0s", "ring wire=30", "ring wire=0%", "ring wire=120%",
		"ring checkpoint=60s", "ring iteration=4s coupled=no", "ring start=-1s",
		"ring stride=0", "ring stride=x", "ring hosts=node0001-node0004 stride=4",
	};
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;

	fixture_init(&fix, &shape, NULL, 0, false);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(job_parse(wrong[i], fix.fabric, &fix.hosts, &fix.list, &err), ERR_USAGE);
		assert_true(err.text[0]);
	}
	assert_int_equal(fix.list.job_count, 0);
	fixture_done(&fix);
}

TEST(hosts_are_in_natural_order_without_management)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct fixture fix;

	fixture_init(&fix, &shape, NULL, 0, false);
	assert_int_equal(fix.hosts.host_count, 32);
	assert_string_equal(fix.hosts.hosts[0].name, "node0001");
	assert_string_equal(fix.hosts.hosts[31].name, "node0032");
	for (size_t i = 0; i < 32; i++)
		assert_int_equal(fix.hosts.hosts[i].hca_count, 8);
	assert_int_equal(fix.hosts.hcas[9].rail, 1);
	fixture_done(&fix);
}

/* --- skewed tables --- */

/* One uplink from each leaf to each spine; the last spine has no route to the last leaf. */
enum { LEAFS = 6, SPINES = 4, HOSTS = 10, FIRST_LEAF = LEAFS * HOSTS, LAST_SPINE = FIRST_LEAF + LEAFS + SPINES - 1 };

static void skew_init(struct fixture *fix)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);

	shape.leafs = LEAFS;
	shape.spines = SPINES;
	shape.hosts = HOSTS;
	shape.links = 1;
	shape.management = 0;
	fixture_init(fix, &shape, NULL, 0, false);
	for (uint32_t host = FIRST_LEAF - HOSTS; host < FIRST_LEAF; host++)
		spread_table(&fix->tables, fix->fabric->nodes[LAST_SPINE].guid)
			[fix->fabric->ports[fabric_node_port(fix->fabric, host, 1)].lid] = ROUTES_NO_PORT;
	lft_done(&fix->lft);
	make_lft(fix);
}

static uint8_t out_of(const struct fixture *fix, const struct routes *routes, uint32_t node, uint32_t host)
{
	return routes_out_port(routes_find(routes, fix->fabric->nodes[node].guid),
			       fix->fabric->ports[fabric_node_port(fix->fabric, host, 1)].lid);
}

static unsigned count_by(const struct fixture *fix, const struct routes *routes, uint32_t node, unsigned out)
{
	unsigned count = 0;

	for (unsigned host = 0; host < FIRST_LEAF; host++)
		count += out_of(fix, routes, node, host) == out;
	return count;
}

TEST(a_share_is_routed_through_one_port_and_remains_reachable)
{
	static const struct { double share; unsigned least; } cases[] = { { 0.1, 5 }, { 0.5, 25 }, { 0.8, 40 } };
	struct route_trace trace;
	struct routes routes;
	unsigned moved, all, before, expected;
	struct fixture fix;
	uint32_t port;

	skew_init(&fix);
	port = fabric_node_port(fix.fabric, FIRST_LEAF, HOSTS + 1);
	before = count_by(&fix, &fix.tables, FIRST_LEAF, HOSTS + 1);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expected = before > cases[i].least ? before : cases[i].least;
		assert_int_equal(skew_routes(fix.fabric, &fix.lft, port, cases[i].share, &routes, &moved, &all, NULL),
				 0);
		assert_int_equal(all, (LEAFS - 1) * HOSTS);
		assert_int_equal(count_by(&fix, &routes, FIRST_LEAF, HOSTS + 1), expected);
		assert_int_equal(moved, expected - before);
		/* The remaining destinations are as balanced as before, and no other entry has changed. */
		for (unsigned out = 2; out <= SPINES; out++)
			assert_in_range(count_by(&fix, &routes, FIRST_LEAF, HOSTS + out) * (SPINES - 1) + 3,
					all - expected, all - expected + 6);
		for (unsigned host = 0; host < FIRST_LEAF; host++) {
			routes_trace(&routes, fix.fabric, fabric_node_port(fix.fabric, FIRST_LEAF, 0),
				     fabric_node_port(fix.fabric, host, 1), 0, &trace);
			assert_int_equal(trace.end, host >= FIRST_LEAF - HOSTS && trace.at == LAST_SPINE
						    ? ROUTE_BLACK_HOLE : ROUTE_ARRIVES);
		}
		assert_int_equal(count_by(&fix, &routes, FIRST_LEAF + 1, HOSTS + 1),
				 count_by(&fix, &fix.tables, FIRST_LEAF + 1, HOSTS + 1));
		routes_done(&routes);
	}
	/* Through the spine without the last leaf only destinations it reaches. */
	port = fabric_node_port(fix.fabric, FIRST_LEAF, HOSTS + SPINES);
	assert_int_equal(skew_routes(fix.fabric, &fix.lft, port, 1, &routes, &moved, &all, NULL), 0);
	for (unsigned host = FIRST_LEAF - HOSTS; host < FIRST_LEAF; host++)
		assert_int_equal(out_of(&fix, &routes, FIRST_LEAF, host),
				 out_of(&fix, &fix.tables, FIRST_LEAF, host));
	routes_done(&routes);
	assert_int_equal(skew_routes(fix.fabric, &fix.lft, fabric_node_port(fix.fabric, FIRST_LEAF, 1), 0.5, &routes,
				     &moved, &all, NULL), ERR_USAGE);
	assert_int_equal(skew_routes(fix.fabric, &fix.lft, port, 0, &routes, &moved, &all, NULL), ERR_USAGE);
	assert_int_equal(skew_routes(fix.fabric, &fix.lft, port, 1.1, &routes, &moved, &all, NULL), ERR_USAGE);
	fixture_done(&fix);
}

TEST(a_written_dump_can_be_read)
{
	struct text text = { 0 }, dump = { 0 };
	struct routes routes;
	unsigned moved, all;
	struct fixture fix;
	struct lft again;

	skew_init(&fix);
	write_dump(&fix, &dump);
	assert_int_equal(lft_write(text_chars(&dump), dump.len, &fix.tables, &text, NULL), 0);
	assert_string_equal(text_chars(&text), text_chars(&dump));
	text_clear(&text);
	assert_int_equal(skew_routes(fix.fabric, &fix.lft, fabric_node_port(fix.fabric, FIRST_LEAF + 2, HOSTS + 2), 0.7,
				     &routes, &moved, &all, NULL), 0);
	assert_false(routes_same(&routes, &fix.tables));
	assert_int_equal(lft_write(text_chars(&dump), dump.len, &routes, &text, NULL), 0);
	assert_int_equal(text.len, dump.len);
	assert_int_equal(lft_parse(fix.fabric, text_chars(&text), text.len, &again, NULL), 0);
	assert_true(routes_same(&again.routes, &routes));
	lft_done(&again);
	routes_done(&routes);
	text_done(&text);
	text_done(&dump);
	fixture_done(&fix);
}
