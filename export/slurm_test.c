/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* slurm_test.c - files for schedulers of fabrics of every kind, as they should be */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "export/slurm.h"
#include "fabric/host_map.h"
#include "fabric/host_tree.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

#define HEAD "# topology.conf of Slurm for topology/tree, made by \"ibwire topology slurm\"\n"

static struct host_tree *tree_of(const struct shape *shape, const struct host_tree_options *options)
{
	struct host_tree *tree;

	assert_int_equal(host_tree_create(shape, options, &tree, NULL), 0);
	return tree;
}

/* The topology.conf of a fabric, which is freed, is its head and these lines. */
static void assert_conf(struct fabric *fabric, const struct host_tree_options *options, const char *lines)
{
	static const struct host_tree_options usual = { .rules = HOST_TREE_SLURM };
	struct shape *shape = net_shape(fabric, NULL);
	struct host_tree *tree = tree_of(shape, options ? options : &usual);
	struct text text = { 0 };

	slurm_write_conf(&text, tree);
	assert_memory_equal(text_chars(&text), HEAD, strlen(HEAD));
	assert_string_equal(text_chars(&text) + strlen(HEAD), lines);
	text_done(&text);
	host_tree_destroy(tree);
	net_done(fabric, shape);
}

/* Leaves "PREFIX<n>", n from @first, with 4 hosts each, two cables to each of @spines. */
static void add_leaves(struct fabric *fabric, const char *prefix, unsigned first, unsigned count,
		       const uint32_t *spines, unsigned spine_count)
{
	for (unsigned i = first; i < first + count; i++) {
		uint32_t leaf = net_switch(fabric, "%s%u", prefix, i);

		net_hosts(fabric, "node", 4 * i - 3, 4, leaf);
		for (unsigned j = 0; j < spine_count; j++)
			net_links(fabric, leaf, spines[j], 2);
	}
}

static struct fabric *two_tiers(void)
{
	struct fabric *fabric = net_new();
	uint32_t spines[] = { net_switch(fabric, "spine1"), net_switch(fabric, "spine2") };

	add_leaves(fabric, "leaf", 1, 4, spines, 2);
	return fabric;
}

#define TWO_TIERS \
	"SwitchName=leaf1 Nodes=node[1-4]\n" \
	"SwitchName=leaf2 Nodes=node[5-8]\n" \
	"SwitchName=leaf3 Nodes=node[9-12]\n" \
	"SwitchName=leaf4 Nodes=node[13-16]\n" \
	"# spine1: 2 switches: spine[1-2]\n" \
	"SwitchName=spine1 Switches=leaf[1-4]\n"

TEST(leaves_of_a_tree_of_two_tiers_are_below_all_spines)
{
	assert_conf(two_tiers(), NULL, TWO_TIERS);
}

TEST(pods_of_a_tree_of_three_tiers_are_switches)
{
	struct fabric *fabric = net_new();
	uint32_t cores[] = { net_switch(fabric, "core1"), net_switch(fabric, "core2") };

	for (unsigned pod = 1; pod <= 2; pod++) {
		uint32_t spines[] = { net_switch(fabric, "spine-p%u-1", pod), net_switch(fabric, "spine-p%u-2", pod) };

		add_leaves(fabric, "leaf", 2 * pod - 1, 2, spines, 2);
		/* Spine n of each pod is cabled to core n only: the cores are planes. */
		net_links(fabric, spines[0], cores[0], 4);
		net_links(fabric, spines[1], cores[1], 4);
	}
	assert_conf(fabric, NULL,
		    "SwitchName=leaf1 Nodes=node[1-4]\n"
		    "SwitchName=leaf2 Nodes=node[5-8]\n"
		    "# spine-p1-1: 2 switches: spine-p1-[1-2]\n"
		    "SwitchName=spine-p1-1 Switches=leaf[1-2]\n"
		    "SwitchName=leaf3 Nodes=node[9-12]\n"
		    "SwitchName=leaf4 Nodes=node[13-16]\n"
		    "# spine-p2-1: 2 switches: spine-p2-[1-2]\n"
		    "SwitchName=spine-p2-1 Switches=leaf[3-4]\n"
		    "# core1: 2 switches: core[1-2]\n"
		    "SwitchName=core1 Switches=spine-p1-1,spine-p2-1\n");
}

/* Two units of 4 hosts with 8 HCAs; without @spines, the rails are unconnected planes. */
static struct fabric *rails(unsigned spines)
{
	struct fabric *fabric = net_new();
	uint32_t leaf[2][8], hca;

	for (unsigned unit = 0; unit < 2; unit++)
		for (unsigned rail = 0; rail < 8; rail++)
			leaf[unit][rail] = net_switch(fabric, "su%u-leaf%u", unit + 1, rail + 1);
	for (unsigned i = 0; i < 8; i++)
		for (unsigned rail = 0; rail < 8; rail++) {
			/* HCA 6 of node1 is on the leaf of the other unit. */
			unsigned unit = i == 0 && rail == 6 ? 1 : i / 4;

			hca = net_hca(fabric, 0x900000 + i, "node%u mlx5_%u", i + 1, rail);
			net_link(fabric, hca, leaf[unit][rail]);
		}
	for (unsigned i = 0; i < spines; i++) {
		uint32_t spine = net_switch(fabric, "spine%u", i + 1);

		for (unsigned unit = 0; unit < 2; unit++)
			for (unsigned rail = 0; rail < 8; rail++)
				net_link(fabric, leaf[unit][rail], spine);
	}
	return fabric;
}

TEST(leaves_of_a_scalable_unit_are_one_switch_and_a_miswired_port_changes_nothing)
{
	assert_conf(rails(4), NULL,
		    "# su1-leaf1: 8 switches: su1-leaf[1-8]\n"
		    "SwitchName=su1-leaf1 Nodes=node[1-4]\n"
		    "# su2-leaf1: 8 switches: su2-leaf[1-8]\n"
		    "SwitchName=su2-leaf1 Nodes=node[5-8]\n"
		    "# spine1: 4 switches: spine[1-4]\n"
		    "SwitchName=spine1 Switches=su1-leaf1,su2-leaf1\n");
}

TEST(unconnected_planes_are_one_fabric)
{
	struct fabric *fabric = net_new();
	uint32_t leaf[2][2], spine[2];

	for (unsigned plane = 0; plane < 2; plane++) {
		spine[plane] = net_switch(fabric, "spine-p%u", plane + 1);
		for (unsigned i = 0; i < 2; i++) {
			leaf[plane][i] = net_switch(fabric, "leaf%u-p%u", i + 1, plane + 1);
			net_links(fabric, leaf[plane][i], spine[plane], 4);
		}
	}
	for (unsigned i = 0; i < 12; i++)
		for (unsigned plane = 0; plane < 2; plane++) {
			uint32_t hca = net_hca(fabric, 0x900000 + i, "node%u mlx5_%u", i + 1, plane);

			net_link(fabric, hca, leaf[plane][i / 6]);
		}
	assert_conf(fabric, NULL,
		    "# leaf1-p1: 2 switches: leaf1-p[1-2]\n"
		    "SwitchName=leaf1-p1 Nodes=node[1-6]\n"
		    "# leaf2-p1: 2 switches: leaf2-p[1-2]\n"
		    "SwitchName=leaf2-p1 Nodes=node[7-12]\n"
		    "# spine-p1: 2 switches: spine-p[1-2]\n"
		    "SwitchName=spine-p1 Switches=leaf1-p1,leaf2-p1\n");
}

/* A switch of a box. */
static uint32_t module(struct fabric *fabric, uint64_t system_guid, const char *desc)
{
	struct node node = { .type = NODE_SWITCH, .port_count = 36, .system_guid = system_guid };

	snprintf(node.desc, sizeof(node.desc), "%s", desc);
	return net_node(fabric, &node);
}

TEST(a_director_is_one_switch)
{
	struct fabric *fabric = net_new();
	uint32_t lines[] = { module(fabric, 0xd1, "MF0;dir1:CS7500/L01/U1"),
			     module(fabric, 0xd1, "MF0;dir1:CS7500/L02/U1") };
	uint32_t spine = module(fabric, 0xd1, "MF0;dir1:CS7500/S01/U1");

	for (unsigned i = 0; i < 2; i++)
		net_links(fabric, lines[i], spine, 8);
	for (unsigned i = 1; i <= 3; i++) {
		uint32_t leaf = net_switch(fabric, "leaf%u", i);

		net_hosts(fabric, "node", 4 * i - 3, 4, leaf);
		net_links(fabric, leaf, lines[0], 2);
		net_links(fabric, leaf, lines[1], 2);
	}
	assert_conf(fabric, NULL,
		    "SwitchName=leaf1 Nodes=node[1-4]\n"
		    "SwitchName=leaf2 Nodes=node[5-8]\n"
		    "SwitchName=leaf3 Nodes=node[9-12]\n"
		    "SwitchName=dir1 Switches=leaf[1-3]\n");
}

TEST(unconnected_fabrics_have_a_root_each)
{
	struct fabric *fabric = two_tiers();
	uint32_t spine = net_switch(fabric, "other-spine");

	add_leaves(fabric, "other", 11, 2, &spine, 1);
	assert_conf(fabric, NULL,
		    "SwitchName=other11 Nodes=node[41-44]\n"
		    "SwitchName=other12 Nodes=node[45-48]\n"
		    "SwitchName=other-spine Switches=other[11-12]\n"
		    TWO_TIERS);
}

TEST(islands_that_links_within_a_tier_join_have_a_root_above)
{
	struct fabric *fabric = net_new();
	uint32_t spines[2];

	for (unsigned i = 0; i < 2; i++) {
		spines[i] = net_switch(fabric, "spine%u", i + 1);
		add_leaves(fabric, "leaf", 2 * i + 1, 2, &spines[i], 1);
	}
	net_link(fabric, spines[0], spines[1]);
	assert_conf(fabric, NULL,
		    "SwitchName=leaf1 Nodes=node[1-4]\n"
		    "SwitchName=leaf2 Nodes=node[5-8]\n"
		    "SwitchName=spine1 Switches=leaf[1-2]\n"
		    "SwitchName=leaf3 Nodes=node[9-12]\n"
		    "SwitchName=leaf4 Nodes=node[13-16]\n"
		    "SwitchName=spine2 Switches=leaf[3-4]\n"
		    "# fabric-spine1: no switch is above all of these\n"
		    "SwitchName=fabric-spine1 Switches=spine[1-2]\n");
}

TEST(switches_of_a_torus_are_below_one_root)
{
	struct fabric *fabric = net_new();
	uint32_t grid[4][4];

	for (unsigned x = 0; x < 4; x++)
		for (unsigned y = 0; y < 4; y++) {
			grid[x][y] = net_switch(fabric, "sw%u%u", x, y);
			net_hosts(fabric, "node", 8 * x + 2 * y + 1, 2, grid[x][y]);
		}
	for (unsigned x = 0; x < 4; x++)
		for (unsigned y = 0; y < 4; y++) {
			net_link(fabric, grid[x][y], grid[(x + 1) % 4][y]);
			net_link(fabric, grid[x][y], grid[x][(y + 1) % 4]);
		}
	assert_conf(fabric, NULL,
		    "SwitchName=sw00 Nodes=node[1-2]\n"
		    "SwitchName=sw01 Nodes=node[3-4]\n"
		    "SwitchName=sw02 Nodes=node[5-6]\n"
		    "SwitchName=sw03 Nodes=node[7-8]\n"
		    "SwitchName=sw10 Nodes=node[9-10]\n"
		    "SwitchName=sw11 Nodes=node[11-12]\n"
		    "SwitchName=sw12 Nodes=node[13-14]\n"
		    "SwitchName=sw13 Nodes=node[15-16]\n"
		    "SwitchName=sw20 Nodes=node[17-18]\n"
		    "SwitchName=sw21 Nodes=node[19-20]\n"
		    "SwitchName=sw22 Nodes=node[21-22]\n"
		    "SwitchName=sw23 Nodes=node[23-24]\n"
		    "SwitchName=sw30 Nodes=node[25-26]\n"
		    "SwitchName=sw31 Nodes=node[27-28]\n"
		    "SwitchName=sw32 Nodes=node[29-30]\n"
		    "SwitchName=sw33 Nodes=node[31-32]\n"
		    "# fabric-sw00: no switch is above all of these\n"
		    "SwitchName=fabric-sw00 Switches=sw[00-03,10-13,20-23,30-33]\n");
}

TEST(one_switch_is_the_leaf_and_the_root)
{
	struct fabric *fabric = net_new();

	net_hosts(fabric, "gpu", 98, 4, net_switch(fabric, "sw"));
	assert_conf(fabric, NULL, "SwitchName=sw Nodes=gpu[98-101]\n");
}

TEST(a_fabric_without_a_switch_has_no_tree)
{
	static const struct host_tree_options options = { .rules = HOST_TREE_SLURM };
	struct fabric *fabric = net_new();
	uint32_t a = net_hca(fabric, 0, "node1 mlx5_0"), b = net_hca(fabric, 0, "node2 mlx5_0");
	struct host_tree *tree;
	struct shape *shape;

	net_link(fabric, a, b);
	shape = net_shape(fabric, NULL);
	tree = tree_of(shape, &options);
	assert_int_equal(tree->host_count, 0);
	assert_int_equal(tree->switch_count, 0);
	assert_int_equal(tree->left_count[HOST_LEFT_UNCABLED], 2);
	host_tree_destroy(tree);
	net_done(fabric, shape);
}

TEST(hosts_with_hcas_on_two_leaves_are_in_one_unit)
{
	struct fabric *fabric = net_new();
	uint32_t leaf[4], spine = net_switch(fabric, "spine");

	for (unsigned i = 0; i < 4; i++) {
		leaf[i] = net_switch(fabric, "leaf%u", i + 1);
		net_links(fabric, leaf[i], spine, 4);
	}
	for (unsigned i = 0; i < 12; i++)
		for (unsigned j = 0; j < 2; j++) {
			uint32_t hca = net_hca(fabric, 0x900000 + i, "node%u mlx5_%u", i + 1, j);

			net_link(fabric, hca, leaf[i / 6 * 2 + j]);
		}
	/* A host with one cable belongs to the unit of its leaf. */
	net_hosts(fabric, "login", 1, 1, leaf[3]);
	assert_conf(fabric, &(struct host_tree_options){ .all = true },
		    "# leaf1: 2 switches: leaf[1-2]\n"
		    "SwitchName=leaf1 Nodes=node[1-6]\n"
		    "# leaf3: 2 switches: leaf[3-4]\n"
		    "SwitchName=leaf3 Nodes=login1,node[7-12]\n"
		    "SwitchName=spine Switches=leaf[1,3]\n");
}

/* Each host has another HCA on a network with a leaf for all of them. */
static struct fabric *with_storage_network(void)
{
	struct fabric *fabric = two_tiers();
	uint32_t storage = net_switch(fabric, "a-storage");

	for (unsigned i = 1; i <= 16; i++)
		net_link(fabric, net_hca(fabric, 0, "node%u mlx5_1", i), storage);
	net_hosts(fabric, "oss", 1, 4, storage);
	return fabric;
}

TEST(a_storage_network_of_all_hosts_makes_them_no_unit)
{
	assert_conf(with_storage_network(), NULL, TWO_TIERS);
}

TEST(storage_hosts_are_left_out_or_included)
{
	static const char with_storage[] =
		"SwitchName=a-storage Nodes=oss[1-4]\n" TWO_TIERS;

	assert_conf(with_storage_network(), &(struct host_tree_options){ .all = true }, with_storage);
}

TEST(hosts_on_a_spine_have_a_leaf_since_a_switch_has_hosts_or_switches)
{
	struct fabric *fabric = net_new();
	uint32_t spines[] = { net_switch(fabric, "spine1"), net_switch(fabric, "spine2") };

	add_leaves(fabric, "leaf", 1, 4, spines, 2);
	net_hosts(fabric, "fat", 1, 1, spines[1]);
	assert_conf(fabric, NULL,
		    "SwitchName=leaf1 Nodes=node[1-4]\n"
		    "SwitchName=leaf2 Nodes=node[5-8]\n"
		    "SwitchName=leaf3 Nodes=node[9-12]\n"
		    "SwitchName=leaf4 Nodes=node[13-16]\n"
		    "SwitchName=spine2-hosts Nodes=fat1\n"
		    "# spine1: 2 switches: spine[1-2]\n"
		    "SwitchName=spine1 Switches=leaf[1-4],spine2-hosts\n");
}

TEST(a_leaf_that_is_cabled_to_a_leaf_only_is_below_the_root)
{
	struct fabric *fabric = net_new();
	uint32_t spines[] = { net_switch(fabric, "spine1"), net_switch(fabric, "spine2") }, more;

	add_leaves(fabric, "leaf", 1, 4, spines, 2);
	more = net_switch(fabric, "more");
	net_hosts(fabric, "node", 17, 4, more);
	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (!strcmp(fabric->nodes[i].desc, "leaf1"))
			net_link(fabric, more, i);
	assert_conf(fabric, NULL,
		    "SwitchName=leaf1 Nodes=node[1-4]\n"
		    "SwitchName=leaf2 Nodes=node[5-8]\n"
		    "SwitchName=leaf3 Nodes=node[9-12]\n"
		    "SwitchName=leaf4 Nodes=node[13-16]\n"
		    "SwitchName=more Nodes=node[17-20]\n"
		    "# spine1: 2 switches: spine[1-2]\n"
		    "SwitchName=spine1 Switches=leaf[1-4],more\n");
}

/* Lists of hosts that are left out, separated by spaces. */
static void assert_left(const struct host_tree *tree, enum host_tree_left why, const char *names)
{
	struct text text = { 0 };

	for (size_t i = 0; i < tree->left_count[why]; i++)
		text_appendf(&text, "%s%s", i ? " " : "", tree->left[why][i]);
	assert_string_equal(text_chars(&text), names);
	text_done(&text);
}

static struct fabric *odd_names(void)
{
	static const char *const hosts[] = {
		"node1.site.net mlx5_0", "node2.site.net mlx5_0", "gpu1.a mlx5_0", "gpu1.b mlx5_0", "r1n1-ib mlx5_0",
		"r1n2-ib mlx5_0", "Node_3 mlx5_0", "n\303\266de4 mlx5_0", "a,b mlx5_0", "-x mlx5_0",
		"DEFAULT mlx5_0", "twice mlx5_0", "twice mlx5_0", "MT4129 ConnectX7   Mellanox Technologies",
	};
	struct fabric *fabric = net_new();
	uint32_t leaf = net_switch(fabric, "  Switch #1: [leaf]  ");

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		net_link(fabric, net_hca(fabric, 0x900000 + i, "%s", hosts[i]), leaf);
	net_hca(fabric, 0x800000, "unplugged mlx5_0");
	net_hosts(fabric, "last", 1, 1, net_switch(fabric, "Switch 1 leaf"));
	return fabric;
}

TEST(names_are_those_that_slurm_accepts)
{
	static const struct host_tree_options options = { .rules = HOST_TREE_SLURM };
	struct fabric *fabric = odd_names();
	struct shape *shape = net_shape(fabric, NULL);
	struct host_tree *tree = tree_of(shape, &options);
	struct text text = { 0 };

	slurm_write_conf(&text, tree);
	assert_string_equal(text_chars(&text), HEAD
			    "SwitchName=Switch-1-leaf-0000000000001000 Nodes=Node_3,gpu1.a,gpu1.b,node[1-2],"
			    "r1n1-ib,r1n2-ib\n"
			    "SwitchName=Switch-1-leaf-0000000000002000 Nodes=last1\n");
	assert_left(tree, HOST_LEFT_TWICE, "twice (0x0000000000001c00) twice (0x0000000000001d00)");
	assert_left(tree, HOST_LEFT_UNCABLED, "unplugged");
	assert_int_equal(tree->left_count[HOST_LEFT_UNNAMED], 1);
	assert_int_equal(tree->left_count[HOST_LEFT_NAME], 4);
	assert_left(tree, HOST_LEFT_CLASS, "");
	text_done(&text);
	host_tree_destroy(tree);
	net_done(fabric, shape);
}

TEST(labels_have_names_that_kubernetes_accepts)
{
	static const struct host_tree_options options = { .rules = HOST_TREE_KUBERNETES };
	static const char *const keys[] = { "x/leaf" };
	struct fabric *fabric = odd_names();
	struct shape *shape = net_shape(fabric, NULL);
	struct host_tree *tree = tree_of(shape, &options);
	struct text text = { 0 };

	assert_int_equal(labels_write(&text, tree, keys, 1), 0);
	assert_string_equal(text_chars(&text),
			    "[\n"
			    "{\"node\": \"default\", \"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000001000\"}},\n"
			    "{\"node\": \"gpu1.a\", \"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000001000\"}},\n"
			    "{\"node\": \"gpu1.b\", \"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000001000\"}},\n"
			    "{\"node\": \"last1\", \"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000002000\"}},\n"
			    "{\"node\": \"node1.site.net\", "
			    "\"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000001000\"}},\n"
			    "{\"node\": \"node2.site.net\", "
			    "\"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000001000\"}},\n"
			    "{\"node\": \"r1n1-ib\", \"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000001000\"}},\n"
			    "{\"node\": \"r1n2-ib\", \"labels\": {\"x/leaf\": \"Switch-1-leaf-0000000000001000\"}}\n"
			    "]\n");
	assert_int_equal(tree->left_count[HOST_LEFT_NAME], 4);
	text_done(&text);
	host_tree_destroy(tree);
	net_done(fabric, shape);
}

TEST(equal_names_of_switches_have_digits_of_their_guids_and_long_ones_all_of_them)
{
	struct fabric *fabric = net_new();
	uint32_t spine = net_switch(fabric, "a name of sixty-three characters, which is the longest allowed"), leaf;

	for (unsigned i = 0; i < 2; i++) {
		leaf = net_switch(fabric, "Quantum Mellanox Technologies");
		net_links(fabric, leaf, spine, 4);
		net_hosts(fabric, "node", 4 * i + 1, 4, leaf);
	}
	leaf = net_switch(fabric, "a.name.of.sixty-four.characters.which.is.more.than.Slurm.accepts");
	net_links(fabric, leaf, spine, 4);
	net_hosts(fabric, "node", 9, 4, leaf);
	assert_conf(fabric, NULL,
		    "SwitchName=Quantum-Mellanox-Technologies-1100 Nodes=node[1-4]\n"
		    "SwitchName=Quantum-Mellanox-Technologies-1600 Nodes=node[5-8]\n"
		    "SwitchName=a.name.of.sixty-four.characters.which.is.more-0000000000001b00 Nodes=node[9-12]\n"
		    "SwitchName=a-name-of-sixty-three-characters-which-is-the-longest-allowed "
		    "Switches=Quantum-Mellanox-Technologies-[1100,1600],"
		    "a.name.of.sixty-four.characters.which.is.more-0000000000001b00\n");
}

/* A map of these lines. */
static struct host_map map_of(const char *lines)
{
	char path[] = "host_map.XXXXXX";
	struct host_map map;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, lines, strlen(lines)), (ssize_t)strlen(lines));
	close(fd);
	assert_int_equal(host_map_read(path, &map, NULL), 0);
	unlink(path);
	return map;
}

TEST(a_map_renames_hosts_by_name_list_or_guid)
{
	struct host_map map = map_of("# names of the fabric, and of Slurm\n"
				     "node[1-8] gpu[001-008]  # two leaves\n"
				     "\n"
				     "node9 node10\r\n"
				     "node10 node9\n"
				     "node11 twice\nnode12 twice\n"
				     "absent x\n"
				     "node13\n"
				     "node13 a b\n"
				     "node[13-14] x[1-3]\n"
				     "node13 bad,name\n"
				     "node14 fourteen\n"
				     "node14 again\n");
	struct fabric *fabric = two_tiers();
	struct host_tree_options options = { .rules = HOST_TREE_SLURM, .map = &map };

	assert_int_equal(map.unread.lines, 4);
	assert_int_equal(map.unread.first, 9);
	assert_conf(fabric, &options,
		    "SwitchName=leaf1 Nodes=gpu[001-004]\n"
		    "SwitchName=leaf2 Nodes=gpu[005-008]\n"
		    "SwitchName=leaf3 Nodes=node[9-10]\n"
		    "SwitchName=leaf4 Nodes=fourteen,node[13,15-16]\n"
		    "# spine1: 2 switches: spine[1-2]\n"
		    "SwitchName=spine1 Switches=leaf[1-4]\n");
	host_map_done(&map);
	fabric = odd_names();
	/* Of the cloned hosts, and the one without a name. */
	map = map_of("0x1c00 clone1\n0x1d00 clone2\n0x1e00 named\n");
	options.map = &map;
	assert_conf(fabric, &options,
		    "SwitchName=Switch-1-leaf-0000000000001000 Nodes=Node_3,clone[1-2],gpu1.a,gpu1.b,named,node[1-2],"
		    "r1n1-ib,r1n2-ib\n"
		    "SwitchName=Switch-1-leaf-0000000000002000 Nodes=last1\n");
	host_map_done(&map);
}

TEST(yaml_has_a_tree_and_blocks_of_at_least_the_base_size)
{
	static const struct host_tree_options options = { .rules = HOST_TREE_SLURM };
	struct fabric *fabric = net_new();
	uint32_t leaf = net_switch(fabric, "leaf2"), spine = net_switch(fabric, "spine");
	struct text text = { 0 };
	struct host_tree *tree;
	struct shape *shape;

	add_leaves(fabric, "leaf", 1, 1, &spine, 1);
	net_hosts(fabric, "node", 5, 2, leaf);
	net_links(fabric, leaf, spine, 2);
	shape = net_shape(fabric, NULL);
	tree = tree_of(shape, &options);
	assert_int_equal(slurm_write_yaml(&text, tree, 0), 0);
	assert_string_equal(text_chars(&text),
			    "# topology.yaml of Slurm 25.05 and later, made by \"ibwire topology slurm-yaml\"\n"
			    "- topology: tree\n"
			    "  cluster_default: true\n"
			    "  tree:\n"
			    "    switches:\n"
			    "    - switch: \"leaf1\"\n"
			    "      nodes: \"node[1-4]\"\n"
			    "    - switch: \"leaf2\"\n"
			    "      nodes: \"node[5-6]\"\n"
			    "    - switch: \"spine\"\n"
			    "      children: \"leaf[1-2]\"\n"
			    "- topology: block\n"
			    "  cluster_default: false\n"
			    "  block:\n"
			    "    block_sizes:\n"
			    "    - 2\n"
			    "    blocks:\n"
			    "    - block: \"leaf1\"\n"
			    "      nodes: \"node[1-4]\"\n"
			    "    - block: \"leaf2\"\n"
			    "      nodes: \"node[5-6]\"\n");
	text_clear(&text);
	assert_int_equal(slurm_write_yaml(&text, tree, 4), 2);
	assert_non_null(strstr(text_chars(&text), "    - 4\n    blocks:\n    - block: \"leaf1\"\n"));
	assert_null(strstr(text_chars(&text), "block: \"leaf2\""));
	text_done(&text);
	host_tree_destroy(tree);
	net_done(fabric, shape);
}
