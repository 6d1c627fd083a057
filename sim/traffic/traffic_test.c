/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/job.h"
#include "sim/lft.h"
#include "sim/net_shape.h"
#include "sim/traffic.h"

/* A fabric with forwarding tables in the format of opensm, by shortest paths. */
struct bed {
	struct fabric *fabric;
	uint16_t *lids;   /* by port: of CA ports and of port 0 */
	struct text dump;
	struct lft lft;
	struct host_table hosts;
	struct flow_list list;
	struct traffic traffic;
};

static uint16_t give_lids(struct bed *bed)
{
	const struct fabric *fabric = bed->fabric;
	uint16_t lid = 0;
	size_t i;

	bed->lids = calloc(fabric->port_count, sizeof(*bed->lids));
	assert_non_null(bed->lids);
	for (i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (fabric->nodes[port->node].type != NODE_SWITCH || port->num == 0)
			bed->lids[i] = ++lid;
	}
	return lid;
}

/* Hops from every node to @to, a node; UINT32_MAX if there is no path. */
static void measure(const struct fabric *fabric, uint32_t to, uint32_t *ret_hops, uint32_t *queue)
{
	size_t head = 0, tail = 0;
	uint32_t i;

	memset(ret_hops, 0xff, fabric->node_count * sizeof(*ret_hops));
	ret_hops[to] = 0;
	queue[tail++] = to;
	while (head < tail) {
		uint32_t node = queue[head++];
		const struct node *owner = &fabric->nodes[node];

		if (owner->type != NODE_SWITCH && node != to)
			continue;
		for (i = owner->first_port; i < owner->first_port + owner->ports; i++) {
			uint32_t next;

			if (fabric->ports[i].peer == FABRIC_NONE)
				continue;
			next = fabric->ports[fabric->ports[i].peer].node;
			if (ret_hops[next] != UINT32_MAX)
				continue;
			ret_hops[next] = ret_hops[node] + 1;
			queue[tail++] = next;
		}
	}
}

/* One of the ports on shortest paths: number @salt, cyclic. */
static unsigned choose_port(const struct fabric *fabric, uint32_t node, const uint32_t *hops, unsigned salt)
{
	const struct node *owner = &fabric->nodes[node];
	unsigned count = 0, chosen;
	uint32_t i, pass;

	for (pass = 0; pass < 2; pass++) {
		chosen = count ? salt % count : 0;
		for (i = owner->first_port; i < owner->first_port + owner->ports; i++) {
			const struct port *port = &fabric->ports[i];

			if (port->peer == FABRIC_NONE || hops[fabric->ports[port->peer].node] + 1 != hops[node])
				continue;
			if (pass == 0)
				count++;
			else if (chosen-- == 0)
				return port->num;
		}
	}
	return 0;
}

/* @skew: always use the first port, so that uplinks collide. */
static void write_dump(struct bed *bed, bool skew)
{
	const struct fabric *fabric = bed->fabric;
	uint32_t *hops = calloc(fabric->node_count, sizeof(*hops)), *queue = calloc(fabric->node_count, sizeof(*queue));
	struct text *sections = calloc(fabric->node_count, sizeof(*sections));
	size_t node, port;

	assert_true(hops && queue && sections);
	for (port = 0; port < fabric->port_count; port++) {
		uint32_t to = fabric->ports[port].node;

		if (!bed->lids[port])
			continue;
		measure(fabric, to, hops, queue);
		for (node = 0; node < fabric->node_count; node++)
			if (fabric->nodes[node].type == NODE_SWITCH)
				text_appendf(&sections[node], "0x%04x %03u : (Channel Adapter portguid 0x%016" PRIx64
					     ": 'x')\n", bed->lids[port],
					     node == to ? 0 : choose_port(fabric, (uint32_t)node, hops,
									 skew ? 0 : bed->lids[port]),
					     fabric->nodes[to].guid + fabric->ports[port].num);
	}
	text_clear(&bed->dump);
	for (node = 0; node < fabric->node_count; node++) {
		if (fabric->nodes[node].type == NODE_SWITCH)
			text_appendf(&bed->dump, "Unicast lids [0-99] of switch Lid 1 guid 0x%016" PRIx64 " ('x'):\n%s"
				     "99 lids dumped\n", fabric->nodes[node].guid, text_chars(&sections[node]));
		text_done(&sections[node]);
	}
	assert_false(text_failed(&bed->dump));
	free(sections);
	free(hops);
	free(queue);
	lft_done(&bed->lft);
	assert_int_equal(lft_parse(fabric, text_chars(&bed->dump), bed->dump.len, &bed->lft, NULL), 0);
}

static void bed_init(struct bed *bed, const struct net_shape *shape, const char *const *jobs, size_t job_count,
		     bool skew)
{
	struct error err = { 0 };
	size_t i;

	memset(bed, 0, sizeof(*bed));
	assert_int_equal(net_shape_build(shape, &bed->fabric, NULL), 0);
	give_lids(bed);
	write_dump(bed, skew);
	assert_int_equal(host_table_create(bed->fabric, &bed->hosts, NULL), 0);
	for (i = 0; i < job_count; i++)
		if (job_parse(jobs[i], bed->fabric, &bed->hosts, &bed->list, &err) < 0)
			fail_msg("%s", err.text);
	assert_int_equal(traffic_create(bed->fabric, &bed->list, &bed->traffic, NULL), 0);
	assert_int_equal(traffic_route(&bed->traffic, &bed->lft, NULL), 0);
}

static void bed_done(struct bed *bed)
{
	traffic_done(&bed->traffic);
	flow_list_done(&bed->list);
	host_table_done(&bed->hosts);
	lft_done(&bed->lft);
	text_done(&bed->dump);
	free(bed->lids);
	fabric_destroy(bed->fabric);
}

static void assert_near(double a, double b)
{
	if (a - b > 1e-6 * (b + 1) || b - a > 1e-6 * (b + 1))
		fail_msg("%g is not %g", a, b);
}

static void dumps_have_lids_and_ports(void **state)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	uint32_t port, leaf;
	struct bed bed;
	size_t i;

	(void)state;
	bed_init(&bed, &shape, NULL, 0, false);
	for (i = 0; i < bed.fabric->port_count; i++)
		assert_int_equal(bed.lft.port_lids[i], bed.lids[i]);
	assert_int_equal(bed.lft.switch_count, 16);
	/* The first host is connected to port 1 of the first leaf. */
	port = bed.fabric->nodes[fabric_find_node(bed.fabric, 0x0c42a10300003000ULL)].first_port;
	leaf = bed.fabric->ports[bed.fabric->ports[port].peer].node;
	assert_int_equal(routes_out_port(routes_find(&bed.lft.routes, bed.fabric->nodes[leaf].guid), bed.lids[port]),
			 1);
	assert_int_equal(bed.lft.routes.count, 16);
	bed_done(&bed);
}

static void incomplete_dumps_are_rejected(void **state)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct lft lft = { 0 };
	struct bed bed;
	size_t len;

	(void)state;
	bed_init(&bed, &shape, NULL, 0, false);
	for (len = 0; len < bed.dump.len - 1; len += 97) {
		/* Between two switches truncation cannot be detected. */
		if (len > 7 && !memcmp(text_chars(&bed.dump) + len - 7, "dumped\n", 7))
			continue;
		assert_int_equal(lft_parse(bed.fabric, text_chars(&bed.dump), len, &lft, NULL), ERR_IO);
		assert_null(lft.routes.tables);
	}
	bed_done(&bed);
}

static void foreign_dumps_are_handled(void **state)
{
	static const char dump[] = "Unicast lids [0-9] of switch Lid 1 guid 0xdead ('x'):\n"
		"0x0001 001 : (portguid 0xbeef)\n0xffffffffffff 999\n0x0002\n0x\n9 lids dumped\n";
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct lft lft;
	struct bed bed;

	(void)state;
	bed_init(&bed, &shape, NULL, 0, false);
	assert_int_equal(lft_parse(bed.fabric, dump, sizeof(dump) - 1, &lft, NULL), 0);
	assert_int_equal(lft.switch_count, 0);
	lft_done(&lft);
	bed_done(&bed);
}

/* The path of each flow is connected and ends at its host. */
static void paths_connect_hosts(void **state)
{
	static const char *const jobs[] = { "ring rate=1Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE3);
	struct bed bed;
	size_t i, j;

	(void)state;
	bed_init(&bed, &shape, jobs, 1, false);
	assert_int_equal(bed.list.count, 128);
	assert_int_equal(bed.traffic.routed_count, 128);
	for (i = 0; i < bed.list.count; i++) {
		const uint32_t *path = bed.traffic.path + bed.traffic.path_first[i];
		size_t hops = bed.traffic.path_first[i + 1] - bed.traffic.path_first[i];

		assert_true(hops >= 2 && hops <= 6);
		assert_int_equal(path[0], bed.list.flows[i].from);
		assert_int_equal(bed.fabric->ports[path[hops - 1]].peer, bed.list.flows[i].to);
		for (j = 1; j < hops; j++)
			assert_int_equal(bed.fabric->ports[path[j]].node,
					 bed.fabric->ports[bed.fabric->ports[path[j - 1]].peer].node);
	}
	bed_done(&bed);
}

/* Both ends of each link agree, hosts send at their demand, and no link exceeds its capacity. */
static void every_packet_is_counted_at_both_ends(void **state)
{
	static const char *const jobs[] = { "ring rails=0-3 rate=90Gb/s",
					    "ring hosts=node0003-node0009 rails=5 rate=33.3Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	uint64_t sent = 0, received = 0;
	struct bed bed;
	size_t i;

	(void)state;
	bed_init(&bed, &shape, jobs, 2, false);
	for (i = 0; i < 1000; i++)
		traffic_advance(&bed.traffic, 0.001 + (double)(i % 7) * 0.0003);
	for (i = 0; i < bed.fabric->port_count; i++) {
		const struct port *port = &bed.fabric->ports[i];
		const struct port_amount *amount = &bed.traffic.pending[i];

		if (port->peer == FABRIC_NONE) {
			assert_int_equal(amount->xmit_packets + amount->rcv_packets, 0);
			continue;
		}
		assert_int_equal(amount->xmit_packets, bed.traffic.pending[port->peer].rcv_packets);
		if (bed.fabric->nodes[port->node].type == NODE_CA) {
			sent += amount->xmit_packets;
			received += amount->rcv_packets;
		}
	}
	assert_int_equal(sent, received);
	/* 1.8991 s of 32 hosts on 4 rails, and 7 hosts on one. */
	assert_near((double)sent / 1e3, (32 * 4 * 90e9 + 7 * 33.3e9) * 1.8991 / TRAFFIC_PACKET_BITS / 1e3);
	bed_done(&bed);
}

/*
 * Tables that route everything through the first port use one uplink of two leaves: all flows between leaves of a
 * rail share it, they limit the job, and the HCAs that feed the full uplink wait.
 */
static void a_skewed_route_slows_the_job_and_causes_xmit_wait(void **state)
{
	static const char *const coupled[] = { "ring hosts=node0001,node0005,node0002,node0006 rate=160Gb/s" };
	static const char *const two[] = { "ring hosts=node0001,node0005 rate=160Gb/s",
					   "ring hosts=node0002,node0006 rate=160Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	size_t i, waiting = 0;
	struct bed bed;

	(void)state;
	shape.units = 2;
	shape.hosts = 4;
	shape.rails = 1;
	shape.spines = 2;
	shape.management = 0;
	/* The ring has the order of names: 1 to 2, 2 to 5, 5 to 6, 6 to 1: no collision, full rate. */
	bed_init(&bed, &shape, coupled, 1, true);
	for (i = 0; i < bed.list.count; i++)
		assert_near(bed.traffic.rate[i] / 1e9, 160);
	bed_done(&bed);

	/* Two jobs whose rings cross at the same time: two flows with a demand of 160 share a link of 200. */
	bed_init(&bed, &shape, two, 2, true);
	for (i = 0; i < bed.list.count; i++)
		assert_near(bed.traffic.rate[i] / 1e9, 100);
	traffic_advance(&bed.traffic, 2);
	for (i = 0; i < bed.fabric->port_count; i++) {
		const struct node *node = &bed.fabric->nodes[bed.fabric->ports[i].node];

		if (!bed.traffic.pending[i].xmit_wait)
			continue;
		waiting++;
		/* 60 of 200 Gb/s exceed the capacity: 30 % of 2 s, in ticks of 8 bytes. */
		assert_int_equal(node->type, NODE_CA);
		assert_near((double)bed.traffic.pending[i].xmit_wait * TRAFFIC_TICK_BITS / (2 * 200e9), 0.3);
	}
	assert_int_equal(waiting, 4);
	bed_done(&bed);
}

static void a_coupled_job_is_as_slow_as_its_slowest_flow(void **state)
{
	static const char *const jobs[] = { "ring hosts=node0001,node0005 rate=160Gb/s",
					    "ring hosts=node0002,node0006,node0007 rate=160Gb/s coupled=no" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct bed bed;

	(void)state;
	shape.hosts = 4;
	shape.rails = 1;
	shape.spines = 2;
	shape.management = 0;
	bed_init(&bed, &shape, jobs, 2, true);
	/* The flow between 6 and 7 stays within its leaf: only there the uncoupled job has its full rate. */
	assert_near(bed.traffic.rate[0] / 1e9, 100);
	assert_near(bed.traffic.rate[1] / 1e9, 100);
	assert_near(bed.traffic.rate[2] / 1e9, 100);
	assert_near(bed.traffic.rate[3] / 1e9, 160);
	assert_near(bed.traffic.rate[4] / 1e9, 100);
	bed_done(&bed);
}

/* A flow without a path sends nothing, and stops its coupled job. */
static void a_flow_without_a_route_has_rate_zero(void **state)
{
	static const char *const jobs[] = { "ring hosts=node0001-node0003 rails=0 rate=10Gb/s",
					    "ring hosts=node0001-node0003 rails=1 rate=10Gb/s coupled=no" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct bed bed;
	uint32_t port;
	size_t i;

	(void)state;
	bed_init(&bed, &shape, jobs, 2, false);
	/* The second host has left the subnet. */
	for (i = 0; i < bed.list.count; i++) {
		port = bed.list.flows[i].to;
		if (!strncmp(bed.fabric->nodes[bed.fabric->ports[port].node].desc, "node0002", 8))
			bed.lft.port_lids[port] = 0;
	}
	assert_int_equal(traffic_route(&bed.traffic, &bed.lft, NULL), 0);
	/* It sends and receives nothing; in the ring of each rail only 3 to 1 has a path. */
	assert_int_equal(bed.traffic.routed_count, 2);
	for (i = 0; i < 5; i++)
		assert_near(bed.traffic.rate[i], 0);
	assert_near(bed.traffic.rate[5] / 1e9, 10);
	bed_done(&bed);
}

/* Each host sends to the other unit, through spines. */
static void a_stride_skips_hosts(void **state)
{
	static const char *const jobs[] = { "ring hosts=node0001-node0007 rails=1 stride=3 rate=10Gb/s" };
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct bed bed;

	(void)state;
	shape.hosts = 4;
	shape.rails = 2;
	bed_init(&bed, &shape, jobs, 1, false);
	assert_int_equal(bed.list.count, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(bed.list.flows[i].from, bed.hosts.hcas[2 * i + 1].port);
		assert_int_equal(bed.list.flows[i].to, bed.hosts.hcas[2 * ((i + 3) % 7) + 1].port);
	}
	bed_done(&bed);
}

static void invalid_jobs_are_reported(void **state)
{
	static const char *const wrong[] = {
		"", "tree rate=1Gb/s", "ring rate=", "ring rate=fast", "ring rate=-1", "ring rate=1Gb/s rails=0-99",
		"ring rate=1Gb/s rails=3-1", "ring rate=1Gb/s rails=x", "ring rate=1Gb/s hosts=nobody",
		"ring rate=1Gb/s hosts=node0001", "ring rate=1Gb/s rails=9", "ring rate=1Gb/s coupled=maybe",
		"ring rate=1Gb/s colour=red", "ring rate=1Gb/s hosts=node0900-node0999",
		"ring stride=0", "ring stride=x", "ring hosts=node0001-node0004 stride=4",
	};
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct bed bed;
	size_t i;

	(void)state;
	bed_init(&bed, &shape, NULL, 0, false);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(job_parse(wrong[i], bed.fabric, &bed.hosts, &bed.list, &err), ERR_USAGE);
		assert_true(err.text[0]);
	}
	assert_int_equal(bed.list.job_count, 0);
	bed_done(&bed);
}

static void hosts_are_in_natural_order_without_management(void **state)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_RAIL);
	struct bed bed;
	size_t i;

	(void)state;
	bed_init(&bed, &shape, NULL, 0, false);
	assert_int_equal(bed.hosts.host_count, 32);
	assert_string_equal(bed.hosts.hosts[0].name, "node0001");
	assert_string_equal(bed.hosts.hosts[31].name, "node0032");
	for (i = 0; i < 32; i++)
		assert_int_equal(bed.hosts.hosts[i].hca_count, 8);
	assert_int_equal(bed.hosts.hcas[9].rail, 1);
	bed_done(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dumps_have_lids_and_ports),
		cmocka_unit_test(incomplete_dumps_are_rejected),
		cmocka_unit_test(foreign_dumps_are_handled),
		cmocka_unit_test(paths_connect_hosts),
		cmocka_unit_test(every_packet_is_counted_at_both_ends),
		cmocka_unit_test(a_skewed_route_slows_the_job_and_causes_xmit_wait),
		cmocka_unit_test(a_coupled_job_is_as_slow_as_its_slowest_flow),
		cmocka_unit_test(a_flow_without_a_route_has_rate_zero),
		cmocka_unit_test(a_stride_skips_hosts),
		cmocka_unit_test(invalid_jobs_are_reported),
		cmocka_unit_test(hosts_are_in_natural_order_without_management),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
