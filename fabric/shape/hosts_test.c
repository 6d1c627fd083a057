/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which HCAs are one host's, and what hosts are for, with the names that are really met. */
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"
#include "fabric/host_set.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

/* The name of the host that a node is in; "" for none. */
static const char *host_of(const struct shape *shape, uint32_t node)
{
	return shape->nodes[node].host == SHAPE_NONE ? "" : shape->hosts[shape->nodes[node].host].name;
}

TEST(hcas_of_one_name_are_one_host)
{
	struct fabric *fabric = net_new();
	uint32_t b10 = net_hca(fabric, 0x21, "node2 mlx5_10"), b2 = net_hca(fabric, 0x22, "node2 mlx5_2");
	uint32_t a = net_hca(fabric, 0, "node10 HCA-1");
	struct shape *shape = net_shape(fabric, NULL);

	assert_int_equal(shape->host_count, 2);
	assert_string_equal(host_of(shape, b2), "node2");
	assert_int_equal(shape->nodes[b2].host, 0); /* before node10 */
	assert_int_equal(shape->nodes[b10].host, 0);
	assert_int_equal(shape->hosts[0].count, 2);
	assert_int_equal(shape->host_nodes[shape->hosts[0].first], b2);
	assert_int_equal(shape->host_nodes[shape->hosts[0].first + 1], b10);
	assert_int_equal(shape->hosts[0].system_guid, 0);
	assert_string_equal(host_of(shape, a), "node10");
	net_done(fabric, shape);
}

TEST(a_host_is_found_with_and_without_its_domain)
{
	static const struct { const char *name, *found; } cases[] = {
		{ "node1", "node1" }, { "node1.cluster", "node1" }, { "node2", "node2.ib" }, { "node2.ib", "node2.ib" },
		{ "node2.cluster", "node2.ib" }, { "node10.ib", "node10.ib" }, { "node10", "node10" },
		{ "node", NULL }, { "node3", NULL }, { "node01", NULL }, { "", NULL }, { ".ib", NULL },
		{ "a", NULL }, { "z", NULL },
	};
	struct fabric *fabric = net_new();
	struct shape *shape;

	net_hca(fabric, 0, "node10 HCA-1");
	net_hca(fabric, 0, "node2.ib HCA-1");
	net_hca(fabric, 0, "node10.ib HCA-1");
	net_hca(fabric, 0, "node1 HCA-1");
	net_hca(fabric, 0, "node1-a HCA-1");
	shape = net_shape(fabric, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t host = shape_find_host(shape, cases[i].name);

		if (host == SHAPE_NONE ? cases[i].found != NULL :
		    !cases[i].found || strcmp(shape->hosts[host].name, cases[i].found))
			fail_msg("%s: %s", cases[i].name, host == SHAPE_NONE ? "none" : shape->hosts[host].name);
	}
	net_done(fabric, shape);
}

TEST(cloned_hosts_are_distinguished_by_system_guid)
{
	struct fabric *fabric = net_new();
	uint32_t hca[8];
	struct shape *shape;

	/* Four clones of one image, two HCAs each, which share a SystemImageGUID. */
	for (uint32_t i = 0; i < 8; i++)
		hca[i] = net_hca(fabric, 0x100 + i / 2, "%s", i % 2 ? "gpu mlx5_1" : "gpu mlx5_0");
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->host_count, 4);
	for (uint32_t i = 0; i < 8; i += 2) {
		assert_int_equal(shape->nodes[hca[i]].host, shape->nodes[hca[i + 1]].host);
		assert_non_null(strstr(host_of(shape, hca[i]), "gpu (0x"));
	}
	net_done(fabric, shape);
}

TEST(cloned_hosts_are_found_by_their_common_name)
{
	static const struct { const char *name; uint32_t count; } cases[] = {
		{ "gpu", 3 }, { "gpu.cluster", 3 }, { "cpu", 2 }, { "cpu.ib", 2 }, { "cpu.other", 2 }, { "gpu1", 1 },
		{ "gp", 0 }, { "gpu ", 0 }, { "gpu (0x", 0 },
	};
	struct fabric *fabric = net_new();
	uint32_t one = net_hca(fabric, 0x100, "gpu mlx5_0");
	struct shape *shape;

	net_hca(fabric, 0x101, "gpu mlx5_0");
	net_hca(fabric, 0x102, "gpu mlx5_0");
	net_hca(fabric, 0x103, "gpu1 mlx5_0");
	net_hca(fabric, 0x104, "gpu-a mlx5_0");
	net_hca(fabric, 0x105, "cpu.ib mlx5_0");
	net_hca(fabric, 0x106, "cpu.ib mlx5_0");
	shape = net_shape(fabric, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t count, first = shape_hosts_named(shape, cases[i].name, &count);

		if (count != cases[i].count || (first == SHAPE_NONE) != !count)
			fail_msg("%s: %u hosts", cases[i].name, count);
		assert_int_equal(shape_find_host(shape, cases[i].name), count == 1 ? first : SHAPE_NONE);
		for (uint32_t k = 0; k < count; k++)
			assert_memory_equal(shape->hosts[first + k].name, cases[i].name, 3);
	}
	assert_int_equal(shape_find_host(shape, host_of(shape, one)), shape->nodes[one].host);
	net_done(fabric, shape);
}

/* Without a list all compute hosts, and of one that cannot be read none. */
TEST(the_hosts_of_a_job_are_those_of_its_list)
{
	static const struct { const char *list, *hosts, *missing; } cases[] = {
		{ "", "gpu gpu node1 node2.ib ", "" }, { "node[1-3]", "node1 node2.ib ", "node3 " },
		{ "node9,node2.cluster,node10,node9", "node2.ib ", "node9 node10 " }, { "gpu", "gpu gpu ", "" },
		{ "io1", "io1 ", "" }, { "node1,node[", "", "" },
	};
	const struct shape_settings settings = {
		.classes = (struct shape_class_rule[]){ { "io*", CLASS_STORAGE }, { NULL, 0 } } };
	struct fabric *fabric = net_new();
	struct shape *shape;

	net_hca(fabric, 0x100, "gpu mlx5_0");
	net_hca(fabric, 0x101, "gpu mlx5_0");
	net_hca(fabric, 0, "node1 mlx5_0");
	net_hca(fabric, 0, "node2.ib mlx5_0");
	net_hca(fabric, 0, "io1 mlx5_0");
	shape = net_shape(fabric, &settings);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool marked[5] = { false };
		struct host_set missing = { 0 };
		char text[256] = "";

		assert_int_equal(shape->host_count, 5);
		assert_true(shape_mark_hosts(shape, cases[i].list, marked, &missing, NULL) >= 0);
		for (size_t k = 0; k < 5; k++)
			if (marked[k]) {
				strncat(text, shape->hosts[k].name, strcspn(shape->hosts[k].name, " "));
				strcat(text, " ");
			}
		assert_string_equal(text, cases[i].hosts);
		*text = '\0';
		for (size_t k = 0; k < missing.count; k++) {
			strcat(text, missing.names[k]);
			strcat(text, " ");
		}
		assert_string_equal(text, cases[i].missing);
		host_set_done(&missing);
	}
	net_done(fabric, shape);
}

TEST(a_generic_name_is_no_host)
{
	static const char *const names[] = {
		"MT4129 ConnectX7   Mellanox Technologies", "MT25408 ConnectX Mellanox Technologies",
		"localhost mlx5_0", "localhost HCA-1", "(none) mlx5_0", "mlx5_0", "", "Some Vendor HCA of 2 ports",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fabric *fabric = net_new();
		uint32_t a = net_hca(fabric, 0xa, "%s", names[i]), b = net_hca(fabric, 0xb, "%s", names[i]);
		struct shape *shape = net_shape(fabric, NULL);
		char wanted[32];

		assert_int_equal(shape->host_count, 2);
		snprintf(wanted, sizeof(wanted), "0x%016llx", (unsigned long long)fabric->nodes[a].guid);
		assert_string_equal(host_of(shape, a), wanted);
		assert_int_not_equal(shape->nodes[a].host, shape->nodes[b].host);
		net_done(fabric, shape);
	}
}

TEST(an_unnamed_hca_belongs_to_the_host_of_its_system_guid)
{
	struct fabric *fabric = net_new();
	uint32_t named = net_hca(fabric, 0x7, "node1 mlx5_0");
	uint32_t bare = net_hca(fabric, 0x7, "MT4129 ConnectX7 Mellanox Technologies");
	uint32_t renamed = net_hca(fabric, 0x7, "old1 mlx5_2"), third = net_hca(fabric, 0x7, "node1 mlx5_3");
	struct shape *shape = net_shape(fabric, NULL);

	assert_int_equal(shape->host_count, 1);
	assert_string_equal(host_of(shape, bare), "node1");
	assert_string_equal(host_of(shape, renamed), "node1");
	assert_string_equal(host_of(shape, named), host_of(shape, third));
	assert_int_equal(shape->hosts[0].system_guid, 0x7);
	net_done(fabric, shape);
}

TEST(hosts_that_share_an_adapter_stay_two)
{
	struct fabric *fabric = net_new();
	uint32_t a = net_hca(fabric, 0x7, "node1 mlx5_0"), b = net_hca(fabric, 0x7, "node2 mlx5_0");
	struct shape *shape = net_shape(fabric, NULL);

	assert_int_equal(shape->host_count, 2);
	assert_int_not_equal(shape->nodes[a].host, shape->nodes[b].host);
	net_done(fabric, shape);
}

TEST(an_unset_system_guid_joins_no_hcas)
{
	struct fabric *fabric = net_new();
	struct shape *shape;

	for (unsigned i = 0; i < 100; i++)
		net_hca(fabric, 0xffffffff, "MT4129 ConnectX7 Mellanox Technologies");
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->host_count, 100);
	net_done(fabric, shape);
}

TEST(hosts_without_device_names_are_hosts)
{
	struct fabric *fabric = net_new();
	struct shape *shape;
	char name[16];

	for (unsigned i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "node%u", i / 2);
		net_hca(fabric, 0x100 + i, "%s", name);
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->host_count, 4);
	assert_int_equal(shape->hosts[3].count, 2);
	net_done(fabric, shape);

	/* But one such name everywhere is no host. */
	fabric = net_new();
	for (unsigned i = 0; i < 8; i++)
		net_hca(fabric, 0x100 + i, "compute");
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->host_count, 8);
	net_done(fabric, shape);
}

TEST(an_unresponsive_host_keeps_its_last_name)
{
	struct fabric *fabric = net_new();
	uint32_t a = net_hca(fabric, 0, "node1 mlx5_0"), b = net_hca(fabric, 0, "node1 mlx5_1 (was)");
	struct shape *shape = net_shape(fabric, NULL);

	assert_int_equal(shape->host_count, 1);
	assert_int_equal(shape->nodes[a].host, shape->nodes[b].host);
	net_done(fabric, shape);
}

TEST(keywords_in_names_determine_classes)
{
	static const struct {
		const char *name;
		uint8_t class;
	} hosts[] = {
		{ "node001 mlx5_0", CLASS_COMPUTE },     { "taurusi1001 HCA-1", CLASS_COMPUTE },
		{ "taurussmp2 HCA-1", CLASS_COMPUTE },   { "taurusoss12 HCA-2", CLASS_STORAGE },
		{ "taurusmds3 HCA-1", CLASS_STORAGE },   { "tauruslogin3 HCA-1", CLASS_MANAGEMENT },
		{ "taurusadmin4 HCA-1", CLASS_MANAGEMENT }, { "taurusservice1 HCA-1", CLASS_MANAGEMENT },
		{ "oss-01 mlx5_0", CLASS_STORAGE },      { "mds2 mlx5_0", CLASS_STORAGE },
		{ "ost7 mlx5_0", CLASS_STORAGE },        { "host7 mlx5_0", CLASS_COMPUTE },
		{ "ghost7 mlx5_0", CLASS_COMPUTE },      { "boss mlx5_0", CLASS_COMPUTE },
		{ "weka-03 mlx5_1", CLASS_STORAGE },     { "ddn-exa1 mlx5_0", CLASS_STORAGE },
		{ "rack2-nfs1 mlx5_0", CLASS_STORAGE },  { "gpfs01 mlx5_0", CLASS_STORAGE },
		{ "vast-c12 mlx5_0", CLASS_STORAGE },    { "lustre-oss3 mlx5_0", CLASS_STORAGE },
		{ "ai400x-01-vm0 mlx5_0", CLASS_STORAGE }, { "rack1-AI200X2 mlx5_1", CLASS_STORAGE },
		{ "es400nvx-2 mlx5_0", CLASS_STORAGE },  { "sfa18k-c0 mlx5_0", CLASS_STORAGE },
		{ "daos-07 mlx5_0", CLASS_STORAGE },     { "ai0001 mlx5_0", CLASS_COMPUTE },
		{ "B11-P1-CUFM-02 mlx5_0", CLASS_MANAGEMENT }, { "mgmt0001 mlx5_0", CLASS_MANAGEMENT },
		{ "sm-1 mlx5_0", CLASS_MANAGEMENT },     { "smp-1 mlx5_0", CLASS_COMPUTE },
		{ "opensm2 mlx5_0", CLASS_MANAGEMENT },  { "head mlx5_0", CLASS_MANAGEMENT },
		{ "lnet-rtr-1 mlx5_0", CLASS_ROUTER },   { "lnet3 mlx5_0", CLASS_ROUTER },
		{ "skyway-a mlx5_0", CLASS_ROUTER },     { "ib-gateway2 mlx5_0", CLASS_ROUTER },
		{ "BridgeX mlx4_0", CLASS_ROUTER },      { "Mellanox BridgeX BX5020", CLASS_ROUTER },
		{ "SUN IB QDR GW switch gw01 192.0.2.7 Bridge 0", CLASS_ROUTER },
		{ "Voltaire 4036E IB-Ethernet Gateway", CLASS_ROUTER },
		{ "cambridge1 mlx5_0", CLASS_COMPUTE },  { "MT4129 ConnectX7   Mellanox Technologies", CLASS_COMPUTE },
		{ "MT25408 ConnectX Mellanox storage", CLASS_COMPUTE },
	};
	struct fabric *fabric = net_new();
	struct shape *shape;
	uint32_t count = sizeof(hosts) / sizeof(hosts[0]);

	for (uint32_t i = 0; i < count; i++)
		net_hca(fabric, 0, "%s", hosts[i].name);
	for (uint32_t i = 0; i < 30; i++) {
		net_hca(fabric, 0, "taurusi%u HCA-1", 2000 + i);
	}
	shape = net_shape(fabric, NULL);
	for (uint32_t i = 0; i < count; i++) {
		if (shape->nodes[i].class != hosts[i].class)
			fail_msg("%s is %s", hosts[i].name, node_class_name(shape->nodes[i].class));
		assert_int_equal(shape->hosts[shape->nodes[i].host].class, hosts[i].class);
	}
	net_done(fabric, shape);
}

TEST(devices_and_guids_determine_classes)
{
	struct fabric *fabric = net_new();
	struct node leaf = { .type = NODE_SWITCH, .port_count = 41, .system_guid = 0x900, .desc = "leaf" };
	struct node inside = { .type = NODE_CA, .port_count = 1, .system_guid = 0x900, .desc = "whatever" };
	struct node sharp = { .type = NODE_CA, .port_count = 1, .device_id = 53001, .desc = "node7 mlx5_0" };
	struct node router = { .type = NODE_ROUTER, .port_count = 2, .desc = "r" };
	struct node board = { .type = NODE_CA, .port_count = 2, .vendor_id = 0x8f1, .device_id = 0x5a01 };
	uint32_t at = net_node(fabric, &leaf), in = net_node(fabric, &inside), agg = net_node(fabric, &sharp);
	uint32_t route = net_node(fabric, &router), ip = net_node(fabric, &board);
	struct shape *shape;

	net_link(fabric, in, at);
	net_link(fabric, agg, at);
	net_link(fabric, route, at);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->nodes[at].class, CLASS_SWITCH);
	assert_int_equal(shape->nodes[in].class, CLASS_AGGREGATION);
	assert_int_equal(shape->nodes[agg].class, CLASS_AGGREGATION);
	assert_int_equal(shape->nodes[route].class, CLASS_ROUTER);
	assert_int_equal(shape->nodes[ip].class, CLASS_ROUTER);
	assert_int_equal(shape->hosts[0].class, CLASS_ROUTER);
	assert_int_equal(shape->host_count, 1);
	assert_int_equal(shape->nodes[at].tier, 0); /* no host below it */
	net_done(fabric, shape);
}

static void give_sm(struct fabric *fabric, uint32_t node)
{
	for (size_t i = 0; i < fabric->port_count; i++)
		fabric->ports[i].sm_lid = 7;
	fabric->ports[fabric->nodes[node].first_port].lid = 7;
}

TEST(the_host_of_the_subnet_manager_is_management_unless_one_of_a_series)
{
	struct fabric *fabric = net_new();
	uint32_t leaf = net_switch(fabric, "leaf"), sm = net_hca(fabric, 0, "atlas mlx5_0");
	struct shape *shape;

	net_hosts(fabric, "node", 1, 6, leaf);
	net_link(fabric, sm, leaf);
	give_sm(fabric, sm);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->nodes[sm].class, CLASS_MANAGEMENT);
	net_done(fabric, shape);

	fabric = net_new();
	leaf = net_switch(fabric, "leaf");
	net_hosts(fabric, "node", 1, 6, leaf);
	give_sm(fabric, leaf + 1);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->nodes[leaf + 1].class, CLASS_COMPUTE);
	net_done(fabric, shape);
}

TEST(settings_take_precedence)
{
	struct shape_class_rule rules[] = {
		{ "node1*", CLASS_STORAGE }, { "oss*", CLASS_COMPUTE }, { "sharp *", CLASS_COMPUTE }, { NULL, 0 },
	};
	struct shape_settings settings = { .classes = rules };
	struct node sharp = { .type = NODE_CA, .port_count = 1, .device_id = 53001, .desc = "sharp x" };
	struct fabric *fabric = net_new();
	uint32_t a = net_hca(fabric, 0, "node12 mlx5_0"), b = net_hca(fabric, 0, "oss1 mlx5_0");
	uint32_t c = net_node(fabric, &sharp), d = net_hca(fabric, 0, "node2 mlx5_0");
	struct shape *shape = net_shape(fabric, &settings);

	assert_int_equal(shape->nodes[a].class, CLASS_STORAGE);
	assert_int_equal(shape->nodes[b].class, CLASS_COMPUTE);
	assert_int_equal(shape->nodes[c].class, CLASS_COMPUTE);
	assert_int_equal(shape->nodes[d].class, CLASS_COMPUTE);
	net_done(fabric, shape);
}
