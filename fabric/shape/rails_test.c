/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rails: which HCA ports belong together, and which of them are cabled to another rail's leaf. */
#include <stdio.h>

#include "base/unit_test.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

#define RAILS 4
#define HOSTS 16

/*
 * Hosts with four HCAs, each on a leaf of its own, under two spines. What is named NULL is not
 * there.
 */
struct cluster {
	struct fabric *fabric;
	uint32_t leaf[RAILS], spine[2], hca[HOSTS][RAILS];
};

static struct cluster cluster_new(const char *(*name_hca)(unsigned host, unsigned rail, char *name, size_t size))
{
	struct cluster cluster = { .fabric = net_new() };
	char name[64];

	for (unsigned i = 0; i < 2; i++) {
		cluster.spine[i] = net_switch(cluster.fabric, "spine%u", i);
	}
	for (unsigned i = 0; i < RAILS; i++) {
		cluster.leaf[i] = net_switch(cluster.fabric, "leaf%u", i);
		net_links(cluster.fabric, cluster.leaf[i], cluster.spine[0], 4);
		net_links(cluster.fabric, cluster.leaf[i], cluster.spine[1], 4);
	}
	for (unsigned i = 0; i < HOSTS; i++) {
		for (unsigned j = 0; j < RAILS; j++) {
			cluster.hca[i][j] = FABRIC_NONE;
			if (name_hca(i, j, name, sizeof(name)))
				cluster.hca[i][j] = net_hca(cluster.fabric, 0, "%s", name);
		}
	}
	return cluster;
}

/* Cable every HCA that is there to its leaf. */
static void cable(struct cluster *cluster)
{
	for (unsigned i = 0; i < HOSTS; i++)
		for (unsigned j = 0; j < RAILS; j++)
			if (cluster->hca[i][j] != FABRIC_NONE)
				net_link(cluster->fabric, cluster->hca[i][j], cluster->leaf[j]);
}

static const char *plain(unsigned host, unsigned rail, char *name, size_t size)
{
	snprintf(name, size, "node%u mlx5_%u", host, rail);
	return name;
}

static const char *with_gaps(unsigned host, unsigned rail, char *name, size_t size)
{
	/* Every third host lacks one HCA, a different one each. */
	if (host % 3 == 0 && host / 3 % RAILS == rail)
		return NULL;
	return plain(host, rail, name, size);
}

static const char *two_drivers(unsigned host, unsigned rail, char *name, size_t size)
{
	static const unsigned numbers[RAILS] = { 0, 1, 4, 10 };

	if (host < 3)
		snprintf(name, size, "node%u mlx5_%u", host, numbers[rail]);
	else
		snprintf(name, size, "node%u HCA-%u", host, numbers[rail] + 1);
	return name;
}

static const char *some_unnamed(unsigned host, unsigned rail, char *name, size_t size)
{
	if (host >= 4)
		return plain(host, rail, name, size);
	snprintf(name, size, "MT4129 ConnectX7   Mellanox Technologies");
	return name;
}

static uint32_t rail_of(const struct cluster *cluster, const struct shape *shape, unsigned host, unsigned rail)
{
	return shape->ports[cluster->fabric->nodes[cluster->hca[host][rail]].first_port].rail;
}

static void assert_rails(const struct cluster *cluster, const struct shape *shape)
{
	assert_int_equal(shape->rail_count, RAILS);
	for (unsigned i = 0; i < HOSTS; i++)
		for (unsigned j = 0; j < RAILS; j++)
			if (cluster->hca[i][j] != FABRIC_NONE)
				assert_int_equal(rail_of(cluster, shape, i, j), j);
}

/* The shape of a cluster as it is cabled as a rule, and its rails are as they were made. */
static struct shape *rails_as_made(struct cluster *cluster)
{
	struct shape *shape;

	cable(cluster);
	shape = net_shape(cluster->fabric, NULL);
	assert_rails(cluster, shape);
	return shape;
}

static void assert_rails_and_none_miswired(const char *(*name_hca)(unsigned, unsigned, char *, size_t))
{
	struct cluster cluster = cluster_new(name_hca);
	struct shape *shape = rails_as_made(&cluster);

	assert_int_equal(shape->miswired_count, 0);
	net_done(cluster.fabric, shape);
}

TEST(a_device_of_most_hosts_is_a_rail)
{
	struct cluster cluster = cluster_new(plain);
	struct shape *shape = rails_as_made(&cluster);

	for (unsigned i = 0; i < RAILS; i++) {
		assert_int_equal(shape->rails[i].count, HOSTS);
		assert_int_equal(shape->rails[i].leaves, 1);
		assert_int_equal(shape->rail_leaves[shape->rails[i].first_leaf], cluster.leaf[i]);
	}
	assert_string_equal(shape->rails[3].name, "mlx5_3");
	assert_int_equal(shape->miswired_count, 0);
	net_done(cluster.fabric, shape);
}

TEST(a_missing_hca_shifts_no_rail)
{
	assert_rails_and_none_miswired(with_gaps);
}

TEST(names_of_two_drivers_are_one_rail_and_numbers_are_numbers)
{
	struct cluster cluster = cluster_new(two_drivers);
	struct shape *shape = rails_as_made(&cluster);

	assert_string_equal(shape->rails[2].name, "HCA-5");
	assert_string_equal(shape->rails[3].name, "HCA-11"); /* behind HCA-5 */
	net_done(cluster.fabric, shape);
}

/* HCA-1, 2, 11 and 12; one host counts 1, 3, 2, 4 in the order of the leaves. */
static const char *numbered_in_another_way(unsigned host, unsigned rail, char *name, size_t size)
{
	static const unsigned numbers[2][RAILS] = { { 1, 2, 11, 12 }, { 1, 3, 2, 4 } };

	snprintf(name, size, "node%u HCA-%u", host, numbers[host == 7][rail]);
	return name;
}

TEST(a_host_that_numbers_its_devices_in_another_way_is_not_miswired)
{
	assert_rails_and_none_miswired(numbered_in_another_way);
}

TEST(an_unnamed_hca_is_of_the_rail_that_its_leaf_serves)
{
	assert_rails_and_none_miswired(some_unnamed);
}

TEST(two_swapped_cables_are_miswired)
{
	struct cluster cluster = cluster_new(plain);
	struct shape *shape;
	uint32_t hca;

	hca = cluster.hca[5][1];
	cluster.hca[5][1] = cluster.hca[5][2];
	cluster.hca[5][2] = hca;
	cable(&cluster);
	shape = net_shape(cluster.fabric, NULL);
	assert_int_equal(shape->rail_count, RAILS);
	assert_int_equal(shape->miswired_count, 2);
	assert_int_equal(shape->miswired[0].port, cluster.fabric->nodes[hca].first_port);
	assert_int_equal(shape->miswired[0].leaf, cluster.leaf[2]);
	assert_int_equal(shape->miswired[0].leaf_rail, 2);
	assert_int_equal(shape->rails[1].miswired, 1);
	assert_int_equal(shape->rails[2].miswired, 1);
	assert_int_equal(shape->rails[0].miswired, 0);
	net_done(cluster.fabric, shape);
}

TEST(with_a_fifth_of_exceptions_no_port_is_miswired)
{
	struct cluster cluster = cluster_new(plain);
	struct shape *shape;

	for (unsigned i = 0; i < 4; i++) {
		uint32_t hca = cluster.hca[i][1];

		cluster.hca[i][1] = cluster.hca[i][2];
		cluster.hca[i][2] = hca;
	}
	cable(&cluster);
	shape = net_shape(cluster.fabric, NULL);
	assert_int_equal(shape->miswired_count, 0);
	net_done(cluster.fabric, shape);
}

TEST(a_host_of_another_kind_is_in_no_rail)
{
	struct cluster cluster = cluster_new(plain);
	uint32_t a = net_hca(cluster.fabric, 0, "fileserver mlx5_0");
	uint32_t b = net_hca(cluster.fabric, 0, "fileserver mlx5_1");
	struct shape *shape;

	cable(&cluster);
	net_link(cluster.fabric, a, cluster.leaf[2]);
	net_link(cluster.fabric, b, cluster.leaf[3]);
	shape = net_shape(cluster.fabric, NULL);
	assert_rails(&cluster, shape);
	assert_int_equal(shape->miswired_count, 0);
	assert_int_equal(shape->ports[cluster.fabric->nodes[a].first_port].rail, SHAPE_NONE);
	net_done(cluster.fabric, shape);
}

TEST(classes_have_rails_of_their_own)
{
	struct cluster cluster = cluster_new(plain);
	struct shape *shape;
	uint32_t hca = 0;

	cable(&cluster);
	for (unsigned i = 0; i < 8; i++) {
		hca = net_hca(cluster.fabric, 0, "oss%u mlx5_%u", i / 2, i % 2);
		net_link(cluster.fabric, hca, cluster.leaf[2 + i % 2]);
	}
	shape = net_shape(cluster.fabric, NULL);
	assert_int_equal(shape->rail_count, RAILS + 2);
	assert_int_equal(shape->rails[RAILS].class, CLASS_STORAGE);
	assert_string_equal(shape->rails[RAILS + 1].name, "mlx5_1");
	assert_int_equal(shape->rails[RAILS + 1].count, 4);
	assert_int_equal(shape->ports[cluster.fabric->nodes[hca].first_port].rail, RAILS + 1);
	assert_int_equal(shape->miswired_count, 0);
	net_done(cluster.fabric, shape);
}

TEST(hcas_that_share_a_leaf_are_never_miswired)
{
	struct cluster cluster = cluster_new(plain);
	struct shape *shape;

	for (unsigned i = 0; i < HOSTS; i++)
		for (unsigned j = 0; j < RAILS; j++)
			net_link(cluster.fabric, cluster.hca[i][j], cluster.leaf[i / 4]);
	shape = net_shape(cluster.fabric, NULL);
	assert_rails(&cluster, shape);
	assert_int_equal(shape->rails[0].leaves, RAILS);
	assert_int_equal(shape->miswired_count, 0);
	net_done(cluster.fabric, shape);
}

TEST(hcas_with_two_cables_are_a_rail_for_each_port)
{
	struct cluster cluster = cluster_new(plain);
	struct shape *shape;
	uint32_t first;

	for (unsigned i = 0; i < HOSTS; i++) {
		net_link(cluster.fabric, cluster.hca[i][0], cluster.leaf[0]);
		net_link(cluster.fabric, cluster.hca[i][0], cluster.leaf[1]);
		net_link(cluster.fabric, cluster.hca[i][1], cluster.leaf[2]);
		net_link(cluster.fabric, cluster.hca[i][1], cluster.leaf[3]);
		net_link(cluster.fabric, cluster.hca[i][2], cluster.leaf[0]);
	}
	shape = net_shape(cluster.fabric, NULL);
	first = cluster.fabric->nodes[cluster.hca[3][1]].first_port;
	assert_string_equal(shape->rails[shape->ports[first].rail].name, "mlx5_1/1");
	assert_string_equal(shape->rails[shape->ports[first + 1].rail].name, "mlx5_1/2");
	net_done(cluster.fabric, shape);
}

TEST(settings_name_rails)
{
	struct shape_rail_rule rules[] = {
		{ "node* mlx5_[01]", "left" }, { "node* mlx5_[23]", "right" }, { NULL, NULL },
	};
	struct shape_settings settings = { .rails = rules };
	struct cluster cluster = cluster_new(plain);
	struct shape *shape;

	cable(&cluster);
	shape = net_shape(cluster.fabric, &settings);
	assert_int_equal(shape->rail_count, 2);
	assert_string_equal(shape->rails[0].name, "left");
	assert_int_equal(shape->rails[1].count, 2 * HOSTS);
	assert_int_equal(shape->rails[1].leaves, 2);
	net_done(cluster.fabric, shape);
}

TEST(one_host_name_everywhere_has_limited_rails)
{
	struct fabric *fabric = net_new();
	uint32_t leaf = net_switch(fabric, "leaf");
	struct shape *shape;

	for (unsigned i = 0; i < 1000; i++) {
		net_hca(fabric, 0, "host dev%u", i);
	}
	net_link(fabric, leaf + 1, leaf);
	shape = net_shape(fabric, NULL);
	assert_true(shape->rail_count <= 256);
	net_done(fabric, shape);
}
